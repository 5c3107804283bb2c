"""Reader of gateway.yaml; an error names file, line, field and what is valid."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from quartet_gateway.config import AGENTS, GatewayFile
from quartet_gateway.errors import ConfigurationError

DEFAULT = Path("deploy") / "gateway.yaml"


def find_file(named: Path | None) -> Path | None:
    """Return `named`, else deploy/gateway.yaml in the working directory or above it, else None."""
    if named is not None:
        return named
    here = Path.cwd()
    return next((folder / DEFAULT for folder in (here, *here.parents) if (folder / DEFAULT).is_file()), None)


def load_file(path: Path | None) -> GatewayFile:
    """Return the content of the file; None: every agent uses the scripted model. Raises ConfigurationError."""
    if path is None:
        return GatewayFile()
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror}. Set QUARTET_GATEWAY_FILE to the gateway's file"
        ) from error
    try:
        data = yaml.safe_load(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path} is not YAML: {error}") from error
    if data is None:
        return GatewayFile()
    if not isinstance(data, dict):
        raise ConfigurationError(f"{path} must hold a mapping with models, agents, tasks and retries")
    try:
        return GatewayFile.model_validate(data)
    except ValidationError as error:
        lines = [_line(path, node, e) for e in error.errors(include_url=False)]
        raise ConfigurationError("\n".join(lines)) from error


def _line(path: Path, node: Any, error: Any) -> str:
    location = [str(part) for part in error["loc"]]
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        message = f"there is no such field; valid: {', '.join(_fields(location[:-1]))}"
    elif error["type"] != "value_error":
        message += f", got {error['input']!r}"
    return f"{path}:{_number(node, location)}: {'.'.join(location) or '(whole)'}: {message}"


def _fields(parent: list[str]) -> list[str]:
    """Return the field names of the section at `parent`."""
    from quartet_gateway.config import AgentModels, ModelEntry, Price, Retries, TaskBudget

    if not parent:
        return list(GatewayFile.model_fields)
    match parent:
        case ["agents"]:
            return list(AGENTS)
        case ["agents", _]:
            return list(AgentModels.model_fields)
        case ["tasks"]:
            return list(TaskBudget.model_fields)
        case ["retries"]:
            return list(Retries.model_fields)
        case ["models", _, "price"]:
            return list(Price.model_fields)
        case _:
            return list(ModelEntry.model_fields)


def _number(node: Any, location: list[str]) -> int:
    """Return the line of the field, or of the nearest section around it."""
    line = node.start_mark.line + 1
    for part in location:
        if not isinstance(node, yaml.MappingNode):
            break
        found = next(((k, v) for k, v in node.value if k.value == part), None)
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line
