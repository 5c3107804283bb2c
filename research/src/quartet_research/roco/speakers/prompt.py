"""Parts of a prompt that the roles of all tasks read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

WAIT = "WAIT"
_LINE = re.compile(r"^\s*NAME (\w+) ACTION (.+)$")
_ROBOTS = re.compile(r"plan(?: for all robots| together): ([\w, ]+)\.")


@dataclass(frozen=True)
class Prompt:
    """Content of a prompt.

    Args:
        task: the part with task and rules.
        own: capability and observation, of all robots in the modes with one LLM.
        robots: names of the robots.
        refused: plans that were refused in this round, or failed in execution since the last success.
        can_wait: whether WAIT is an action of the task.
    """

    task: str
    own: str
    robots: tuple[str, ...]
    refused: tuple[Mapping[str, str], ...]
    can_wait: bool = True

    def sits_out(self, robot: str) -> bool:
        """Return whether a robot waits since plans were refused: another robot after each plan, then all but one."""
        if not self.refused:
            return False
        acting = [name for name in self.robots if self.refused[0].get(name, WAIT).strip() != WAIT]
        tries = len(self.refused) - 1
        if len(acting) < 2:
            return False
        if tries < len(acting):
            return robot == acting[tries]
        return robot != acting[tries % len(acting)]


def read_prompt(parts: Mapping[str, str]) -> Prompt:
    """Return the content of a prompt with these parts, by their headings."""
    own = parts.get("Yourself", "") + "\n" + parts.get("Robots", "")
    robots = _ROBOTS.search(own)
    assert robots is not None, "every prompt names the robots"
    refused = [*_plans(parts.get("Feedback", "")), *_plans(parts.get("Plans that failed in execution", ""))]
    can_wait = any(line.startswith(WAIT) for line in parts["Actions"].splitlines())
    return Prompt(parts["Task"], own, tuple(robots[1].split(", ")), tuple(refused), can_wait)


def _plans(text: str) -> list[Mapping[str, str]]:
    """Return the plans in a text; a robot that is named again begins another plan."""
    plans: list[dict[str, str]] = []
    for line in text.splitlines():
        if named := _LINE.match(line):
            if not plans or named[1] in plans[-1]:
                plans.append({})
            plans[-1][named[1]] = named[2]
    return list(plans)
