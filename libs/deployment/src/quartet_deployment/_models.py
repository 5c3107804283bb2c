"""The models that the agents use, as the gateway chooses them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import yaml

from quartet_contracts import MODEL_SKILLS

SCRIPTED = "scripted"
"""Name of the scripted model in the gateway's file."""
SCRIPTED_URL = "QUARTET_SCRIPTED_MODEL_URL"
"""Variable with the address of the scripted model."""


def models_in_use(environment: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the model of each agent, followed by its fallbacks; `environment` is the gateway's.

    The scripted model is called SCRIPTED, any other provider/model. A file that cannot be read counts as empty: the
    gateway reports what is wrong with it.
    """
    file = _read(environment["QUARTET_GATEWAY_FILE"])
    entries, agents = _section(file, "models"), _section(file, "agents")
    found: dict[str, list[str]] = {}
    for agent in ("orchestrator", *MODEL_SKILLS):
        uses = _section(agents, agent)
        chosen = environment.get(f"QUARTET_MODEL_{agent.upper()}") or environment.get("QUARTET_MODEL", "")
        names = [chosen.strip() or uses.get("model", SCRIPTED), *(uses.get("fallbacks") or ())]
        found[agent] = [_full_name(str(name), entries) for name in names]
    return found


def _full_name(name: str, entries: Mapping[str, Any]) -> str:
    entry = _section(entries, name)
    if entry.get("api_base_env") == SCRIPTED_URL or (name == SCRIPTED and not entry):
        return SCRIPTED
    return str(entry.get("model", name))


def _read(path: str) -> dict[str, Any]:
    try:
        return _section({"file": yaml.safe_load(Path(path).read_bytes())}, "file")
    except (OSError, yaml.YAMLError, ValueError):
        return {}


def _section(parent: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a mapping in `parent`, {} if there is none of that name."""
    value = parent.get(name)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
