"""Read the arguments that a model or a client wrote, by a tool's JSON Schema."""

import json
from typing import Any, cast

from quartet_agent_runtime._repairs import Repair, ValueRepairs, decode
from quartet_agent_runtime.errors import ArgumentsError

MAX_ARGUMENT_CHARS = 16_000
PATTERNS = frozenset({"pattern", "patternProperties"})
NAMED = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose members have names of the schema's own."""
VALUES = frozenset({"const", "enum", "default", "examples", "required"})
"""Keywords with values, no schemas."""


def read_arguments(raw: Any, schema: dict[str, Any], shown: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the arguments, repaired, as a mapping that fits `schema`.

    Raises ArgumentsError with every fault, and with what is valid by `shown`: the schema that the caller sees, if it
    differs.
    """
    value, _ = repair_arguments(raw, schema)
    faults = _faults(value, schema)
    if faults:
        valid = schema if shown is None else shown
        known: dict[str, Any] = valid.get("properties", {})
        wrong = {name: known[name] for name, _ in faults if name in known}
        if "$ref" in json.dumps(wrong):
            wrong["$defs"] = valid.get("$defs", {})
        words = "; ".join(text for _, text in faults)
        raise ArgumentsError(
            f"arguments do not fit the schema: {words}. Valid: {', '.join(known)}; required: "
            f"{', '.join(schema.get('required', [])) or 'none'}{f'; schema: {json.dumps(wrong)}' if wrong else ''}"
        )
    return value


def repair_arguments(raw: Any, schema: dict[str, Any]) -> tuple[dict[str, Any], list[Repair]]:
    """Return the arguments as a mapping, and the repairs for which `schema` leaves exactly one meaning.

    Values that cannot be repaired are unchanged. Raises ArgumentsError if there is no mapping.
    """
    from jsonschema import Draft202012Validator

    value, repairs = _parse(raw)
    whole = Draft202012Validator(schema)
    value, more = ValueRepairs(schema, lambda part, of: bool(whole.evolve(schema=of).is_valid(part))).apply(value)  # pyright: ignore[reportUnknownMemberType]
    return value, [*repairs, *more]


def _parse(raw: Any) -> tuple[dict[str, Any], list[Repair]]:
    """Read JSON text; some local models send the object itself, or nothing where there are no arguments."""
    repairs: list[Repair] = []
    if isinstance(raw, str) and raw:
        if len(raw) > MAX_ARGUMENT_CHARS:
            raise ArgumentsError(f"arguments have {len(raw)} characters, at most {MAX_ARGUMENT_CHARS} are taken")
        try:
            raw, repairs = decode(raw)
        except ValueError as error:
            raise ArgumentsError(
                f"arguments are not JSON: {error}. Send one JSON object, such as {{}} for no arguments"
            ) from error
        except RecursionError:
            raise ArgumentsError("arguments are nested too deeply; send one flat JSON object") from None
    if raw is None or raw == "":
        return {}, repairs
    if not isinstance(raw, dict):
        raise ArgumentsError(f"arguments must be one JSON object, got {type(raw).__name__}")
    if not is_text(raw):
        raise ArgumentsError("arguments have half a surrogate pair (\\ud800 to \\udfff alone), which is no character")
    return cast("dict[str, Any]", raw), repairs


def is_text(value: Any) -> bool:
    """Whether `value` can be written as UTF-8: JSON can express halves of surrogate pairs, which are no characters."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def checkable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a server's schema without its regular expressions, which it checks itself.

    One that backtracks would keep this process busy for as long as it likes.
    """
    return {key: _checkable(key, value) for key, value in schema.items() if key not in PATTERNS}


def _checkable(key: str, value: Any) -> Any:
    if key in VALUES:
        return value
    if isinstance(value, list):
        return [
            checkable(cast("dict[str, Any]", one)) if isinstance(one, dict) else one for one in cast("list[Any]", value)
        ]
    if not isinstance(value, dict):
        return value
    named = cast("dict[str, Any]", value)
    if key in NAMED:
        return {
            name: checkable(cast("dict[str, Any]", one)) if isinstance(one, dict) else one
            for name, one in named.items()
        }
    return checkable(named)


def _faults(value: dict[str, Any], schema: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the argument ("" for the whole) and the words of at most eight faults."""
    # Imported here because it costs more than the process has time for before it is ready.
    from jsonschema import Draft202012Validator

    strict = schema if "additionalProperties" in schema else {**schema, "additionalProperties": False}
    try:
        errors = sorted(Draft202012Validator(strict).iter_errors(value), key=lambda e: list(map(str, e.absolute_path)))  # pyright: ignore[reportUnknownMemberType]
    except Exception as error:
        # A schema that names itself without end, or what is not there.
        raise ArgumentsError(
            f"the schema of this tool cannot be used ({type(error).__name__}); use another tool"
        ) from error
    found: list[tuple[str, str]] = []
    for error in errors[:8]:
        path = [str(part) for part in error.absolute_path]
        found.append((path[0] if path else "", f"{'.'.join(path) or '(whole)'}: {error.message[:300]}"))
    return found
