"""Which names of places mean the floor."""

import pytest

from quartet_site import is_floor


@pytest.mark.parametrize(
    "name",
    [
        "floor",
        "the ground",
        "here",
        "Kitchen Floor",
        "floor area",
        "floor by the door",
        "carpet of the living room",
        "rug",
    ],
)
def test_words_for_the_floor(name):
    assert is_floor(name)


@pytest.mark.parametrize("name", ["table", "floor lamp", "ground floor shelf", "can on the floor", "where", ""])
def test_words_for_something_else(name):
    assert not is_floor(name)
