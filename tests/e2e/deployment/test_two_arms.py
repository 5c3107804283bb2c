"""A UR5 and a Panda at one table in a whole deployment."""

import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from quartet_contracts import TERMINAL, PickArguments, PlaceArguments, Skill, SkillArguments, State, TaskStatus
from quartet_contracts.journal import TeamStep, TeamTurn
from quartet_deployment import Stack

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
Truth = Callable[[Stack], dict[str, Any]]


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., Stack]) -> Stack:
    return make_stack(world="tabletop", kinds=("ur5", "panda"), seed=0, architecture="skill", without=("ros",))


def done(stack: Stack, robot: str, skill: Skill, arguments: SkillArguments) -> TaskStatus:
    with stack.api() as api:
        task_id = api.run_skill(skill, arguments, robot=robot).task.task_id
        for _ in api.events(task_id):
            pass
        status = api.task(task_id)
    assert status.state in TERMINAL
    return status


def test_each_arm_does_a_task_of_its_own(stack: Stack, truth: Truth) -> None:
    """Both pick at the same time, each what it reaches; neither reaches the other's block."""
    assert stack.robots == ["ur5", "panda"]
    blocks = {"ur5": "red block", "panda": "blue block"}
    with ThreadPoolExecutor() as pool:
        ends = list(
            pool.map(
                lambda robot: done(stack, robot, Skill.PICK, PickArguments(object_name=blocks[robot])), stack.robots
            )
        )
    assert [end.state for end in ends] == [State.SUCCEEDED] * 2, [end.report for end in ends]
    assert [robot["held"] for robot in truth(stack)["robots"]] == list(blocks.values())
    place = PlaceArguments(target_location="cyan square", object_name="red block")
    end = done(stack, "ur5", Skill.PLACE, place)
    assert end.state is State.SUCCEEDED, end.report
    after = truth(stack)
    assert after["objects"]["red block"]["position"][:2] == pytest.approx([0.3, -0.16], abs=0.06)
    end = done(stack, "ur5", Skill.PICK, PickArguments(object_name="blue block"))
    assert end.state is State.FAILED, "the other arm holds it"
    assert after["contacts"] == []


def test_a_roco_team_swaps_two_blocks_that_no_arm_can_bring_alone(
    make_own_stack: Callable[..., Stack], truth: Truth, environment: dict[str, str]
) -> None:
    """The participants talk over the streams; each step is a grant, servers and guard of each robot."""
    stack = make_own_stack(
        world="tabletop", kinds=("ur5", "panda"), seed=1, architecture="skill", without=("ros", "executor")
    )
    done = subprocess.run(
        [sys.executable, "-m", "quartet_cli", "run", "--team", "roco", stack.options.example],
        env={**environment, "QUARTET_URL": stack.url, "QUARTET_API_TOKEN": stack.api_token},
        capture_output=True,
        text=True,
        timeout=500,
    )
    after = truth(stack)
    assert done.returncode == 0, done.stdout + done.stderr
    assert after["task"]["succeeded"], done.stdout
    assert after["contacts"] == []
    named = re.match(r"Task (\S+) on team", done.stdout)
    assert named
    with stack.api() as api:
        events = [one.event for one in api.events(named[1])]
        steps = [event for event in events if isinstance(event, TeamStep)]
        parts = [api.task(task_id) for step in steps for task_id in step.tasks.values()]
    assert {event.participant for event in events if isinstance(event, TeamTurn)} == {"planner", "ur5", "panda"}
    assert steps[0].plan == {"panda": "PICK blue block", "ur5": "PICK red block"}
    carried = {one.task.robot: one.task.step.skill for one in parts if one.task.step}
    assert carried.keys() == {"ur5", "panda"}
