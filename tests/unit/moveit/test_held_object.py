"""How what is held is turned: as the hand was when it grasped it, until the hand is empty."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import GraspState, GripperResult
from quartet_moveit.held_object import HeldObject
from quartet_site import load_robot

ROBOT = load_robot(Path(__file__).parents[3] / "deploy" / "sites" / "home" / "robot.yaml")
AHEAD = Pose3D(position=(0.8, 0.1, 0.8), orientation=(0.5, 0.5, 0.5, 0.5), frame_id="base_footprint")


async def test_what_comes_into_an_empty_hand_is_not_turned_as_the_object_before_it() -> None:
    """A person may put it there: the hand has not closed on it, so nobody says how it is turned."""
    file = ROBOT.model_copy(update={"gripper": ROBOT.gripper.model_copy(update={"links": []})})
    none: Any = None
    robot: Any = SimpleNamespace(file=file)
    held = HeldObject(robot, none, none)
    await held.closed(GripperResult(state=GraspState.HOLDING, width_m=0.06), (0.06, 0.06, 0.12), AHEAD)
    assert abs(held._tilt) == pytest.approx(math.pi / 2)
    held.note(GripperResult(state=GraspState.HOLDING, width_m=0.06))
    assert abs(held._tilt) == pytest.approx(math.pi / 2), "a reading of what it still holds changes nothing"
    held.note(GripperResult(state=GraspState.EMPTY))
    held.note(GripperResult(state=GraspState.HOLDING, width_m=0.06))
    assert held._tilt == 0.0
