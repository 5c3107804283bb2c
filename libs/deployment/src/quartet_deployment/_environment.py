"""The environment of each process: provider keys reach the gateway and no other process."""

import ctypes
import os
import re
from pathlib import Path

from dotenv import dotenv_values

from quartet_process.redact import SECRET_NAME

SCRIPTED = "scripted"
"""Name of the scripted model in deploy/gateway.yaml."""
MODEL = re.compile(r"^QUARTET_MODEL(_[A-Z]+)?$")


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
    """Return model choices and provider keys, from the environment and from .env (the environment wins)."""
    given = {**dotenv, **os.environ}
    return {
        name: value
        for name, value in given.items()
        if name.startswith(("QUARTET_MODEL", "QUARTET_GATEWAY_FILE"))
        # The gateway needs none of a person's own tokens for Quartet.
        or (not name.startswith("QUARTET_") and (name in dotenv or SECRET_NAME.search(name)))
    }


def segmenter_environment(dotenv: dict[str, str]) -> dict[str, str]:
    """Return the QUARTET_SEGMENTER* settings, from the environment and from .env (the environment wins)."""
    given = {**dotenv, **os.environ}
    return {name: value for name, value in given.items() if name.startswith("QUARTET_SEGMENTER") and value}


def chosen_models(dotenv: dict[str, str]) -> dict[str, str]:
    """Return the settings that replace the scripted model: {variable: model}."""
    given = {**dotenv, **os.environ}
    return {name: value for name, value in sorted(given.items()) if MODEL.match(name) and value}


def needs_scripted_model(chosen: dict[str, str]) -> bool:
    """Return whether any agent uses the scripted model."""
    agents = ("ORCHESTRATOR", "APPROACH", "PICK", "PLACE")
    everywhere = chosen.get("QUARTET_MODEL", SCRIPTED)
    return any(chosen.get(f"QUARTET_MODEL_{agent}", everywhere) == SCRIPTED for agent in agents)


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
