"""Agents that succeed with a scripted model although one of its turns was spoiled, in the real loop over HTTP."""

import json
from typing import Any

import pytest

from quartet_agent_runtime import (
    Cause,
    GatewayClient,
    LocalTool,
    LocalTools,
    Loop,
    Recorder,
    ToolOutcome,
    ToolSpec,
    WorkClock,
    skill_report,
)
from quartet_contracts import MODEL_TOOLS, Budget, Skill
from quartet_procedures import approach, pick, place
from quartet_scripted_model import Settings, create_app
from quartet_scripted_model.misbehaviour import HALLUCINATION, Kind
from support.http_server import serve_app
from support.played_robot import FACTS, Robot, play

ARGUMENTS = [
    *("x", "y", "yaw", "camera", "names", "object_ids", "object_name", "object_id", "target_id", "held_id"),
    *("held_object", "object_height_m", "object_size_m", "target_type", "target", "lower_by_m", "position"),
    *("orientation", "frame_id", "min_fraction"),
]
SCHEMA = {"type": "object", "properties": {name: {} for name in ARGUMENTS if name != "target"}}
SCHEMAS = {"moveit__plan_and_execute": {"type": "object", "properties": {name: {} for name in ARGUMENTS}}}
READS = ("perception__", "moveit__get_")
REQUESTS: dict[Skill, dict[str, Any]] = {
    Skill.APPROACH: {"target_area": "kitchen", "object_name": "red can", "next_action": "pick"},
    Skill.PICK: {"object_name": "red can"},
    Skill.PLACE: {"target_location": "kitchen counter", "object_name": "red can"},
}
PROCEDURES = {Skill.APPROACH: approach, Skill.PICK: pick, Skill.PLACE: place}
KINDS = [
    *(Kind.MALFORMED_JSON, Kind.UNKNOWN_TOOL, Kind.HALLUCINATED_OBJECT, Kind.REFUSAL, Kind.EMPTY, Kind.REPETITION),
    *(Kind.CUT_OFF, Kind.OTHER_TOOL, Kind.BAD_ARGUMENTS, Kind.HUGE, Kind.SAME_ID, Kind.DRIP),
]
"""Kinds after which a loop goes on."""


class Once:
    """Spoils the answer with this number, counted from 1; the others are sound."""

    def __init__(self, kind: Kind, number: int) -> None:
        self._kind, self._number, self._asked = kind, number, 0

    def draw(self, body: dict[str, Any]) -> Kind | None:
        self._asked += 1
        return self._kind if self._asked == self._number else None


class Store:
    """Journal, images and transcripts that nobody reads."""

    async def append(self, *_events: Any) -> None:
        return None

    async def put(self, *_image: Any) -> str:
        return "reference"

    async def save(self, *_transcript: Any) -> None:
        return None


def tools_of(skill: Skill, robot: Robot) -> LocalTools:
    """Return the tools of an agent; they know no object of a name that a model made up."""

    def tool(name: str) -> LocalTool:
        async def call(arguments: dict[str, Any], _progress: Any) -> ToolOutcome:
            if HALLUCINATION in json.dumps(arguments):
                return ToolOutcome({"ok": False, "error_code": "UNKNOWN_OBJECT", "message": "no such object"})
            return ToolOutcome(robot(name, arguments))

        return LocalTool(ToolSpec(name, name, SCHEMAS.get(name, SCHEMA), reads=name.startswith(READS)), call)

    return LocalTools([tool(name) for name in MODEL_TOOLS[skill]])


async def run(skill: Skill, robot: Robot, spoiled: Once | None) -> Any:
    """Run the loop of an agent with a scripted model and return how it ended."""
    store: Any = Store()
    recorder = Recorder(
        actor=skill.value, task_id="t1", loop_id="r1", request_id="r1", journal=store, images=store, transcripts=store
    )
    settings = Settings(misbehave_huge_bytes=10_000, misbehave_drip_s=0.0001)
    async with serve_app(create_app(settings, spoiled)) as url:
        client = GatewayClient(url, skill.value)
        try:
            loop = Loop(
                model=client.for_task("t1", "r1", lambda: "grant"),
                tools=tools_of(skill, robot),
                report=skill_report(skill),
                recorder=recorder,
                budget=Budget(),
                clock=WorkClock(60, 60),
            )
            system = f"You are an agent.\n\n## Facts\n\n```json\n{json.dumps(FACTS)}\n```\n"
            return await loop.run(system, f"Your request:\n\n```json\n{json.dumps(REQUESTS[skill])}\n```\n")
        finally:
            await client.close()


def expected(skill: Skill) -> Robot:
    """Return a robot that has made the calls of the procedure."""
    robot = Robot(held=skill is Skill.PLACE)
    assert play(PROCEDURES[skill](REQUESTS[skill], FACTS), robot).report["success"]
    return robot


TURNS = {Skill.APPROACH: 2, Skill.PICK: 4, Skill.PLACE: 3}
"""Turns of a sound model, the report included."""


@pytest.mark.parametrize("skill", REQUESTS)
async def test_sound_model_makes_the_calls_of_the_procedure(skill: Skill) -> None:
    robot = Robot(held=skill is Skill.PLACE)
    ending = await run(skill, robot, None)
    assert (ending.cause, ending.report.error_code) == (Cause.REPORTED, "NONE")
    assert robot.calls == expected(skill).calls
    assert ending.usage.turns == TURNS[skill]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("skill", "turns"), TURNS.items())
async def test_spoiled_turn_costs_a_turn_and_no_call_runs_twice(skill: Skill, turns: int, kind: Kind) -> None:
    """Only a model that repeats its last call makes one call more."""
    for number in range(1, turns + 1):
        robot = Robot(held=skill is Skill.PLACE)
        ending = await run(skill, robot, Once(kind, number))
        assert (ending.cause, ending.report.error_code) == (Cause.REPORTED, "NONE"), (number, ending)
        made, wanted = robot.calls, expected(skill).calls
        if kind is Kind.REPETITION and number > 1:
            assert len(made) == len(wanted) + 1, number
            again = next(index for index, call in enumerate(made) if wanted[index : index + 1] != [call])
            made = [*made[:again], *made[again + 1 :]]
        assert made == wanted, number


@pytest.mark.parametrize("kind", [Kind.NO_CHOICES, Kind.CONTENT_FILTER, Kind.CUT_BODY, Kind.HTML])
async def test_answer_that_is_none_ends_the_loop_after_the_calls_before_it(kind: Kind) -> None:
    robot = Robot()
    ending = await run(Skill.PICK, robot, Once(kind, 2))
    assert ending.cause is (Cause.REFUSED if kind is Kind.CONTENT_FILTER else Cause.MODEL_UNAVAILABLE)
    assert robot.calls == expected(Skill.PICK).calls[:2]
