"""Takes values out of arguments and answers, as a mapping says."""

from collections.abc import Mapping
from typing import Any, cast

from quartet_tool_server.errors import ToolServerError
from quartet_tool_server.upstream._conversions import Context, convert
from quartet_tool_server.upstream._mapping import Value

ROOTS = ("$text", "$arguments", "$robot", "$images")


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()
"""Stands for a value that is not there or is null."""


class NotUnderstoodError(ToolServerError):
    """A value that cannot be taken or converted; the text says which and why."""


def at(path: str, roots: Mapping[str, Any]) -> Any:
    """Return the value at a dotted path, MISSING where there is none. Paths that begin with no `$` lie in roots['']."""
    first, _, rest = path.partition(".")
    current: Any = roots.get(first, MISSING) if first.startswith("$") else roots.get("", MISSING)
    names = rest if first.startswith("$") else path
    for name in names.split(".") if names else ():
        if isinstance(current, Mapping):
            current = cast(Mapping[str, Any], current).get(name, MISSING)
        elif isinstance(current, list) and name.isdigit() and int(name) < len(cast(list[Any], current)):
            current = cast(list[Any], current)[int(name)]
        else:
            return MISSING
    return MISSING if current is None else current


async def take(value: Value, roots: Mapping[str, Any], context: Context | None) -> Any:
    """The value that `value` describes, MISSING where it is not there.

    Raises NotUnderstoodError, TransformUnavailableError.
    """
    found = await _taken(value, roots, context)
    if found is MISSING:
        if value.default is None:
            return MISSING
        found = value.default
    if value.match is not None:
        hit = value.match.search(str(found))
        if hit is None:
            return MISSING
        found = hit.group(1) if value.match.groups else hit.group(0)
    for step in value.steps:
        found = await _converted(value, step, found, roots, context)
        if found is None:
            return MISSING
    return found


async def _taken(value: Value, roots: Mapping[str, Any], context: Context | None) -> Any:
    """The value before `default`, `match` and `as`."""
    if value.fields is not None:
        return await take_all(value.fields, roots, context)
    if value.items is not None:
        members = [await take(item, roots, context) for item in value.items]
        return MISSING if MISSING in members else members
    return value.constant if value.source is None else at(value.source, roots)


async def _converted(
    value: Value, step: Mapping[str, Any], found: Any, roots: Mapping[str, Any], context: Context | None
) -> Any:
    """`found` after one step of `as`."""
    ((name, parameter),) = step.items()
    if isinstance(parameter, str) and parameter.startswith("$"):
        parameter = at(parameter, roots)
        if parameter is MISSING:
            raise NotUnderstoodError(f"{step[name]}, the parameter of {name}, is not there")
    try:
        return await convert(name, found, parameter, context)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        where = value.source or "value"
        text = f"no '{error.args[0]}'" if isinstance(error, KeyError) else str(error)
        raise NotUnderstoodError(f"{where} cannot be converted ({name}): {text} (got {str(found)[:120]!r})") from error


async def take_all(values: Mapping[str, Value], roots: Mapping[str, Any], context: Context | None) -> dict[str, Any]:
    """An object of those values that are there. Raises NotUnderstoodError, TransformUnavailableError."""
    found = {name: await take(value, roots, context) for name, value in values.items()}
    return {name: value for name, value in found.items() if value is not MISSING}
