"""Fence, latch and motion leases of one server for one robot, and the stop that ends all motions."""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from quartet_contracts import GrantClaims
from quartet_contracts.tools import CommonCode
from quartet_contracts.tools.nav2 import CancelResult
from quartet_robot_link import CallTimeoutError, CancelRejectedError, GoalStates, Heartbeat, Robot, RobotLinkError
from quartet_safety.guard import Latch, LatchFile
from quartet_safety.motion import FencedError, FenceStore, HeartbeatSender, LeaseOwner, LeaseTerms, MotionLeases
from quartet_tool_server._disconnect import caller_gone
from quartet_tool_server._grants import current_grant
from quartet_tool_server.errors import ToolError

log = logging.getLogger(__name__)

CONNECT_WAIT_S = 1.0
"""Wall time that the first call waits for the bridge, to cancel goals of an earlier process."""
CANCEL_TIMEOUT_S = 2.0
"""Wall time within which an action server answers that its goals are canceled."""


class SafetyController:
    """Decides what the server `server` may move: fence, latch and motion leases of one robot.

    `actions` are the action servers whose goals this server sends; a stop cancels all of their goals, whoever sent
    them. With `beats_required` every caller has to send heartbeats while it moves the robot. Fence and latch are kept
    in `state_dir`. Raises FenceError.
    """

    def __init__(
        self,
        server: str,
        robot: Robot,
        state_dir: Path,
        *,
        actions: Sequence[str] = (),
        beats_required: bool = False,
    ) -> None:
        name = robot.file.name
        self.robot, self.state_dir, self.actions = robot, state_dir, tuple(actions)
        self._goals = GoalStates(robot.link, self.actions)
        self.fences = FenceStore(state_dir / f"fence-{server}-{name}.json", name)
        self.latch = LatchFile(state_dir / f"stop-{server}-{name}.json")
        self.leases = MotionLeases(
            lease_terms(server, robot),
            owner=_owner,
            newest=lambda: self.fences.highest,
            beats_required=beats_required,
            caller_gone=caller_gone,
        )
        self.on_stop: list[Callable[[], Awaitable[list[str]]]] = []
        """Further functions that a stop calls; each returns the names of what it stopped."""
        stored = self.latch.read()
        self._stops = stored.stops
        if stored.latched:
            self.leases.stopped = stored.reason
        self.fences.begin()
        if self.fences.restarted:
            self._require_fence("this server has started anew")
        robot.guard.on_stop.append(lambda: self._require_fence("the robot was stopped"))
        self._fence_lock, self._latch_lock = asyncio.Lock(), asyncio.Lock()
        self._old_goals_ended = not actions

    @property
    def stopped(self) -> str | None:
        """Reason of the latch; None if this server is not stopped."""
        return self.leases.stopped

    @property
    def stops(self) -> int:
        """How often this server or its robot's guard was stopped: it grows with each stop, also across restarts.

        Stops at the guard alone are counted from the start of this process.
        """
        return self._stops + self.robot.guard.stops

    def _require_fence(self, why: str) -> None:
        """Let no grant that was given so far move anything."""
        self.leases.fence_required = (
            f"{why}, and nothing moves before a fence above {self.fences.highest} is installed: the orchestrator does "
            "so with its next step; a client of your own needs a new grant "
            f"(quartet grant --fence {self.fences.highest + 1})"
        )

    async def admit(self, grant: GrantClaims, *, reads: bool = False) -> None:
        """Admit a grant that is not older than the newest; learn a newer fence from it. Raises FencedError.

        With `reads` the call changes nothing: it must not be older, and takes nothing over either.
        """
        if not reads and (grant.fence > self.fences.highest or not self._old_goals_ended):
            await self.install_fence(grant.fence)
        if grant.fence < self.fences.highest:
            raise FencedError(
                f"fence {grant.fence} of '{grant.sub}' is older than {self.fences.highest}: a newer attempt has taken "
                "the robot over; stop working on this request"
            )

    async def install_fence(self, fence: int, *, explicit: bool = False) -> int:
        """Make `fence` the minimum (on disk first), end the motions of older grants, and return the fence in force.

        A server that has started anew moves nothing before this was done with a newer fence, or by somebody who may
        install fences (`explicit`) and is not outdated. Raises FenceError.
        """
        async with self._fence_lock:
            newer = await asyncio.to_thread(self.fences.install, fence)
            if newer or (explicit and fence == self.fences.highest):
                self.leases.fence_required = None
            if newer:
                await self.leases.cancel(f"a newer attempt (fence {fence}) took over", below_fence=fence)
            if not self._old_goals_ended and await self.robot.link.wait_connected(CONNECT_WAIT_S):
                await self.cancel_on_robot(self.actions)
                self._old_goals_ended = True
        return self.fences.highest

    async def end_request(self, request_id: str, reason: str) -> list[str]:
        """Cancel what this request moves, let it move nothing from now on, and return the canceled tools."""
        self.leases.end_request(request_id, reason)
        return await self.leases.cancel(reason, request_id=request_id)

    async def stop(self, reason: str, *, latch: bool = False) -> list[str]:
        """Cancel everything that this server moves, wait until it has ended, and return what was canceled.

        With `latch` nothing moves until `reset`, also after a restart, and nothing by a grant from before the stop.
        """
        if latch:
            self.leases.stopped = reason
            self._require_fence("this server was stopped")
            self._stops += 1
        stops: list[Awaitable[list[str]]] = [self.leases.cancel(reason), self.cancel_on_robot(self.actions)]
        if latch:
            stops.append(self._store(Latch(latched=True, reason=reason, since=time.time(), stops=self._stops)))
        stops += [stop() for stop in self.on_stop]
        return sorted({name for names in await asyncio.gather(*stops) for name in names})

    async def reset(self) -> bool:
        """Let the server move the robot again; return whether it was stopped."""
        was_stopped = self.leases.stopped is not None
        if was_stopped:
            await self._store(Latch(stops=self._stops))
        self.leases.stopped = None
        return was_stopped

    async def cancel_on_robot(self, actions: Sequence[str]) -> list[str]:
        """Cancel all goals of these action servers, whoever sent them; return the actions that had some."""
        return (await self._cancel_goals(actions))[0]

    async def cancel_channel(
        self, channel: str, actions: Sequence[str], tool: str, at_rest: Callable[[], Awaitable[bool]]
    ) -> CancelResult:
        """Cancel what moves `channel` and all goals of `actions` for `tool`; return when the channel stands still.

        `at_rest` waits for standstill; it raises CallTimeoutError where the robot does not tell its speed. Raises
        ToolError TIMEOUT when the channel still moves, ROS_ERROR when something was not canceled.
        """
        leases = [lease for lease in self.leases.running if lease.channel == channel]
        ended = await self.leases.cancel(f"{tool} was called", channels=(channel,))
        canceled, refused = await self._cancel_goals(actions)
        moving = {lease.tool for lease in leases if lease.goal_goes_on or not lease.released.is_set()}
        finished = sorted({lease.tool for lease in leases} - {*ended, *moving})
        canceled, going_on = sorted({*ended, *canceled}), sorted({*refused, *moving})
        try:
            standstill = await at_rest()
        except CallTimeoutError:
            standstill = None
        if standstill is False:
            text = f"the {channel} still moves after {', '.join(canceled) or 'nothing'} was canceled"
            text += f"; {', '.join(going_on)} goes on" if going_on else ""
        elif going_on:
            text = f"{', '.join(going_on)} was not canceled: the robot refused or goes on"
        else:
            text = f"{', '.join(finished)} had ended by itself" if finished else ""
            return CancelResult(canceled=canceled, standstill=standstill, message=text)
        code = CommonCode.TIMEOUT if standstill is False else CommonCode.ROS_ERROR
        raise ToolError(
            f"{text}; use the stop button", code=code, canceled=canceled, running=going_on, standstill=standstill
        )

    async def _cancel_goals(self, actions: Sequence[str]) -> tuple[list[str], list[str]]:
        """Cancel all goals of these action servers; return those that had some, and those that refused."""
        canceled: list[str] = []
        refused: list[str] = []

        async def cancel(action: str) -> None:
            try:
                if await self._goals.cancel(action, timeout_s=CANCEL_TIMEOUT_S):
                    canceled.append(action)
            except CancelRejectedError as error:
                refused.append(action)
                log.warning("%s", error)
            except RobotLinkError as error:
                log.warning("goals of %s could not be canceled: %s", action, error)

        await asyncio.gather(*(cancel(action) for action in actions))
        return sorted(canceled), sorted(refused)

    async def _store(self, latch: Latch) -> list[str]:
        try:
            async with self._latch_lock:
                await asyncio.to_thread(self.latch.write, latch)
        except OSError as error:
            log.error("%s cannot be written: %s; a restart would forget this", self.latch.path, error)
        return []


def lease_terms(server: str, robot: Robot) -> LeaseTerms:
    """Return the terms of motion leases of `robot`: its guard, and heartbeats with the limits of its file."""
    limits = robot.file.heartbeat

    def heartbeat(alive: Callable[[], bool]) -> HeartbeatSender:
        source = f"{server}:{secrets.token_hex(6)}"
        return Heartbeat(robot.link, robot.file.topics.guard_heartbeat, source, limits.every_s, alive)

    return LeaseTerms(
        guard=robot.guard,
        heartbeat=heartbeat,
        heartbeat_every_s=limits.every_s,
        guard_timeout_s=limits.guard_timeout_s,
        caller_timeout_s=limits.caller_timeout_s,
    )


def _owner() -> LeaseOwner:
    """Owner of a lease that the call being served asks for."""
    grant = current_grant.get()
    return LeaseOwner() if grant is None else LeaseOwner(grant.fence, grant.jti, grant.beats)
