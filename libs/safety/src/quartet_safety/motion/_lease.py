"""Motion lease: the right of one tool call to move one channel of the robot, and how it ends."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from quartet_safety.errors import CanceledError, FencedError, LapsedError, MotionRefusedError, StoppedError

log = logging.getLogger(__name__)
T = TypeVar("T")

RESET_ADVICE = "nothing moves until a person resets it with `quartet reset`; do not try again, report it"
LATE_S = 0.1
"""A check that comes this late was delayed by this process, and heartbeats of that time are still unread."""


class GuardView(Protocol):
    """The robot guard as this process last heard of it."""

    @property
    def latched(self) -> bool:
        """Whether the guard is stopped."""
        ...

    def lapse_since(self, began_s: float) -> str | None:
        """Return the guard's reason if it ended the motions for missing heartbeats since `began_s` [monotonic s]."""
        ...

    @property
    def reason(self) -> str:
        """What the guard gives as its reason."""
        ...

    async def settle(self) -> bool:
        """Return whether the guard is stopped, after a short wait for news of it."""
        ...


class HeartbeatSender(Protocol):
    """Heartbeats of one motion to the guard."""

    @property
    def age_s(self) -> float:
        """Wall time since the last heartbeat [s]."""
        ...

    async def begin(self) -> None:
        """Send the first heartbeat, and go on."""
        ...

    async def end(self) -> None:
        """Tell the guard that the motion has ended."""
        ...


class Cancelable(Protocol):
    """A running goal."""

    def cancel(self, reason: str) -> None:
        """Ask for its end."""
        ...


@dataclass(frozen=True)
class LeaseTerms:
    """What the leases of one robot have in common. Times are wall time [s]."""

    guard: GuardView
    heartbeat: Callable[[Callable[[], bool]], HeartbeatSender]
    """Makes the sender of one motion; it sends as long as the given function returns True."""
    heartbeat_every_s: float
    guard_timeout_s: float
    """The guard ends a motion whose heartbeats stop for this long."""
    caller_timeout_s: float
    """A caller that has to send heartbeats counts as gone after this long without one."""


class CallerWatch:
    """Heartbeats of one caller; times are monotonic [s]. The call itself is the first heartbeat."""

    def __init__(self, timeout_s: float, now: float) -> None:
        self._timeout_s = timeout_s
        self._heard = self._looked = now
        self._put_off = False

    def beat(self, now: float) -> None:
        """Note a heartbeat."""
        self._heard = now

    def age_s(self, now: float) -> float:
        """Return the time since the last heartbeat [s]."""
        return now - self._heard

    def silence(self, now: float) -> float | None:
        """Return for how long the caller has been silent [s] if that is too long, else None.

        Call it often: a check that comes late itself is postponed once, so that heartbeats that have arrived are read.
        """
        late = now - self._looked > LATE_S
        self._looked = now
        if late and not self._put_off:
            self._put_off = True
            return None
        self._put_off = False
        silent = now - self._heard
        return silent if silent > self._timeout_s else None


class MotionLease:
    """The right to move one channel (such as base, arm, gripper) for as long as one tool call lasts.

    `barrier` raises StoppedError, FencedError or CanceledError when the call may not go on. `caller` watches a caller
    that sends heartbeats; with None only its connection is watched.
    """

    def __init__(
        self,
        channel: str,
        tool: str,
        terms: LeaseTerms,
        barrier: Callable[["MotionLease"], None],
        *,
        fence: int = 0,
        request_id: str = "",
        caller: CallerWatch | None = None,
    ) -> None:
        self.channel, self.tool, self.fence, self.request_id, self.caller = channel, tool, fence, request_id, caller
        self.reason: str | None = None
        """Reason of the cancellation, None while the call may go on."""
        self.goal: Cancelable | None = None
        """The goal that runs now."""
        self.goal_goes_on = False
        """Whether the robot did not end a goal that was canceled."""
        self.cut_short = False
        """Whether the cancellation ended a goal or kept one from its start; a goal may also end by itself at once."""
        self.canceled, self.released = asyncio.Event(), asyncio.Event()
        self._terms, self._barrier = terms, barrier
        self._heartbeat: HeartbeatSender | None = None
        self._began_s = math.inf
        """When the heartbeats began [monotonic s]."""
        self._lapse: str | None = None
        self._watching: asyncio.Task[None] | None = None

    @property
    def lapsed(self) -> bool:
        """Whether the call was ended because heartbeats stopped."""
        return self._lapse is not None

    @property
    def beat_age_s(self) -> float:
        """Wall time since the last heartbeat to the guard [s]; 0 before the first."""
        return 0.0 if self._heartbeat is None else self._heartbeat.age_s

    def cancel(self, reason: str) -> None:
        """End the running goal and let no further one start."""
        if self.reason is None:
            self.reason = reason
        self.canceled.set()
        if self.goal is not None:
            self.goal.cancel(self.reason)

    def lapse(self, what: str) -> None:
        """End the call because heartbeats stopped."""
        if self._lapse is None:
            self._lapse = what
            log.warning("%s: %s; its motion is ended", self.tool, what)
        self.cancel(what)

    async def cancel_when(self, gone: asyncio.Event) -> None:
        """Cancel the call once its caller's connection is lost."""
        await gone.wait()
        self.cancel("the caller's connection was lost")

    def check(self) -> None:
        """Raise if the call may not go on: StoppedError, FencedError, LapsedError, CanceledError."""
        self.cut_short = self.cut_short or self.reason is not None
        self._check()

    def _check(self) -> None:
        self._barrier(self)
        if self._heartbeat is not None and self._heartbeat.age_s > self._terms.guard_timeout_s:
            # The process was frozen: the guard has ended the motion, and nothing of this call may begin it again.
            self.lapse(f"this server sent no heartbeat for {self._heartbeat.age_s:.1f} s")
        self._raise_lapse()
        if self.reason is not None:
            raise CanceledError(f"{self.tool} was canceled: {self.reason}")

    async def ready(self) -> None:
        """Start the heartbeats; call it before anything that may move the robot.

        Raises StoppedError, FencedError, LapsedError, CanceledError.
        """
        self.check()
        await self.check_guard()
        if self._heartbeat is None:
            self._began_s = time.monotonic()
            self._heartbeat = self._terms.heartbeat(lambda: self._lapse is None)
            await self._heartbeat.begin()

    async def unless_canceled(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`, which moves nothing; cancel it as soon as the call is canceled.

        A stop so never waits for a planner. Raises what `check` raises, and what `work` raises.
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

    def open(self) -> None:
        """Watch the caller from now on."""
        self._watching = asyncio.create_task(self._watch(self._terms.heartbeat_every_s / 2))

    async def close(self) -> None:
        """End the watch and the heartbeats; not to be interrupted."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        if self._heartbeat is not None:
            await self._heartbeat.end()

    async def check_guard(self, *, settle: bool = False) -> None:
        """Raise StoppedError while the guard is stopped; `settle` waits shortly for news of it."""
        if settle:
            await self._terms.guard.settle()
        self.raise_if_latched()

    def raise_if_latched(self) -> None:
        """Raise StoppedError while the guard is stopped."""
        guard = self._terms.guard
        if guard.latched:
            raise StoppedError(f"the robot guard is stopped ({guard.reason}): {RESET_ADVICE}")

    async def explain_cancel(self) -> None:
        """Raise StoppedError or LapsedError if the guard ended a motion that nobody here canceled."""
        await self.check_guard(settle=True)
        if (reason := self._terms.guard.lapse_since(self._began_s)) is not None:
            raise LapsedError(_lapsed_text(f"robot guard: {reason}"))

    async def explain_canceled_goal(self, *, by_us: bool) -> None:
        """Raise StoppedError or LapsedError if that is why a goal was canceled; `by_us`: this process asked for it."""
        self._raise_lapse()
        with suppress(FencedError, CanceledError):
            self._barrier(self)
        if not by_us:
            await self.explain_cancel()

    async def _watch(self, every_s: float) -> None:
        """End the motion when the caller falls silent, this process was frozen, or this watch itself fails."""
        try:
            while self.reason is None:
                await asyncio.sleep(every_s)
                if self.caller is not None and (silence := self.caller.silence(time.monotonic())):
                    self.lapse(f"no heartbeat of the caller for {silence:.2f} s")
                with suppress(MotionRefusedError):
                    self._check()
        except Exception as error:
            # Nobody watches the caller from now on, so the heartbeats to the guard must not go on either.
            log.exception("the watch of %s failed", self.tool)
            self.lapse(f"the watch of the caller failed: {error!r}")

    def _raise_lapse(self) -> None:
        if self._lapse is not None:
            raise LapsedError(_lapsed_text(self._lapse))


def _lapsed_text(what: str) -> str:
    return (
        f"{what}: the robot was brought to a standstill, the gripper is as it was; look at the world, then decide "
        "whether to do it again"
    )
