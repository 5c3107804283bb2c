"""Each of the two gripper actions gets the goal that its controller takes."""

from pathlib import Path

import pytest

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
