"""Lease holders that are frozen until another replica has taken over, then woken; they must not move the robot."""

import asyncio
import os
import random
import signal
import time
from dataclasses import dataclass
from typing import Any

from quartet_agent_runtime import Toolbox, ignore_progress
from quartet_benchmarks.chaos.crashes import MOMENTS
from quartet_benchmarks.chaos.job import Job, Score
from quartet_benchmarks.chaos.redis_proxy import Kind, RedisProxy
from quartet_contracts import JournalEvent, SkillRequest, decode
from quartet_contracts.journal import SkillRequested, SkillStarted, ToolReturned
from quartet_deployment import ClientError, Stack

WHEN: dict[str, tuple[str, ...]] = {
    "orchestrator": ("drive begun", "pick requested", "pick started", "fingers closing"),
    "approach": ("drive begun",),
    "pick": ("pick started", "fingers to close", "fingers closed"),
    "place": ("arm goes down", "fingers opening"),
}
"""Moments at which each owns a lease. Those of the orchestrator lie before its last step, so that a newer fence comes
while it is frozen."""
JOINTS = [0.0, -0.243, -2.829, -0.798, 1.562, 0.0]
STALE: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "approach": (
        ("nav2__navigate_to_pose", {"x": 0.3, "y": 0.0, "yaw": 0.0}),
        ("moveit__plan_and_execute", {"target": {"joint_positions": JOINTS}}),
    ),
    "pick": (
        ("moveit__plan_and_execute", {"target": {"joint_positions": JOINTS}}),
        ("moveit__open_gripper", {}),
        ("moveit__close_gripper", {}),
    ),
    "place": (
        ("moveit__plan_and_execute", {"target": {"joint_positions": JOINTS}}),
        ("moveit__open_gripper", {}),
    ),
}
"""Calls that the grant of an agent's request covers, tried when the request is over."""
MOVES = frozenset(
    {tool for calls in STALE.values() for tool, _ in calls}
    | {"moveit__plan_cartesian_path", "nav2__approach_target", "nav2__spin_robot"}
)
REFUSED = "FENCED"
TOOL_TIMEOUT_S = 30.0


@dataclass
class FrozenRun:
    """Result of one job in which a lease holder was frozen."""

    who: str
    moment: str
    seed: int
    score: Score
    happened: bool
    """Whether it was frozen, another replica took over, and it woke before the end of the job."""
    calls: int
    """Number of stale calls: motion calls of a step that is over, and requests of a stale orchestrator."""
    accepted: list[str]
    """Stale calls that were not refused."""

    def row(self) -> dict[str, Any]:
        """Return the row of this job in the JSON."""
        return {
            "frozen": self.who,
            "at": self.moment,
            "seed": self.seed,
            "happened": self.happened,
            **self.score.row(),
            "stale_calls": self.calls,
            "accepted": self.accepted,
        }


def frozen_holders(seed: int) -> "list[tuple[str, str]]":
    """Return every lease holder with each of its moments, in a random order."""
    pairs = [(who, moment) for who, moments in WHEN.items() for moment in moments]
    random.Random(seed).shuffle(pairs)
    return pairs


def play_frozen(stack: Stack, proxy: RedisProxy, who: str, moment: str, seed: int) -> FrozenRun:
    """Run one job in which `who` is frozen at `moment`; the stack's processes reach Redis through `proxy`."""
    replica, url = stack.replicate(who)
    try:
        job = Job.begin(stack, seed, url if who == "orchestrator" else "")
        holder = _FrozenHolder(stack, proxy, who)
        try:
            for event in job.follow():
                if holder.request is None and MOMENTS[moment](event):
                    holder.freeze(job.events)
                elif holder.asleep and isinstance(event.event, SkillRequested):
                    holder.wake()
        except ClientError:
            # The journal broke off for good; the score shows it.
            pass
        finally:
            holder.wake_up()
        calls, accepted = holder.count(job.events)
        return FrozenRun(who, moment, seed, job.score(), holder.woken_at is not None, calls, accepted)
    finally:
        stack.end(replica)


class _FrozenHolder:
    def __init__(self, stack: Stack, proxy: RedisProxy, who: str) -> None:
        self._stack, self._proxy, self._who = stack, proxy, who
        self._pid = 0
        self.request: SkillRequest | None = None
        """Newest request at the time of the freeze."""
        self.woken_at: float | None = None
        self._tried: list[tuple[str, str]] = []
        """Tool and code of each stale call made with its grant."""

    @property
    def asleep(self) -> bool:
        return self.request is not None and self.woken_at is None

    def freeze(self, events: list[JournalEvent]) -> None:
        self.request = decode(SkillRequest, self._proxy.of(Kind.REQUEST)[-1].body)
        self._pid = self._stack.pids()["orchestrator"]
        if self._who != "orchestrator":
            started = next(e.event for e in reversed(events) if isinstance(e.event, SkillStarted))
            self._pid = int(started.replica.rpartition("-")[2])
        os.kill(self._pid, signal.SIGSTOP)

    def wake_up(self) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGCONT)

    def wake(self) -> None:
        """Wake it, and make the worst calls that its grant covers."""
        self.woken_at = time.time()
        self.wake_up()
        asyncio.run(self._try_grant())

    async def _try_grant(self) -> None:
        assert self.request is not None
        servers = self._stack.servers()
        async with Toolbox(servers, self.request.grant, (), TOOL_TIMEOUT_S) as tools:
            for tool, arguments in STALE[self.request.skill]:
                outcome = await tools.call(tool, arguments, ignore_progress)
                self._tried.append((tool, outcome.error_code))

    def count(self, events: list[JournalEvent]) -> tuple[int, list[str]]:
        """Return the number of stale calls and those that were accepted."""
        if self.request is None or self.woken_at is None:
            return 0, []
        tried = list(self._tried)
        for event in events:
            what = event.event
            if event.request_id != self.request.request_id or not isinstance(what, ToolReturned):
                continue
            # A call that began before the freeze is not stale.
            if what.tool in MOVES and event.at - what.duration_s > self.woken_at:
                tried.append((what.tool, what.error_code))
        if self._who == "orchestrator":
            tried += [
                ("request", "SENT") for sent in self._proxy.of(Kind.REQUEST) if self._is_stale(sent.at, sent.body)
            ]
        return len(tried), [f"{tool}: {code}" for tool, code in tried if code != REFUSED]

    def _is_stale(self, at: float, body: bytes) -> bool:
        assert self.request is not None
        assert self.woken_at is not None
        request = decode(SkillRequest, body)
        same = request.task_id == self.request.task_id and request.reply_to == self.request.reply_to
        return same and at > self.woken_at
