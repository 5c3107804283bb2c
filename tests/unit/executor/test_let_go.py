"""What a program's calls tell of a thing that it lets go."""

from pathlib import Path

import pytest

from quartet_contracts import ArmScene, SceneObject
from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import CurrentPoseResult, GraspState, GripperResult, Release
from quartet_executor.functions import ArmFunctions
from quartet_site import load_robot, load_site

TABLETOP = Path(__file__).parents[3] / "deploy" / "sites" / "tabletop"
BIN = SceneObject(name="bin", position=(0.5, 0.2, 0.847), size_m=(0.2, 0.2, 0.19))
RUBBISH = SceneObject(name="rubbish", position=(0.5, 0.2, 1.0), size_m=(0.05, 0.087, 0.034))


class Robot:
    """A request whose gripper was opened with the finger tips at a place; `age_s`: how long ago, None: never."""

    robot, site = load_robot(TABLETOP / "robot.yaml"), load_site(TABLETOP / "site.yaml")

    def __init__(self, tips, age_s=0.0):
        x, y, z = tips
        self._flange = (x, y, z + self.robot.gripper.finger_offset_m)
        self._age_s = age_s

    async def call(self, kind, tool, **_):
        if kind is CurrentPoseResult:
            return CurrentPoseResult(pose=Pose3D(position=self._flange, orientation=(1.0, 0.0, 0.0, 0.0)))
        told = GripperResult(state=GraspState.EMPTY)
        if tool == "moveit__get_grasp_state" and self._age_s is not None:
            return told.model_copy(update={"released": Release(tool_position=self._flange, age_s=self._age_s)})
        return told


async def let_go(robot):
    hand = {"hand_position": RUBBISH.position, "hand_yaw": 0.0}
    functions = ArmFunctions(robot, ArmScene(objects=(BIN, RUBBISH), held="rubbish", **hand))
    await functions.by_name["open_gripper"]()
    assert functions.scene.held is None
    return next(one for one in functions.scene.objects if one.name == "rubbish")


async def test_over_the_opening_of_a_container_it_is_inside_at_its_bottom():
    rubbish = await let_go(Robot((0.53, 0.2, 1.0)))
    assert (rubbish.inside, rubbish.unsure) == ("bin", False)
    assert rubbish.position == pytest.approx((0.53, 0.2, 0.752 + 0.017))


@pytest.mark.parametrize("tips", [(0.61, 0.2, 1.0), (0.3, -0.2, 0.8)])
async def test_anywhere_else_it_is_not_known_where_it_is(tips):
    rubbish = await let_go(Robot(tips))
    assert (rubbish.inside, rubbish.unsure) == (None, True)
    assert rubbish.position == pytest.approx(tips)


@pytest.mark.parametrize("age_s", [None, 60.0])
async def test_without_a_measured_release_of_this_call_it_is_nowhere_for_sure(age_s):
    rubbish = await let_go(Robot((0.5, 0.2, 1.0), age_s))
    assert (rubbish.inside, rubbish.unsure) == (None, True)
