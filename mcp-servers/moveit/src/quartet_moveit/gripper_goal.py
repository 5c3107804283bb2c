"""Goals and feedback of the two gripper actions of ros2_controllers."""

from quartet_robot_link import Message, joint_values, number
from quartet_site import Gripper


def gripper_goal(file: Gripper, position: float, effort: float) -> Message:
    """Return the goal that sends the fingers to `position` of the joint with at most `effort` [N]."""
    if file.command == "GripperCommand":
        return {"command": {"position": position, "max_effort": effort}}
    return {"command": {"name": [file.joint], "position": [position], "velocity": [], "effort": [effort]}}


def position_in(feedback: Message, file: Gripper) -> float | None:
    """Return the position of the joint in a feedback message, None without a number there."""
    state = feedback.get("state")
    if file.command == "GripperCommand" or not isinstance(state, dict):
        return number(feedback.get("position"))
    return joint_values(state, "position").get(file.joint)
