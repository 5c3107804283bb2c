"""Tool calls in a person's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartet_contracts import CONFIRM_TOOLS, MODEL_TOOLS, OBSERVE_TOOLS, STANDSTILL_TOOLS, VERIFY_TOOLS
from quartet_contracts.story._words import _WORDS, skill_words, tool_words


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("nav2__navigate_to_pose", {"x": 1, "y": -2.345, "yaw": 0}, "drives to x 1.00 m, y -2.35 m on the map"),
        ("nav2__spin_robot", {"angle": -1.0471976}, "turns by 60° to the right"),
        (
            "moveit__plan_and_execute",
            {"target_type": "named_state", "target": {"state_name": "look_forward"}},
            "moves the arm to 'look forward'",
        ),
        (
            "moveit__plan_and_execute",
            {"target_type": "pose", "target": {"position": [0.5, 0, 0.25]}},
            "moves the gripper to 0.50 m ahead, 0.25 m high",
        ),
        (
            "moveit__plan_cartesian_path",
            {"position": [0.62, -0.11, 0.93]},
            "moves the gripper in a straight line to 0.62 m ahead and 0.11 m to the right, 0.93 m high",
        ),
        (
            "moveit__plan_cartesian_path",
            {"position": [0.62, -0.11, 0.93], "frame_id": "map"},
            "moves the gripper in a straight line to a given pose",
        ),
        ("perception__look", {"camera": "both"}, "looks around with both cameras"),
        ("perception__segment_objects", {"prompt": "can"}, "searches for 'can' with the arm camera"),
        ("perception__segment_objects", {"object_id": "obj_1"}, "searches for obj_1 with the arm camera"),
        ("perception__get_topdown_grasp_pose", {"object_id": "obj_1"}, "works out how to grasp obj_1"),
        ("perception__detect_objects", {"object_ids": ["obj_1"]}, "looks for obj_1 with the front camera"),
        (
            "perception__detect_objects",
            {"camera": "both", "names": ["can", "cup"]},
            "looks for 'can', 'cup' with both cameras",
        ),
        ("perception__last_seen", {"names": ["can"]}, "recalls what the cameras have seen of 'can'"),
        (
            "perception__measure_spot",
            {"position_base": [0.8, 0.0, 0.0], "camera": "arm"},
            "measures what stands where it was put down, with the arm camera",
        ),
        ("perception__detect_objects", {}, "looks what is there with the front camera"),
        ("elsewhere__frobnicate", {}, "calls elsewhere__frobnicate"),
        ("nav2__navigate_to_pose", {"x": "kitchen"}, "calls nav2__navigate_to_pose"),
        ("nav2__spin_robot", {"angle": 10**400}, "calls nav2__spin_robot"),
    ],
)
def test_a_call_is_told_as_what_the_robot_does(tool: str, arguments: dict[str, object], words: str) -> None:
    assert tool_words(tool, arguments) == words


def test_every_tool_that_an_agent_may_use_has_words() -> None:
    used = {tool for group in (MODEL_TOOLS, VERIFY_TOOLS) for tools in group.values() for tool in tools}
    used |= {*STANDSTILL_TOOLS, *OBSERVE_TOOLS, *CONFIRM_TOOLS}
    assert {tool.rpartition("__")[2] for tool in used} <= set(_WORDS)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(["x", "y", "angle", "distance", "target", "target_type", "waypoints", "prompt", "camera"])


@given(st.sampled_from(sorted(_WORDS)), st.dictionaries(KEYS, JSON, max_size=4))
def test_no_arguments_of_a_model_break_the_story(tool: str, arguments: dict[str, object]) -> None:
    assert tool_words(f"server__{tool}", arguments)


def test_skills_are_told_as_instructions() -> None:
    assert (
        skill_words("approach", {"target_area": "kitchen", "object_name": "the red can", "next_action": "pick"})
        == "go to the red can in the kitchen to pick it up"
    )
    floor = {"target_area": "kitchen", "object_name": "floor", "next_action": "floor_place"}
    assert skill_words("approach", floor) == "go to a free place on the floor of the kitchen"
    look = {"target_area": "kitchen", "object_name": "kitchen", "next_action": "look"}
    assert skill_words("approach", look) == "go to the kitchen and look"
    desk = {**look, "object_name": "desk"}
    assert skill_words("approach", desk) == "go to the desk in the kitchen to look"
    assert skill_words("pick", {"object_name": "red can"}) == "pick up the red can"
    assert skill_words("place", {"target_location": "table", "object_name": "can"}) == "put the can down at the table"
