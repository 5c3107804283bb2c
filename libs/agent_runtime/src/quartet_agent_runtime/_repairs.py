"""Repairs of calls that models and clients write slightly wrong, where the schema leaves exactly one meaning.

A string stays a string where the schema takes one, and nothing is guessed: what has two readings is left as it is.
"""

import json
import math
import re
from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from typing import Any, NamedTuple, cast

from quartet_agent_runtime import _metrics as metrics

MAX_LAYERS = 4
"""Encodings and fences around one JSON object that are removed."""
MAX_PARTS = 5000
"""Parts of a schema that are compared with the values of one call."""
MAX_SHOWN = 60
"""Maximum length of a value in the words about its repair."""
MAX_WORDS = 600
"""Maximum length of the words about all repairs of a call."""
NOTHING = ("", "null", "None")
FENCE = re.compile(r"```\w*\s*(.*?)\s*```", re.DOTALL)
TRAILING = re.compile(r"(?:[\]})`,;\s]|</?[\w|]+>)*")
"""Brackets, fences and tags that may follow a JSON object."""
SEPARATOR = re.compile(r"[.:/]|__")
TAGS = r"<\W{0,2}(?:tool|function)[\W_]?(?:calls?|code)\b|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|to=functions\."
"""Marks of a call in chat templates of Qwen, Hermes, Llama, Mistral, DeepSeek, Gemma and gpt-oss."""
TYPES = {"boolean": (bool,), "number": (int, float), "integer": (int, float), "array": (list,), "object": (dict,)}
"""JSON types that a model may write as a string, and the types of their values here."""
Schema = dict[str, Any]


class RepairKind(StrEnum):
    """Kinds of repairs, as the metric counts them."""

    NAME = "name"
    TEXT = "text"
    TYPE = "type"
    EMPTY = "empty"
    EXTRA = "extra"


class Repair(NamedTuple):
    """One repair, in words for the model."""

    kind: RepairKind
    words: str


def note_repairs(agent: str, repairs: Iterable[Repair]) -> str:
    """Count the repairs of one call, each kind once, and return the words about them; "" if there are none."""
    repairs = list(repairs)
    for kind in {repair.kind for repair in repairs}:
        metrics.REPAIRS.labels(agent, kind).inc()
    return "; ".join(repair.words for repair in repairs)[:MAX_WORDS]


def resolve_name(name: str, offered: Collection[str]) -> str | None:
    """Return the only offered tool that `name` can mean, such as pick for functions.pick; None if there is not one."""
    if name in offered:
        return name
    # gpt-oss may append the channel: pick<|channel|>json.
    parts = SEPARATOR.split(name.partition("<|")[0].strip())
    fitting = [tool for tool in offered if all(parts) and _share_end(parts, SEPARATOR.split(tool))]
    return fitting[0] if len(fitting) == 1 else None


def _share_end(one: list[str], other: list[str]) -> bool:
    length = min(len(one), len(other))
    return one[-length:] == other[-length:]


def is_written_call(text: str, offered: Iterable[str]) -> bool:
    """Return whether `text` contains a tool call, in tags of a chat template, as JSON or as code."""
    names = "|".join(map(re.escape, offered))
    call = rf'"(?:name|tool|function|action)"\s*:\s*"[^"]*\b(?:{names})"|(?<!\w)(?:{names})\('
    return re.search(f"{TAGS}|{call}", text, re.IGNORECASE) is not None


def decode(text: str) -> tuple[Any, list[Repair]]:
    """Return the JSON value in `text`, also if it is encoded twice, fenced, or followed by brackets.

    Raises ValueError if it is not JSON, is followed by anything else, or has one key with two values.
    """
    value: Any = text
    repairs: list[Repair] = []
    for _ in range(MAX_LAYERS):
        text = value.strip()
        if fenced := FENCE.fullmatch(text):
            repairs.append(Repair(RepairKind.TEXT, "send arguments without a fence"))
            text = fenced[1]
        value, end = _DECODER.raw_decode(text)
        if rest := text[end:].strip():
            if not TRAILING.fullmatch(rest):
                raise ValueError(f"something follows the JSON value: {rest[:MAX_SHOWN]!r}")
            repairs.append(Repair(RepairKind.TEXT, f"ignored {rest[:MAX_SHOWN]!r} after the arguments"))
        if not isinstance(value, str):
            break
        repairs.append(Repair(RepairKind.TEXT, "send arguments as a JSON object, not as a string that contains one"))
    return value, repairs


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            raise ValueError(f"the key {key[:MAX_SHOWN]!r} has two values")
    return found


_DECODER = json.JSONDecoder(parse_constant=_reject_constant, object_pairs_hook=_read_object)


class ValueRepairs:
    """Repairs the values of one call: what a string holds instead of being it, and empty optional arguments."""

    def __init__(self, schema: Schema, accepts: Callable[[Any, Schema], bool]) -> None:
        """`accepts` returns whether a value fits a part of `schema`."""
        self._schema, self._accepts = schema, accepts
        self._definitions = cast("Schema", schema.get("$defs", {}))
        self._parts = iter(range(MAX_PARTS))

    def apply(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[Repair]]:
        """Return the arguments with their repairs; unchanged where the schema is too odd to follow."""
        made: list[Repair] = []
        try:
            return self._fit(arguments, self._schema, "", made), made
        except Exception:
            # The schema or the value repeats itself without end; the check that follows names the fault.
            return arguments, []

    def _fit(self, value: Any, schema: Schema, where: str, made: list[Repair]) -> Any:
        """Return `value`, repaired where `schema` leaves one meaning; add the repairs to `made`."""
        if next(self._parts, None) is None:
            raise RecursionError
        if isinstance(reference := schema.get("$ref"), str):
            return self._fit(value, self._definitions[reference.rpartition("/")[2]], where, made)
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            return self._fit_one_of(value, schema, choices, where, made)
        if isinstance(value, str) and (parsed := _parse(value, schema.get("type"))) is not None:
            made.append(Repair(RepairKind.TYPE, f"{where}: {_shown(value)} was read as {_shown(parsed)}"))
            value = parsed
        if isinstance(value, dict):
            return self._fit_object(cast("dict[str, Any]", value), schema, where, made)
        if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
            entries = enumerate(cast("list[Any]", value))
            return [self._fit(one, cast("Schema", items), f"{where}.{index}", made) for index, one in entries]
        return value

    def _fit_one_of(self, value: Any, schema: Schema, choices: list[Schema], where: str, made: list[Repair]) -> Any:
        """Return what fits one of `choices`, or `value` if it fits as it is or can be read in several ways."""
        if isinstance(value, str) and self._accepts(value, schema):
            return value
        found: list[tuple[Any, list[Repair]]] = []
        for choice in choices:
            repairs: list[Repair] = []
            fitted = self._fit(value, choice, where, repairs)
            if self._accepts(fitted, choice) and all(fitted != other for other, _ in found):
                found.append((fitted, repairs))
        if len(found) != 1:
            return value
        made += found[0][1]
        return found[0][0]

    def _fit_object(self, fields: dict[str, Any], schema: Schema, where: str, made: list[Repair]) -> dict[str, Any]:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        fitted: dict[str, Any] = {}
        for name, value in fields.items():
            inner = f"{where}.{name}".lstrip(".")
            if name not in properties:
                fitted[name] = value
            elif name not in required and self._is_left_out(value, properties[name]):
                made.append(Repair(RepairKind.EMPTY, f"{inner}: {_shown(value)} was read as left out"))
            else:
                fitted[name] = self._fit(value, properties[name], inner, made)
        return fitted

    def _is_left_out(self, value: Any, schema: Schema) -> bool:
        """Return whether an optional argument is nothing: not valid, or a blank where nothing is the default."""
        if value is not None and value not in NOTHING:
            return False
        return not self._accepts(value, schema) or (value == "" and schema.get("default", "") is None)


def _parse(text: str, kind: Any) -> Any:
    """Return the number, boolean, list or object in `text` if the schema's type `kind` wants that; else None."""
    kinds = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
    if "string" in kinds:
        return None
    try:
        value, repairs = decode(text.lower() if text.lower() in {"true", "false"} else text)
    except (ValueError, RecursionError):
        return None
    wanted = any(type(value) in of for name, of in TYPES.items() if name in kinds)
    return value if wanted and not repairs and value not in (math.inf, -math.inf) else None


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:MAX_SHOWN]
