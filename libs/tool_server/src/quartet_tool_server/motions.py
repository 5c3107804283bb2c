"""Running motions of a server: who moves what, and how it is brought to an end."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
from fastmcp.server.dependencies import get_context

from quartet_robot_link import GoalRejected, GoalStatus, LinkError, Message, Motion, MotionOutcome, Robot
from quartet_tool_server.disconnect import caller_gone
from quartet_tool_server.errors import Busy, Canceled, Fenced, Stopped

log = logging.getLogger(__name__)
T = TypeVar("T")

REPORT_EVERY_S = 0.5
"""Wall time between two progress reports."""
RELEASE_WAIT_S = 12.0
"""Wall time within which canceled motions have released their channel."""

Progress = Callable[[Message], tuple[float, float | None, str]]
"""Feedback of an action to (done, total or None, text)."""
GoalCheck = Callable[[str, str, str, Message], Awaitable[None]]
"""Tool, action, action type and goal: raises when the site's policy does not allow it."""


@dataclass
class Claim:
    """The right to move one channel (base, arm, gripper), for as long as one tool call lasts."""

    channel: str
    tool: str
    fence: int
    newest: Callable[[], int]
    """The fence that is in force now."""
    robot: Robot
    check_goal: GoalCheck | None = None
    reason: str | None = None
    motion: Motion | None = None
    canceled: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def cancel(self, reason: str) -> None:
        """End the running goal and let no further one start."""
        if self.reason is None:
            self.reason = reason
        self.canceled.set()
        if self.motion is not None:
            self.motion.cancel(self.reason)

    async def cancel_when(self, gone: asyncio.Event) -> None:
        """Cancel once the caller's connection is lost."""
        await gone.wait()
        self.cancel("the caller's connection was lost")

    def check(self) -> None:
        """Raises Canceled or Fenced between two steps of a call that may not go on."""
        if self.reason is not None:
            raise Canceled(f"{self.tool} was canceled: {self.reason}")
        if self.fence < self.newest():
            raise Fenced(
                f"fence {self.fence} of this call of {self.tool} is older than {self.newest()}: a newer attempt has "
                "taken the robot over; stop working on this request"
            )

    async def ready(self) -> None:
        """Before anything that may move the robot. Raises Canceled, Fenced, Stopped."""
        self.check()
        await self.check_guard()

    async def unless_canceled(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, which moves nothing; given up as soon as the call is canceled, so that nobody who
        stops the robot waits behind a planner. Raises Canceled, Fenced and what `work` raises.
        """
        task, canceled = asyncio.create_task(work), asyncio.create_task(self.canceled.wait())
        try:
            await asyncio.wait([task, canceled], return_when=asyncio.FIRST_COMPLETED)
            self.check()
            return task.result()
        finally:
            task.cancel()
            canceled.cancel()
            await asyncio.gather(task, canceled, return_exceptions=True)

    async def run(
        self, action: str, action_type: str, args: Message, *, limit_s: float, progress: Progress | None = None
    ) -> MotionOutcome:
        """One goal to its end; `limit_s` is ROS time. When the call is canceled, the goal is, and has ended after.

        Raises Canceled, Fenced, Stopped, CallTimeout, BridgeUnavailable, ActionUnavailable, GoalRejected, RosError, and
        what the check of the site's policy raises.
        """
        await self.ready()
        if self.check_goal is not None:
            await self.unless_canceled(self.check_goal(self.tool, action, action_type, args))
            await self.ready()
        feedback: list[Message] = []

        def keep(message: Message) -> None:
            feedback[:] = [message]

        motion = self.motion = self.robot.start_motion(action, action_type, args, limit_s=limit_s, on_feedback=keep)
        try:
            outcome = await self._follow(motion, feedback, progress)
        except asyncio.CancelledError:
            self.cancel("the caller gave the call up")
            with anyio.CancelScope(shield=True):
                await motion.ended()
            raise
        except GoalRejected:
            await self.check_guard(settle=True)
            raise
        finally:
            self.motion = None
        if outcome.status is GoalStatus.CANCELED and outcome.canceled_because is None:
            await self.check_guard(settle=True)
        return outcome

    async def check_guard(self, *, settle: bool = False) -> None:
        """Raises Stopped while the guard is latched; `settle` waits a little for news of it."""
        guard = self.robot.guard
        if await guard.settle() if settle else guard.latched:
            raise Stopped(
                f"the robot guard is stopped ({guard.reason}): nothing moves until a person resets it; do not try "
                "again, report it"
            )

    async def _follow(self, motion: Motion, feedback: list[Message], progress: Progress | None) -> MotionOutcome:
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


class Motions:
    """The claims of one server. At most one per channel; cancelling never waits behind a running goal.

    `fence` gives the fence of the call that is being served, `newest` the one that is in force: it is compared before
    every goal, since a call may have been let in just before a newer attempt took over.
    """

    def __init__(
        self,
        robot: Robot,
        fence: Callable[[], int],
        newest: Callable[[], int],
        check_goal: GoalCheck | None = None,
    ) -> None:
        self._robot, self._check_goal = robot, check_goal
        self._fence, self._newest = fence, newest
        self._claims: dict[str, Claim] = {}

    @property
    def running(self) -> list[Claim]:
        return list(self._claims.values())

    @asynccontextmanager
    async def claim(self, channel: str, tool: str) -> AsyncGenerator[Claim]:
        """Hold `channel` for a call of `tool`. Raises Busy when another call holds it, Fenced."""
        other = self._claims.get(channel)
        if other is not None:
            raise Busy(
                f"{other.tool} is moving the {channel} now; wait for its result or cancel it before calling {tool}"
            )
        claim = Claim(channel, tool, self._fence(), self._newest, self._robot, self._check_goal)
        claim.check()
        self._claims[channel] = claim
        gone = caller_gone()
        watch = None if gone is None else asyncio.create_task(claim.cancel_when(gone))
        try:
            yield claim
        finally:
            if watch is not None:
                watch.cancel()
            del self._claims[channel]
            claim.released.set()

    async def cancel(
        self, reason: str, *, channels: tuple[str, ...] | None = None, below_fence: int | None = None
    ) -> list[str]:
        """Cancel running motions and wait for them to have ended; the tools that were running.

        Only those of `channels`, and only those of grants older than `below_fence`, where given.
        """
        chosen = [
            claim
            for claim in self.running
            if (channels is None or claim.channel in channels) and (below_fence is None or claim.fence < below_fence)
        ]
        for claim in chosen:
            claim.cancel(reason)
        if chosen:
            waits = [asyncio.ensure_future(claim.released.wait()) for claim in chosen]
            _, late = await asyncio.wait(waits, timeout=RELEASE_WAIT_S)
            for wait in late:
                wait.cancel()
        return [claim.tool for claim in chosen]

    async def cancel_on_robot(self, actions: tuple[str, ...]) -> list[str]:
        """Cancel all goals of these action servers, whoever sent them; the actions that had some."""
        found: list[str] = []

        async def cancel(action: str) -> None:
            try:
                if await self._robot.link.cancel_goals(action, timeout_s=2.0):
                    found.append(action)
            except LinkError as error:
                log.warning("goals of %s could not be canceled: %s", action, error)

        await asyncio.gather(*(cancel(action) for action in actions))
        return sorted(found)


async def report_progress(done: float, total: float | None, text: str | None) -> None:
    """Tell the caller how far a motion is; a caller that cannot be told is no reason to stop it here."""
    try:
        await get_context().report_progress(done, total, text)
    except Exception as error:
        log.debug("progress could not be reported: %s", error)
