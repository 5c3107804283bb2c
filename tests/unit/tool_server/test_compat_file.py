"""The compatibility file: faults are reported with their place and the valid values."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from quartet_site import SiteFileError
from quartet_tool_server.compat import load_compat

SHIPPED = sorted((Path(__file__).parents[3] / "deploy" / "compat").glob("*.yaml"))
POSE = "nav2__get_robot_pose"


@pytest.fixture
def load(tmp_path):
    def write(tool: dict[str, Any]):
        path = tmp_path / "rules.yaml"
        path.write_text(yaml.safe_dump({"servers": {"nav": {"where": tool}}}, sort_keys=False))
        return load_compat(path)

    return write


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_files_load(path):
    assert load_compat(path).tools


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ({"tool": "get_robot_pose"}, "get_robot_pose"),
        ({"tool": POSE, "renames": {}}, "renames"),
        ({"cases": []}, "at least 1"),
        ({"ignores": ["x"]}, "a case without a tool has a result"),
        ({"result": {"constant": 1}, "then": {"more": {"tool": POSE}}}, "a case without a tool has a result"),
        ({"tool": POSE, "result": "$seen.x"}, "'$seen' is not a beginning of a path here; valid: $text, $arguments"),
        (
            {"tool": POSE, "then": {"seen": {"tool": POSE}}, "result": {"fields": {"a": "$sean.x"}}},
            "valid: $text, $arguments, $seen",
        ),
        ({"tool": POSE, "result": {"from": "pose", "as": "area"}}, "'area' needs the robot"),
        ({"tool": POSE, "result": {"from": "pose", "as": "metres"}}, "'metres' is not a conversion"),
        ({"tool": POSE, "otherwise": {"tool": POSE, "result": "$seen.x"}}, "'$seen' is not a beginning"),
        ({"tool": POSE, "when": {"has": ["$seen.x"]}}, "'$seen' is not a beginning of a path here"),
        ({"tool": POSE, "result": {"when": {"where": {"$sean.x": 1}}, "from": "pose"}}, "'$sean' is not a beginning"),
        ({"tool": POSE, "result": {"from": "x", "as": {"scaled": "$sean.x"}}}, "'$sean' is not a beginning"),
        ({"tool": POSE, "then": {"text": {"tool": POSE}}}, "'text' is no name for a call"),
        ({"tool": POSE, "then": {"arguments": {"tool": POSE}}}, "'arguments' is no name for a call"),
        ({"tool": POSE, "then": {"seen": {}}}, "then.seen: the tool is missing"),
        (
            {"tool": POSE, "then": {"seen": {"tool": POSE, "arguments": {"a": "$late.x"}}, "late": {"tool": POSE}}},
            "then.seen: '$late' is not a beginning of a path here; valid: $text, $arguments",
        ),
        (
            {"tool": POSE, "then": {"seen": {"tool": POSE, "when": {"has": ["$seen.x"]}}}},
            "then.seen: '$seen' is not a beginning",
        ),
        (
            {"tool": POSE, "then": {"seen": {"tool": POSE, "arguments": {"a": {"from": "pose", "as": "area"}}}}},
            "then.seen: 'area' needs the robot",
        ),
    ],
)
def test_faults_are_reported(load, tool, words):
    with pytest.raises(SiteFileError, match=r"rules\.yaml") as caught:
        load(tool)
    assert words in str(caught.value)


def test_a_later_call_takes_what_an_earlier_one_returned(load):
    later = {"tool": POSE, "when": {"has": ["$seen.x"]}, "arguments": {"a": {"from": "x", "as": {"scaled": "$seen.x"}}}}
    assert load({"tool": POSE, "then": {"seen": {"tool": POSE}, "later": later}, "result": "$later.x"})


def test_every_tool_that_may_be_called_is_granted(load):
    rules = load({"tool": POSE, "then": {"a": {"tool": "ros__get_nodes"}}, "otherwise": {"tool": "ros__get_topics"}})
    assert rules.tools == {POSE, "ros__get_nodes", "ros__get_topics"}
