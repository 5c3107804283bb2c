"""What a person's words mean among the things of a site."""

from typing import Any

import pytest

from quartet_perception.catalogue import Catalogue
from quartet_perception.errors import UnknownObjectError
from quartet_perception.perceiver import Perceiver
from quartet_site import PolicyFile, SiteFile
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
            meant = {argument: words, **perceiver.names_meant("get_topdown_grasp_pose", {argument: words})}
            assert (policy.rule("pick", "perception__get_topdown_grasp_pose", meant) is not None) is denied


@pytest.mark.parametrize(
    ("listed", "passes"), [(["coke"], False), (["red coke can"], False), (["coke", "red coke can"], True)]
)
def test_an_auto_rule_has_the_words_as_given_and_all_that_they_mean(catalogue, site, listed, passes):
    unused: Any = None
    tool, given = "get_topdown_grasp_pose", {"object_name": "coke"}
    meant = given | Perceiver(unused, site, unused, catalogue).names_meant(tool, given)
    auto = {"tool": "perception__*", "when": {"object_name": {"one_of": listed}}, "then": "auto"}
    approval = [auto, {"tool": "perception__*", "then": "ask"}]
    policy = CallPolicy(PolicyFile.model_validate({"approval": approval}), PendingApprovals("summit", [], 60))
    assert (policy.rule("pick", f"perception__{tool}", meant) is None) is passes


def test_names_that_are_no_text_reach_the_tool_that_refuses_them(catalogue, site):
    unused: Any = None
    perceiver = Perceiver(unused, site, unused, catalogue)
    given = {"object_name": 3, "names": [None, {"a": 1}]}
    assert perceiver.names_meant("detect_objects", given) == {"names": [None, {"a": 1}]}


@pytest.fixture
def words_in_common(site):
    """A site with things whose names have words in common with those of its places."""
    given = site.model_dump()
    (bin_,), (shelf, *others), (can, *things) = given["containers"], given["surfaces"], given["objects"]
    given["containers"] = [bin_ | {"name": "bin", "aliases": ["rubbish bin", "trash can"]}]
    given["surfaces"] = [shelf | {"name": "bookshelf", "aliases": ["book shelf"]}, *others]
    given["objects"] = [can, *things, can | {"name": "rubbish", "aliases": []}]
    return SiteFile.model_validate(given)


@pytest.mark.parametrize(
    ("tool", "argument", "words", "meant"),
    [
        ("get_topdown_grasp_pose", "object_name", "rubbish", {"rubbish"}),
        ("get_topdown_grasp_pose", "object_name", "book", {"blue book"}),
        ("get_topdown_grasp_pose", "object_name", "cans", {"red coke can"}),
        ("get_topdown_placing_pose", "held_object", "rubbish", {"rubbish"}),
        ("get_topdown_placing_pose", "object_name", "garbage bins", {"bin"}),
        ("get_topdown_placing_pose", "object_name", "rubbish", {"rubbish", "bin"}),
        ("segment_objects", "prompt", "rubbish", {"rubbish"}),
        ("detect_objects", "names", "book", {"blue book"}),
        ("detect_objects", "names", "can", {"red coke can"}),
        ("last_seen", "names", "rubbish bin", {"bin"}),
    ],
)
def test_a_rule_on_one_thing_hits_no_other_one_that_the_tool_does_not_take_the_words_for(
    words_in_common, tool, argument, words, meant
):
    unused: Any = None
    perceiver = Perceiver(unused, words_in_common, unused, Catalogue.of_site(words_in_common))
    arguments = {argument: [words] if argument == "names" else words}
    for name in ("rubbish", "blue book", "red coke can", "bin", "bookshelf"):
        rule = {"tool": "perception__*", "when": {argument: {"one_of": [name]}}, "then": "deny"}
        policy = CallPolicy(PolicyFile.model_validate({"approval": [rule]}), PendingApprovals("summit", [], 60))
        denied = policy.rule("pick", f"perception__{tool}", arguments | perceiver.names_meant(tool, arguments))
        assert (denied is not None) is (name in meant), name
