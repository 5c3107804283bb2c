"""Kills processes of a stack in the middle of a task (signal 9), starts them again and scores the task."""

import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quartet_benchmarks.chaos.job import Job, Score
from quartet_contracts import JournalEvent, State
from quartet_contracts.journal import (
    Answered,
    Asked,
    ModelTurn,
    SkillFinished,
    SkillRequested,
    SkillSettled,
    SkillStarted,
    StateChanged,
    TakenOver,
    ToolCalled,
    ToolReturned,
)
from quartet_deployment import ClientError, Stack

Moment = Callable[[JournalEvent], bool]
"""Whether this is the event at which to kill."""
RANDOM_EVENTS = 80
"""Upper bound of the random event at which to kill; a task of the small world writes some more."""


@dataclass(frozen=True)
class Crash:
    """Processes to kill, and when."""

    victims: tuple[str, ...]
    moment: str
    at: Moment


def _called(actor: str, tool: str) -> Moment:
    return lambda e: e.actor == actor and isinstance(e.event, ToolCalled) and e.event.tool == tool


def _returned(actor: str, tool: str) -> Moment:
    return lambda e: e.actor == actor and isinstance(e.event, ToolReturned) and e.event.tool == tool


def _skill(kind: type[SkillRequested] | type[SkillStarted] | type[SkillFinished], skill: str) -> Moment:
    return lambda e: isinstance(e.event, kind) and e.event.skill == skill


def _state(state: State) -> Moment:
    return lambda e: isinstance(e.event, StateChanged) and e.event.state is state


MOMENTS: dict[str, Moment] = {
    "task begun": _state(State.INITIALIZING),
    "task running": _state(State.RUNNING),
    "planned": lambda e: e.actor == "orchestrator" and isinstance(e.event, ModelTurn),
    "drive begun": _called("approach", "nav2__navigate_to_pose"),
    "approach done": _skill(SkillFinished, "approach"),
    "pick requested": _skill(SkillRequested, "pick"),
    "pick started": _skill(SkillStarted, "pick"),
    "fingers to close": _called("pick", "moveit__close_gripper"),
    "person asked": lambda e: isinstance(e.event, Asked),
    "task paused": _state(State.PAUSED),
    "fingers closing": lambda e: isinstance(e.event, Answered),
    "fingers closed": _returned("pick", "moveit__close_gripper"),
    "pick done": _skill(SkillFinished, "pick"),
    "place requested": _skill(SkillRequested, "place"),
    "arm goes down": _called("place", "moveit__plan_cartesian_path"),
    "fingers opening": _called("place", "moveit__open_gripper"),
    "fingers opened": _returned("place", "moveit__open_gripper"),
    "place done": _skill(SkillFinished, "place"),
}
"""Moments at the edges of task and steps, and of the two actions that must not happen twice."""

AGAIN: dict[str, Moment] = {
    "taken over": lambda e: isinstance(e.event, TakenOver),
    "outcome unknown": _state(State.UNCERTAIN),
    "looking": lambda e: e.actor == "orchestrator" and e.request_id is not None and isinstance(e.event, ToolCalled),
    "settled": lambda e: isinstance(e.event, SkillSettled),
    "taken up": _state(State.RETRIABLE),
}
"""Moments of a task in which something was killed already."""

SINGLES: tuple[tuple[str, ...], ...] = tuple(
    (name,)
    for name in (
        *("orchestrator", "approach", "pick", "place", "nav2", "moveit", "perception", "ros"),
        *("redis", "gateway", "scripted_model", "stop"),
    )
)
"""Every process but the simulation, which is the world; a kill of one that has no part in a moment must not matter."""
GROUPS: tuple[tuple[str, ...], ...] = (
    ("orchestrator", "pick"),
    ("orchestrator", "place"),
    ("orchestrator", "redis"),
    ("redis", "place"),
    ("pick", "moveit"),
    ("nav2", "moveit"),
)
"""Processes that are killed together."""


def crashes(seed: int) -> "Iterator[tuple[Crash, ...]]":
    """Yield what is killed in each job, without end.

    Every process at every edge in a random order, then the groups; after every second one a kill at a random event, or
    two kills in one job.
    """
    dice = random.Random(seed)
    while True:
        edges = [shuffled for sets in (SINGLES, GROUPS) for shuffled in _shuffled(dice, sets)]
        for number, (victims, moment) in enumerate(edges):
            yield (Crash(victims, moment, MOMENTS[moment]),)
            if number % 4 == 1:
                event = dice.randrange(1, RANDOM_EVENTS)
                yield (Crash(dice.choice(SINGLES + GROUPS), f"event {event}", _count_to(event)),)
            if number % 4 == 3:
                again = dice.choice(list(AGAIN))
                first = dice.choice(("fingers to close", "fingers closing", "fingers opening", "arm goes down"))
                yield (
                    Crash(("orchestrator", dice.choice(("pick", "place"))), first, MOMENTS[first]),
                    Crash((dice.choice(("orchestrator", "redis", "moveit")),), again, AGAIN[again]),
                )


def _shuffled(dice: random.Random, sets: tuple[tuple[str, ...], ...]) -> list[tuple[tuple[str, ...], str]]:
    pairs = list(itertools.product(sets, MOMENTS))
    dice.shuffle(pairs)
    return pairs


def short_crashes(seed: int) -> "Iterator[tuple[Crash, ...]]":
    """Yield two jobs in which every kind of process is killed once, for the short form."""
    dice = random.Random(seed)
    early, late = ["pick started", "fingers closing"], ["arm goes down", "fingers opening"]
    dice.shuffle(early)
    dice.shuffle(late)

    def crash(moment: str, *victims: str) -> Crash:
        return Crash(victims, moment, MOMENTS[moment])

    yield (
        crash("task running", "gateway"),
        crash(early[0], "orchestrator", "pick"),
        crash(late[0], "redis"),
    )
    yield crash("drive begun", "nav2"), crash(early[1], "moveit"), crash(late[1], "place")


def _count_to(number: int) -> Moment:
    counter = itertools.count(1)
    return lambda _event: next(counter) == number


@dataclass
class CrashRun:
    """Result of one job during which something was killed."""

    crashes: tuple[Crash, ...]
    seed: int
    score: Score
    killed_at: list[float]
    """Times of the kills; those whose moment did not come before the end are missing."""
    resumed_s: list[float]
    """Seconds from a kill to the first event of whoever took over, the start of processes included."""
    wall_s: float

    @property
    def happened(self) -> bool:
        """Whether the first moment came before the task had ended."""
        return bool(self.killed_at)

    @property
    def victims(self) -> str:
        """Names of the killed processes, in order."""
        return ", then ".join("+".join(crash.victims) for crash in self.crashes)

    def row(self) -> dict[str, Any]:
        """Return the row of this job in the JSON."""
        return {
            "killed": self.victims,
            "at": ", then ".join(crash.moment for crash in self.crashes),
            "seed": self.seed,
            "happened": len(self.killed_at),
            **self.score.row(),
            "resume_s": [round(seconds, 2) for seconds in self.resumed_s],
            "wall_s": round(self.wall_s, 1),
        }


def play(stack: Stack, crashes: Sequence[Crash], seed: int) -> CrashRun:
    """Run one job with `crashes` in its middle, in their order. Raises StackError when a restart fails."""
    job, began = Job.begin(stack, seed), time.time()
    ahead, killed_at = list(crashes), list[float]()
    try:
        for event in job.follow():
            if ahead and ahead[0].at(event):
                killed_at.append(time.time())
                _kill(stack, ahead.pop(0).victims)
    except ClientError:
        # The journal broke off for good; the score shows it.
        pass
    return CrashRun(
        crashes=tuple(crashes),
        seed=seed,
        score=job.score(),
        killed_at=killed_at,
        resumed_s=_resumed(job.events, crashes, killed_at),
        wall_s=time.time() - began,
    )


def _kill(stack: Stack, victims: tuple[str, ...]) -> None:
    for name in victims:
        stack.kill(name)
    stack.restart(*victims)


def _resumed(events: list[JournalEvent], crashes: Sequence[Crash], killed_at: list[float]) -> list[float]:
    found: list[float] = []
    for crash, at, until in zip(crashes, killed_at, [*killed_at[1:], float("inf")], strict=False):
        words = (TakenOver,) if "orchestrator" in crash.victims else (SkillSettled,)
        first = next((e.at for e in events if at <= e.at < until and isinstance(e.event, words)), None)
        if first is not None:
            found.append(first - at)
    return found
