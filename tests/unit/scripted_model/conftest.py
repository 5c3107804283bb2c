"""A home that the scripted model never saw, and a way to talk to its policies as a gateway would."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from quartet_scripted_model import Call, Text, Turn, answer
from quartet_scripted_model.misbehaviour import Kind
from quartet_scripted_model.turn import calls_of

HOME: dict[str, Any] = {
    "robot": "summit",
    "areas": [
        {"name": "living room", "aliases": ["lounge"], "landmarks": ["sofa", "television"]},
        {"name": "dining area", "aliases": ["dining room"], "landmarks": ["dining table", "chandelier"]},
        {"name": "kitchen", "aliases": [], "landmarks": ["fridge", "oven"]},
        {"name": "hallway", "aliases": ["corridor"], "landmarks": ["front door"]},
        {"name": "parents' bedroom", "aliases": ["bedroom", "master bedroom"], "landmarks": ["double bed"]},
        {"name": "kids' room", "aliases": ["children's room"], "landmarks": ["bunk bed"]},
    ],
    "surfaces": [
        {"name": "wooden coffee table", "aliases": ["coffee table"], "area": "living room"},
        {"name": "bookshelf", "aliases": ["shelf"], "area": "living room"},
        {"name": "dining table", "aliases": ["dinner table"], "area": "dining area"},
        {"name": "kitchen counter", "aliases": ["counter", "worktop"], "area": "kitchen"},
        {"name": "nightstand", "aliases": ["bedside table"], "area": "parents' bedroom"},
        {"name": "desk", "aliases": ["writing desk"], "area": "kids' room"},
    ],
    "containers": [
        {"name": "kitchen bin", "aliases": ["bin", "trash can", "trash"], "area": "kitchen"},
        {"name": "waste basket", "aliases": ["paper basket"], "area": "living room"},
        {"name": "laundry basket", "aliases": ["hamper"], "area": "parents' bedroom"},
        {"name": "toy basket", "aliases": ["toy box"], "area": "kids' room"},
    ],
    "objects": [
        {"name": "red coke can", "aliases": ["coke can", "coke", "red can"]},
        {"name": "blue soda can", "aliases": ["pepsi can", "blue can"]},
        {"name": "red apple", "aliases": []},
        {"name": "green apple", "aliases": []},
        {"name": "orange", "aliases": ["orange fruit"]},
        {"name": "blue mug", "aliases": ["coffee mug"]},
        {"name": "green tea box", "aliases": ["tea box", "box of tea"]},
        {"name": "yellow cereal box", "aliases": ["cereal box", "cereal"]},
        {"name": "black remote control", "aliases": ["remote control", "remote"]},
        {"name": "blue book", "aliases": ["book"]},
        {"name": "tennis ball", "aliases": ["ball"]},
        {"name": "orange toy block", "aliases": ["toy block", "block"]},
        {"name": "yellow rubber duck", "aliases": ["rubber duck", "duck"]},
        {"name": "green sponge", "aliases": ["sponge"]},
        {"name": "teddy bear", "aliases": []},
    ],
}

Reply = Callable[[str, dict[str, Any]], dict[str, Any]]


def tool(name: str, *properties: str) -> dict[str, Any]:
    """An OpenAI tool with these arguments."""
    schema = {"type": "object", "properties": {p: {} for p in properties}}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": schema}}


class Conversation:
    """Messages that grow by the policy's calls and the replies to them."""

    def __init__(self, facts: dict[str, Any], user: str, tools: list[dict[str, Any]], kind: Kind | None = None) -> None:
        system = f"You are an agent.\n\n## Facts\n\n```json\n{json.dumps(facts)}\n```\n"
        self.messages: list[dict[str, Any]] = [
            {"role": "system", "content": system},
            {"role": "user", "content": user},
        ]
        self.tools = tools
        self.kind = kind
        self.calls: list[Call] = []

    def next(self) -> Turn:
        """What the policy says now."""
        return answer(self.messages, self.tools, self.kind)

    def add(self, turn: Call, result: dict[str, Any] | None) -> None:
        """Records a call and, unless None, its result."""
        call_id = f"call_{len(self.messages)}"
        function = {"name": turn.name, "arguments": json.dumps(turn.arguments)}
        self.messages.append(
            {
                "role": "assistant",
                "content": turn.say or None,
                "tool_calls": [{"id": call_id, "type": "function", "function": function}],
            }
        )
        if result is not None:
            self.messages.append({"role": "tool", "tool_call_id": call_id, "content": json.dumps(result)})

    def run(self, reply: Reply, limit: int = 60) -> Call:
        """Lets the policy call until it reports, and gives back its report."""
        for _ in range(limit):
            turn = self.next()
            assert not isinstance(turn, Text), f"answered in words: {turn.say}"
            failed = False
            for call in calls_of(turn):
                self.calls.append(call)
                if call.name.startswith("report_"):
                    return call
                result = {"ok": False, "error_code": "NOT_RUN"} if failed else reply(call.name, call.arguments)
                failed = result.get("ok") is False
                self.add(call, result)
        raise AssertionError(f"no report after {limit} calls: {[c.name for c in self.calls]}")

    def made(self, *names: str) -> list[tuple[str, dict[str, Any]]]:
        """The calls of these tools."""
        return [(c.name, c.arguments) for c in self.calls if c.name in names]


PLACING = ("held_object", "target_id", "held_id")
SKILLS = ("approach", "pick", "place")


@pytest.fixture
def orchestrator() -> Callable[..., Conversation]:
    """A conversation of the orchestrator about a sentence."""

    def start(sentence: str, facts: dict[str, Any] | None = None, kind: Kind | None = None) -> Conversation:
        return Conversation(
            HOME if facts is None else facts,
            f"<sentence>{sentence}</sentence>",
            [
                tool("approach", "target_area", "object_name", "next_action", "stand"),
                tool("pick", "object_name", "object_id"),
                tool("place", "target_location", "object_name", "object_height_m", "target_id", "held_id"),
                tool("look", "camera"),
                tool("ask_person", "question", "choices"),
                tool("report_task_result", "success", "summary", "objects"),
            ],
            kind,
        )

    return start


@pytest.fixture
def agent() -> Callable[[str, dict[str, Any], dict[str, Any]], Conversation]:
    """A conversation of a sub-agent about a request."""
    tools = {
        "approach": [
            tool("moveit__plan_and_execute", "target_type", "target"),
            tool("nav2__navigate_to_pose", "x", "y", "yaw"),
            tool("nav2__clear_costmaps"),
            tool("perception__look", "camera"),
            tool("perception__detect_objects", "names", "camera", "object_ids"),
            tool("report_approach_result", "success", "error_code", "reason", "checks"),
        ],
        "pick": [
            tool("moveit__plan_and_execute", "target_type", "target", "lower_by_m"),
            tool("moveit__plan_cartesian_path", "position", "orientation", "frame_id", "min_fraction"),
            tool("moveit__clear_planning_scene"),
            tool("moveit__open_gripper", "position"),
            tool("moveit__close_gripper", "object_size_m"),
            tool("moveit__get_grasp_state"),
            tool("perception__get_topdown_grasp_pose", "object_name", "camera", "object_id"),
            tool("report_pick_result", "success", "error_code", "reason", "held_object", "held_object_height_m"),
        ],
        "place": [
            tool("perception__get_topdown_placing_pose", "object_name", "object_height_m", *PLACING),
            tool("perception__detect_objects", "names", "camera", "object_ids"),
            tool("moveit__plan_and_execute", "target_type", "target", "lower_by_m"),
            tool("moveit__plan_cartesian_path", "position", "orientation", "frame_id", "min_fraction"),
            tool("moveit__clear_planning_scene"),
            tool("moveit__open_gripper", "position"),
            tool("moveit__get_grasp_state"),
            tool("report_place_result", "success", "error_code", "reason"),
        ],
    }

    def start(name: str, request: dict[str, Any], facts: dict[str, Any]) -> Conversation:
        return Conversation(facts, f"Your request:\n\n```json\n{json.dumps(request)}\n```\n", tools[name])

    return start


@pytest.fixture
def home() -> dict[str, Any]:
    return HOME
