"""The models that the agents use, as the gateway chooses them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import yaml

from quartet_contracts import MODEL_SKILLS

SCRIPTED = "scripted"
"""Name of the scripted model in the gateway's file."""
SCRIPTED_URL = "QUARTET_SCRIPTED_MODEL_URL"


def models_in_use(environment: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the model of each agent, followed by its fallbacks: provider/model, or SCRIPTED.

    `environment` is the gateway's. A file that cannot be read counts as empty: the gateway reports what is wrong.
    """
    try:
        file = _mapping(yaml.safe_load(Path(environment["QUARTET_GATEWAY_FILE"]).read_bytes()))
    except (
        OSError,
        yaml.YAMLError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ):
        # The constructors of dates and of tags such as !!int raise these.
        file = {}
    entries, agents = _mapping(file.get("models")), _mapping(file.get("agents"))
    found: dict[str, list[str]] = {}
    for agent in ("orchestrator", *MODEL_SKILLS):
        uses = _mapping(agents.get(agent))
        chosen = environment.get(f"QUARTET_MODEL_{agent.upper()}") or environment.get("QUARTET_MODEL", "")
        fallbacks: Any = uses.get("fallbacks")
        names: list[Any] = [
            chosen.strip() or uses.get("model") or SCRIPTED,
            *(cast("list[Any]", fallbacks) if isinstance(fallbacks, list) else ()),
        ]
        found[agent] = [_full_name(str(name), _mapping(entries.get(str(name)))) for name in names]
    return found


def _full_name(name: str, entry: Mapping[str, Any]) -> str:
    is_scripted = entry.get("api_base_env") == SCRIPTED_URL if entry else name == SCRIPTED
    return SCRIPTED if is_scripted else str(entry.get("model", name))


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
