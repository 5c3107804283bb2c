"""Goals and requests of moveit_msgs."""

from collections.abc import Sequence

from quartet_contracts.tools import Pose3D
from quartet_moveit.target import pose_message
from quartet_robot_link import Message, Robot, duration

POSITION_TOLERANCE_M = 0.001
ORIENTATION_TOLERANCE_RAD = 0.01
JOINT_TOLERANCE_RAD = 0.001
SPHERE = 2
"""shape_msgs/msg/SolidPrimitive."""
PLANNING_ATTEMPTS = 4
HERE: Message = {"is_diff": True}
"""A robot state that is the current one."""


def joint_constraints(robot: Robot, joints: list[float]) -> Message:
    """moveit_msgs/msg/Constraints for joint positions [rad]."""
    return {
        "joint_constraints": [
            {
                "joint_name": name,
                "position": value,
                "tolerance_above": JOINT_TOLERANCE_RAD,
                "tolerance_below": JOINT_TOLERANCE_RAD,
                "weight": 1.0,
            }
            for name, value in zip(robot.file.arm.joints, joints, strict=True)
        ]
    }


def flange_at(
    robot: Robot, position: tuple[float, float, float], frame_id: str | None, tolerance_m: float = 0.0
) -> Message:
    """Return moveit_msgs/msg/Constraints for a point [m] of the tool flange in `frame_id` (None: the base frame)."""
    x, y, z = position
    return {
        "position_constraints": [
            {
                "header": {"frame_id": frame_id or robot.file.frames.base},
                "link_name": robot.file.frames.tool,
                "constraint_region": {
                    "primitives": [{"type": SPHERE, "dimensions": [tolerance_m]}],
                    "primitive_poses": [{"position": {"x": x, "y": y, "z": z}, "orientation": {"w": 1.0}}],
                },
                "weight": 1.0,
            }
        ]
    }


def pose_constraints(robot: Robot, pose: Pose3D) -> Message:
    """moveit_msgs/msg/Constraints for a tool pose, with tight tolerances."""
    header, link, message = {"frame_id": pose.frame_id}, robot.file.frames.tool, pose_message(pose)
    return flange_at(robot, pose.position, pose.frame_id, POSITION_TOLERANCE_M) | {
        "orientation_constraints": [
            {
                "header": header,
                "link_name": link,
                "orientation": message["orientation"],
                "absolute_x_axis_tolerance": ORIENTATION_TOLERANCE_RAD,
                "absolute_y_axis_tolerance": ORIENTATION_TOLERANCE_RAD,
                "absolute_z_axis_tolerance": ORIENTATION_TOLERANCE_RAD,
                "weight": 1.0,
            }
        ],
    }


def move_goal(robot: Robot, group: str, constraints: Message, planner_id: str, timeout_s: float) -> Message:
    """Goal of moveit_msgs/action/MoveGroup: plan and execute."""
    scale = robot.file.arm.speed_scale
    return {
        "request": {
            "group_name": group,
            "start_state": HERE,
            "goal_constraints": [constraints],
            "planner_id": planner_id,
            "num_planning_attempts": PLANNING_ATTEMPTS,
            "allowed_planning_time": timeout_s,
            "max_velocity_scaling_factor": scale,
            "max_acceleration_scaling_factor": scale,
        },
        "planning_options": {"plan_only": False, "planning_scene_diff": {"is_diff": True, "robot_state": HERE}},
    }


def state_at(robot: Robot, joints: Sequence[float] | None) -> Message:
    """moveit_msgs/msg/RobotState: the current one, with other joint positions of the arm [rad] where they are given."""
    if joints is None:
        return HERE
    return {"is_diff": True, "joint_state": {"name": list(robot.file.arm.joints), "position": list(joints)}}


def ik_request(
    robot: Robot, group: str, pose: Pose3D, *, avoid_collisions: bool, near: Sequence[float] | None = None
) -> Message:
    """Request of moveit_msgs/srv/GetPositionIK; `near` is where the search begins [rad], None: the current state."""
    return {
        "ik_request": {
            "group_name": group,
            "robot_state": state_at(robot, near),
            "avoid_collisions": avoid_collisions,
            "ik_link_name": robot.file.frames.tool,
            "pose_stamped": {"header": {"frame_id": pose.frame_id}, "pose": pose_message(pose)},
            "timeout": duration(0.5),
        }
    }


def cartesian_request(
    robot: Robot, group: str, pose: Pose3D, max_step_m: float, start: Sequence[float] | None = None
) -> Message:
    """Request of moveit_msgs/srv/GetCartesianPath: straight to one pose, from joint positions [rad] or (None) here."""
    scale = robot.file.arm.speed_scale
    return {
        "header": {"frame_id": pose.frame_id},
        "start_state": state_at(robot, start),
        "group_name": group,
        "link_name": robot.file.frames.tool,
        "waypoints": [pose_message(pose)],
        "max_step": max_step_m,
        "avoid_collisions": True,
        "max_velocity_scaling_factor": scale,
        "max_acceleration_scaling_factor": scale,
    }
