"""What may be sent to rosbridge: everything that the servers need, and nothing else."""

import re
from pathlib import Path
from typing import Any

import pytest

from quartet_robot_link.permits import ROSAPI, BridgePermits
from quartet_site import RobotFile, RosWrites, load_robot

ROOT = Path(__file__).resolve().parents[3]
TWIST = "geometry_msgs/msg/Twist"
CAPS = {"max_linear_m_s": 0.3, "max_angular_rad_s": 0.5}
WRITES = RosWrites.model_validate(
    {
        "topics": [
            {"name": "/cmd_vel", "type": TWIST, **CAPS},
            {"name": "/base/cmd_vel", "type": "geometry_msgs/TwistStamped", **CAPS},
            {"name": "/lamp/colour", "type": "std_msgs/msg/ColorRGBA"},
            {"name": "/robot_guard/state", "type": "diagnostic_msgs/msg/DiagnosticStatus"},
        ],
        "services": [
            {"name": "/lamp/switch", "type": "std_srvs/srv/SetBool"},
            {"name": "/robot_guard/reset", "type": "std_srvs/srv/Trigger"},
        ],
        "actions": [{"name": "/lamp/fade", "type": "lamp_msgs/action/Fade"}],
        "parameters": ["/controller_server:FollowPath.max_vel_x"],
    }
)


@pytest.fixture(scope="module")
def robot() -> RobotFile:
    return load_robot(ROOT / "deploy" / "sites" / "home" / "robot.yaml")


@pytest.fixture(scope="module")
def permits(robot: RobotFile) -> BridgePermits:
    return BridgePermits(robot, WRITES)


def call(service: str, **args: Any) -> dict[str, Any]:
    return {"op": "call_service", "id": "1", "service": service, "args": args}


def set_parameter(node: str, name: Any) -> dict[str, Any]:
    return call(f"{node}/set_parameters", parameters=[{"name": name, "value": {"type": 3, "double_value": 0.5}}])


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "subscribe", "topic": "/odom", "type": "nav_msgs/msg/Odometry", "compression": "cbor"},
        {"op": "subscribe", "topic": "/spin/_action/status"},
        {"op": "unsubscribe", "topic": "/odom"},
        {"op": "advertise", "topic": "/robot_guard/heartbeat", "type": "std_msgs/msg/Header"},
        {"op": "publish", "topic": "/robot_guard/heartbeat", "msg": {"frame_id": "nav2:1"}},
        {"op": "advertise", "topic": "/cmd_vel", "type": "geometry_msgs/Twist"},
        {"op": "publish", "topic": "/lamp/colour", "msg": {}},
        {"op": "unadvertise", "topic": "/lamp/colour"},
        {"op": "send_action_goal", "action": "/spin", "action_type": "nav2_msgs/action/Spin", "args": {}},
        {"op": "send_action_goal", "action": "/lamp/fade", "action_type": "lamp_msgs/Fade", "args": {}},
        {"op": "cancel_action_goal", "action": "/follow_path", "id": "x"},
        call("/compute_ik"),
        call("/lamp/switch", data=True),
        call("/rosbridge_websocket/get_parameters", names=[]),
        call("~/get_parameters", names=[]),
        call("/follow_path/_action/cancel_goal"),
        call("/spin/_action/get_result", quartet_asks_for_the_type=True),
        call("/move_group/get_parameters", names=["x"]),
        call("/move_group/list_parameters"),
        set_parameter("/controller_server", "FollowPath.max_vel_x"),
        *map(call, sorted(ROSAPI)),
    ],
    ids=str,
)
def test_what_the_servers_need_passes(permits: BridgePermits, operation: dict[str, Any]) -> None:
    assert permits.refusal(operation) is None


@pytest.mark.parametrize(
    ("operation", "named"),
    [
        # The guard is a person's.
        (call("/robot_guard/reset"), "/robot_guard/reset"),
        (call("robot_guard/reset"), "robot_guard/reset"),
        (call("/robot_guard/stop"), "/robot_guard/stop"),
        # Of the names that rosbridge expands, only the link's own probe.
        (call("~/set_parameters"), "~/set_parameters"),
        (call("~/../robot_guard/get_parameters"), "~/../robot_guard"),
        ({"op": "publish", "topic": "~/get_parameters", "msg": {}}, "~/get_parameters"),
        ({"op": "publish", "topic": "/robot_guard/state", "msg": {}}, "/robot_guard/state"),
        ({"op": "advertise", "topic": "/robot_guard/heartbeat", "type": "std_msgs/msg/String"}, "std_msgs/msg/String"),
        # Velocities go to the gate.
        ({"op": "publish", "topic": "/base/cmd_vel", "msg": {}}, "/base/cmd_vel"),
        ({"op": "advertise", "topic": "/base/cmd_vel", "type": TWIST}, "/base/cmd_vel"),
        ({"op": "publish", "topic": "/cmd_vel", "type": "geometry_msgs/msg/TwistStamped", "msg": {}}, "TwistStamped"),
        # What nobody lists.
        ({"op": "publish", "topic": "/initialpose", "msg": {}}, "/initialpose"),
        ({"op": "advertise", "topic": "/initialpose", "type": "x_msgs/msg/X"}, "/initialpose"),
        ({"op": "advertise", "topic": "/lamp/colour"}, "None"),
        (call("/shutdown"), "/shutdown"),
        (call("/spin/_action/send_goal"), "/spin/_action/send_goal"),
        (call("/rosapi/set_param", name="/x:y", value="1"), "/rosapi/set_param"),
        (call("/rosapi/get_param", name="/x:y"), "/rosapi/get_param"),
        ({"op": "send_action_goal", "action": "/follow_path", "action_type": "nav2_msgs/FollowPath"}, "/follow_path"),
        ({"op": "send_action_goal", "action": "/spin", "action_type": "nav2_msgs/Wait"}, "nav2_msgs/Wait"),
        ({"op": "send_action_goal", "action": "/spin"}, "None"),
        (set_parameter("/controller_server", "use_sim_time"), "/controller_server:use_sim_time"),
        (set_parameter("/other", "FollowPath.max_vel_x"), "/other:FollowPath.max_vel_x"),
        ({"op": "call_service", "service": "/controller_server/set_parameters", "args": [[]]}, "/controller_server"),
        ({"op": "call_service", "service": "/controller_server/set_parameters"}, "/controller_server"),
        (set_parameter("/controller_server", ["FollowPath.max_vel_x"]), "FollowPath"),
        # What is read in more than one way.
        (call("/lamp/switch\n"), "/lamp/switch"),
        (call("//lamp/switch"), "//lamp/switch"),
        (call("~/switch"), "~/switch"),
        (call("/lamp/switch#1"), "/lamp/switch#1"),
        ({"op": "call_service", "service": ["/lamp/switch"]}, "/lamp/switch"),
        ({"op": "subscribe", "topic": None}, "None"),
        # Operations that no server sends.
        *(
            ({"op": op, "id": "1", "service": "/compute_ik", "topic": "/odom", "action": "/spin"}, repr(op))
            for op in ("advertise_service", "service_response", "unadvertise_service", "advertise_action",
                       "action_result", "action_feedback", "fragment", "png", "set_level", "status", "auth", None, 7)
        ),
    ],
    ids=str,
)  # fmt: skip
def test_anything_else_is_refused_by_its_name(permits: BridgePermits, operation: dict[str, Any], named: str) -> None:
    refusal = permits.refusal(operation)
    assert refusal is not None
    assert named in refusal
    assert "not allowed" in refusal
    assert "does not exist" not in refusal, "the link takes that for a missing node"


def test_without_ros_writes_only_heartbeats_are_published(robot: RobotFile) -> None:
    permits = BridgePermits(robot, RosWrites())
    for topic in ("/cmd_vel", "/lamp/colour"):
        assert permits.refusal({"op": "publish", "topic": topic, "msg": {}}) is not None
    assert permits.refusal({"op": "publish", "topic": robot.topics.guard_heartbeat, "msg": {}}) is None


def test_names_are_those_of_the_robot_file(robot: RobotFile) -> None:
    topics = robot.topics.model_copy(update={"velocity": "/summit/cmd_vel", "guard_heartbeat": "summit/beat"})
    actions = robot.actions.model_copy(update={"spin": "/summit/spin"})
    permits = BridgePermits(robot.model_copy(update={"topics": topics, "actions": actions}), WRITES)
    goal = {"op": "send_action_goal", "action_type": "nav2_msgs/action/Spin"}
    assert permits.refusal({**goal, "action": "/summit/spin"}) is None
    assert permits.refusal({**goal, "action": "/spin"}) is not None
    assert permits.refusal({"op": "publish", "topic": "/cmd_vel", "msg": {}}) is not None
    assert permits.refusal({"op": "publish", "topic": "summit/beat", "msg": {}}) is None


def test_every_service_of_rosapi_that_somebody_calls_is_known() -> None:
    sources = [path for folder in ("libs", "mcp-servers", "cli") for path in (ROOT / folder).rglob("src/**/*.py")]
    called = {name for path in sources for name in re.findall(r'"(/rosapi/[a-z_]+)"', path.read_text())}
    assert len(called) > 8
    assert called <= ROSAPI
