"""Programs for the arm: what they can do to the world, what they are told, what ends them."""

import asyncio

import pytest

from quartet_agent_runtime._skill_run import SkillRun
from quartet_contracts import ArmScene, ExecutorResult, Skill, State

CAN = "red coke can"


async def run(studio, code="", before=None, programs="auto"):
    async with studio.outside(Skill.EXECUTOR, programs=programs) as outside:
        result = await SkillRun(studio.request(Skill.EXECUTOR, code=code, before=before), outside).run()
    assert isinstance(result, ExecutorResult)
    return result


def moving_to(point, yaw, *more):
    x, y, z = (round(value, 4) for value in point)
    return "\n".join([f"execute_trajectory([{x}, {y}, {z}], {round(yaw, 4)})", *more])


@pytest.fixture
async def scene(studio):
    """What the cameras tell of the counter with the can on it, before which the robot stands."""
    stands = await studio.approach("studio", CAN, "pick")
    assert stands.error_code == "NONE", studio.memory.story()
    seen = await run(studio)
    assert seen.error_code == "NONE", studio.memory.story()
    return seen.scene


def can_of(scene):
    return next(one for one in scene.objects if one.name == CAN)


async def test_programs_pick_an_object_up_by_what_the_cameras_tell(studio, scene):
    can = can_of(scene)
    x, y, z = can.position
    assert can.size_m == pytest.approx((0.066, 0.066, 0.122), abs=0.02)
    above = await run(studio, moving_to((x, y, z + 0.2), can.yaw, "open_gripper()", "print('above')"), scene)
    assert (above.error_code, above.output) == ("NONE", "above\n"), studio.memory.story()
    assert above.scene.hand_position == pytest.approx((x, y, z + 0.2), abs=0.01)
    assert can_of(above.scene) == can, "an object that has not moved keeps its pose"
    down = await run(studio, moving_to((x, y, z), can.yaw, f"close_gripper('{CAN}')"), above.scene)
    assert (down.error_code, down.scene.held) == ("NONE", CAN), studio.memory.story()
    up = await run(studio, moving_to((x, y, z + 0.2), can.yaw, "task_completed()"), down.scene)
    assert up.error_code == "NONE", studio.memory.story()
    assert (up.completed, up.scene.held) == (True, CAN)
    assert studio.truth()["held"] == CAN
    assert can_of(up.scene).position == up.scene.hand_position


async def test_a_thing_between_the_open_fingers_is_told_to_a_team_that_begins_there(studio, scene):
    """A task ends with what it let go between the fingers, and the next one knows nothing of the last."""
    can = can_of(scene)
    x, y, z = can.position
    above = await run(studio, moving_to((x, y, z + 0.2), can.yaw, "open_gripper()"), scene)
    down = await run(studio, moving_to((x, y, z), can.yaw), above.scene)
    assert down.error_code == "NONE", studio.memory.story()
    seen = await run(studio)
    assert seen.scene.held is None
    assert can_of(seen.scene).position == pytest.approx((x, y, z), abs=0.04), studio.memory.story()


async def test_what_goes_wrong_is_told_and_moves_nothing_else(studio, scene):
    wrong = {
        "move(": "SyntaxError",
        "execute_trajectory(place, 0.0)": "NameError: name 'place' is not defined",
        "execute_trajectory([0.5, float('inf'), 1.0], 0.0)": "Out of range float values",
        "execute_trajectory([0.5, 0.0], 0.0)": "must be three numbers",
        "execute_trajectory([2.0, 0.0, 1.0], 0.0)": "did not get to [2.0000, 0.0000, 1.0000] with yaw 0.0000: OUT_OF_R",
        "close_gripper('blue whale')": "there is no object 'blue whale' in the state; valid: ",
        f"close_gripper('{CAN}')": "the gripper closed and holds nothing (EMPTY)",
        "task_completed()\nopen_gripper()": "The task is completed",
        "open('/etc/passwd')": "PermissionError",
        "import socket; socket.socket()": "PermissionError",
    }
    for code, words in wrong.items():
        result = await run(studio, code, scene)
        assert (result.error_code, result.state) == ("PROGRAM_FAILED", State.FAILED), code
        assert words in result.output, (code, result.output)
        assert not result.completed
        assert result.scene.objects == scene.objects
    assert studio.truth()["held"] is None


async def test_a_cancel_ends_the_program_at_once_and_brings_the_arm_to_rest(studio, scene):
    x, y, z = can_of(scene).position
    code = moving_to((x, y, z + 0.2), 0.0, "while True:", "    pass")
    async with studio.outside(Skill.EXECUTOR) as outside:
        begun = SkillRun(studio.request(Skill.EXECUTOR, code=code, before=scene), outside)
        moves = asyncio.Event()
        loop = asyncio.get_running_loop()
        studio.when("moveit__plan_and_execute", lambda: loop.call_soon_threadsafe(moves.set))
        work = asyncio.create_task(begun.run())
        await moves.wait()
        work.cancel()
        await asyncio.wait({work})
        assert work.cancelled()
        result = await begun.settle("canceled; the robot was brought to rest", State.CANCELED)
    assert result.state is State.CANCELED, studio.memory.story()
    assert "moveit__stop_execution" in studio.memory.tools()


@pytest.mark.parametrize(
    ("programs", "words"), [("deny", "lets no program run"), ("ask", "asks a person about each program")]
)
async def test_no_program_runs_without_the_policys_word(studio, programs, words):
    before = ArmScene(hand_position=(0.5, 0.0, 1.0), hand_yaw=0.0)
    result = await run(studio, "open_gripper()", before, programs)
    assert (result.error_code, result.state) == ("PROGRAM_REFUSED", State.FAILED)
    assert words in result.reason
    assert studio.memory.tools() == []
