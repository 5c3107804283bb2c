"""Reader of gateway.yaml; an error names file, line, field and what is valid."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from quartet_gateway.config import AGENTS, GatewayFile
from quartet_gateway.errors import ConfigurationError

DEFAULT = Path("deploy") / "gateway.yaml"
MOST_BYTES = 1024 * 1024
MOST_LEVELS = 20
MOST_VALUES = 20_000


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
    text = _read(path)
    try:
        _check_depth(text)
        node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
        _check_values(node)
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        # The constructors of dates and of tags such as !!int raise what they like.
        raise ConfigurationError(f"{path} is not YAML: {str(error)[:1000]}") from error
    if data is None:
        return GatewayFile()
    if not isinstance(data, dict):
        raise ConfigurationError(f"{path} must hold a mapping with models, agents, tasks and retries")
    try:
        return GatewayFile.model_validate(data)
    except ValidationError as error:
        lines = [_line(path, node, e) for e in error.errors(include_url=False)]
        raise ConfigurationError("\n".join(lines)) from error


def _read(path: Path) -> str:
    """Return the text of a file. Raises ConfigurationError, also for a pipe or a device, which may have no end."""
    remedy = "Set QUARTET_GATEWAY_FILE to the gateway's file"
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ConfigurationError(f"{path} cannot be read: it is no regular file. {remedy}")
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}. {remedy}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8 text: {error}. {remedy}") from error
    if len(data) > MOST_BYTES:
        raise ConfigurationError(f"{path} is too long: at most {MOST_BYTES} bytes are read. {remedy}")
    return text


def _check_depth(text: str) -> None:
    """Check how deep a file is nested, before the composer, which ends the process at a great depth."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_LEVELS:
            raise yaml.YAMLError(f"line {event.start_mark.line + 1}: it is nested deeper than {MOST_LEVELS} levels")


def _check_values(node: Any) -> None:
    """Check how many values a file has, each as often as an alias (*) repeats it."""
    waiting, seen = [node], 0
    while waiting:
        one = waiting.pop()
        seen += 1
        if seen > MOST_VALUES:
            raise yaml.YAMLError(f"it has more than {MOST_VALUES} values, each as often as an alias (*) repeats it")
        if isinstance(one, yaml.MappingNode):
            waiting += [part for pair in one.value for part in pair]
        elif isinstance(one, yaml.SequenceNode):
            waiting += one.value


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
