"""A model is shown each argument that the scripted model sets, in whatever course a job takes.

The scripted model leaves out what it is not shown, so that a job which succeeds does not prove it.
"""

import asyncio
import json
import random
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from fastmcp.tools import Tool

from quartet_agent_runtime import LocalTools, load_prompt, render_prompt
from quartet_agent_runtime._report import skill_report, task_report
from quartet_agent_runtime._shown_tool import shown_tool
from quartet_agent_runtime._tools import ToolSpec
from quartet_approach.agent import facts as approach_facts
from quartet_contracts import ARGUMENTS, MODEL_TOOLS, NOT_RUN, Skill
from quartet_orchestrator.tasks.briefs import make_briefs
from quartet_orchestrator.tasks.tools import TaskTools
from quartet_pick.agent import facts as pick_facts
from quartet_place.agent import facts as place_facts
from quartet_procedures import prompt_parts
from quartet_scripted_model import Call, Text, answer
from quartet_scripted_model.turn import calls_of
from quartet_site import RobotSetup, load_robot, load_site

SITE = Path(__file__).parents[3] / "deploy" / "sites" / "home"
FACTS = {Skill.APPROACH: approach_facts, Skill.PICK: pick_facts, Skill.PLACE: place_facts}
ID, OTHER = "obj_00000000000a", "obj_00000000000b"
REQUESTS: dict[Skill, list[dict[str, Any]]] = {
    Skill.APPROACH: [
        {"target_area": "kitchen", "object_name": "red coke can", "next_action": "pick", "object_id": ID},
        {"target_area": "living room", "object_name": "wooden coffee table", "next_action": "surface_place"},
    ],
    Skill.PICK: [{"object_name": "red coke can"}, {"object_name": "red coke can", "object_id": ID}],
    Skill.PLACE: [
        {"target_location": "desk", "object_name": "red coke can", "object_height_m": 0.1, "target_id": OTHER},
        {"target_location": "floor", "object_name": "red coke can", "object_height_m": 0.1, "held_id": ID},
    ],
}
SENTENCES = [
    "pick up the red coke can in the kitchen and place it on the wooden coffee table in the living room",
    "put the red cup and the orange on the desk",
    "pick up the can",
]
POSE = {"frame_id": "base_footprint", "position": [0.6, 0.0, 0.5], "orientation": [1.0, 0.0, 0.0, 0.0]}
POSES = dict.fromkeys(("pre_grasp_pose", "grasp_pose", "lift_pose", "pre_place_pose", "place_pose"), POSE)
PARTS = {
    "lift_min_fraction": 0.5,
    "lower_min_fraction": 0.9,
    "retract_min_fraction": 0.5,
    "pre_grasp_lower_by_m": 0.1,
    "pre_place_lower_by_m": 0.1,
}
DONE = {
    **POSES,
    **PARTS,
    "reachable": True,
    "object_height_m": 0.1,
    "object_size_m": [0.1, 0.1, 0.1],
    "held_object_height_m": 0.1,
    "object_id": ID,
    "status": "SUCCESS",
    "outputs": [{"label": "can", "size_m": [0.1, 0.1, 0.1], "in_gripper": True}],
    "answer": "red coke can",
}
"""Fields of every tool's and skill's success."""
STATES = ("HOLDING", "EMPTY", "UNKNOWN")
AREAS = ("kitchen", "living room")
USED = {
    Skill.APPROACH: {
        *("nav2__navigate_to_pose.yaw", "perception__detect_objects.object_ids", "perception__look.camera"),
        "report_approach_result.checks",
    },
    Skill.PICK: {"moveit__plan_and_execute.lower_by_m", "moveit__close_gripper.object_size_m"},
    Skill.PLACE: {"moveit__plan_cartesian_path.min_fraction", "perception__get_topdown_placing_pose.held_id"},
    "orchestrator": {"approach.stand", "ask_person.choices", "report_task_result.objects"},
}
"""Optional arguments that the courses must have come to."""
FAULTS = {
    "orchestrator": ("NAV_TARGET_NOT_VISIBLE", "PICK_REACH_EXCEEDED", "PICK_PLAN_FAILED", "PLACE_REACH_EXCEEDED"),
    "agent": (
        "OUT_OF_REACH",
        "PLANNING_FAILED",
        "EXECUTION_FAILED",
        "TIMEOUT",
        "UNKNOWN_OBJECT_ID",
        "NO_OBJECTS_FOUND",
    ),
}


def result(draw: random.Random, agent: str) -> dict[str, Any]:
    """What a tool answers: a success, most of the time."""
    if draw.random() < 0.25:
        return {"ok": False, "error_code": draw.choice(FAULTS.get(agent, FAULTS["agent"])), "message": "so it is"}
    seen = [{"label": "can"}] if draw.random() < 0.7 else []
    found = {"detections": seen, "state": draw.choice(STATES), "area": draw.choice(AREAS)}
    return {"ok": True, "error_code": "NONE", **DONE, **found}


def course(agent: str, prompt: str, user: str, tools: list[dict[str, Any]], seed: int) -> list[Call]:
    """Return the calls of the scripted model with these tools until its report; the seed draws what they give."""
    draw, calls = random.Random(seed), list[Call]()
    messages: list[dict[str, Any]] = [{"role": "system", "content": prompt}, {"role": "user", "content": user}]
    while len(calls) < 80:
        turn = answer(messages, tools)
        assert not isinstance(turn, Text), turn
        failed = False
        for call in calls_of(turn):
            calls.append(call)
            if call.name.startswith("report_"):
                return calls
            function = {"name": call.name, "arguments": json.dumps(call.arguments)}
            told = {"ok": False, "error_code": NOT_RUN} if failed else result(draw, agent)
            failed = not told["ok"]
            messages += [
                {"role": "assistant", "tool_calls": [{"id": str(len(calls)), "function": function}]},
                {"role": "tool", "tool_call_id": str(len(calls)), "content": json.dumps(told)},
            ]
    return calls


def whole(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool as its server describes it."""
    return {"type": "function", "function": {"name": spec.name, "description": "", "parameters": spec.schema}}


def hidden(value: Any, schema: dict[str, Any]) -> set[str]:
    """Return the names in a value, at any depth, that an object's schema lacks."""
    if isinstance(value, list):
        return set[str]().union(*(hidden(one, schema.get("items", {})) for one in value))
    if not isinstance(value, dict) or "properties" not in schema:
        return set()
    shown = schema["properties"]
    return (set(value) - set(shown)).union(*(hidden(one, shown[name]) for name, one in value.items() if name in shown))


def arguments_used(agent: str, prompt: str, specs: list[ToolSpec], users: list[str]) -> set[str]:
    """Return the arguments that the scripted model sets in many courses; it must be shown all of them."""
    shown = [shown_tool(spec, prompt) for spec in specs]
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in shown}
    used = set[str]()
    for user in users:
        for seed in range(30):
            calls = course(agent, prompt, user, shown, seed)
            assert calls == course(agent, prompt, user, [whole(spec) for spec in specs], seed)
            for call in calls:
                assert hidden(call.arguments, schemas[call.name]) == set(), call
                used |= {f"{call.name}.{name}" for name in call.arguments}
    return used


@pytest.mark.parametrize("skill", REQUESTS)
def test_a_sub_agent_is_shown_what_the_scripted_model_sets(skill: Skill, tools: dict[str, Any]) -> None:
    functions = [Tool.from_function(tools[name], name=name) for name in MODEL_TOOLS[skill]]
    specs = [ToolSpec(one.name, one.description or "", one.parameters) for one in functions]
    specs.append(skill_report(skill).spec)
    used = set[str]()
    for request in REQUESTS[skill]:
        arguments = ARGUMENTS[skill].model_validate(request)
        facts = FACTS[skill](load_robot(SITE / "robot.yaml"), load_site(SITE / "site.yaml"), arguments)
        prompt = render_prompt(load_prompt(f"quartet_{skill}", **prompt_parts()), facts)
        used |= arguments_used(skill, prompt, specs, [f"```json\n{json.dumps(request)}\n```"])
    assert used >= USED[skill]


def test_the_orchestrator_is_shown_what_the_scripted_model_sets() -> None:
    built: LocalTools = TaskTools(*[MagicMock()] * 9).build()
    specs = [*asyncio.run(built.list()), task_report().spec]
    setup = RobotSetup(load_robot(SITE / "robot.yaml"), load_site(SITE / "site.yaml"))
    brief, used = make_briefs({"summit": setup})["summit"], set[str]()
    for one in SENTENCES:
        used |= arguments_used("orchestrator", brief.system_prompt(one), specs, [f"<sentence>{one}</sentence>"])
    assert used >= USED["orchestrator"]
