"""What a person's words mean among the things of a site."""

from typing import Any

import pytest

from quartet_perception.catalogue import Catalogue
from quartet_perception.errors import UnknownObjectError
from quartet_perception.perceiver import Perceiver
from quartet_site import PolicyFile
from quartet_tool_server._approvals import PendingApprovals
from quartet_tool_server._policy import CallPolicy


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


@pytest.mark.parametrize(
    "prompt",
    [
        "red coke can",
        "coke cans",
        "cola tin",
        "the can",
        "can coke red",
        "red cokee can",
        "red\u200b coke can",
        "Ｃｏｋｅ",
    ],
)
def test_a_policys_rule_on_a_thing_holds_for_all_words_that_the_catalogue_takes_for_it(catalogue, site, prompt):
    """A person denies one name; which words the cameras are then asked for is up to a model."""
    unused: Any = None
    perceiver = Perceiver(unused, site, unused, catalogue)
    rule = {"tool": "perception__*", "then": "deny"}
    for argument, given, path in (
        ("object_name", prompt, "object_name"),
        ("names", ["red apple", prompt], "names.1"),
        ("names", ["red apple", prompt], "names"),
    ):
        approval = [{**rule, "when": {path: {"one_of": ["red coke can"]}}}]
        policy = CallPolicy(PolicyFile.model_validate({"approval": approval}), PendingApprovals("summit", [], 60))
        for words, denied in ((given, True), (["mug"] * 2 if isinstance(given, list) else "mug", False)):
            meant = {argument: words, **perceiver.names_meant({argument: words})}
            assert (policy.rule("pick", "perception__get_topdown_grasp_pose", meant) is not None) is denied


def test_names_that_are_no_text_reach_the_tool_that_refuses_them(catalogue, site):
    unused: Any = None
    perceiver = Perceiver(unused, site, unused, catalogue)
    assert perceiver.names_meant({"object_name": 3, "names": [None, {"a": 1}]}) == {"names": [None, {"a": 1}]}
