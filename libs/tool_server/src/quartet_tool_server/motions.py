"""Running motions of a server: who moves what, and how it is brought to an end."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from quartet_contracts import GrantClaims
from quartet_robot_link import LinkError, Robot
from quartet_tool_server.claim import RESET_ADVICE, Claim, GoalCheck
from quartet_tool_server.disconnect import caller_gone
from quartet_tool_server.errors import Busy, Canceled, Fenced, Stopped
from quartet_tool_server.watch import CallerWatch

log = logging.getLogger(__name__)

RELEASE_WAIT_S = 12.0
"""Wall time within which canceled motions have released their channel."""
MAX_ENDED = 1000
"""Requests that were canceled and are remembered; a grant lives for minutes."""


class Motions:
    """The claims of one server. At most one per channel; cancelling never waits behind a running goal.

    `grant` gives the grant of the call that is being served, `newest` the fence that is in force: it is compared
    before every goal, since a call may have been let in just before a newer attempt took over. `beats_required`: every
    caller has to beat, whatever its grant says.
    """

    def __init__(
        self,
        robot: Robot,
        grant: Callable[[], GrantClaims | None],
        newest: Callable[[], int],
        check_goal: GoalCheck | None = None,
        *,
        server: str = "server",
        beats_required: bool = False,
    ) -> None:
        self._robot, self._check_goal, self._server = robot, check_goal, server
        self._grant, self._newest = grant, newest
        self._beats_required = beats_required
        self._claims: dict[str, Claim] = {}
        self._ended: dict[str, str] = {}
        self.stopped: str | None = None
        """Why nothing may move until a person resets this server."""
        self.lapses = 0
        """Motions that were ended since a heartbeat stayed out."""
        self.held: str | None = None
        """Why nothing may move until a fence is installed."""

    @property
    def running(self) -> list[Claim]:
        return list(self._claims.values())

    def heartbeat_ages(self) -> dict[str, float]:
        """Since the oldest last beat [s], of callers to this server and of it to the guard; 0 while nothing moves."""
        now = time.monotonic()
        callers = [claim.caller.age_s(now) for claim in self.running if claim.caller is not None]
        own = [claim.beat_age_s for claim in self.running]
        return {"caller": max(callers, default=0.0), "server": max(own, default=0.0)}

    @asynccontextmanager
    async def claim(self, channel: str, tool: str) -> AsyncGenerator[Claim]:
        """Hold `channel` for a call of `tool`. Raises Busy when another call holds it, Stopped, Fenced, Canceled."""
        other = self._claims.get(channel)
        if other is not None:
            raise Busy(
                f"{other.tool} is moving the {channel} now; wait for its result or cancel it before calling {tool}"
            )
        claim = self._new(channel, tool)
        claim.check()
        self._claims[channel] = claim
        claim.open()
        gone = caller_gone()
        watch = None if gone is None else asyncio.create_task(claim.cancel_when(gone))
        try:
            yield claim
        finally:
            if watch is not None:
                watch.cancel()
            self.lapses += claim.lapsed
            try:
                await claim.close()
            finally:
                del self._claims[channel]
                claim.released.set()

    def beat(self, request_id: str) -> int:
        """A heartbeat of the caller of this request; how many of its calls move the robot now."""
        found = [claim for claim in self.running if claim.request_id == request_id]
        for claim in found:
            if claim.caller is not None:
                claim.caller.beat(time.monotonic())
        return len(found)

    def end_request(self, request_id: str, reason: str) -> None:
        """No call of this request moves anything from now on."""
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
        """Cancel running motions and wait for them to have ended; the tools that were running.

        Only those of `channels`, of grants older than `below_fence`, and of `request_id`, where given.
        """
        chosen = [
            claim
            for claim in self.running
            if (channels is None or claim.channel in channels)
            and (below_fence is None or claim.fence < below_fence)
            and (request_id is None or claim.request_id == request_id)
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

    def _new(self, channel: str, tool: str) -> Claim:
        grant = self._grant()
        beats = self._beats_required or (grant is not None and grant.beats)
        return Claim(
            channel,
            tool,
            0 if grant is None else grant.fence,
            self._robot,
            self._barrier,
            self._check_goal,
            server=self._server,
            request_id="" if grant is None else grant.jti,
            caller=CallerWatch(self._robot.file.heartbeat.caller_timeout_s, time.monotonic()) if beats else None,
        )

    def _barrier(self, claim: Claim) -> None:
        """Raises what stands in the way of this call."""
        if self.stopped is not None:
            raise Stopped(f"this server is stopped ({self.stopped}): {RESET_ADVICE}")
        if claim.fence < self._newest():
            raise Fenced(
                f"fence {claim.fence} of this call of {claim.tool} is older than {self._newest()}: a newer attempt has "
                "taken the robot over; stop working on this request"
            )
        if self.held is not None:
            raise Fenced(self.held)
        if claim.request_id in self._ended:
            raise Canceled(f"{claim.tool}: this request was ended: {self._ended[claim.request_id]}")
