"""Who holds a lease is frozen past its time, another replica goes on, and then it wakes: it must move nothing more."""

import asyncio
import os
import random
import signal
import time
from dataclasses import dataclass
from typing import Any

from quartet_agent_runtime import Toolbox
from quartet_benchmarks.chaos.crashes import MOMENTS
from quartet_benchmarks.chaos.job import Job, Score
from quartet_benchmarks.chaos.wire import Kind, Wire
from quartet_cli.errors import CliError
from quartet_cli.stack import Stack
from quartet_contracts import JournalEvent, SkillRequest, decode
from quartet_contracts.journal import SkillRequested, SkillStarted, ToolReturned

WHEN: dict[str, tuple[str, ...]] = {
    "orchestrator": ("drive begun", "pick requested", "pick started", "fingers closing"),
    "approach": ("drive begun",),
    "pick": ("pick started", "fingers to close", "fingers closed"),
    "place": ("arm goes down", "fingers opening"),
}
"""Moments at which each holds what it is frozen with. Of the orchestrator's, all lie before its last step, so that a
newer fence comes while it sleeps."""
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
"""What is tried with the grant of a request that is over, by its agent: calls that it covers."""
MOVES = frozenset(
    {tool for calls in STALE.values() for tool, _ in calls}
    | {"moveit__plan_cartesian_path", "nav2__approach_target", "nav2__spin_robot"}
)
REFUSED = "FENCED"
TOOL_TIMEOUT_S = 30.0


@dataclass
class Awoken:
    """One job in which a lease holder slept."""

    who: str
    moment: str
    seed: int
    score: Score
    happened: bool
    """It was frozen, somebody else went on, and it woke before the job was over."""
    calls: int
    """Motion calls of a step that is over, by the sleeper and with its grant, and requests of the sleeper."""
    accepted: list[str]
    """Those that were not refused."""

    def row(self) -> dict[str, Any]:
        return {
            "frozen": self.who,
            "at": self.moment,
            "seed": self.seed,
            "happened": self.happened,
            **self.score.row(),
            "stale_calls": self.calls,
            "accepted": self.accepted,
        }


def sleepers(seed: int) -> "list[tuple[str, str]]":
    """Everybody who holds a lease at every one of its moments, in a random order."""
    pairs = [(who, moment) for who, moments in WHEN.items() for moment in moments]
    random.Random(seed).shuffle(pairs)
    return pairs


def awaken(stack: Stack, wire: Wire, who: str, moment: str, seed: int) -> Awoken:
    """One job in which `who` is frozen at `moment`; the stack's processes reach Redis through `wire`."""
    replica, url = stack.replicate(who)
    try:
        job = Job.begin(stack, seed, url if who == "orchestrator" else "")
        sleeper = _Sleeper(stack, wire, who)
        try:
            for event in job.follow():
                if sleeper.request is None and MOMENTS[moment](event):
                    sleeper.freeze(job.events)
                elif sleeper.asleep and isinstance(event.event, SkillRequested):
                    sleeper.wake()
        except CliError:
            # The journal broke off for good: the score shows it.
            pass
        finally:
            sleeper.wake_up()
        calls, accepted = sleeper.count(job.events)
        return Awoken(who, moment, seed, job.score(), sleeper.woken_at is not None, calls, accepted)
    finally:
        stack.end(replica)


class _Sleeper:
    def __init__(self, stack: Stack, wire: Wire, who: str) -> None:
        self._stack, self._wire, self._who = stack, wire, who
        self._pid = 0
        self.request: SkillRequest | None = None
        """The newest when it fell asleep."""
        self.woken_at: float | None = None
        self._tried: list[tuple[str, str]] = []
        """Tool and code of each stale call."""

    @property
    def asleep(self) -> bool:
        return self.request is not None and self.woken_at is None

    def freeze(self, events: list[JournalEvent]) -> None:
        self.request = decode(SkillRequest, self._wire.of(Kind.REQUEST)[-1].body)
        self._pid = self._stack.pids()["orchestrator"]
        if self._who != "orchestrator":
            started = next(e.event for e in reversed(events) if isinstance(e.event, SkillStarted))
            self._pid = int(started.replica.rpartition("-")[2])
        os.kill(self._pid, signal.SIGSTOP)

    def wake_up(self) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGCONT)

    def wake(self) -> None:
        """Let it go on, and do with its grant what it might do at worst."""
        self.woken_at = time.time()
        self.wake_up()
        asyncio.run(self._try_grant())

    async def _try_grant(self) -> None:
        assert self.request is not None
        servers = self._stack.servers()
        async with Toolbox(servers, self.request.grant, (), TOOL_TIMEOUT_S) as tools:
            for tool, arguments in STALE[self.request.skill]:
                outcome = await tools.call(tool, arguments, _silent)
                self._tried.append((tool, outcome.error_code))

    def count(self, events: list[JournalEvent]) -> tuple[int, list[str]]:
        """All stale calls, and those that were accepted."""
        if self.request is None or self.woken_at is None:
            return 0, []
        tried = list(self._tried)
        for event in events:
            what = event.event
            if event.request_id != self.request.request_id or not isinstance(what, ToolReturned):
                continue
            # A call that was under way when it fell asleep is none of a sleeper.
            if what.tool in MOVES and event.at - what.duration_s > self.woken_at:
                tried.append((what.tool, what.error_code))
        if self._who == "orchestrator":
            tried += [("request", "SENT") for sent in self._wire.of(Kind.REQUEST) if self._is_stale(sent.at, sent.body)]
        return len(tried), [f"{tool}: {code}" for tool, code in tried if code != REFUSED]

    def _is_stale(self, at: float, body: bytes) -> bool:
        assert self.request is not None
        assert self.woken_at is not None
        request = decode(SkillRequest, body)
        same = request.task_id == self.request.task_id and request.reply_to == self.request.reply_to
        return same and at > self.woken_at


async def _silent(*_: object) -> None:
    """Progress that nobody looks at."""
