"""Loops of the pick agent over the real gateway with a faulty model and an instant robot; many run at once."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from quartet_agent_runtime import (
    Ending,
    GatewayClient,
    LocalTool,
    LocalTools,
    Loop,
    Model,
    Recorder,
    ToolOutcome,
    ToolSpec,
    WorkClock,
    skill_report,
)
from quartet_benchmarks.faults.endpoint import Given, Plan, Plans, key_of
from quartet_benchmarks.faults.kinds import FAULTS, OVERDUE, Fault
from quartet_contracts import Budget, JournalEvent, Skill

AT_ONCE = 16
LAST_TURN = 4
"""Latest turn that goes wrong: that of a sound pick's report."""
LIMIT_S, SHORT_LIMIT_S = 240.0, 2.0
"""Deadlines above the gateway's time limit for a model, and below it [s]."""
POSE: dict[str, Any] = {"frame_id": "base_footprint", "position": [0.6, 0.0, 0.4], "orientation": [1.0, 0.0, 0.0, 0.0]}
SYSTEM = 'You pick things up.\n\n## Facts\n\n```json\n{"arm": {"group": "arm", "transit_state": "folded"}}\n```\n\n'
USER = 'Your request:\n\n```json\n{"object_name": "red coke can"}\n```\n'
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "moveit__plan_and_execute": ("group", "target_type", "target"),
    "moveit__plan_cartesian_path": ("position", "orientation", "frame_id"),
    "moveit__clear_planning_scene": (),
    "moveit__open_gripper": (),
    "moveit__close_gripper": (),
    "moveit__get_grasp_state": (),
    "perception__get_topdown_grasp_pose": ("object_name", "camera"),
}
"""Tools of the pick agent and their arguments."""
MOTIONS = frozenset(
    {
        "moveit__plan_and_execute",
        "moveit__plan_cartesian_path",
        "moveit__open_gripper",
        "moveit__close_gripper",
    }
)


class InstantRobot:
    """Robot whose motions take no time and are counted."""

    def __init__(self) -> None:
        self.motions: Counter[Given] = Counter()
        self._holds = False

    @property
    def tools(self) -> LocalTools:
        """Tools of the pick agent."""
        return LocalTools([LocalTool(_spec(name), self._handler(name)) for name in ARGUMENTS])

    def _handler(self, name: str) -> Any:
        async def handle(arguments: dict[str, Any], _progress: Any) -> ToolOutcome:
            if name in MOTIONS:
                self.motions[key_of(name, arguments)] += 1
            return ToolOutcome({"ok": True, "error_code": "NONE", "message": "", **self._answer(name)})

        return handle

    def _answer(self, name: str) -> dict[str, Any]:
        match name.partition("__")[2]:
            case "open_gripper" | "close_gripper" as gripper:
                self._holds = gripper == "close_gripper"
                return {}
            case "get_grasp_state":
                return {"state": "HOLDING" if self._holds else "EMPTY"}
            case "get_topdown_grasp_pose":
                poses = {"pre_grasp_pose": POSE, "grasp_pose": POSE, "lift_pose": POSE}
                return {**poses, "object_height_m": 0.12, "reachable": True, "distance_m": 0.8}
            case _:
                return {}


def _spec(name: str) -> ToolSpec:
    return ToolSpec(name, "", {"type": "object", "properties": {argument: {} for argument in ARGUMENTS[name]}})


class Memory:
    """Journal, images and transcripts that keep nothing."""

    async def append(self, *events: JournalEvent) -> None:
        """Ignore events."""
        for event in events:
            event.model_dump_json()

    async def put(self, task_id: str, data: bytes, media_type: str) -> str:
        """Ignore an image and return a reference."""
        return "image"

    async def save(self, task_id: str, loop_id: str, transcript: dict[str, Any]) -> None:
        """Ignore a transcript."""
        return


@dataclass(frozen=True)
class LoopCase:
    """Fault, turn from which it occurs, and time limit of a loop [s]."""

    name: str
    turn: int
    limit_s: float

    @property
    def fault(self) -> Fault:
        """The fault of this case."""
        return FAULTS[self.name]


def loop_cases(seed: int, runs: int) -> Iterator[LoopCase]:
    """Yield `runs` cases of each persistent fault, half of them from the first turn on."""
    dice = random.Random(seed)
    for _ in range(runs):
        for name in FAULTS:
            short = name in {"hang", "drip", "endless loop"} and dice.random() < 0.5
            yield LoopCase(name, dice.choice([0, dice.randint(1, LAST_TURN)]), SHORT_LIMIT_S if short else LIMIT_S)


@dataclass
class LoopOutcome:
    """Result of one loop."""

    case: LoopCase
    hits: int
    ending: Ending
    motions: list[Given]
    """Motions that no sound answer asked for."""
    overrun_s: float

    @property
    def right(self) -> bool:
        """Whether it ended without a report for the reason of the fault; a fault without texts may end in any way."""
        says = self.case.fault.says
        return not says or (self.ending.report is None and any(word in self.ending.reason for word in (*says, OVERDUE)))

    @property
    def overdue(self) -> bool:
        """Whether the gateway's time limit ended it."""
        return OVERDUE in self.ending.reason

    def row(self) -> dict[str, Any]:
        """Return the row of this loop in the JSON."""
        return {
            "fault": self.case.name,
            "turn": self.case.turn,
            "limit_s": self.case.limit_s,
            "hits": self.hits,
            "cause": str(self.ending.cause),
            "right": self.right,
            "motions": len(self.motions),
            "overrun_s": round(self.overrun_s, 2),
        }


async def play_loops(
    gateway_url: str, key: str, sign: Callable[[str], str], plans: Plans, cases: Iterator[LoopCase]
) -> list[LoopOutcome]:
    """Run `cases` as the pick agent, some at a time, and return their results.

    `key` opens the gateway at `gateway_url`; `sign` returns the grant of a task.
    """
    client = GatewayClient(gateway_url, "pick", key)
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, case: LoopCase) -> LoopOutcome:
        async with gate:
            model = client.for_task(f"t{number}", "r", lambda: sign(f"t{number}"))
            return await _play(model, plans, number, case)

    try:
        return await asyncio.gather(*(one(number, case) for number, case in enumerate(cases)))
    finally:
        await client.close()


async def _play(model: Model, plans: Plans, number: int, case: LoopCase) -> LoopOutcome:
    plan, robot, memory = Plan("pick", case.fault, case.turn), InstantRobot(), Memory()
    recorder = Recorder(
        actor="pick", task_id=f"t{number}", loop_id="r", journal=memory, images=memory, transcripts=memory
    )
    deadline = time.monotonic() + case.limit_s
    loop = Loop(
        model=model,
        tools=robot.tools,
        report=skill_report(Skill.PICK),
        recorder=recorder,
        budget=Budget(),
        clock=WorkClock(case.limit_s, case.limit_s),
    )
    ending = await loop.run(SYSTEM + plans.mark(plan), USER)
    unasked = robot.motions - plan.given
    return LoopOutcome(case, plan.hits, ending, list(unasked), max(0.0, time.monotonic() - deadline))
