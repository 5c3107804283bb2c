"""Every tool of every server takes strange values for each of its arguments and answers with a code that says why."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

import quartet_moveit
import quartet_nav2
import quartet_ros
from quartet_perception import server as perception

VALID: dict[str, dict[str, Any]] = {
    "navigate_to_pose": {"x": 0.0, "y": 0.0, "yaw": 0.0},
    "approach_target": {"target_x_base": 0.5, "target_y_base": 0.0, "standoff_m": 0.6},
    "spin_robot": {"angle": 0.1},
    "drive_on_heading": {"distance": 0.05},
    "backup_robot": {"distance": 0.05},
    "follow_waypoints": {"waypoints": [{"x": 0.0, "y": 0.0}]},
    "get_path": {"start_x": 0.3, "start_y": -1.0, "goal_x": 0.3, "goal_y": 0.4},
    "get_path_from_robot": {"goal_x": 0.3, "goal_y": 0.4},
    "nav2_lifecycle": {"operation": "startup"},
    "plan_to_joint_state": {"joint_positions": [0.0, -0.2429, -2.8291, -0.7983, 1.5622, 0.0]},
    "compute_fk": {"joint_positions": [0.0, -0.2429, -2.8291, -0.7983, 1.5622, 0.0]},
    "compute_ik": {"position": [0.6, 0.0, 0.8], "orientation": [1, 0, 0, 0], "attempts": 1},
    "check_state_collision": {"joint_positions": [0.0, -0.2429, -2.8291, -0.7983, 1.5622, 0.0]},
    "add_collision_box": {"object_id": "box", "position": [0.0, 3.0, 0.5], "dimensions": [0.1, 0.1, 0.1]},
    "add_collision_sphere": {"object_id": "ball", "position": [0.0, 3.0, 0.5], "radius": 0.1},
    "attach_object": {"object_id": "box"},
    "plan_and_execute": {"target": {"state_name": "look_forward"}},
    "plan_cartesian_path": {"position": [0.6, 0.0, 0.8]},
    "subscribe_once": {"topic": "/odom", "timeout": 1.0},
    "subscribe_for_duration": {"topic": "/odom", "duration": 0.05},
    "get_topic_type": {"topic": "/odom"},
    "get_message_details": {"message_type": "geometry_msgs/msg/Twist"},
    "get_parameters": {"node_name": "/move_group"},
    "get_action_details": {"action_name": "/spin"},
    "cancel_action_goal": {"action_name": "/spin"},
    "publish_once": {"topic": "/cmd_vel", "msg_type": "geometry_msgs/msg/Twist", "msg": {}},
    "send_action_goal": {"action_name": "/spin", "action_type": "nav2_msgs/action/Spin", "goal": {}},
    "segment_objects": {"prompts": ["red coke can"], "camera": "front"},
    "detect_objects": {"names": ["red coke can"]},
}
NUMBERS = [1e308, -1e308, 1e-300, 0, -1, "NaN", "-Infinity", 10**30]
STRANGE: dict[str, list[Any]] = {
    "number": NUMBERS,
    "integer": [10**30, -1, 0, 1.5, "NaN"],
    "string": ["", "é\u202e\x00", "x" * 20_000, "../../etc/passwd", "'; DROP"],
    "array": [[], [None], [1e308] * 3, ["x" * 20_000], [""] * 500, [0, 0, 0, 0]],
    "object": [{}, {"position": [1e308] * 3, "orientation": [0, 0, 0, 0]}, {"joint_positions": [1e308] * 6}],
    "boolean": ["perhaps"],
}
ANYTHING: list[Any] = [None, {}, [], True, {"a": {"b": [1]}}]


def kinds(schema: dict[str, Any]) -> set[str]:
    """Types that a property takes."""
    options = schema.get("anyOf", [schema])
    found = {option.get("type", "object") for option in options}
    return found if schema.get("enum") is None else {"string"}


@pytest.mark.parametrize(
    "package",
    [quartet_nav2, quartet_moveit, SimpleNamespace(NAME="perception", register=perception.register), quartet_ros],
    ids=["nav2", "moveit", "perception", "ros"],
)
async def test_strange_values_are_refused_or_done_and_never_a_fault_of_the_server(open_server, sim, package):
    hands = await open_server(package)
    for tool in await hands.client.list_tools():
        for name, schema in tool.input_schema.get("properties", {}).items():
            for value in [*ANYTHING, *(value for kind in sorted(kinds(schema)) for value in STRANGE.get(kind, []))]:
                answer = await hands.call(tool.name, **VALID.get(tool.name, {}) | {name: value})
                said = f"{tool.name} {name}={str(value)[:60]}: {answer}"
                allowed = {"TIMEOUT"} if name == "timeout" else set()
                assert answer["error_code"] not in {"UNKNOWN", "TIMEOUT", "BRIDGE_UNAVAILABLE"} - allowed, said
                assert len(answer["message"]) < 2100, said
    pose = sim.truth()["robot"]["pose"]
    assert all(math.isfinite(value) and abs(value) < 10 for value in pose), "the robot is still in its room"


async def test_names_of_tools_that_do_not_exist_do_not_fill_the_metrics(open_server, sim):
    hands = await open_server(quartet_nav2)
    for number in range(3):
        assert "does not cover" in await hands.refused(f"fly_{number}", "DENIED")
    text = hands.server.scrape().decode()
    assert 'quartet_tool_calls_total{code="DENIED",robot="summit",server="nav2",tool="unknown"} 3.0' in text
    assert "fly" not in text
