"""A goal under supervision: a deadline in ROS time, and a cancel that waits for the end."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from quartet_robot_link._actions import retrieve
from quartet_robot_link._clock import RosClock
from quartet_robot_link.errors import ActionServerLostError, BridgeUnavailableError, CallTimeoutError, RobotLinkError
from quartet_robot_link.link import GoalHandle, GoalResult, GoalStatus, Message, RobotLink

STALL_S = 20.0
"""Wall time that a goal runs without progress of a published /clock after which it counts as hung."""
CANCEL_WAIT_S = 10.0
"""Wall time within which a canceled goal must have ended."""
SERVER_CHECK_S = 2.0
"""Wall time between two looks whether the action server is still in the ROS graph."""
CANCEL_AGAIN_S = 0.25
"""A cancel that arrives before its goal cancels nothing, so it is asked again until the goal ends."""
_POLL_S = 0.05


@dataclass(frozen=True)
class MotionOutcome:
    """How a motion ended. Times are ROS time [s]."""

    status: GoalStatus
    values: Message
    duration_s: float
    canceled_because: str | None = None
    """Why it was canceled; None when the robot ended the goal by itself."""


class Motion:
    """A running goal. It is supervised to its end, also when the caller that waits for it has left."""

    def __init__(
        self,
        link: RobotLink,
        clock: RosClock,
        action: str,
        action_type: str,
        args: Message,
        *,
        limit_s: float,
        on_feedback: Callable[[Message], None] | None = None,
        stall_s: float = STALL_S,
        cancel_wait_s: float = CANCEL_WAIT_S,
        server_check_s: float = SERVER_CHECK_S,
    ) -> None:
        self.action = action
        self._link, self._clock = link, clock
        self._goal = (action, action_type, args, on_feedback)
        self._limit_s, self._stall_s, self._cancel_wait_s = limit_s, stall_s, cancel_wait_s
        self._server_check_s = server_check_s
        self._took_s, self._read_at = 0.0, clock.now()
        self._runs_since = time.monotonic()
        self._reason: str | None = None
        self._cancel = asyncio.Event()
        self._task = asyncio.create_task(self._supervise(), name=f"motion {action}")
        self._task.add_done_callback(retrieve)

    @property
    def done(self) -> bool:
        """Whether the motion has ended."""
        return self._task.done()

    def cancel(self, reason: str) -> None:
        """Ask for the end of the motion and return at once; the first reason counts."""
        if self._reason is None:
            self._reason = reason
        self._cancel.set()

    async def outcome(self) -> MotionOutcome:
        """Wait for the end; canceling the wait leaves the motion running.

        Raises CallTimeoutError (over the deadline: it was canceled, and the text says whether it has ended),
        ActionServerLostError (nobody is left who could end it), BridgeUnavailableError, ActionUnavailableError,
        GoalRejectedError, RosError.
        """
        return await asyncio.shield(self._task)

    async def ended(self) -> None:
        """Wait until the robot has ended the goal or nothing more can be learned about it."""
        await asyncio.wait([self._task])

    async def _supervise(self) -> MotionOutcome:
        action, action_type, args, on_feedback = self._goal
        self._read_at = self._clock.now()
        if self._cancel.is_set():
            return MotionOutcome(GoalStatus.CANCELED, {}, 0.0, self._reason)
        goal = await self._link.send_goal(action, action_type, args, on_feedback=on_feedback)
        self._runs_since = time.monotonic()
        result = asyncio.ensure_future(goal.result())
        result.add_done_callback(retrieve)
        server_lost = asyncio.create_task(self._server_lost())
        try:
            while not result.done() and not self._cancel.is_set():
                self._check_time()
                if server_lost.done():
                    result.cancel()
                    raise ActionServerLostError(
                        f"{action}: its action server left the ROS graph during the goal; whether the robot still "
                        "moves is not known: look before doing it again"
                    )
                await _first(result, self._cancel, _POLL_S)
        except ActionServerLostError:
            raise
        except CallTimeoutError as late:
            ended = await self._end(goal, result)
            how = "it was canceled and has ended" if ended else "it was asked to cancel and has not ended"
            raise CallTimeoutError(f"{late}; {how}") from None
        finally:
            server_lost.cancel()
        if not result.done() and not await self._end(goal, result):
            raise CallTimeoutError(
                f"{action}: canceled ({self._reason}), but the robot did not end the goal within "
                f"{self._cancel_wait_s:g} s; use the stop button"
            )
        final: GoalResult = await result
        reason = self._reason if final.status is GoalStatus.CANCELED else None
        self._tick()
        return MotionOutcome(final.status, final.values, self._took_s, reason)

    async def _server_lost(self) -> None:
        """Return once the action server is missing from the ROS graph at two looks in a row."""
        missed = 0
        while missed < 2:
            await asyncio.sleep(self._server_check_s)
            try:
                there = await self._link.has_action_server(self.action, timeout_s=2.0)
            except RobotLinkError:
                # A busy bridge says nothing about the server.
                there = True
            missed = 0 if there else missed + 1

    def _tick(self) -> None:
        """Add up ROS time, which jumps back when a simulation is reset or the first /clock replaces wall time."""
        now = self._clock.now()
        self._took_s += max(0.0, now - self._read_at)
        self._read_at = now

    def _check_time(self) -> None:
        self._tick()
        if self._took_s > self._limit_s:
            raise CallTimeoutError(f"{self.action} did not finish within {self._limit_s:g} s of the robot's time")
        # Before the goal ran, the clock may have stood for as long as nothing moved.
        if min(self._clock.stalled_s, time.monotonic() - self._runs_since) > self._stall_s:
            raise CallTimeoutError(f"{self.action}: the robot's clock has not advanced for {self._stall_s:g} s")

    async def _end(self, goal: GoalHandle, result: "asyncio.Future[GoalResult]") -> bool:
        """Cancel until the goal has ended; return False when it does not end in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._cancel_wait_s
        while not result.done() and loop.time() < deadline:
            try:
                await goal.cancel(timeout_s=min(2.0, self._cancel_wait_s))
            except BridgeUnavailableError:
                break
            except RobotLinkError:
                pass  # the robot may be slow to answer while the goal ends all the same
            await asyncio.wait([result], timeout=CANCEL_AGAIN_S)
        if not result.done():
            result.cancel()
            return False
        return True


async def _first(result: "asyncio.Future[GoalResult]", event: asyncio.Event, timeout_s: float) -> None:
    waiter = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait([result, waiter], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiter.cancel()
