"""What a goal asks for, as the policy reads it."""

import math

import pytest

from quartet_tool_server import _goal_targets as goals
from quartet_tool_server._goal_targets import Joints, Place, ToolPoint, Way
from quartet_tool_server.errors import UnjudgeableError

ARM = ["a", "b"]


def trajectory(count):
    points = [{"positions": [float(number), 0.0]} for number in range(count)]
    return {"trajectory": {"joint_trajectory": {"joint_names": ARM, "points": points}}}


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 100])
def test_of_a_trajectory_the_end_is_always_read(count):
    only = goals.arm_targets("ExecuteTrajectory", trajectory(count), ARM, "tool", on_the_way=False)
    assert only == [Joints((count - 1.0, 0.0))]
    some = goals.arm_targets("ExecuteTrajectory", trajectory(count), ARM, "tool", on_the_way=True)
    read = sorted(target.positions[0] for target in some if isinstance(target, Joints))
    assert len(read) == len(set(read)) == min(count, goals.MOST_POINTS)
    assert (read[0], read[-1]) == (0.0, count - 1.0) or count == 1


@pytest.mark.parametrize(
    ("kind", "goal", "way"),
    [
        ("Spin", {"target_yaw": 3}, Way(0, 0)),
        ("DriveOnHeading", {"target": {"x": 1.0, "y": 0.5}, "speed": 0.2}, Way(1.0, 0.5, 0.2)),
        ("DriveOnHeading", {"target": {"x": 1.0}, "speed": -0.2}, Way(-1.0, 0, 0.2)),
        ("DriveOnHeading", {"target": {"x": -1.0}, "speed": 0.2}, Way(-1.0, 0, 0.2)),
        ("BackUp", {"target": {"x": 1.0}, "speed": 0.2}, Way(-1.0, 0, 0.2)),
        ("BackUp", {"target": {"x": -1.0}, "speed": -0.2}, Way(-1.0, 0, 0.2)),
        ("BackUp", {}, Way(0, 0, 0)),
    ],
)
def test_ways_relative_to_the_base(kind, goal, way):
    assert goals.way(kind, goal) == way


def stamped(x, y, frame="map", **stamp):
    return {"header": {"frame_id": frame, "stamp": stamp}, "pose": {"position": {"x": x, "y": y}}}


@pytest.mark.parametrize(
    ("kind", "goal", "places"),
    [
        ("NavigateToPose", {"pose": stamped(1, 2)}, [Place("map", 1, 2)]),
        ("NavigateToPose", {"pose": stamped(1, 2, "/odom", sec=3, nanosec=500_000_000)}, [Place("odom", 1, 2, 3.5)]),
        ("FollowWaypoints", {"poses": [stamped(1, 2), stamped(3, 4)]}, [Place("map", 1, 2), Place("map", 3, 4)]),
        ("NavigateThroughPoses", {"poses": {"header": {"frame_id": "odom"}, "goals": [stamped(1, 2, "")]}},
         [Place("odom", 1, 2)]),
        ("FollowPath", {"path": {"header": {"frame_id": "map"}, "poses": [stamped(5, 6, "")]}}, [Place("map", 5, 6)]),
    ],
)  # fmt: skip
def test_places_of_a_goal(kind, goal, places):
    assert goals.places(kind, goal) == places


@pytest.mark.parametrize("value", ["1", True, math.nan, math.inf, [1], {"x": 1}])
def test_what_is_no_number_is_not_guessed(value):
    with pytest.raises(UnjudgeableError, match="no finite number"):
        goals.places("NavigateToPose", {"pose": stamped(value, 0)})
    with pytest.raises(UnjudgeableError, match="no finite number"):
        goals.way("BackUp", {"target": {"x": value}})


def test_a_region_counts_with_its_size():
    region = {
        "primitives": [{"dimensions": [0.1, 0.3]}],
        "primitive_poses": [{"position": {"x": 1, "y": 2, "z": 3}}],
    }
    constraint = {"header": {"frame_id": "base"}, "link_name": "tool", "constraint_region": region}
    goal = {"request": {"goal_constraints": [{"position_constraints": [constraint]}]}}
    assert goals.arm_targets("MoveGroup", goal, ARM, "tool", on_the_way=False) == [ToolPoint("base", (1, 2, 3), 0.3)]
    for broken in ({"meshes": [{}]}, {"primitives": []}, {"primitive_poses": []}):
        wrong = constraint | {"constraint_region": region | broken}
        bad = {"request": {"goal_constraints": [{"position_constraints": [wrong]}]}}
        with pytest.raises(UnjudgeableError):
            goals.arm_targets("MoveGroup", bad, ARM, "tool", on_the_way=False)


@pytest.mark.parametrize(
    "goal",
    [
        {"trajectory": {"multi_dof_joint_trajectory": {"points": [{}]}}},
        {"trajectory": {"joint_trajectory": {"joint_names": ["a"], "points": [{"positions": [1]}]}}},
        {"trajectory": {"joint_trajectory": {"joint_names": ARM, "points": [{"positions": [1]}]}}},
        {"trajectory": {"joint_trajectory": {"joint_names": ARM, "points": []}}},
        {},
    ],
)
def test_a_trajectory_that_is_not_the_arms_cannot_be_judged(goal):
    with pytest.raises(UnjudgeableError):
        goals.arm_targets("ExecuteTrajectory", goal, ARM, "tool", on_the_way=True)
