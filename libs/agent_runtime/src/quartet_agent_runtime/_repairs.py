"""Repairs of calls that models and clients write slightly wrong, where the schema leaves exactly one meaning."""

import json
import math
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, Literal, cast

from quartet_agent_runtime import _metrics as metrics

Schema = dict[str, Any]
Repair = tuple[Literal["name", "text", "type", "empty", "extra"], str]
"""Kind, as the metric counts it, and words for the model."""
MAX_LAYERS, MAX_PARTS = 4, 5000
"""Encodings around one JSON object that are removed; parts of a schema that are compared with one call's values."""
MAX_SHOWN, MAX_WORDS = 60, 600
"""Maximum length of one value, and of the words about one call [characters]."""
FENCE, LANGUAGE = "```", re.compile(r"\w*")
TRAILING = re.compile(r"(?:[\]})`,;\s]|</?[\w|]+>)*")
"""Brackets, fences and tags that may follow a JSON object."""
SEPARATOR = re.compile(r"[.:/]|__")
TAGS = r"<\W{0,2}(?:tool|function)[\W_]?(?:calls?|code)\b|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|to=functions\."
"""Marks of a call in chat templates of Qwen, Hermes, Llama, Mistral, DeepSeek, Gemma and gpt-oss."""
TYPES = {"boolean": (bool,), "number": (int, float), "integer": (int, float), "array": (list,), "object": (dict,)}
"""JSON types that a model may write as a string, and the types of their values here."""


def note_repairs(agent: str, repairs: Collection[Repair]) -> str:
    """Count each kind of repair of one call once, and return the words about all of them."""
    for kind in {kind for kind, _ in repairs}:
        metrics.REPAIRS.labels(agent, kind).inc()
    return "; ".join(words for _, words in repairs)[:MAX_WORDS]


def resolve_name(name: str, offered: Collection[str]) -> str | None:
    """Return the only offered tool that `name` can mean, such as pick for functions.pick, or None."""
    if name in offered:
        return name
    # gpt-oss may append the channel: pick<|channel|>json.
    parts = SEPARATOR.split(name.partition("<|")[0].strip())
    fitting = [tool for tool in offered if all(parts) and _end_alike(parts, SEPARATOR.split(tool))]
    return fitting[0] if len(fitting) == 1 else None


def _end_alike(one: list[str], other: list[str]) -> bool:
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
        if text.startswith(FENCE) and text.endswith(FENCE) and len(text) > 2 * len(FENCE):
            repairs.append(("text", "send arguments without a fence"))
            text = text[len(FENCE) : -len(FENCE)]
            text = text[LANGUAGE.match(text).end() :].strip()  # pyright: ignore[reportOptionalMemberAccess]
        value, end = _DECODER.raw_decode(text)
        if rest := text[end:].strip():
            if not TRAILING.fullmatch(rest):
                raise ValueError(f"something follows the JSON value: {rest[:MAX_SHOWN]!r}")
            repairs.append(("text", f"ignored {rest[:MAX_SHOWN]!r} after the arguments"))
        if not isinstance(value, str):
            break
        repairs.append(("text", "send arguments as a JSON object, not as a string that contains one"))
    return value, repairs


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            raise ValueError(f"the key {key[:MAX_SHOWN]!r} has two values")
    return found


_DECODER = json.JSONDecoder(parse_constant=_reject_constant, object_pairs_hook=_read_object)


class ValueRepairs:
    """Repairs the values of one call: other types written as strings, and empty optional arguments."""

    def __init__(self, schema: Schema, accepts: Callable[[Any, Schema], bool]) -> None:
        """`accepts` returns whether a value fits a part of `schema`."""
        self._schema, self._accepts = schema, accepts
        self._parts = iter(range(MAX_PARTS))

    def apply(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[Repair]]:
        """Return the arguments with their repairs; unchanged if the schema cannot be followed."""
        made: list[Repair] = []
        try:
            return self._fit(arguments, self._schema, "", made), made
        except Exception:
            # A schema that names itself without end, or a definition that is missing: validation reports it.
            return arguments, []

    def _fit(self, value: Any, schema: Schema, where: str, made: list[Repair]) -> Any:
        """Return `value` repaired if `schema` leaves one meaning; add the repairs to `made`."""
        if next(self._parts, None) is None:
            raise RecursionError
        if isinstance(reference := schema.get("$ref"), str):
            return self._fit(value, self._schema["$defs"][reference.rpartition("/")[2]], where, made)
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            is_valid_text = isinstance(value, str) and self._accepts(value, schema)
            return value if is_valid_text else self._fit_one_of(value, choices, where, made)
        if isinstance(value, str) and (parsed := _parse(value, schema.get("type"))) is not None:
            made.append(("type", f"{where}: {_shown(value)} was read as {_shown(parsed)}"))
            value = parsed
        elif self._is_lone(value, schema):
            made.append(("type", f"{where}: {_shown(value)} was read as {_shown([value])}"))
            value = [value]
        if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
            entries = enumerate(cast("list[Any]", value))
            return [self._fit(one, cast("Schema", items), f"{where}.{index}", made) for index, one in entries]
        if not isinstance(value, dict):
            return cast("Any", value)
        fitted: dict[str, Any] = {}
        for name, one in cast("dict[str, Any]", value).items():
            of, inner = schema.get("properties", {}).get(name, {}), f"{where}.{name}".lstrip(".")
            if of and name not in schema.get("required", []) and self._is_left_out(one, of):
                made.append(("empty", f"{inner}: {_shown(one)} was read as left out"))
            else:
                fitted[name] = self._fit(one, of, inner, made)
        return fitted

    def _fit_one_of(self, value: Any, choices: list[Schema], where: str, made: list[Repair]) -> Any:
        """Return what fits one of `choices`; `value` if it can be read in several ways or in none."""
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

    def _is_lone(self, value: Any, schema: Schema) -> bool:
        """Return whether `value` is one text where a list of texts is wanted; with a comma it may be several."""
        is_text = isinstance(value, str) and value != "" and "," not in value
        return is_text and not self._accepts(value, schema) and self._accepts([value], schema)

    def _is_left_out(self, value: Any, schema: Schema) -> bool:
        """Return whether an optional argument is empty: not valid, or a blank where the default is null."""
        empty = value is None or value in ("", "null", "None")
        return empty and (not self._accepts(value, schema) or (value == "" and schema.get("default", "") is None))


def _parse(text: str, kind: Any) -> Any:
    """Return the number, boolean, list or object in `text` if the schema's type `kind` wants that; else None."""
    kinds = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
    if "string" in kinds or not any(one in TYPES for one in kinds):
        return None
    try:
        value, repairs = decode(text.lower() if text.lower() in {"true", "false"} else text)
    except (ValueError, RecursionError):
        return None
    wanted = any(type(value) in of for name, of in TYPES.items() if name in kinds)
    return value if wanted and not repairs and value not in (math.inf, -math.inf) else None


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:MAX_SHOWN]
