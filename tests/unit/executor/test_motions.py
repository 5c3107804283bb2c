"""How often a program's motion is made when it fails, and what is forgotten before."""

from pathlib import Path

import pytest

from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import CurrentPoseResult
from quartet_executor.functions import ArmFunctions
from quartet_sandbox import FunctionError
from quartet_site import load_robot

ROBOT = load_robot(Path(__file__).parents[3] / "deploy" / "sites" / "tabletop" / "robot.yaml")


class Robot:
    """A request whose every motion fails with `code`."""

    robot = ROBOT

    def __init__(self, code):
        self._code = code
        self.called = []

    async def call(self, kind, tool, **_):
        self.called.append(tool.removeprefix("moveit__"))
        if kind is CurrentPoseResult:
            return CurrentPoseResult(
                pose=Pose3D(frame_id="base", position=(0.5, 0.0, 1.1), orientation=(1.0, 0.0, 0.0, 0.0))
            )
        return kind(ok=False, error_code=self._code, message="")


@pytest.mark.parametrize(
    ("code", "calls"),
    [
        ("PLANNING_FAILED", ["plan_and_execute", "plan_and_execute"]),
        ("GOAL_IN_COLLISION", ["plan_and_execute", "clear_planning_scene", "plan_and_execute"]),
        ("START_IN_COLLISION", ["plan_and_execute", "clear_planning_scene", "plan_and_execute"]),
        ("EXECUTION_FAILED", ["plan_and_execute"]),
    ],
)
async def test_the_scene_is_cleared_only_where_it_may_be_wrong(code, calls):
    robot = Robot(code)
    with pytest.raises(FunctionError, match=code):
        await ArmFunctions(robot, None).by_name["execute_trajectory"]([0.4, 0.1, 0.9], 0.0)
    assert [tool for tool in robot.called if tool != "get_current_pose"] == calls


@pytest.mark.parametrize(
    ("position", "yaw"),
    [([1e308, 0, 0], 0), ([0, 0, 10**400], 0), ([0, 0, 0], 1e308), ([0, 0, 0], 10**400), (["x"], 0)],
)
async def test_numbers_beyond_any_room_move_nothing(position, yaw):
    robot = Robot("PLANNING_FAILED")
    with pytest.raises(FunctionError, match=r"in metres and yaw .* one in radians, none beyond 1000"):
        await ArmFunctions(robot, None).by_name["execute_trajectory"](position, yaw)
    assert robot.called == []
