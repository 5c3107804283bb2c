"""The motion leases of one server: who may move what now, and how a stop ends it."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from quartet_safety.errors import BusyError, CanceledError, FencedError, StoppedError
from quartet_safety.motion._lease import RESET_ADVICE, CallerWatch, LeaseTerms, MotionLease

RELEASE_WAIT_S = 12.0
"""Wall time within which canceled calls release their lease."""
MAX_ENDED = 1000
"""Requests that were ended and are remembered; a grant is valid for minutes."""


@dataclass(frozen=True)
class LeaseOwner:
    """Who asks for a lease: fence and request of the call's grant, and whether its caller sends heartbeats."""

    fence: int = 0
    request_id: str = ""
    beats: bool = False


class MotionLeases:
    """The leases of one server, at most one per channel. Canceling never waits behind a running goal.

    `owner` returns the owner of the call that is being served, `newest` the fence in force: they are compared before
    every goal, since a newer attempt may take over while a call runs. With `beats_required` every caller has to send
    heartbeats, whatever its grant says. `caller_gone` returns the event that the current caller's connection is lost.
    """

    def __init__(
        self,
        terms: LeaseTerms,
        owner: Callable[[], LeaseOwner],
        newest: Callable[[], int],
        *,
        beats_required: bool = False,
        caller_gone: Callable[[], asyncio.Event | None] = lambda: None,
    ) -> None:
        self._terms, self._owner, self._newest = terms, owner, newest
        self._beats_required, self._caller_gone = beats_required, caller_gone
        self._leases: dict[str, MotionLease] = {}
        self._ended: dict[str, str] = {}
        self.stopped: str | None = None
        """Reason of the latch; None unless this server is stopped until a person resets it."""
        self.fence_required: str | None = None
        """Message while nothing may move before a fence is installed, after a start and after a stop, else None."""
        self.lapses = 0
        """Motions that were ended because heartbeats stopped."""

    @property
    def running(self) -> list[MotionLease]:
        """The leases that are owned now."""
        return list(self._leases.values())

    def heartbeat_ages(self) -> dict[str, float]:
        """Return the age of the oldest last heartbeat [s]: of callers, and of this server; 0 while nothing moves."""
        now = time.monotonic()
        callers = [lease.caller.age_s(now) for lease in self.running if lease.caller is not None]
        own = [lease.beat_age_s for lease in self.running]
        return {"caller": max(callers, default=0.0), "server": max(own, default=0.0)}

    @asynccontextmanager
    async def acquire(self, channel: str, tool: str) -> AsyncGenerator[MotionLease]:
        """Own the lease of `channel` during a call of `tool`.

        Raises BusyError when another call owns it, StoppedError, FencedError, CanceledError.
        """
        other = self._leases.get(channel)
        if other is not None:
            raise BusyError(
                f"{other.tool} is moving the {channel} now; wait for its result or cancel it before calling {tool}"
            )
        lease = self._new(channel, tool)
        lease.check()
        self._leases[channel] = lease
        lease.open()
        gone = self._caller_gone()
        watch = None if gone is None else asyncio.create_task(lease.cancel_when(gone))
        try:
            yield lease
        finally:
            if watch is not None:
                watch.cancel()
            self.lapses += lease.lapsed
            closing = asyncio.ensure_future(lease.close())
            try:
                await asyncio.shield(closing)
            finally:
                if closing.done():
                    self._release(lease)
                else:
                    closing.add_done_callback(lambda _: self._release(lease))

    def beat(self, request_id: str) -> int:
        """Note a heartbeat of the caller of this request; return how many of its calls move the robot now."""
        found = [lease for lease in self.running if lease.request_id == request_id]
        for lease in found:
            if lease.caller is not None:
                lease.caller.beat(time.monotonic())
        return len(found)

    def end_request(self, request_id: str, reason: str) -> None:
        """Let no call of this request move anything from now on."""
        self._ended[request_id] = reason
        while len(self._ended) > MAX_ENDED:
            del self._ended[next(iter(self._ended))]

    async def cancel(
        self,
        reason: str,
        *,
        channels: tuple[str, ...] | None = None,
        below_fence: int | None = None,
        request_id: str | None = None,
    ) -> list[str]:
        """Cancel calls, wait until they have released their leases, and return the tools that were cut short.

        A tool whose motion ended by itself in the meantime is not one of them.

        Only those of `channels`, of grants older than `below_fence`, and of `request_id`, where given.
        """
        chosen = [
            lease
            for lease in self.running
            if (channels is None or lease.channel in channels)
            and (below_fence is None or lease.fence < below_fence)
            and (request_id is None or lease.request_id == request_id)
        ]
        for lease in chosen:
            lease.cancel(reason)
        if chosen:
            waits = [asyncio.ensure_future(lease.released.wait()) for lease in chosen]
            _, late = await asyncio.wait(waits, timeout=RELEASE_WAIT_S)
            for wait in late:
                wait.cancel()
        return [
            lease.tool for lease in chosen if lease.released.is_set() and lease.cut_short and not lease.goal_goes_on
        ]

    def _new(self, channel: str, tool: str) -> MotionLease:
        owner = self._owner()
        beats = self._beats_required or owner.beats
        return MotionLease(
            channel,
            tool,
            self._terms,
            self._barrier,
            fence=owner.fence,
            request_id=owner.request_id,
            caller=CallerWatch(self._terms.caller_timeout_s, time.monotonic()) if beats else None,
        )

    def _release(self, lease: MotionLease) -> None:
        del self._leases[lease.channel]
        lease.released.set()

    def _barrier(self, lease: MotionLease) -> None:
        """Raise what forbids this call to move the robot."""
        if self.stopped is not None:
            raise StoppedError(f"this server is stopped ({self.stopped}): {RESET_ADVICE}")
        if lease.fence < self._newest():
            raise FencedError(
                f"fence {lease.fence} of this call of {lease.tool} is older than {self._newest()}: a newer attempt has "
                "taken the robot over; stop working on this request"
            )
        if self.fence_required is not None:
            lease.raise_if_latched()
            raise FencedError(self.fence_required)
        if lease.request_id in self._ended:
            raise CanceledError(f"{lease.tool}: this request was ended: {self._ended[lease.request_id]}")
