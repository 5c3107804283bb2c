"""What a model is shown of a tool: no more than it needs, since every turn pays for it.

The whole schema still decides about a call: what is left out here is accepted, and what it forbids is refused there.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from quartet_agent_runtime._tools import ToolSpec

Schema = dict[str, Any]
NOISE = frozenset(
    {
        "title",
        "pattern",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
    }
)
"""Keywords that a model needs not, since its values come from results and the request; calls are checked for them."""

MAX_PARTS = 1000
"""Schemas that one tool's may have, with every definition in the place of its name."""


def shown_tool(spec: ToolSpec, prompt: str) -> dict[str, Any]:
    """Return the tool in OpenAI's chat format.

    A prompt that names the tool says how to use it: then the first paragraph of its description is shown, of its
    optional arguments those that the prompt names, and no descriptions of arguments that it names. Any other tool is
    shown whole, as its server describes it; so is one whose schema is odd or has definitions within definitions.
    """
    if not _names(prompt, spec.name):
        return _function(spec.name, spec.description, spec.schema)
    definitions = cast("dict[str, Schema]", spec.schema.get("$defs", {}))
    try:
        parameters = _lean(spec.schema, definitions, prompt, iter(range(MAX_PARTS)))
    except (StopIteration, AttributeError, TypeError):
        return _function(spec.name, spec.description, spec.schema)
    # The tool's own description says it.
    parameters.pop("description", None)
    if "$ref" in json.dumps(parameters):
        parameters["$defs"] = definitions
    return _function(spec.name, " ".join(spec.description.split("\n\n", 1)[0].split()), parameters)


def _function(name: str, description: str, parameters: Schema) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _names(prompt: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", prompt) is not None


def _lean(schema: Schema, definitions: dict[str, Schema], prompt: str, parts: Iterator[int]) -> Schema:
    """Return a schema without noise, references, null, and optional properties that the prompt does not name.

    Takes one of `parts` for each schema in it. Raises StopIteration when none is left: definitions that name each other
    would make ever more.
    """
    next(parts)
    found = {key: value for key, value in schema.items() if key not in NOISE and key != "$defs"}
    if found.get("additionalProperties") is False:
        del found["additionalProperties"]
    reference = found.pop("$ref", None)
    if isinstance(reference, str):
        target = definitions.get(reference.rpartition("/")[2])
        if target is None:
            return {**found, "$ref": reference}
        # What the definition says of itself, such as a class's docstring, is for programmers.
        rest = {name: value for name, value in definitions.items() if value is not target}
        return {**_lean({k: v for k, v in target.items() if k != "description"}, rest, prompt, parts), **found}
    if not found.get("default", True):
        # None, nothing or zero: what a reader expects of an argument that may be left out.
        del found["default"]
    for key in ("anyOf", "oneOf"):
        if isinstance(found.get(key), list):
            choices = [one for one in cast("list[Schema]", found.pop(key)) if one != {"type": "null"}]
            lean = [_lean(one, definitions, prompt, parts) for one in choices]
            found = {**lean[0], **found} if len(lean) == 1 else {**found, key: lean}
    if isinstance(found.get("items"), dict):
        found["items"] = _lean(cast("Schema", found["items"]), definitions, prompt, parts)
    if isinstance(found.get("properties"), dict):
        required = cast("list[str]", found.get("required", []))
        found["properties"] = {
            name: _property(name, _lean(one, definitions, prompt, parts), prompt)
            for name, one in cast("dict[str, Schema]", found["properties"]).items()
            if name in required or _names(prompt, name)
        }
    return found


def _property(name: str, schema: Schema, prompt: str) -> Schema:
    """Return a property without its description where the prompt speaks of it."""
    if not _names(prompt, name):
        return schema
    return {key: value for key, value in schema.items() if key != "description"}
