"""A rover and a lifter in one home: a whole deployment in which each works with its own body."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from quartet_contracts import State, TaskSubmission
from quartet_deployment import Stack

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
