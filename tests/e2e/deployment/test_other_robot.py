"""The main job with other robots by file.

One carries a Panda, the arm of another is a model beside its file, and others are models of Python packages.
"""

from collections.abc import Callable
from typing import Any

import pytest

from quartet_cli.commands.up import SENTENCE
from quartet_contracts import State
from quartet_deployment import Stack
from support.robot_models import have_model

JOINTS = {"rover": 7, "lifter": 7, "fetch": 8, "tiago": 8}
TRIES = 2
"""Jobs of a robot, of which one has to succeed: of 14 jobs of a Fetch 3 ended in a protective stop of its arm."""


# A model may have to be downloaded first.
@pytest.mark.timeout(600)
@pytest.mark.long
@pytest.mark.parametrize("robot", JOINTS)
def test_a_robot_by_file_moves_the_can(
    robot: str,
    make_own_stack: Callable[..., Stack],
    truth: Callable[[Stack], dict[str, Any]],
    reset: Callable[..., dict[str, Any]],
    run: Callable[..., Any],
) -> None:
    have_model(robot)
    stack = make_own_stack(world="home", kinds=(robot,), seed=0)
    before = truth(stack)
    assert len(before["robot"]["arm"]) == JOINTS[robot]
    assert before["objects"]["red coke can"]["on"] == "kitchen counter"
    for tried in range(1, TRIES + 1):
        job = run(stack, SENTENCE)
        if job.status.state is State.SUCCEEDED:
            break
        assert tried < TRIES, job.story()
        before = reset(stack, 0)
    after = truth(stack)
    can = after["objects"]["red coke can"]
    assert (can["on"], can["held"]) == ("wooden coffee table", False), job.story()
    moved = [
        name
        for name, thing in after["objects"].items()
        if name != "red coke can" and thing["on"] != before["objects"][name]["on"]
    ]
    assert moved == []
    assert stack.died() == []
