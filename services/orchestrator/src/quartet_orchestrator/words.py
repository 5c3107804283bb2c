"""Small texts and ids that several modules need."""

import secrets
import time


def new_task_id() -> str:
    """A task id that sorts by time and can be read aloud: 20261120-113015-3f9c2a."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


def step_sentence(skill: str, arguments: dict[str, object]) -> str:
    """What a task that is one skill is called in lists."""
    return f"{skill}: " + ", ".join(f"{name} {value}" for name, value in arguments.items())
