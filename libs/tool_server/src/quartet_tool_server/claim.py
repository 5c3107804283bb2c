"""The right of one tool call to move one channel, and how it ends."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
from fastmcp.server.dependencies import get_context
from opentelemetry.trace import SpanKind

from quartet_process import tracing
from quartet_robot_link import GoalRejected, GoalStatus, Heartbeat, Message, Motion, MotionOutcome, Robot
from quartet_tool_server.errors import Canceled, Fenced, Lapsed, Stopped, ToolFailure
from quartet_tool_server.watch import CallerWatch

log = logging.getLogger(__name__)
T = TypeVar("T")

REPORT_EVERY_S = 0.5
"""Wall time between two progress reports."""
RESET_ADVICE = "nothing moves until a person resets it with `quartet reset`; do not try again, report it"

Progress = Callable[[Message], tuple[float, float | None, str]]
"""Feedback of an action to (done, total or None, text)."""
GoalCheck = Callable[[str, str, str, Message], Coroutine[Any, Any, None]]
"""Tool, action, action type and goal: raises when the site's policy does not allow it."""


@dataclass
class Claim:
    """The right to move one channel (base, arm, gripper), for as long as one tool call lasts."""

    channel: str
    tool: str
    fence: int
    robot: Robot
    barrier: Callable[["Claim"], None]
    """Raises Stopped, Fenced or Canceled when this call may not go on."""
    check_goal: GoalCheck | None = None
    server: str = "server"
    request_id: str = ""
    caller: CallerWatch | None = None
    """Of a caller that beats; None: its connection alone is watched."""
    reason: str | None = None
    motion: Motion | None = None
    canceled: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    _heartbeat: Heartbeat | None = None
    _lapse: str | None = None
    _watching: "asyncio.Task[None] | None" = None

    def cancel(self, reason: str) -> None:
        """End the running goal and let no further one start."""
        if self.reason is None:
            self.reason = reason
        self.canceled.set()
        if self.motion is not None:
            self.motion.cancel(self.reason)

    @property
    def lapsed(self) -> bool:
        """Whether the call was ended since nobody answered for it."""
        return self._lapse is not None

    @property
    def beat_age_s(self) -> float:
        """Since the guard was last told that somebody follows the motion; 0 before the first time."""
        return 0.0 if self._heartbeat is None else self._heartbeat.age_s

    def lapse(self, what: str) -> None:
        """End the call since nobody answers for it."""
        if self._lapse is None:
            self._lapse = what
            log.warning("%s: %s; its motion is ended", self.tool, what)
        self.cancel(what)

    async def cancel_when(self, gone: asyncio.Event) -> None:
        """Cancel once the caller's connection is lost."""
        await gone.wait()
        self.cancel("the caller's connection was lost")

    def check(self) -> None:
        """Raises Stopped, Fenced, Lapsed or Canceled between two steps of a call that may not go on."""
        self.barrier(self)
        if self._heartbeat is not None and self._heartbeat.age_s > self.robot.file.heartbeat.guard_timeout_s:
            # The process was frozen: the guard has ended the motion, and nothing of this call may begin it again.
            self.lapse(f"this server sent no heartbeat for {self._heartbeat.age_s:.1f} s")
        self._raise_lapse()
        if self.reason is not None:
            raise Canceled(f"{self.tool} was canceled: {self.reason}")

    async def ready(self) -> None:
        """Before anything that may move the robot: from here on it is vouched for. Raises Canceled, Fenced, Stopped,
        Lapsed.
        """
        self.check()
        await self.check_guard()
        if self._heartbeat is None:
            await self._vouch()

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

        Raises Canceled, Fenced, Stopped, Lapsed, CallTimeout, BridgeUnavailable, ActionUnavailable, GoalRejected,
        RosError, and what the check of the site's policy raises.
        """
        self.check()
        await self.check_guard()
        if self.check_goal is not None:
            await self.unless_canceled(self.check_goal(self.tool, action, action_type, args))
        await self.ready()
        feedback: list[Message] = []

        def keep(message: Message) -> None:
            feedback[:] = [message]

        motion = self.motion = self.robot.start_motion(action, action_type, args, limit_s=limit_s, on_feedback=keep)
        try:
            with tracing.span(f"goal {action_type}", kind=SpanKind.CLIENT, attributes={tracing.ACTION: action}) as one:
                outcome = await self._follow(motion, feedback, progress)
                one.set_attribute(tracing.STATUS, outcome.status.name)
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
        if outcome.status is GoalStatus.CANCELED:
            await self._explain(outcome)
        return outcome

    def open(self) -> None:
        """The call begins: from now on its caller is watched."""
        self._watching = asyncio.create_task(self._watch(self.robot.file.heartbeat.every_s / 2))

    async def close(self) -> None:
        """The call is over: the guard need not watch it any longer."""
        with anyio.CancelScope(shield=True):
            if self._watching is not None:
                self._watching.cancel()
                await asyncio.gather(self._watching, return_exceptions=True)
            if self._heartbeat is not None:
                await self._heartbeat.end()

    async def _vouch(self) -> None:
        limits = self.robot.file.heartbeat
        heartbeat = Heartbeat(
            self.robot.link,
            self.robot.file.topics.guard_heartbeat,
            f"{self.server}:{secrets.token_hex(6)}",
            limits.every_s,
            alive=lambda: self._lapse is None,
        )
        self._heartbeat = heartbeat
        await heartbeat.begin()

    async def _watch(self, every_s: float) -> None:
        """Ends the motion when the caller falls silent or this process was frozen."""
        while self.reason is None:
            await asyncio.sleep(every_s)
            if self.caller is not None and (silence := self.caller.silence(time.monotonic())):
                self.lapse(f"no heartbeat of the caller for {silence:.2f} s")
            with suppress(ToolFailure):
                self.check()

    async def _explain(self, outcome: MotionOutcome) -> None:
        """Raises Stopped or Lapsed when that is why the goal was canceled."""
        self._raise_lapse()
        with suppress(Fenced, Canceled):
            self.barrier(self)
        if outcome.canceled_because is None:
            await self.explain_cancel()

    async def explain_cancel(self) -> None:
        """Raises Stopped or Lapsed when the guard has ended a motion that nobody here canceled."""
        await self.check_guard(settle=True)
        if self.robot.guard.lapsed:
            raise Lapsed(_lapsed_text(f"robot guard: {self.robot.guard.reason}"))

    def _raise_lapse(self) -> None:
        if self._lapse is not None:
            raise Lapsed(_lapsed_text(self._lapse))

    async def check_guard(self, *, settle: bool = False) -> None:
        """Raises Stopped while the guard is latched; `settle` waits a little for news of it."""
        guard = self.robot.guard
        if await guard.settle() if settle else guard.latched:
            raise Stopped(f"the robot guard is stopped ({guard.reason}): {RESET_ADVICE}")

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


def _lapsed_text(what: str) -> str:
    return (
        f"{what}: the robot was brought to a standstill, the gripper is as it was; look at the world, then decide "
        "whether to do it again"
    )


async def report_progress(done: float, total: float | None, text: str | None) -> None:
    """Tell the caller how far a motion is; a caller that cannot be told is no reason to stop it here."""
    try:
        await get_context().report_progress(done, total, text)
    except Exception as error:
        log.debug("progress could not be reported: %s", error)
