"""Faults of pydantic and of YAML in plain words: what is wrong, what is valid, what to do."""

from collections.abc import Mapping
from typing import Any

import yaml

_FIELDS = "fields are needed here, each as `name: value`"
_NUMBER, _WHOLE = "a number is needed", "a whole number is needed"
_BY_TYPE = {
    "extra_forbidden": "there is no such field",
    "missing": "it is missing",
    "string_type": "text is needed; write a number or true/false between quotes",
    "bool_type": "true or false is needed",
    "bool_parsing": "true or false is needed",
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "finite_number": "a finite number is needed",
    "list_type": "a list is needed, as [a, b]",
    "tuple_type": "a list is needed, as [a, b]",
    "dict_type": _FIELDS,
    "model_type": _FIELDS,
    "model_attributes_type": _FIELDS,
    "greater_than": "it must be greater than {gt}",
    "greater_than_equal": "it must be at least {ge}",
    "less_than": "it must be less than {lt}",
    "less_than_equal": "it must be at most {le}",
    "literal_error": "valid: {expected}",
    "enum": "valid: {expected}",
    "too_short": "too few entries: {actual_length}; valid: at least {min_length}",
    "too_long": "too many entries: {actual_length}; valid: at most {max_length}",
    "string_too_short": "at least {min_length} characters are needed",
    "string_too_long": "at most {max_length} characters are valid",
    "union_tag_invalid": "there is no {discriminator} '{tag}'; valid: {expected_tags}",
    "union_tag_not_found": "the field {discriminator} is missing, which says what it is",
}
"""Texts for pydantic's types of errors, with the fields of their context."""
_YAML = {
    "mapping values are not allowed": "a ':' stands where none is allowed; put text that has ': ' between quotes",
    "could not find expected ':'": "a ':' is missing after the name of a field",
    "did not find expected ','": "a ',' or a closing bracket is missing",
    "did not find expected key": "its indentation does not fit the lines above, or a quote or bracket is left open",
    "did not find expected '-'": "its indentation does not fit the list above",
    "mapping keys are not allowed": "a '?' stands where none is allowed; put text that begins with '? ' between quotes",
    "block sequence entries are not allowed": "a '-' stands where no list is; begin a list on a line of its own",
    "tab character": "a tab stands where spaces are needed; indent with spaces",
    "cannot start any token": "a tab or a sign such as @ or ` begins a value; indent with spaces, or use quotes",
    "did not find expected node content": "a value is missing",
    "unexpected end of stream": "a closing quote or bracket is missing",
    "undefined alias": "an alias (*) has no anchor (&) before it; put text that begins with * between quotes",
    "constructor for the tag": "a tag (!) is not known; write the plain value",
    "unhashable key": "the name of a field is a list; put it between quotes",
    "unknown escape": "a backslash between double quotes begins nothing known; use single quotes",
    "characters are not allowed": "it has a character that no text file may have; remove it",
}
"""Parts of the texts of YAML readers, first that fits counts, and what they mean."""


def in_words(error: Mapping[str, Any]) -> str:
    """Return a fault of pydantic's `errors()` in words; a validator's own text stays as it is."""
    kind, text = error["type"], str(error["msg"])
    if kind in _BY_TYPE:
        context = {name: f"{one:g}" if isinstance(one, float) else one for name, one in error.get("ctx", {}).items()}
        return _BY_TYPE[kind].format_map(context)
    return text.removeprefix("Value error, ").removeprefix("Assertion failed, ")


def yaml_in_words(error: yaml.YAMLError, text: str) -> str:
    """Return a fault of a YAML reader in words, with its line in the `text` of the file where it is known."""
    marked = isinstance(error, yaml.MarkedYAMLError)
    problem = str(error.problem if marked else error)
    words = next((words for part, words in _YAML.items() if part in problem), None)
    mark = (error.problem_mark or error.context_mark) if marked else None
    if mark is None:
        return words or problem
    lines = text.splitlines()
    shown = f"'{lines[mark.line].strip()[:80]}'" if mark.line < len(lines) else "the end of the file"
    return f"line {mark.line + 1}, at {shown}: {words or 'it cannot be read; compare it with the lines above'}"
