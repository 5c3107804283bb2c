"""Checks of the tools in a request against what a provider's documentation says of their schemas.

The rules of each family of models are in tests/integration/gateway/schema_rules.yaml. A check takes a function as a
model is shown it (name, description, parameters) and the rule's value, and yields what is wrong.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft7Validator, Draft202012Validator, SchemaError

Schema = dict[str, Any]
Function = dict[str, Any]
Check = Callable[[Function, Any], Iterator[str]]
OWN_RULES: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parents[1] / "integration" / "gateway" / "schema_rules.yaml").read_text()
)


def _rules_of(family: str) -> list[dict[str, Any]]:
    return [one for rule in OWN_RULES[family] for one in (_rules_of(rule["like"]) if "like" in rule else [rule])]


RULES = {family: _rules_of(family) for family in OWN_RULES}
DRAFTS = {"7": Draft7Validator, "2020-12": Draft202012Validator}


def functions_in(body: dict[str, Any]) -> list[Function]:
    """Return the functions that a request to a provider offers, with their schemas as `parameters`."""
    found: list[Function] = []
    for tool in body.get("tools") or body["toolConfig"]["tools"]:
        if "toolSpec" in tool:
            found.append({**tool["toolSpec"], "parameters": tool["toolSpec"]["inputSchema"]["json"]})
        elif "function_declarations" in tool:
            found += tool["function_declarations"]
        elif "input_schema" in tool:
            found.append({**tool, "parameters": tool["input_schema"]})
        else:
            found.append(tool.get("function", tool))
    return found


def types_in(function: Function) -> dict[str, str]:
    """Return the type of each argument, at any depth, by its path."""
    return {path: str(schema.get("type")).lower() for path, schema in schemas_in(function["parameters"])}


def schemas_in(schema: Any, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield a schema and all that it contains, each with its path."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for key in ("properties", "$defs", "patternProperties"):
        for name, one in (schema.get(key) or {}).items():
            yield from schemas_in(one, f"{path}.{name}")
    for key in ("items", "additionalProperties", "not", "contains", "propertyNames"):
        yield from schemas_in(schema.get(key), f"{path}.{key}")
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for number, one in enumerate(schema.get(key) or []):
            yield from schemas_in(one, f"{path}.{key}[{number}]")


def name(function: Function, pattern: str) -> Iterator[str]:
    """The tool's name matches a pattern."""
    if not re.fullmatch(pattern, function["name"]):
        yield f"its name does not match {pattern}"


def argument_names(function: Function, pattern: str) -> Iterator[str]:
    """The names of arguments, at any depth, match a pattern."""
    for path, schema in schemas_in(function["parameters"]):
        for argument in schema.get("properties", {}):
            if not re.fullmatch(pattern, argument):
                yield f"{path}.{argument}: does not match {pattern}"


def description(function: Function, _: Any) -> Iterator[str]:
    """The tool has a description."""
    if not function.get("description"):
        yield "it has no description"


def description_length(function: Function, most: int) -> Iterator[str]:
    """No description of a tool or an argument is longer than this."""
    for path, one in [("", function), *schemas_in(function["parameters"])]:
        if len(one.get("description", "")) > most:
            yield f"{path}: a description of {len(one['description'])} characters"


def root_is_object(function: Function, _: Any) -> Iterator[str]:
    """Arguments are an object."""
    if function["parameters"].get("type") != "object":
        yield f"its parameters are of type {function['parameters'].get('type')}"


def root_without(function: Function, words: list[str]) -> Iterator[str]:
    """The schema of the arguments has none of these keywords at its top level."""
    if found := sorted(set(words) & set(function["parameters"])):
        yield f"its parameters have {', '.join(found)}"


def root_keywords(function: Function, words: list[str]) -> Iterator[str]:
    """The schema of the arguments has no keywords but these at its top level."""
    if found := sorted(set(function["parameters"]) - set(words)):
        yield f"its parameters have {', '.join(found)}"


def keywords(function: Function, words: list[str]) -> Iterator[str]:
    """No schema has keywords but these."""
    for path, schema in schemas_in(function["parameters"]):
        if found := sorted(set(schema) - set(words)):
            yield f"{path}: {', '.join(found)}"


def without(function: Function, words: list[str]) -> Iterator[str]:
    """No schema has one of these keywords."""
    for path, schema in schemas_in(function["parameters"]):
        if found := sorted(set(words) & set(schema)):
            yield f"{path}: {', '.join(found)}"


def arrays_have_items(function: Function, _: Any) -> Iterator[str]:
    """Each array says of which type its items are."""
    for path, schema in schemas_in(function["parameters"]):
        if "array" in str(schema.get("type")).lower() and not schema.get("items"):
            yield f"{path}: an array without items"


def enums_of_strings(function: Function, _: Any) -> Iterator[str]:
    """The choices of an enum are texts."""
    for path, schema in schemas_in(function["parameters"]):
        if not all(isinstance(one, str) and one for one in schema.get("enum", [])):
            yield f"{path}: enum {schema['enum']}"


def required_exist(function: Function, _: Any) -> Iterator[str]:
    """Each required argument is among the properties."""
    for path, schema in schemas_in(function["parameters"]):
        if missing := sorted(set(schema.get("required", [])) - set(schema.get("properties", {}))):
            yield f"{path}: requires {', '.join(missing)}"


def no_empty_properties(function: Function, _: Any) -> Iterator[str]:
    """An object without arguments has no `properties`."""
    for path, schema in schemas_in(function["parameters"]):
        if schema.get("properties", True) == {}:
            yield f"{path}: empty properties"


def no_pattern_with_length(function: Function, _: Any) -> Iterator[str]:
    """A text has a pattern or format, or bounds of its length, not both."""
    for path, schema in schemas_in(function["parameters"]):
        if {"pattern", "format"} & set(schema) and {"minLength", "maxLength"} & set(schema):
            yield f"{path}: a pattern beside a length"


def patterns_are_anchored(function: Function, _: Any) -> Iterator[str]:
    """A pattern begins with ^ and ends with $."""
    for path, schema in schemas_in(function["parameters"]):
        if not re.fullmatch(r"\^.*\$", schema.get("pattern", "^$")):
            yield f"{path}: pattern {schema['pattern']}"


def no_choice_beside_properties(function: Function, _: Any) -> Iterator[str]:
    """An object has properties or a choice of schemas, not both."""
    for path, schema in schemas_in(function["parameters"]):
        if "properties" in schema and {"anyOf", "oneOf"} & set(schema):
            yield f"{path}: a choice beside properties"


def arguments_have_types(function: Function, _: Any) -> Iterator[str]:
    """Each schema has a type, or a choice of schemas."""
    for path, schema in schemas_in(function["parameters"]):
        if not {"type", "anyOf"} & set(schema):
            yield f"{path}: no type"


def valid_schema(function: Function, draft: str) -> Iterator[str]:
    """The parameters are a schema of this draft of JSON Schema."""
    try:
        DRAFTS[draft].check_schema(function["parameters"])
    except SchemaError as error:
        yield f"not a schema of draft {draft}: {error.message}"


def not_strict(function: Function, _: Any) -> Iterator[str]:
    """The tool says that it is not to be made strict."""
    if function.get("strict") is not False:
        yield "strict is not false"


CHECKS: dict[str, Check] = {
    one.__name__: one
    for one in (
        name,
        argument_names,
        description,
        description_length,
        root_is_object,
        root_without,
        root_keywords,
        keywords,
        without,
        arrays_have_items,
        enums_of_strings,
        required_exist,
        no_empty_properties,
        no_pattern_with_length,
        patterns_are_anchored,
        no_choice_beside_properties,
        arguments_have_types,
        valid_schema,
        not_strict,
    )
}


def broken_schema_rules(functions: Sequence[Function], family: str, *, sent: bool = False) -> list[str]:
    """Return which rules of a family the functions of one request break; `sent`: as LiteLLM sends them."""
    broken: list[str] = []
    for rule in RULES[family]:
        if rule.get("sent", False) and not sent:
            continue
        broken += [f"{one}; see {rule['page']}" for one in broken_rule(functions, rule)]
    return broken


def broken_rule(functions: Sequence[Function], rule: dict[str, Any]) -> Iterator[str]:
    """Yield how the functions of one request break a rule."""
    if rule["rule"] == "most_tools":
        if len(functions) > rule["value"]:
            yield f"{len(functions)} tools, at most {rule['value']}"
        return
    for function in functions:
        for what in CHECKS[rule["rule"]](function, rule.get("value")):
            yield f"{function['name']}: {rule['rule']}: {what}"
