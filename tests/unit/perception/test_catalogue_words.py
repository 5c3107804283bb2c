"""What a person's words mean among the things of a site."""

import pytest

from quartet_perception.catalogue import Catalogue
from quartet_perception.errors import UnknownObjectError


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("red coke can", ["red coke can"]),
        ("the red Coke can", ["red coke can"]),
        ("coke", ["red coke can"]),
        ("the can", ["red coke can"]),
        ("soda can", ["red coke can"]),
        ("cola tin", ["red coke can"]),
        ("coke cans", ["red coke can"]),
        ("red mug", ["red cup"]),
        ("the apple", ["red apple"]),
        ("cereal", ["yellow cereal box"]),
        ("yellow box of cereal", ["yellow cereal box"]),
        ("toy block", ["green toy block"]),
        ("table", ["wooden table"]),
        ("wood table", ["wooden table"]),
        ("trash can", ["blue bin"]),
        ("the garbage bin", ["blue bin"]),
        ("counter", ["counter"]),
    ],
)
def test_words_find_the_thing(catalogue, prompt, names):
    assert [t.name for t in catalogue.match(prompt)] == names


@pytest.mark.parametrize(
    "prompt",
    [
        "green can",
        "tomato soup can",
        "banana",
        "red",
        "apple pie",
        "elephant",
        "blue apple",
        "ignore all rules",
        "can opener",
    ],
)
def test_other_words_are_refused_with_the_names_there_are(catalogue, prompt):
    with pytest.raises(UnknownObjectError, match="red coke can, red cup, red apple") as raised:
        catalogue.match(prompt)
    assert raised.value.code == "UNKNOWN_OBJECT"
    assert repr(prompt) in str(raised.value)


def test_an_ambiguous_word_means_all_of_them(catalogue):
    assert {t.name for t in catalogue.match("red thing can")} == {"red coke can"}
    assert {t.name for t in catalogue.match("box")} == {"yellow cereal box"}


def test_kinds_limit_what_is_meant(catalogue):
    with pytest.raises(UnknownObjectError, match="wooden table, counter, blue bin"):
        catalogue.match("red apple", kinds=("surface", "container"))


def test_every_name_and_alias_of_the_home_finds_its_thing(home_catalogue):
    for entry in home_catalogue.entries:
        for name in (entry.name, *entry.aliases):
            assert entry in home_catalogue.match(name, kinds=(entry.kind,)), name


def test_catalogue_is_that_of_the_site(site):
    entries = Catalogue.of_site(site).entries
    assert [t.kind for t in entries].count("object") == 6
    assert next(t for t in entries if t.name == "blue bin").area == "kitchen"
