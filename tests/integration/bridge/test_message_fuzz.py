"""Whatever a client sends becomes a message that fits its type, or an error; never anything else."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from quartet_simulation.bridge.encoding import cbor_values, to_cdr, to_json
from quartet_simulation.errors import TypeSupportError
from quartet_simulation.ros.definitions import PRIMITIVES, Definition, load
from quartet_simulation.ros.types import check, complete, definition

NAMES = sorted(part.name for _, all_parts in load().values() for part in all_parts)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def nearly(of: Definition, depth: int = 0) -> st.SearchStrategy[Any]:
    """Objects with the right field names and values that are right or wrong."""
    fields: dict[str, st.SearchStrategy[Any]] = {}
    for field in of.fields:
        value: st.SearchStrategy[Any]
        if field.base in ("float32", "float64"):
            value = st.floats() | st.integers()
        elif field.base in PRIMITIVES:
            value = st.booleans() | st.integers(-(2**65), 2**65) | st.text(max_size=4)
        elif depth < 2:
            value = nearly(definition(field.base), depth + 1)
        else:
            value = st.just({})
        fields[field.name] = st.lists(value, max_size=3) if field.length is not None else value
    return st.fixed_dictionaries({}, optional=fields) | json_values


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_complete_gives_a_message_or_an_error(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    try:
        message = complete(name, data.draw(nearly(definition(name))))
    except TypeSupportError:
        return
    check(name, message)
    to_json(message)
    cbor_values(definition(name), message)
    to_cdr(definition(name), message)
