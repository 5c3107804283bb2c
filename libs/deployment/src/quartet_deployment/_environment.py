"""The environment of each process: provider keys reach the gateway and no other process."""

import ctypes
import os
import re
from pathlib import Path

from dotenv import dotenv_values

from quartet_process.redact import SECRET_NAME

PATIENCE = "QUARTET_PATIENCE"
TUNABLE = re.compile(
    rf"{PATIENCE}|QUARTET_(LOG_LEVEL|REQUIRE_BEATS|ALLOWED_HOSTS|MISBEHAVE\w*|PAUSE_LIMIT_S|AGENT_ABSENT_S|CANCEL_WAIT_S"
    r"|SESSION_S|BRIDGE_WAIT_S|(MODEL|TOOL|TASK|SKILL|QUESTION|LOOK|FENCE)_TIMEOUT_S|(GATEWAY|OUTCOME)_PATIENCE_S)"
)
"""Matches settings that a user may change and that are no secrets; each process reads those that it knows."""


def read_dotenv(path: Path) -> dict[str, str]:
    """Return the variables of a .env file, {} when there is none."""
    return {name: value for name, value in dotenv_values(path).items() if value} if path.is_file() else {}


def public_environment() -> dict[str, str]:
    """Return this process's environment without keys and without settings of single processes."""
    return {
        name: value
        for name, value in os.environ.items()
        if not SECRET_NAME.search(name) and not name.startswith("QUARTET_")
    }


def gateway_environment(dotenv: dict[str, str]) -> dict[str, str]:
    """Return patience, model choices and provider keys, from the environment and from .env (the environment wins)."""
    given = {**dotenv, **os.environ}
    return {
        name: value
        for name, value in given.items()
        if name.startswith(("QUARTET_MODEL", "QUARTET_GATEWAY_FILE", PATIENCE))
        # The gateway needs none of a person's own tokens for Quartet.
        or (not name.startswith("QUARTET_") and (name in dotenv or SECRET_NAME.search(name)))
    }


def segmenter_environment(dotenv: dict[str, str]) -> dict[str, str]:
    """Return the QUARTET_SEGMENTER* settings, from the environment and from .env (the environment wins)."""
    given = {**dotenv, **os.environ}
    return {name: value for name, value in given.items() if name.startswith("QUARTET_SEGMENTER") and value}


def tunable_environment(dotenv: dict[str, str]) -> dict[str, str]:
    """Return the TUNABLE settings, from the environment and from .env (the environment wins)."""
    given = {**dotenv, **os.environ}
    return {name: value for name, value in given.items() if TUNABLE.fullmatch(name) and value}


def headless_gl() -> str:
    """Return the MuJoCo back end that renders without a display: MUJOCO_GL when set, else egl, else osmesa."""
    chosen = os.environ.get("MUJOCO_GL")
    if chosen:
        return chosen
    for backend, library in (("egl", "libEGL.so.1"), ("osmesa", "libOSMesa.so.8"), ("osmesa", "libOSMesa.so")):
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        return backend
    return "egl"
