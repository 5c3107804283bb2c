"""The message definitions against the Jazzy type store of `rosbags`, and what is checked with them."""

from __future__ import annotations

import math
import re
from importlib import resources
from pathlib import Path

import pytest
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_typestore

from quartet_simulation.errors import FieldError, UnknownTypeError
from quartet_simulation.ros.definitions import Field, load
from quartet_simulation.ros.types import check, complete, default, definition, full_name, parts

STORE = get_typestore(Stores.ROS2_JAZZY)
STORED = {name.split("/")[0] for name in STORE.fielddefs}
ROOT = Path(__file__).parents[3]
SOURCES = sorted(
    source
    for folder in ("mcp-servers", "libs/robot_link", "libs/site", "cli/src/quartet_cli/doctor")
    for source in (ROOT / folder).rglob("*.py")
)
NAV2_SOURCES = [source for source in SOURCES if "quartet_nav2" in source.parts]
TYPE = re.compile(r"\"([a-z][a-z0-9_]*_(?:msgs|srvs|interfaces)/(?:msg|srv|action)/[A-Z]\w*)\"")
DRIVEN = re.compile(r"(?:names\.actions\.\w+,|return)\s*\"([A-Z]\w*)\",?")
"""The type of an action of Nav2 without its package, as quartet_nav2.motion.drive takes it and as goals declare it."""


def spelled(node: object) -> str:
    kind, inner = node  # type: ignore[misc]
    if kind == Nodetype.NAME:
        return inner.replace("/msg/", "/")
    if kind == Nodetype.BASE:
        return "byte" if inner[0] == "octet" else inner[0]
    length = inner[1]
    inside = (f"<={length}" if kind == Nodetype.SEQUENCE else str(length)) if length else ""
    return f"{spelled(inner[0])}[{inside}]"


COMMON = sorted(name for name, (kind, _) in load().items() if kind == "msg" and name in STORE.fielddefs)


def test_most_messages_can_be_compared() -> None:
    packages = {name.split("/")[0] for name in COMMON}
    assert {"std_msgs", "geometry_msgs", "sensor_msgs", "nav_msgs", "tf2_msgs", "trajectory_msgs"} <= packages
    assert len(COMMON) > 60


@pytest.mark.parametrize("name", COMMON)
def test_fields_are_those_of_jazzy(name: str) -> None:
    _, fields = STORE.fielddefs[name]
    expected = [(field, spelled(node)) for field, node in fields if field != "structure_needs_at_least_one_member"]
    assert [(field.name, field.spelled) for field in definition(name).fields] == expected


@pytest.mark.parametrize("package", sorted({name.split("/")[0] for name in load()} - STORED))
def test_other_packages_say_where_their_fields_come_from(package: str) -> None:
    text = resources.files("quartet_simulation.ros").joinpath("definitions", f"{package}.txt").read_text()
    assert re.match(r"# .*(\d|branch jazzy)", text), text[:200]


NAMED = sorted({name for source in SOURCES for name in TYPE.findall(source.read_text())})
"""Types that the servers, the robot link and the doctor write out."""
NAV2 = sorted({f"nav2_msgs/action/{kind}" for source in NAV2_SOURCES for kind in DRIVEN.findall(source.read_text())})


def test_the_servers_name_types() -> None:
    assert {"nav2_msgs/action/ComputePathToPose", "moveit_msgs/action/MoveGroup", "sensor_msgs/msg/Image"} <= set(NAMED)
    assert {"nav2_msgs/action/NavigateToPose", "nav2_msgs/action/BackUp", "nav2_msgs/action/DockRobot"} <= set(NAV2)


@pytest.mark.parametrize("name", [*NAMED, *NAV2])
def test_what_the_servers_speak_is_defined(name: str) -> None:
    assert name in load()


def test_every_referenced_type_is_defined() -> None:
    used = {
        field.base
        for _, all_parts in load().values()
        for part in all_parts
        for field in part.fields
        if not field.primitive
    }
    for name in used:
        assert definition(name).name == name


def test_names_in_both_spellings() -> None:
    assert full_name("std_srvs/Trigger", "srv") == full_name("std_srvs/srv/Trigger", "srv") == "std_srvs/srv/Trigger"
    for wrong in ("std_msgs/srv/String", "std_msgs/Strin", "String", "", "a/b/c/d"):
        with pytest.raises(UnknownTypeError, match="Unable to import"):
            full_name(wrong)


def test_defaults_are_those_of_the_definitions() -> None:
    pose = complete("geometry_msgs/PoseStamped", {})
    assert pose["pose"]["orientation"] == {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}
    assert len(default("sensor_msgs/CameraInfo")["k"]) == 9
    assert default("action_msgs/GoalInfo")["goal_id"]["uuid"] == bytes(16)
    for name, (_, all_parts) in load().items():
        for part in all_parts:
            check(part.name, default(part.name))
        assert all_parts, name


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("std_srvs/Trigger_Request", {"bad": 1}, "Message type std_srvs/Trigger_Request does not have a field bad"),
        (
            "geometry_msgs/PoseStamped",
            {"pose": {"position": {"q": 1}}},
            "Message type geometry_msgs/PoseStamped does not have a field pose.position.q",
        ),
        (
            "geometry_msgs/Point",
            {"x": "far"},
            "geometry_msgs/Point message requires a float64 for field x, but got a <class 'str'>",
        ),
        ("geometry_msgs/Point", {"x": None}, "requires a float64 for field x, but got a <class 'NoneType'>"),
        ("geometry_msgs/Point", [1], "Expected a JSON object for type geometry_msgs/Point"),
        ("std_msgs/UInt8", {"data": 256}, "in .0, 255. for field data, but got 256"),
        ("std_msgs/Int32", {"data": 1.5}, "requires a int32 for field data"),
        ("std_msgs/Bool", {"data": 1}, "requires a bool for field data"),
        ("sensor_msgs/CameraInfo", {"k": [1.0]}, "requires exactly 9 values for field k, got 1"),
        ("shape_msgs/SolidPrimitive", {"dimensions": [1, 2, 3, 4]}, "at most 3 values for field dimensions"),
        ("sensor_msgs/CompressedImage", {"data": "a"}, "uint8.. for field data"),
        ("sensor_msgs/JointState", {"name": "arm"}, "requires a string.. for field name"),
    ],
)
def test_what_does_not_fit_is_named(name: str, value: object, message: str) -> None:
    with pytest.raises(FieldError, match=message):
        complete(name, value)


def test_header_without_stamp_gets_the_time() -> None:
    now = {"sec": 7, "nanosec": 5}
    assert complete("std_msgs/Header", {"frame_id": "map"}, lambda: dict(now))["stamp"] == now
    assert complete("std_msgs/Header", {"stamp": {"secs": 1, "nsecs": 2}}, lambda: dict(now))["stamp"] == {
        "sec": 1,
        "nanosec": 2,
    }


def test_outgoing_messages_are_compared_exactly() -> None:
    good = default("geometry_msgs/Twist")
    check("geometry_msgs/Twist", good)
    for bad in (
        {**good, "extra": 1},
        {"linear": good["linear"]},
        {**good, "linear": {"x": 1, "y": 0.0, "z": 0.0}},
        {**good, "linear": {"x": math.inf, "y": 0.0}},
    ):
        with pytest.raises(FieldError):
            check("geometry_msgs/Twist", bad)


def test_service_and_action_parts() -> None:
    request, response = parts("moveit_msgs/GetPositionIK", "srv")
    assert (request.name, response.name) == (
        "moveit_msgs/GetPositionIK_Request",
        "moveit_msgs/GetPositionIK_Response",
    )
    assert [part.name for part in parts("nav2_msgs/action/Spin", "action")] == [
        "nav2_msgs/Spin_Goal",
        "nav2_msgs/Spin_Result",
        "nav2_msgs/Spin_Feedback",
    ]
    assert Field("a", "uint8", 0).binary
