"""Runs one goal of an action server under a motion lease."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
from fastmcp.server.dependencies import get_context
from opentelemetry.trace import SpanKind

from quartet_process import tracing
from quartet_robot_link import (
    ActionServerLostError,
    CallTimeoutError,
    GoalRejectedError,
    GoalStatus,
    Message,
    Motion,
    MotionOutcome,
    Robot,
)
from quartet_safety.motion import MotionLease

log = logging.getLogger(__name__)

REPORT_EVERY_S = 0.5
"""Wall time between two progress reports."""

Progress = Callable[[Message], tuple[float, float | None, str]]
"""Feedback of an action to (done, total or None, text)."""
GoalCheck = Callable[[str, str, str, Message], Coroutine[Any, Any, None]]
"""Tool, action, action type and goal: raises ToolError when the site's policy does not allow it."""


async def run_goal(
    lease: MotionLease,
    robot: Robot,
    action: str,
    action_type: str,
    goal: Message,
    *,
    limit_s: float,
    progress: Progress | None = None,
    check: GoalCheck | None = None,
) -> MotionOutcome:
    """Run one goal to its end; `limit_s` is ROS time. When the call is canceled, the goal ends before this returns.

    Raises MotionRefusedError, CallTimeoutError (ActionServerLostError among them: the guard has been left to stop the
    robot), BridgeUnavailableError, ActionUnavailableError, GoalRejectedError, RosError, and what `check` raises.
    """
    lease.check()
    await lease.check_guard()
    if check is not None:
        await lease.unless_canceled(check(lease.tool, action, action_type, goal))
    await lease.ready()
    feedback: list[Message] = []

    def keep(message: Message) -> None:
        feedback[:] = [message]

    motion = robot.start_motion(action, action_type, goal, limit_s=limit_s, on_feedback=keep)
    lease.goal = motion
    try:
        with tracing.span(f"goal {action_type}", kind=SpanKind.CLIENT, attributes={tracing.ACTION: action}) as span:
            outcome = await _follow(motion, feedback, progress)
            span.set_attribute(tracing.STATUS, outcome.status.name)
    except asyncio.CancelledError:
        lease.cancel("the caller gave the call up")
        lease.cut_short = True
        with anyio.CancelScope(shield=True):
            await motion.ended()
        raise
    except ActionServerLostError:
        # Nobody is left who could cancel the goal: without heartbeats the guard brings the robot to a standstill.
        lease.lapse(f"the action server of {action} left the ROS graph")
        limits = robot.file.heartbeat
        with anyio.CancelScope(shield=True):
            await asyncio.sleep(limits.guard_timeout_s + 2 * limits.every_s)
        raise
    except CallTimeoutError:
        # Also after a cancel: the robot has not ended the goal in time.
        lease.goal_goes_on = lease.canceled.is_set()
        raise
    except GoalRejectedError:
        await lease.check_guard(settle=True)
        raise
    finally:
        lease.goal = None
    if outcome.status is GoalStatus.CANCELED:
        lease.cut_short = True
        await lease.explain_canceled_goal(by_us=outcome.canceled_because is not None)
    return outcome


async def _follow(motion: Motion, feedback: list[Message], progress: Progress | None) -> MotionOutcome:
    waiting = asyncio.ensure_future(motion.outcome())
    try:
        while True:
            await asyncio.wait([waiting], timeout=REPORT_EVERY_S)
            if waiting.done():
                return waiting.result()
            if progress is not None and feedback:
                await report_progress(*progress(feedback[-1]))
    finally:
        if not waiting.done():
            waiting.cancel()


async def report_progress(done: float, total: float | None, text: str | None) -> None:
    """Report to the caller how far a motion is; a caller that cannot be reached does not stop the motion here."""
    try:
        await get_context().report_progress(done, total, text)
    except Exception as error:
        log.debug("progress could not be reported: %s", error)
