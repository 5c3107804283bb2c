"""One task of a stack whose model goes wrong in its middle."""

import itertools
import math
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from quartet_agent_runtime.calls import NOT_MADE
from quartet_benchmarks.faults.endpoint import Plan, Plans, key_of
from quartet_benchmarks.faults.kinds import EVERY, FAULTS, HABITS, MISREADINGS, OVERDUE, SEATS, Fault
from quartet_contracts import (
    TERMINAL,
    ApproachArguments,
    JournalEvent,
    PickArguments,
    PlaceArguments,
    Skill,
    SkillArguments,
    State,
    TaskReport,
    TaskSubmission,
)
from quartet_contracts.journal import SkillFinished, ToolCalled, ToolReturned
from quartet_deployment import OrchestratorClient, Stack

LAST_TURN = {"pick": 3, "orchestrator": 3, "approach": 1, "place": 2}
"""Latest turn that goes wrong; every sound skill and job has one more."""
JOBS = 0.2
"""Share of whole jobs among the cases of sub-agents."""
TIMEOUT_S, SHORT_TIMEOUT_S = 60.0, 5.0
"""Time limits of a task [s]: far above the gateway's limit for a model, and below it, so that the deadline ends it."""
TASK_S = 180.0
"""Time limit of a job of two objects [s]."""
THING = "red coke can"
SECOND, SECOND_TARGET = "green tea box", "bin"
"""The second object of a job that is misread, and where it is to go."""
STILL = ("get_", "clear_", "look", "detect_", "segment_", "last_seen")
"""Prefixes of tools that move nothing."""
MOVED = 0.01
"""Least change of base, joint or finger that counts as a motion [m or rad]."""


@dataclass(frozen=True)
class Case:
    """Fault, agent whose model has it, first turn, and how often (None: always)."""

    name: str
    seat: str
    turn: int
    times: int | None
    seed: int
    timeout_s: float
    job: bool
    """Whether it is a whole job, not only the skill of `seat`."""

    @property
    def fault(self) -> Fault:
        """The fault of this case."""
        return (FAULTS | MISREADINGS | HABITS)[self.name]

    @property
    def misread(self) -> bool:
        """Whether it is a job of two objects that the orchestrator misreads."""
        return self.name in MISREADINGS


def cases(seed: int) -> Iterator[Case]:
    """Yield every fault in every agent in turn, without end; half from the first turn on, three in four persist."""
    dice = random.Random(seed)
    for number in itertools.count():
        for offset, name in enumerate(FAULTS):
            seat = SEATS[(number + offset) % len(SEATS)]
            job = seat == "orchestrator" or dice.random() < JOBS
            yield Case(
                name=name,
                seat=seat,
                turn=dice.choice([0, dice.randint(1, LAST_TURN[seat])]),
                times=1 if dice.random() < 0.25 else None,
                seed=1 + dice.randrange(12),
                timeout_s=SHORT_TIMEOUT_S if name in {"hang", "drip"} and dice.random() < 0.5 else TIMEOUT_S,
                job=job,
            )


def lasting_cases(seed: int, faults: dict[str, Fault]) -> Iterator[Case]:
    """Yield every misreading or habit of `faults` in turn, without end; it lasts for the whole task."""
    dice = random.Random(seed)
    for number in itertools.count():
        for name, fault in faults.items():
            seat = fault.seats[number % len(fault.seats)]
            job = seat in {EVERY, "orchestrator"}
            yield Case(name, seat, turn=0, times=None, seed=1 + dice.randrange(12), timeout_s=TASK_S, job=job)


@dataclass
class Outcome:
    """Result of a task whose model went wrong."""

    case: Case
    hits: int
    """Number of answers that went wrong; 0: the task was over before."""
    state: State | None
    """Terminal state, None for a task that did not end."""
    codes: list[str]
    """Error codes of the sub-agents, in order."""
    words: str
    motions: list[str] = field(default_factory=list[str])
    """Motions that no sound answer asked for."""
    moved: bool = False
    """Whether the robot moved by ground truth, although the very first answer was wrong."""
    overrun_s: float = 0.0
    """Seconds past the deadline; infinite for a task that did not end."""
    false_success: bool = False

    @property
    def right(self) -> bool:
        """Whether it ended as its fault says, or succeeded after a fault that passed."""
        if self.state is None:
            return False
        if self.case.name in HABITS:
            failed = self.state is State.FAILED and any(says in self.words for says in self.case.fault.says)
            return failed or (self.state is State.SUCCEEDED and not self.false_success)
        if self.state is State.SUCCEEDED:
            return (self.case.times is not None or not self.case.fault.says) and not self.false_success
        told = not self.case.fault.says or any(
            says in self.words for says in (*self.case.fault.says, OVERDUE, "within its")
        )
        if self.case.times is not None:
            return self.state is State.FAILED
        code = self.case.seat == "orchestrator" or not self.case.fault.says or "UNKNOWN" in self.codes or not self.codes
        return self.state is State.FAILED and told and code

    @property
    def overdue(self) -> bool:
        """Whether the gateway's time limit ended it."""
        return OVERDUE in self.words

    def row(self) -> dict[str, Any]:
        """Return the row of this task in the JSON."""
        return {
            "fault": self.case.name,
            "in": self.case.seat,
            "job": self.case.job,
            "turn": self.case.turn,
            "times": self.case.times,
            "seed": self.case.seed,
            "hits": self.hits,
            "state": "LOST" if self.state is None else str(self.state),
            "codes": " ".join(self.codes),
            "right": self.right,
            "motions": len(self.motions),
            "moved": self.moved,
            "overrun_s": round(self.overrun_s, 2),
        }


def play(stack: Stack, plans: Plans, case: Case) -> Outcome:
    """Run one task with the fault of `case`."""
    scenario = f"in_gripper:{THING}" if case.seat == "place" and not case.job else None
    before = _scoring(stack, "POST", "/reset", {"seed": case.seed, "scenario": scenario})
    plans.default = plan = Plan("" if case.seat == EVERY else case.seat, case.fault, case.turn, case.times)
    events: list[JournalEvent] = []
    with stack.api() as api:
        began = time.time()
        task_id = _submit(api, case, before)
        events.extend(api.events(task_id))
        ended = time.time()
        status = api.task(task_id)
    after = _scoring(stack, "GET", "/truth", None)
    report = status.report or TaskReport(success=False, summary="")
    finished = [e.event for e in events if isinstance(e.event, SkillFinished)]
    return Outcome(
        case=case,
        hits=plan.hits,
        state=status.state if status.state in TERMINAL else None,
        codes=[event.error_code for event in finished],
        words=" ".join([report.summary, *(event.reason for event in finished)]),
        motions=_unasked(events, case.seat, plan),
        moved=_first_of_all(case) and _moved(before, after),
        overrun_s=max(0.0, ended - began - case.timeout_s) if status.state in TERMINAL else math.inf,
        false_success=status.state is State.SUCCEEDED and not _done(case, before, after),
    )


def _submit(api: OrchestratorClient, case: Case, world: dict[str, Any]) -> str:
    if case.job:
        sentence = f"Pick up the {THING} and place it on the {_other(world)}."
        if case.misread:
            sentence += f" Then put the {SECOND} into the {SECOND_TARGET}."
        return api.submit(TaskSubmission(sentence=sentence, timeout_s=case.timeout_s)).task.task_id
    arguments: dict[str, SkillArguments] = {
        "approach": ApproachArguments.model_validate(
            {"target_area": "studio", "object_name": THING, "next_action": "pick"}
        ),
        "pick": PickArguments(object_name=THING),
        "place": PlaceArguments(target_location="wooden table", object_name=THING, object_height_m=0.12),
    }
    return api.run_skill(Skill(case.seat), arguments[case.seat], case.timeout_s).task.task_id


def _other(world: dict[str, Any]) -> str:
    return "counter" if world["objects"][THING]["on"] == "wooden table" else "wooden table"


def _done(case: Case, before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Return whether the world is as a success claims."""
    if case.job:
        second = after["objects"][SECOND]["in"] == SECOND_TARGET
        return after["objects"][THING]["on"] == _other(before) and (second or not case.misread)
    if case.seat == "pick":
        return after["held"] == THING
    if case.seat == "approach":
        target = after["objects"][THING]["position"]
        return math.dist(after["robot"]["pose"][:2], target[:2]) < 1.5
    return after["objects"][THING]["on"] == "wooden table"


def _unasked(events: list[JournalEvent], seat: str, plan: Plan) -> list[str]:
    """Return the motions that `seat` made beyond those of the endpoint's sound answers."""
    left = Counter(plan.given)
    reported = {name.split("_")[1] for name, _ in plan.given if name.startswith("report_")}
    called: dict[tuple[str, str], ToolCalled] = {}
    found: list[str] = []
    for event in events:
        if event.actor not in (SEATS if seat == EVERY else (seat,)):
            continue
        if isinstance(event.event, ToolCalled):
            called[event.actor, event.event.call_id] = event.event
        elif isinstance(event.event, ToolReturned) and (made := called.get((event.actor, event.event.call_id))):
            tool = made.tool.partition("__")[2] or made.tool
            if event.event.error_code in NOT_MADE or tool.startswith(STILL) or made.call_id.startswith("rest_"):
                continue
            key = key_of(made.tool, made.arguments)
            # After a sound report the agent's own code acts.
            if left[key] > 0:
                left[key] -= 1
            elif not (event.actor in reported and made.call_id.startswith("verify_")):
                found.append(made.tool)
    return found


def _first_of_all(case: Case) -> bool:
    """Return whether no agent got a sound answer."""
    alone = case.seat in {EVERY, "orchestrator"} or not case.job
    return alone and case.turn == 0 and case.times is None and not case.fault.sound


def _moved(before: dict[str, Any], after: dict[str, Any]) -> bool:
    was, now = ([*w["pose"], *w["arm"], w["opening"]] for w in (before["robot"], after["robot"]))
    return any(abs(a - b) > MOVED for a, b in zip(was, now, strict=True))


def _scoring(stack: Stack, method: str, path: str, body: Any) -> dict[str, Any]:
    answer = httpx.request(method, f"{stack.scoring_url}{path}", json=body, timeout=60, trust_env=False)
    return answer.raise_for_status().json()
