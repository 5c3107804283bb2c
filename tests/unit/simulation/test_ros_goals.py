"""How goals that never ran in the simulation end for the caller of an action."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from quartet_simulation.errors import InvalidCommandError, StoppedError
from quartet_simulation.ros.actions import GoalStatus
from quartet_simulation.ros.goals import run_in_world
from quartet_simulation.ros.running import RunningGoal

BAD_INPUT = -2


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        # The stop came between the acceptance of the goal, or the end of its planning, and its start.
        (StoppedError("the robot is stopped"), (GoalStatus.CANCELED, 0)),
        (InvalidCommandError("no such joint"), (GoalStatus.ABORTED, BAD_INPUT)),
    ],
)
async def test_a_goal_that_a_stop_kept_from_starting_was_canceled_and_not_wrong(error: Exception, ending: Any) -> None:
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    done.set_exception(error)
    world: Any = SimpleNamespace(run_goal=lambda _start, _feedback: RunningGoal(done))
    handle: Any = SimpleNamespace(on_feedback=None, on_cancel=None, cancel_asked=asyncio.Event())
    status, goal = await run_in_world(world, handle, lambda _: pytest.fail("it started"), lambda _: {}, BAD_INPUT)
    assert (status, goal.error_code) == ending
    assert goal.error_text == str(error)
