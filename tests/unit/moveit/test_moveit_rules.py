"""Rules of the moveit server that need no robot."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from quartet_contracts.tools.moveit import GraspState
from quartet_moveit.codes import ADVICE, NAMES, name_of, tool_code
from quartet_moveit.fingers import Reading, judge
from quartet_moveit.target import Target
from quartet_site import load_robot

ROBOT = SimpleNamespace(file=load_robot(Path(__file__).parents[3] / "deploy" / "sites" / "studio" / "robot.yaml"))


@pytest.mark.parametrize(
    ("width", "effort", "status", "state"),
    [
        (0.066, 50.0, None, "HOLDING"),
        (0.066, 0.4, None, "EMPTY"),  # stands there, presses on nothing
        (0.066, 0.5, None, "UNKNOWN"),  # touches something, which may hang there or lie beside
        (0.066, 4.9, None, "UNKNOWN"),
        (0.066, 4.9, "open", "UNKNOWN"),
        (0.066, 5.0, None, "HOLDING"),
        (0.140, 4.0, None, "EMPTY"),  # open against its own stop
        (0.004, 50.0, None, "EMPTY"),  # closed on nothing: the fingers press on each other
        (0.140, 0.0, None, "EMPTY"),
        (0.066, 50.0, "holding", "HOLDING"),
        (0.066, 50.0, "attached:red coke can", "HOLDING"),
        (0.066, 50.0, "open", "UNKNOWN"),
        (0.004, 50.0, "holding", "EMPTY"),
        (0.066, 50.0, "detached", "EMPTY"),  # the driver's word for it
        (0.066, 1.0, "detached", "EMPTY"),
        (0.066, 50.0, "empty", "EMPTY"),
    ],
)
def test_holding_takes_width_and_force(width, effort, status, state):
    result = judge(ROBOT, Reading(width, effort, moving=False, status=status))
    assert result.state == state
    assert result.attached_object == ("red coke can" if status and "attached" in status else None)


@pytest.mark.parametrize(
    ("width", "stop", "status", "state"),
    [
        (0.066, "HOLDING", None, "HOLDING"),  # stalled
        (0.138, "HOLDING", None, "HOLDING"),  # on something nearly as wide as the gripper
        (0.066, "EMPTY", None, "EMPTY"),  # came where they were sent
        (0.066, "UNKNOWN", None, "UNKNOWN"),
        (0.004, "UNKNOWN", None, "EMPTY"),
        (0.004, "HOLDING", None, "EMPTY"),
        (0.140, "UNKNOWN", None, "EMPTY"),
        (0.066, "UNKNOWN", "holding", "HOLDING"),
        (0.066, "UNKNOWN", "open", "EMPTY"),
        (0.066, "HOLDING", "empty", "EMPTY"),
        (0.066, "EMPTY", "attached:red cup", "HOLDING"),
    ],
)
def test_fingers_without_effort_are_judged_by_width_and_stall(width, stop, status, state):
    result = judge(ROBOT, Reading(width, None, moving=False, status=status), GraspState(stop))
    assert (result.state, result.effort_n) == (state, None)
    assert ("wrist camera" in result.message) == (state == "UNKNOWN")


def test_moving_fingers_hold_nothing_yet():
    result = judge(ROBOT, Reading(0.066, 50.0, moving=True, status=None))
    assert result.state == "MOVING"
    assert result.attached_object is None


def test_width_runs_with_the_command():
    assert ROBOT.file.gripper.width_at(0.0) == pytest.approx(0.14)
    assert ROBOT.file.gripper.width_at(0.7) == pytest.approx(0.0)
    assert ROBOT.file.gripper.width_at(0.35) == pytest.approx(0.07)
    for position in (0.0, 0.2, 0.7):
        assert ROBOT.file.gripper.position_at(ROBOT.file.gripper.width_at(position)) == pytest.approx(position)


@pytest.mark.parametrize(
    ("code", "planned", "wire"),
    [
        (-1, False, "PLANNING_FAILED"),
        (-6, False, "PLANNING_FAILED"),
        (99999, False, "PLANNING_FAILED"),
        (99999, True, "EXECUTION_FAILED"),
        (-4, True, "EXECUTION_FAILED"),
        (-2, True, "EXECUTION_FAILED"),
        (-2, False, "PLANNING_FAILED"),
        (-7, True, "CANCELED"),
        (-10, False, "START_IN_COLLISION"),
        (-12, False, "GOAL_IN_COLLISION"),
        (-15, False, "INVALID_GROUP"),
        (-21, False, "TRANSFORM_UNAVAILABLE"),
        (-31, False, "OUT_OF_REACH"),
        (-12345, False, "PLANNING_FAILED"),
    ],
)
def test_codes(code, planned, wire):
    assert tool_code(code, planned=planned) == wire


def test_names():
    assert name_of(-31) == "NO_IK_SOLUTION"
    assert name_of(-12345) == "CODE_-12345"
    assert len(NAMES) == len(set(NAMES.values()))
    assert all(ADVICE.values())


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"position": [0, 0, 1], "orientation": [1, 0, 0, 0]}, "pose"),
        ({"position": [0, 0, 1], "orientation": [0.71, 0.71, 0, 0], "frame_id": "map"}, "pose"),
        ({"joint_positions": [0, 0, 0, 0, 0, 0]}, "joint_state"),
        ({"state_name": "look_forward"}, "named_state"),
    ],
)
def test_kinds_of_target(fields, kind):
    assert Target.model_validate(fields).kind == kind


def test_a_rounded_quaternion_is_normalised():
    target = Target(position=(0, 0, 1), orientation=(0.71, 0.71, 0, 0))
    assert sum(value * value for value in target.orientation) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "exactly one of"),
        ({"state_name": "a", "joint_positions": [0]}, "joint_positions and state_name"),
        ({"orientation": [1, 0, 0, 0]}, "position is missing"),
        ({"state_name": "a", "frame_id": "map"}, "frame_id goes with a pose"),
        ({"position": [0, 0, 1], "orientation": [2, 0, 0, 0]}, "norm is 2.0000"),
        ({"position": [0, 0, float("nan")], "orientation": [1, 0, 0, 0]}, "finite"),
        ({"pose": 1}, "Extra inputs"),
    ],
)
def test_wrong_targets(fields, words):
    with pytest.raises(ValidationError, match=words):
        Target.model_validate(fields)
