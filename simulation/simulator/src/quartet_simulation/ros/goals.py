"""Runs goals of action servers in the simulation and returns how they ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.errors import SimulationError, StoppedError
from quartet_simulation.goal import Goal
from quartet_simulation.ros.actions import GoalHandle, GoalStatus
from quartet_simulation.ros.types import Message
from quartet_simulation.ros.world import World

RobotT = TypeVar("RobotT", bound=ArmSimulation)
_STATUS = {
    "SUCCEEDED": GoalStatus.SUCCEEDED,
    "CANCELED": GoalStatus.CANCELED,
    "ABORTED": GoalStatus.ABORTED,
}


def failed(action: str, code: int, text: str, status: GoalStatus = GoalStatus.ABORTED) -> Goal:
    """Return a goal that ended before it reached the simulation."""
    name: Any = status.name
    return Goal(channel="", action=action, status=name, error_code=code, error_text=text)


async def run_in_world(
    world: World[RobotT],
    handle: GoalHandle,
    start: Callable[[RobotT], Goal],
    feedback: Callable[[dict[str, Any]], Message],
    bad_input: int,
) -> tuple[GoalStatus, Goal]:
    """Run a goal in the simulation until it ends; `bad_input` is the code for values that make no sense."""
    send = handle.on_feedback

    def forward(values: dict[str, Any]) -> None:
        if send is not None and values:
            send(feedback(values))

    running = world.run_goal(start, forward if send is not None else None)
    handle.on_cancel = running.cancel
    if handle.cancel_asked.is_set():
        running.cancel()
    try:
        goal = await running.done
    except StoppedError as error:
        # The stop canceled it, whatever it asked for: each action has its own code for that, or none.
        goal = failed("", 0, str(error), GoalStatus.CANCELED)
    except SimulationError as error:
        goal = failed("", bad_input, str(error))
    return _STATUS[goal.status], goal
