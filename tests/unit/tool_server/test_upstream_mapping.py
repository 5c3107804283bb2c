"""The mapping file and its conversions: what is wrong is said with file, line and the valid values."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from mcp_types import CallToolResult, ImageContent, TextContent

from quartet_contracts.tools.nav2 import RobotPoseResult
from quartet_site import SiteFileError, load_robot, load_site
from quartet_tool_server import ToolError
from quartet_tool_server.upstream import load_mapping
from quartet_tool_server.upstream._answers import judge, passes, read
from quartet_tool_server.upstream._conversions import CONVERSIONS, Context
from quartet_tool_server.upstream._mapping import Condition, MappedTool, Value, error_codes
from quartet_tool_server.upstream._values import MISSING, NotUnderstoodError, at, take

DEPLOY = Path(__file__).parents[3] / "deploy"
STUDIO = DEPLOY / "sites" / "studio"
GOOD = {
    "server": "nav2",
    "upstreams": {"rover": {"url": "http://127.0.0.1:1/mcp"}},
    "tools": {"get_robot_pose": {"success": {"has": ["x"]}}},
}


@pytest.fixture
def context() -> Context:
    file = load_robot(STUDIO / "robot.yaml")
    return Context(SimpleNamespace(file=file), load_site(STUDIO / "site.yaml"))  # pyright: ignore[reportArgumentType]


@pytest.fixture
def load(tmp_path):
    def write(**changes: Any):
        path = tmp_path / "nav2.yaml"
        path.write_text(yaml.safe_dump(GOOD | changes, sort_keys=False))
        return load_mapping(path)

    return write


def seen(label: str, score: float, *, in_gripper: bool = True) -> dict[str, Any]:
    return {"label": label, "score": score, "box_xyxy": [0, 0, 9, 9], "camera": "arm", "in_gripper": in_gripper}


def tool(**changes: Any) -> dict[str, Any]:
    return {"tools": {"get_robot_pose": GOOD["tools"]["get_robot_pose"] | changes}}


@pytest.mark.parametrize("path", sorted((DEPLOY / "upstreams").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_shipped_mappings_load(path):
    assert load_mapping(path).server == path.stem


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"server": "nav3"}, "server", "nav3"),
        ({"upstreams": {}}, "upstreams", "at least 1"),
        ({"upstreams": {"a": {}}}, "upstreams.a", "exactly one of url and command"),
        ({"upstreams": {"a": {"url": "ftp://x"}}}, "upstreams.a.url", "ftp://x"),
        ({"upstreams": {"a": {"command": ["x"], "token_env": "T"}}}, "upstreams.a", "token_env goes with url"),
        ({"upstreams": {"a": {"url": "http://a", "token": "secret"}}}, "upstreams.a.token", "token_env"),
        ({"own": ["get_robot_pose"]}, "tools.get_robot_pose", "own as well"),
        ({"stop": [{"tool": "halt", "upstream": "b"}]}, "stop.0.upstream", "valid: rover"),
        ({"errors": [{"text": "x", "code": "OOPS"}]}, "errors.0.code", "NAV2_NOT_ACTIVE"),
        ({"errors": [{"code": "TIMEOUT"}]}, "errors.0", "at least one of text, where, has"),
        (tool(upstream="b"), "tools.get_robot_pose.upstream", "valid: rover"),
        (tool(success=[]), "tools.get_robot_pose.success", "at least 1"),
        (tool(success={"text": "("}), "tools.get_robot_pose.success", "not a regular expression"),
        (tool(errors=[{"text": "x", "code": "NONE"}]), "tools.get_robot_pose.errors.0.code", "NONE"),
        (tool(limit_s=0), "tools.get_robot_pose.limit_s", "greater than 0"),
        (tool(moves="base"), "tools.get_robot_pose.moves", "valid"),
        (tool(results={}), "tools.get_robot_pose.results", "result"),
        (tool(result={"pose": {}}), "tools.get_robot_pose.result.pose", "exactly one of from, constant"),
        (tool(result={"pose": {"from": "a", "constant": 1}}), "tools.get_robot_pose.result.pose", "from and constant"),
        (tool(result={"pose": {"from": "a", "as": "feet"}}), "tools.get_robot_pose.result.pose.as.0", "quaternion_of"),
        (tool(stop=[{"tool": "x", "upstream": "b"}]), "tools.get_robot_pose.stop.0", "valid: rover"),
    ],
)
def test_what_is_wrong_is_said_at_start(load, changes, field, words):
    with pytest.raises(SiteFileError) as problem:
        load(**changes)
    assert "nav2.yaml:" in str(problem.value)
    assert field in str(problem.value)
    assert words in str(problem.value)


def test_one_of_several_upstreams_must_be_named(load):
    two = {"a": {"url": "http://a"}, "b": {"url": "http://b"}}
    with pytest.raises(SiteFileError, match="upstream is missing; valid: a, b"):
        load(upstreams=two)
    with pytest.raises(SiteFileError, match="QUARTET_UPSTREAM_URLS names c; the mapping file has: rover"):
        load().with_urls({"c": "http://c"})
    assert load().with_urls({"rover": "http://c"}).upstreams["rover"].url == "http://c"


def test_every_code_of_a_server_can_be_given_but_not_none():
    codes = error_codes("moveit")
    assert "OUT_OF_REACH" in codes
    assert "UPSTREAM_UNAVAILABLE" in codes
    assert "NONE" not in codes
    assert "NAV2_NOT_ACTIVE" not in codes


HALF = math.sqrt(0.5)


@pytest.mark.parametrize(
    ("steps", "value", "expected"),
    [
        ("number", "1.5", 1.5),
        ("text", 3, "3"),
        ("degrees", math.pi, 180.0),
        ("radians", 90, math.pi / 2),
        ({"scaled": 0.001}, 1500, 1.5),
        ({"plus": -0.14}, 0.5, 0.36),
        ({"at_most": 2}, 1.9, True),
        ("xyz", {"x": 1, "y": 2, "z": 3}, [1, 2, 3]),
        ("xyzw", [0, 0, 0, 1.001], [0, 0, 0, 1]),
        ("xyz_object", [1, 2, 3], {"x": 1, "y": 2, "z": 3}),
        ("xyzw_object", [0, 0, 0, 1], {"x": 0, "y": 0, "z": 0, "w": 1}),
        ("yaw", {"x": 0, "y": 0, "z": HALF, "w": HALF}, math.pi / 2),
        ("quaternion_of_yaw", math.pi / 2, [0, 0, HALF, HALF]),
        (["quaternion_of_yaw", "yaw", "degrees"], 1.0, math.degrees(1.0)),
        ("horizontal_distance", [3, 4, 9], 5.0),
        (
            [{"pose": "tool"}, {"raised": 0.2}],
            {"position": {"x": 0, "y": 0, "z": 1}, "orientation": [1, 0, 0, 0]},
            {"frame_id": "tool", "position": [0, 0, 1.2], "orientation": [1, 0, 0, 0]},
        ),
        ({"rows": ["x", "y"]}, [{"x": 1, "y": 2, "yaw": 0.0}], [[1, 2]]),
        ({"lookup": {"1": "one"}}, 1, "one"),
        ({"prefixed": "attached:"}, "cup", "attached:cup"),
        ("held_name", [seen("cup", 0.4), seen("mug", 0.9, in_gripper=False)], "cup"),
        ("held_name", [seen("cup", 0.5), seen("mug", 0.45)], "unknown object"),
        ("held_name", [], "unknown object"),
        ("listed", 1, [1]),
        ("to_json", [1], "[1]"),
        ("from_json", "[1]", [1]),
        ("arm_target_type", {"state_name": "look_down"}, "joint_state"),
        ("in_base", {"position": [1, 0, 0], "orientation": [1, 0, 0, 0]},
         {"frame_id": "base_footprint", "position": [1, 0, 0], "orientation": [1, 0, 0, 0]}),
        ("area", [0.0, 0.0], "studio"),
        ("area", {"x": 50, "y": 0}, MISSING),
        ("arm_target", {"joint_positions": [0, 1, 2, 3, 4, 5]}, {"joint_positions": [0, 1, 2, 3, 4, 5]}),
    ],
    ids=str,
)  # fmt: skip
async def test_conversions(context, steps, value, expected):
    found = await take(Value.model_validate({"from": "v", "as": steps}), {"": {"v": value}}, context)
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, part in expected.items():
            assert found[key] == (part if isinstance(part, str) else pytest.approx(part))
    elif isinstance(expected, float) or (isinstance(expected, list) and isinstance(expected[0], float | int)):
        assert found == pytest.approx(expected)
    else:
        assert found == expected


async def test_a_named_state_becomes_the_robots_joint_positions(context):
    target = Value.model_validate({"from": "t", "as": "arm_target"})
    found = await take(target, {"": {"t": {"state_name": "look_down"}}}, context)
    assert found == {"joint_positions": context.robot.file.arm.named_states["look_down"]}


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        ("number", "a lot"),
        ("number", math.nan),
        ("number", True),
        ("xyz", [1, 2]),
        ("xyz", {"x": 1, "y": 2}),
        ("xyz", [1, 2, math.inf]),
        ("xyzw", [1, 1, 0, 0]),
        ("pose", {"position": [0, 0, 0], "orientation": [1, 0, 0, 0]}),
        ("pose", "somewhere"),
        ({"rows": ["x", "y"]}, [{"x": 1, "y": 2, "yaw": 0.5}]),
        ({"lookup": {"1": "one"}}, 2),
        ("held_name", [{"label": "cup"}]),
        ("from_json", "{"),
        ("arm_target", {"state_name": "handstand"}),
        ({"scaled": "$robot.nothing"}, 1),
    ],
    ids=str,
)
async def test_what_cannot_be_converted_is_named(context, steps, value):
    with pytest.raises(NotUnderstoodError) as error:
        await take(Value.model_validate({"from": "v", "as": steps}), {"": {"v": value}, "$robot": {}}, context)
    assert str(error.value)


def test_every_conversion_has_a_case():
    table = test_conversions.pytestmark[0].args[1]
    tried = {
        name
        for steps, _, _ in table
        for step in (steps if isinstance(steps, list) else [steps])
        for name in (step if isinstance(step, dict) else [step])
    }
    assert tried == set(CONVERSIONS)


def test_paths():
    roots = {"": {"a": [{"b": 1}, None]}, "$text": "hello", "$images": ["image/png"]}
    assert at("a.0.b", roots) == 1
    assert at("a.1", roots) is MISSING
    assert at("a.2", roots) is MISSING
    assert at("a.b", roots) is MISSING
    assert at("$text", roots) == "hello"
    assert at("$images.0", roots) == "image/png"
    assert at("$nothing.x", roots) is MISSING


async def test_fields_items_defaults_and_constants(context):
    value = Value.model_validate(
        {
            "fields": {
                "pair": {"items": ["a", {"constant": 2}]},
                "half": {"items": ["a", "missing"]},
                "camera": {"from": "missing", "default": "arm"},
                "none": {"constant": False},
            }
        }
    )
    assert await take(value, {"": {"a": 1}}, context) == {"pair": [1, 2], "camera": "arm", "none": False}


def result(text: str = "", data: Any = None, **more: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data, **more)


def test_answers_are_read_from_structure_text_and_json():
    assert read(result("words", {"result": "words"})).text == "words"
    assert read(result('{"a": 1}', {"result": '{"a": 1}'})).data == {"a": 1}
    assert read(result('{"a": 1}')).data == {"a": 1}
    assert read(result("[1]")).data == {}
    assert read(result("x", {"result": {"a": 2}})).data == {"a": 2}
    assert read(result("x", is_error=True)).failed
    png = "iVBORw0KGgo="
    image = CallToolResult(content=[ImageContent(type="image", data=png, mime_type="image/jpeg")])
    assert read(image).images[0][1] == "image/png", "what it is, not what it calls itself"


@pytest.mark.parametrize("data", ["bm90IGEgcGljdHVyZQ==", "???"])
def test_an_image_that_is_none_is_not_handed_on(data):
    with pytest.raises(NotUnderstoodError, match="neither JPEG nor PNG"):
        read(CallToolResult(content=[ImageContent(type="image", data=data, mime_type="image/jpeg")]))


@pytest.mark.parametrize(
    ("test", "holds"),
    [
        ({"text": "GOAL reached"}, True),
        ({"text": "^reached"}, False),
        ({"where": {"status": 4}}, True),
        ({"where": {"status": [5, 4]}}, True),
        ({"where": {"status": True}}, False),
        ({"where": {"flag": 1}}, False),
        ({"where": {"flag": True, "status": 5}}, False),
        ({"has": ["status"]}, True),
        ({"has": ["status", "null"]}, False),
    ],
    ids=str,
)
def test_tests_of_an_answer(test, holds):
    answer = read(result("goal reached", {"status": 4, "flag": True, "null": None}))
    assert passes(Condition.model_validate(test), answer, answer.roots({}, {})) is holds


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        ({"x": 1, "y": 2, "yaw": 0, "done": True, "fault": "busy"}, "TIMEOUT", "busy"),
        ({"x": 1, "y": 2, "yaw": 0, "done": False}, "UNKNOWN", "does not say"),
        ({"x": 1, "yaw": 0, "done": True}, "UNKNOWN", "pose.y"),
        ({"y": 2, "yaw": 0, "done": True, "x": "far"}, "UNKNOWN", "pose.x"),
    ],
)
async def test_a_result_is_good_only_when_all_of_it_is_understood(context, data, code, words):
    mapped = MappedTool.model_validate(
        {
            "success": {"where": {"done": True}},
            "errors": [{"has": ["fault"], "code": "TIMEOUT"}],
            "result": {"pose": {"fields": {"x": "x", "y": "y", "yaw": "yaw"}}},
        }
    )
    answer = read(result("", data))
    with pytest.raises(ToolError) as failed:
        await judge("rover", mapped, (), answer, answer.roots({}, {}), RobotPoseResult, context, moved=False)
    assert failed.value.code == code
    assert words in str(failed.value)
    good = read(result("", {"x": 1, "y": 2, "yaw": 0, "done": True}))
    made = await judge("rover", mapped, (), good, good.roots({}, {}), RobotPoseResult, context, moved=False)
    assert made.structured_content["pose"] == {"x": 1.0, "y": 2.0, "yaw": 0.0, "frame_id": "map"}
    flagged = read(result("", {"x": 1, "y": 2, "yaw": 0, "done": True}, is_error=True))
    with pytest.raises(ToolError, match="does not say"):
        await judge("rover", mapped, (), flagged, flagged.roots({}, {}), RobotPoseResult, context, moved=False)


def test_a_pattern_is_not_searched_in_megabytes():
    assert len(read(result("a" * 3_000_000)).text) == 64 * 1024
