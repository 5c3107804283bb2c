"""Every tool of every server takes strange values for each of its arguments and answers with a code that says why."""

import copy
import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

import quartet_moveit
import quartet_nav2
import quartet_ros
from quartet_perception import server as perception
from quartet_robot_link._transforms import TransformBuffer

VALID: dict[str, dict[str, Any]] = {
    "navigate_to_pose": {"x": 0.0, "y": 0.0, "yaw": 0.0},
    "approach_target": {"target_x_base": 0.5, "target_y_base": 0.0, "standoff_m": 0.6},
    "spin_robot": {"angle": 0.1},
    "drive_on_heading": {"distance": 0.05},
    "backup_robot": {"distance": 0.05},
    "follow_waypoints": {"waypoints": [{"x": 0.0, "y": 0.0}]},
    "get_path": {"start_x": 0.3, "start_y": -1.0, "goal_x": 0.3, "goal_y": 0.4},
    "get_path_from_robot": {"goal_x": 0.3, "goal_y": 0.4},
    "wait": {"seconds": 0.2},
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
    "segment_objects": {"prompt": "red coke can", "camera": "front"},
    "detect_objects": {"names": ["red coke can"]},
    "last_seen": {"names": ["red coke can"]},
    "measure_spot": {"position_base": [0.8, 0.0, 0.0]},
    "get_topdown_grasp_pose": {"object_name": "red coke can"},
    "get_topdown_placing_pose": {"object_name": "counter"},
    "plan_to_pose": {"position": [0.6, 0.0, 0.8], "orientation": [1, 0, 0, 0]},
    "plan_to_named_state": {"state_name": "look_forward"},
    "remove_collision_object": {"object_id": "box"},
    "detach_object": {"object_id": "box"},
    "publish_for_durations": {
        "topic": "/cmd_vel", "msg_type": "geometry_msgs/msg/Twist", "messages": [{}], "durations": [0.1]
    },
    "get_topic_details": {"topic": "/odom"},
    "get_service_type": {"service": "/compute_ik"},
    "get_service_details": {"service": "/compute_ik"},
    "call_service": {"service_name": "/compute_ik"},
    "get_node_details": {"node": "/move_group"},
    "get_parameter": {"name": "/move_group:use_sim_time"},
    "has_parameter": {"name": "/move_group:use_sim_time"},
    "get_parameter_details": {"name": "/move_group:use_sim_time"},
    "set_parameter": {"name": "/move_group:use_sim_time", "value": True},
    "delete_parameter": {"name": "/move_group:use_sim_time"},
    "get_action_status": {"action_name": "/spin"},
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_wait_for_unknown_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame that is not there may still come, and each would be waited for, for a second or two."""
    lookup = TransformBuffer.lookup

    async def hurried(self: TransformBuffer, target: str, source: str, **more: Any) -> Any:
        known = set(self.frames())
        if {"map", "base_footprint"} <= known and not {target, source} <= known:
            more["timeout_s"] = 0.01
        return await lookup(self, target, source, **more)

    monkeypatch.setattr(TransformBuffer, "lookup", hurried)


SERVERS = pytest.mark.parametrize(
    "package",
    [quartet_nav2, quartet_moveit, perception, quartet_ros],
    ids=["nav2", "moveit", "perception", "ros"],
)
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


@SERVERS
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


NAN, INF = math.nan, math.inf
Path = tuple[str | int, ...]
READS = {"nav2": "get_robot_pose", "moveit": "get_current_pose", "perception": "look", "ros": "get_nodes"}
"""A call of each server that must still work."""


def properties(schema: dict[str, Any], at: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every property of a schema, those of nested objects and the items of arrays too; null is left aside."""
    for name, prop in schema.get("properties", {}).items():
        options = [option for option in prop.get("anyOf", [prop]) if option.get("type") != "null"]
        if len(options) == 1:
            yield (*at, name), options[0] | {"nullable": options != [prop]}
            yield from properties(options[0], (*at, name))
            items = options[0].get("items", {})
            if items.get("type"):
                yield (*at, name, 0), items
                yield from properties(items, (*at, name, 0))


def forbidden(schema: dict[str, Any]) -> Iterator[Any]:
    """Values that a schema does not allow."""
    kind = schema.get("type")
    if kind in {"number", "integer"}:
        # On their way they become null, as JSON has no word for them.
        yield from () if schema.get("nullable") else (NAN, INF, -INF)
        yield from ("NaN", "-Infinity", "fast", {}, [])
        if kind == "integer":
            yield 1.5
        low, above, high = (schema.get(name) for name in ("minimum", "exclusiveMinimum", "maximum"))
        yield from (value for value in (None if low is None else low - 1, above, None if high is None else high + 1)
                    if value is not None)  # fmt: skip
    elif kind == "string":
        yield from (7, {}, [])
        yield from ["nonsense"] if "enum" in schema else []
        yield from ["x" * (schema["maxLength"] + 1)] if "maxLength" in schema else []
        yield from [""] if schema.get("minLength") else []
        yield from ["\n; rm -rf"] if "pattern" in schema else []
    elif kind == "boolean":
        yield from ("perhaps", 7, {})
    elif kind == "array":
        yield from ("text", 7, {})
        yield from [[]] if schema.get("minItems") else []
        yield from [[0] * (schema["maxItems"] + 1)] if "maxItems" in schema else []
    elif kind == "object":
        yield from ("text", 7, [])
        yield from [{"no_such_field": 1}] if schema.get("additionalProperties") is False else []


def replaced(arguments: dict[str, Any], at: Path, value: Any) -> dict[str, Any]:
    """A copy of the arguments with another value at a place that is made where it is missing."""
    whole = copy.deepcopy(arguments)
    holder: Any = whole
    for step, following in pairwise(at):
        empty: Any = [None] if isinstance(following, int) else {}
        there = holder[step] if isinstance(step, int) else holder.get(step)
        holder[step] = there or empty
        holder = holder[step]
    holder[at[-1]] = value
    return whole


def bad_calls(tool: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Word that the answer must hold, and arguments."""
    valid = VALID.get(tool, {})
    assert set(schema.get("required", [])) <= set(valid), f"{tool} needs an entry in VALID"
    yield "no_such_argument", valid | {"no_such_argument": 1}
    for name in schema.get("required", []):
        yield name, {key: value for key, value in valid.items() if key != name}
    for at, prop in properties(schema):
        word = next(str(step) for step in reversed(at) if isinstance(step, str))
        for value in forbidden(prop):
            yield word, replaced(valid, at, value)


def posture(sim: Any) -> tuple[Any, ...]:
    truth = sim.truth()
    return truth["time"], truth["robot"]["pose"], truth["robot"]["arm"], truth["robot"]["opening"]


@SERVERS
async def test_what_the_schema_forbids_is_named_and_moves_nothing(open_server, sim, package):
    hands = await open_server(package)
    before, count = posture(sim), 0
    for tool in await hands.client.list_tools():
        for word, arguments in bad_calls(tool.name, tool.input_schema):
            answer = await hands.call(tool.name, **arguments)
            said = f"{tool.name} {str(arguments)[:200]}: {answer}"
            assert answer["error_code"] in {"INVALID_PARAMETERS", "INVALID_WAYPOINTS"}, said
            assert (word in answer["message"]) or answer["error_code"] == "INVALID_WAYPOINTS", said
            count += 1
    assert posture(sim) == before
    assert (await hands.call(READS[package.SERVER.name]))["ok"]
    assert count > 50


UNKNOWN: dict[str, tuple[list[Any], set[str]]] = {
    "orientation": ([[1, 0, 0, 1], [0, 0, 0, 0], [0.5, 0, 0, 0]], {"INVALID_PARAMETERS"}),
    "frame_id": (["moon"], {"TRANSFORM_UNAVAILABLE"}),
    "group": (["leg"], {"INVALID_GROUP"}),
    "link_name": (["tail"], {"INVALID_PARAMETERS", "TRANSFORM_UNAVAILABLE", "UNKNOWN_OBJECT"}),
    "operation_id": (["plan-99"], {"UNKNOWN_OPERATION"}),
    "state_name": (["tucked"], {"UNKNOWN_STATE"}),
    "joint_positions": ([[0.0] * 100_000, [9.0] * 6, []], {"INVALID_PARAMETERS"}),
    "dock_id": (["mars"], {"NAVIGATION_FAILED", "POLICY_DENIED"}),
    "dock_type": (["tower"], {"NAVIGATION_FAILED", "INVALID_PARAMETERS"}),
    "waypoints": ([[{"x": 0, "y": 0}] * 100_000], {"INVALID_WAYPOINTS", "INVALID_PARAMETERS"}),
    "controllers": ([["nobody"] * 10_000], {"UNKNOWN_OPERATION", "INVALID_PARAMETERS"}),
    "object_name": (["unicorn"], {"UNKNOWN_OBJECT"}),
    "prompt": (["unicorn"], {"UNKNOWN_OBJECT"}),
    "names": ([["unicorn"]], {"UNKNOWN_OBJECT"}),
    "topic": (["/no/such"], {"INVALID_PARAMETERS", "DENIED"}),
    "msg_type": (["no_msgs/msg/Thing"], {"INVALID_PARAMETERS", "DENIED"}),
    "message_type": (["no_msgs/msg/Thing", "std_msgs/String/x"], {"INVALID_PARAMETERS"}),
    "service": (["/no/such"], {"INVALID_PARAMETERS"}),
    "service_name": (["/no/such"], {"DENIED"}),
    "node": (["/nobody"], {"INVALID_PARAMETERS"}),
    "node_name": (["/nobody"], {"INVALID_PARAMETERS"}),
    "action_name": (["/fly"], {"INVALID_PARAMETERS", "DENIED"}),
    "action_type": (["no_msgs/action/Thing"], {"INVALID_PARAMETERS", "DENIED"}),
    "image_path": (["/etc/passwd"], {"INVALID_PARAMETERS"}),
}
"""By name of an argument: values that the schema allows and the robot does not know, and the codes that say so."""


@SERVERS
async def test_what_the_robot_does_not_know_is_named_and_moves_nothing(open_server, sim, package):
    hands = await open_server(package)
    before, seen = posture(sim), set()
    for tool in await hands.client.list_tools():
        for at, _ in properties(tool.input_schema):
            values, codes = UNKNOWN.get(str(at[-1]), ([], set()))
            if tool.name == "stop_execution":
                continue  # whatever runs is stopped, also for somebody who is wrong about its name
            for value in values:
                arguments = replaced(VALID.get(tool.name, {}), at, value)
                if at[-1] in {"position", "orientation", "frame_id"} and at[0] == "target":
                    arguments["target"] = {"position": [0.6, 0, 0.8], "orientation": [1, 0, 0, 0]} | {at[-1]: value}
                elif at[0] == "target":
                    arguments["target"] = {at[-1]: value}
                answer = await hands.call(tool.name, **arguments)
                said = f"{tool.name} {str(arguments)[:200]}: {answer}"
                assert answer["error_code"] in codes, said
                assert 10 < len(answer["message"]) < 2100, said
                seen.add(at[-1])
    assert posture(sim) == before
    assert (await hands.call(READS[package.SERVER.name]))["ok"]
    assert seen


async def test_names_of_tools_that_do_not_exist_do_not_fill_the_metrics(open_server, sim):
    hands = await open_server(quartet_nav2)
    for number in range(3):
        assert "does not cover" in await hands.refused(f"fly_{number}", "DENIED")
    text = hands.server.exposition.answer(None)[2].decode()
    assert 'quartet_tool_calls_total{code="DENIED",robot="summit",server="nav2",tool="unknown"} 3.0' in text
    assert "fly" not in text
