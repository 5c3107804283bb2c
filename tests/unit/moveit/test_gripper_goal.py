"""Each gripper driver gets the goal or message that it takes, and the bridge lets that through."""

from pathlib import Path

import pytest

from quartet_moveit.gripper_drive import command_message
from quartet_moveit.gripper_goal import gripper_goal, position_in
from quartet_robot_link.permits import BridgePermits
from quartet_site import Gripper, RosWrites, load_robot

TEMPLATE = Path(__file__).parents[3] / "deploy" / "sites" / "template" / "robot.yaml"
PARALLEL = Gripper(command="ParallelGripperCommand")


def test_the_goal_is_that_of_the_configured_action():
    assert gripper_goal(Gripper(), 0.7, 50.0) == {"command": {"position": 0.7, "max_effort": 50.0}}
    assert gripper_goal(PARALLEL, 0.7, 50.0) == {
        "command": {"name": ["robotiq_140_finger_joint"], "position": [0.7], "velocity": [], "effort": [50.0]}
    }


@pytest.mark.parametrize(
    ("gripper", "feedback", "position"),
    [
        (Gripper(), {"position": 0.3}, 0.3),
        (Gripper(), {"position": None}, None),
        (PARALLEL, {"state": {"name": ["other", "robotiq_140_finger_joint"], "position": [9.0, 0.3]}}, 0.3),
        (PARALLEL, {"state": {"name": ["robotiq_140_finger_joint"], "position": [None]}}, None),
        (PARALLEL, {}, None),
    ],
)
def test_the_position_in_the_feedback(gripper, feedback, position):
    assert position_in(feedback, gripper) == position


def test_the_bridge_lets_the_configured_type_through():
    file = load_robot(TEMPLATE).model_copy(update={"gripper": PARALLEL})
    assert file.action_types["gripper"] == "control_msgs/action/ParallelGripperCommand"
    assert file.action_types["spin"] == "nav2_msgs/action/Spin"
    goal = {"op": "send_action_goal", "id": "1", "action": file.actions.gripper, "args": {}}
    permits = BridgePermits(file, RosWrites())
    assert permits.refusal(goal | {"action_type": "control_msgs/action/ParallelGripperCommand"}) is None
    assert permits.refusal(goal | {"action_type": "control_msgs/action/GripperCommand"}) is not None


def test_the_message_is_that_of_the_configured_topic():
    one, two = {"command_topic": "/c"}, {"command_topic": "/c", "joint": "a", "second_joint": "b"}
    assert command_message(Gripper(command="Float64", **one), 0.3) == {"data": 0.3}
    assert command_message(Gripper(command="Float64MultiArray", **two), 0.3) == {"data": pytest.approx([0.3, 0.3])}
    sent = command_message(Gripper(command="JointTrajectory", **two), 0.3)
    assert sent["joint_names"] == ["a", "b"]
    assert sent["points"][0]["positions"] == pytest.approx([0.3, 0.3])
    assert sent["points"][0]["time_from_start"] == {"sec": 1, "nanosec": 0}


def test_the_bridge_lets_the_configured_topic_and_services_through():
    template, command = load_robot(TEMPLATE), {"op": "publish", "topic": "/c", "msg": {"data": 0.3}}
    by_topic = template.model_copy(update={"gripper": Gripper(command="Float64", command_topic="/c")})
    advertised = {"op": "advertise", "topic": "/c", "type": "std_msgs/msg/Float64"}
    assert BridgePermits(by_topic, RosWrites()).refusal(command) is None
    assert BridgePermits(by_topic, RosWrites()).refusal(advertised) is None
    assert BridgePermits(by_topic, RosWrites()).refusal(advertised | {"type": "std_msgs/msg/String"}) is not None
    call = {"op": "call_service", "service": "/close", "args": {}}
    by_service = template.model_copy(update={"gripper": Gripper(command="SetBool", close_service="/close")})
    assert BridgePermits(by_service, RosWrites()).refusal(call) is None
    for refused in (call, command, advertised):
        assert BridgePermits(template, RosWrites()).refusal(refused) is not None
    assert "gripper" not in by_service.action_types, "there is no action to send goals to"
