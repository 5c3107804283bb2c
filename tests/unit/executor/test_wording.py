"""Errors that go back to who wrote a program speak of its four functions, not of the servers' tools."""

import re
from pathlib import Path

import pytest

from quartet_agent_runtime import VerificationError
from quartet_contracts import ArmScene, ExecutorArguments, SceneObject
from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import ArmResult, CurrentPoseResult, GraspState, GripperResult, MoveitCode
from quartet_contracts.tools.results import CommonCode, PolicyCode
from quartet_executor import definition
from quartet_executor.functions import ArmFunctions
from quartet_moveit.codes import ADVICE
from quartet_sandbox import FunctionError
from quartet_site import load_robot, load_site

TABLETOP = Path(__file__).parents[3] / "deploy" / "sites" / "tabletop"
FUNCTIONS = {"execute_trajectory", "open_gripper", "close_gripper", "task_completed"}
CAN = SceneObject(name="can", position=(0.5, 0.0, 0.8), size_m=(0.06, 0.06, 0.1))
SCENE = ArmScene(objects=(CAN,), hand_position=(0.5, 0.0, 1.0), hand_yaw=0.0)


class Robot:
    """A request each of whose motions ends with `code` and `message`."""

    robot, site = load_robot(TABLETOP / "robot.yaml"), load_site(TABLETOP / "site.yaml")
    programs = "auto"

    def __init__(self, code, message, code_of_program="", lost=None, fraction=None):
        self._failed = {"ok": False, "error_code": str(code), "message": message}
        self._lost, self._fraction = lost, fraction
        self.request = type("Request", (), {"arguments": ExecutorArguments(code=code_of_program, before=SCENE)})

    async def call(self, kind, tool, **_):
        if tool == self._lost:
            raise VerificationError(f"{tool}: {self._failed['error_code']}: lost", uncertain=True)
        if kind is CurrentPoseResult:
            return CurrentPoseResult(
                pose=Pose3D(frame_id="base", position=(0.5, 0.0, 1.1), orientation=(1.0, 0.0, 0.0, 0.0))
            )
        if kind is GripperResult:
            return GripperResult(**self._failed, state=GraspState.UNKNOWN)
        return ArmResult(**self._failed, fraction=self._fraction) if kind is ArmResult else kind(**self._failed)


def strange_names(text):
    return set(re.findall(r"\b[a-z]+(?:_+[a-z]+)+\b", text)) - FUNCTIONS


async def told(robot, function, *arguments):
    with pytest.raises(FunctionError) as error:
        await ArmFunctions(robot, SCENE).by_name[function](*arguments)
    return str(error.value)


@pytest.mark.parametrize("code", [*MoveitCode, CommonCode.CANCELED])
async def test_no_text_of_a_failed_motion_names_what_a_program_does_not_have(code):
    robot = Robot(code, ADVICE.get(code, "get_grasp_state, then clear_planning_scene, then plan_and_execute"))
    for call in (("execute_trajectory", [0.4, 0.1, 0.9], 0.0), ("open_gripper",), ("close_gripper", "can")):
        text = await told(robot, *call)
        assert str(code) in text
        assert strange_names(text) == set(), text


async def test_what_is_possible_of_a_straight_way_is_told():
    text = await told(Robot("PATH_INCOMPLETE", "", fraction=0.4), "execute_trajectory", [0.5, 0.0, 0.8], 0.0)
    assert "PATH_INCOMPLETE: only 40% of the way is possible" in text


async def test_a_rule_of_the_policy_is_told_with_the_function_that_it_is_about():
    message = "moveit__plan_and_execute was called 9 times in the last minute, 8 are allowed (policy rule rates)"
    text = await told(Robot(PolicyCode.RATE_LIMITED, message), "execute_trajectory", [0.4, 0.1, 0.9], 0.0)
    assert "execute_trajectory was called 9 times in the last minute, 8 are allowed (policy rule rates)" in text
    far = await told(Robot(PolicyCode.OUTSIDE_WORKSPACE, "m."), "execute_trajectory", [0.4, 0.1, 0.9], 0.0)
    assert "m above the position of execute_trajectory" in far


@pytest.mark.parametrize("tool", ["moveit__plan_cartesian_path", "moveit__get_current_pose"])
async def test_what_is_not_known_of_a_motion_is_told_by_its_function(tool):
    robot = Robot("TIMEOUT", "", "execute_trajectory([0.5, 0.0, 0.9], 0.0)", lost=tool)
    with pytest.raises(VerificationError, match="TIMEOUT: lost") as error:
        await definition().perform(robot)
    assert strange_names(str(error.value)) == set()
    assert error.value.uncertain
