"""Kills processes of a stack in the middle of a task (signal 9), starts them again, and scores what became of it."""

import itertools
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from quartet_cli.api import Api
from quartet_cli.errors import CliError
from quartet_cli.stack import Stack
from quartet_contracts import TERMINAL, JournalEvent, State, TaskStatus, TaskSubmission
from quartet_contracts.journal import (
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

Moment = Callable[[JournalEvent], bool]
"""Whether this is the event at which to kill."""
TIMEOUT_S = 180.0
RANDOM_EVENTS = 80
"""A task of the small world writes some more events than these."""


@dataclass(frozen=True)
class Crash:
    """What is killed, and when."""

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
    "fingers closing": _called("pick", "moveit__close_gripper"),
    "fingers closed": _returned("pick", "moveit__close_gripper"),
    "pick done": _skill(SkillFinished, "pick"),
    "place requested": _skill(SkillRequested, "place"),
    "arm goes down": _called("place", "moveit__plan_cartesian_path"),
    "fingers opening": _called("place", "moveit__open_gripper"),
    "fingers opened": _returned("place", "moveit__open_gripper"),
    "place done": _skill(SkillFinished, "place"),
}
"""The edges of task and steps, and of the two actions that must not happen twice."""

SETS: tuple[tuple[str, ...], ...] = (
    ("orchestrator",),
    ("approach",),
    ("pick",),
    ("place",),
    ("redis",),
    ("gateway",),
    ("nav2",),
    ("moveit",),
    ("perception",),
    ("orchestrator", "pick"),
    ("orchestrator", "place"),
    ("orchestrator", "redis"),
)
"""Processes that are killed together. An agent that has no part in the moment must not matter."""


def crashes(seed: int) -> Iterator[Crash]:
    """Every set at every edge in a random order, with one at a random event in between; endless."""
    dice = random.Random(seed)
    while True:
        pairs = list(itertools.product(SETS, MOMENTS))
        dice.shuffle(pairs)
        for victims, moment in pairs:
            yield Crash(victims, moment, MOMENTS[moment])
            number = dice.randrange(1, RANDOM_EVENTS)
            yield Crash(dice.choice(SETS), f"event {number}", _count_to(number))


def _count_to(number: int) -> Moment:
    counter = itertools.count(1)
    return lambda _event: next(counter) == number


@dataclass
class Outcome:
    """One task during which something was killed."""

    crash: Crash
    seed: int
    status: TaskStatus | None
    """None: the task did not end."""
    happened: bool
    """The moment came before the task had ended."""
    resume_s: float | None
    """From the kill to the first word of who went on with it, processes' start included."""
    wall_s: float
    delivered: bool
    grasps: int
    releases: int

    @property
    def lost(self) -> bool:
        return self.status is None or self.status.state not in TERMINAL

    @property
    def succeeded(self) -> bool:
        return self.status is not None and self.status.state is State.SUCCEEDED

    @property
    def false_success(self) -> bool:
        return self.succeeded and not self.delivered

    @property
    def double_motions(self) -> int:
        """Picks and drops beyond the one of each that the job needs."""
        return max(0, self.grasps - 1) + max(0, self.releases - 1)

    def row(self) -> dict[str, Any]:
        return {
            "killed": "+".join(self.crash.victims),
            "at": self.crash.moment,
            "seed": self.seed,
            "happened": self.happened,
            "state": str(self.status.state) if self.status else "LOST",
            "delivered": self.delivered,
            "grasps": self.grasps,
            "releases": self.releases,
            "resume_s": None if self.resume_s is None else round(self.resume_s, 2),
            "wall_s": round(self.wall_s, 1),
        }


def play(stack: Stack, crash: Crash, seed: int) -> Outcome:
    """One job in the small world, with `crash` in the middle of it. Raises StackError when a restart fails."""
    body = {"seed": seed, "scenario": None}
    world = httpx.post(f"{stack.scoring_url}/reset", json=body, timeout=60).raise_for_status().json()
    sentence, name, target = job_of(world)
    began, killed_at, events = time.time(), None, list[JournalEvent]()
    status: TaskStatus | None = None
    with Api(stack.url) as api:
        task_id = api.submit(TaskSubmission(sentence=sentence, timeout_s=TIMEOUT_S)).task.task_id
        try:
            for event in api.events(task_id):
                events.append(event)
                if killed_at is None and crash.at(event):
                    killed_at = time.time()
                    _kill(stack, crash.victims)
            status = api.task(task_id)
        except CliError:
            # The journal broke off for good: that is what the suite is to show.
            status = None
    truth = httpx.get(f"{stack.scoring_url}/truth", timeout=30).raise_for_status().json()
    return Outcome(
        crash=crash,
        seed=seed,
        status=status,
        happened=killed_at is not None,
        resume_s=None if killed_at is None else _resumed(events, crash.victims, killed_at),
        wall_s=time.time() - began,
        delivered=truth["objects"][name]["on"] == target,
        grasps=sum(truth["grasps"].values()),
        releases=sum(truth["releases"].values()),
    )


def job_of(world: dict[str, Any]) -> tuple[str, str, str]:
    """A task that this placement of the small world allows: sentence, object, surface."""
    name, thing = next(
        (name, thing) for name, thing in sorted(world["objects"].items()) if thing["on"] in {"wooden table", "counter"}
    )
    target = "counter" if thing["on"] == "wooden table" else "wooden table"
    return f"Pick up the {name} from the {thing['on']} and place it on the {target}.", name, target


def _kill(stack: Stack, victims: tuple[str, ...]) -> None:
    for name in victims:
        stack.kill(name)
    # The store first: nothing else starts without it.
    for name in sorted(victims, key=lambda victim: victim != "redis"):
        stack.restart(name)


def _resumed(events: list[JournalEvent], victims: tuple[str, ...], killed_at: float) -> float | None:
    """None where nobody had to take anything over, or the task had come to its end."""
    words = (TakenOver,) if "orchestrator" in victims else (SkillSettled,)
    return next((e.at - killed_at for e in events if e.at >= killed_at and isinstance(e.event, words)), None)
