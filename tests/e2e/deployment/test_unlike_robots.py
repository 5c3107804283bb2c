"""A rover and a lifter in one home: a whole deployment in which each works with its own body, alone or as a group."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from quartet_benchmarks.home.world import Goal, World
from quartet_contracts import State, TaskSubmission
from quartet_contracts.journal import TeamProgram, TeamSubtasks
from quartet_deployment import Stack
from quartet_site import load_site

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
PLACES = {"rover": "go to the bin", "lifter": "go to the counter"}


def test_each_does_the_task_that_names_it(
    make_own_stack: Callable[..., Stack], truth: Callable[[Stack], dict[str, Any]]
) -> None:
    stack = make_own_stack(world="studio", kinds=tuple(PLACES), seed=0)
    with stack.api() as api:
        assert {one["name"]: one["state"] for one in api.robots()["robots"]} == dict.fromkeys(PLACES, "idle")
        for number, (robot, sentence) in enumerate(PLACES.items()):
            before = truth(stack)["robots"][number]["pose"]
            task = api.submit(TaskSubmission(sentence=sentence, robot=robot, timeout_s=250.0)).task.task_id
            for _ in api.events(task):
                pass
            status = api.task(task)
            assert (status.state, status.task.robot) == (State.SUCCEEDED, robot), status.report
            after = truth(stack)
            assert math.dist(after["robots"][number]["pose"][:2], before[:2]) > 0.3
    assert after["robot_contacts"] == after["fixed_contacts"] == []
    assert stack.died() == []


def test_a_group_gives_each_what_its_hand_can_do(make_own_stack: Callable[..., Stack]) -> None:
    """The wide box is for the lifter alone; each robot checks its errand by a program that the executor runs."""
    stack = make_own_stack(world="home", kinds=tuple(PLACES), seed=0)
    places = {surface.name: surface for surface in load_site(stack.site_dir / "site.yaml").surfaces}
    with World(stack.scoring_url) as world, stack.api() as api:
        on = {name: thing["on"] for name, thing in world.truth()["objects"].items()}
        goals = Goal("pink tissue box", "on", "desk"), Goal("red coke can", "on", "dining table")
        carried = [f"the {goal.object} from the {places[on[goal.object]].area} on the {goal.target}" for goal in goals]
        sentence = f"Put {' and '.join(carried)}."
        task = api.submit(TaskSubmission(sentence=sentence, team="emos", timeout_s=500.0)).task.task_id
        events = [one.event for one in api.events(task)]
        status, after = api.task(task), world.truth()
    assert status.state is State.SUCCEEDED, status.report
    assert [goal.met(after) for goal in goals] == [True, True]
    shared = next(one for one in events if isinstance(one, TeamSubtasks))
    assert {robot: len(actions) for robot, actions in shared.subtasks.items()} == {"rover": 1, "lifter": 1}
    assert "pink tissue box" in shared.subtasks["lifter"][0]
    outputs = {one.participant: one.text for one in events if isinstance(one, TeamProgram)}
    assert outputs == {"rover": "red coke can True\n", "lifter": "pink tissue box True\n"}
    assert stack.died() == []
