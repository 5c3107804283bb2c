"""A tool call as the ROS goal that it comes to: what a policy judges where a third-party server does the work."""

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from quartet_robot_link import Message
from quartet_robot_link.geometry import yaw_quaternion
from quartet_site import RobotFile


def as_goal(tool: str, arguments: Mapping[str, Any], file: RobotFile) -> tuple[str, Message] | None:
    """Action and goal of a tool that moves base or arm; None for any other. `arguments` are checked and complete."""
    given: dict[str, Any] = {
        key: value.model_dump() if isinstance(value, BaseModel) else value for key, value in arguments.items()
    }
    match tool:
        case "navigate_to_pose":
            return "NavigateToPose", {"pose": _pose(given, file)}
        case "follow_waypoints":
            return "FollowWaypoints", {"poses": [_pose(point, file) for point in given["waypoints"]]}
        case "spin_robot":
            return "Spin", {"target_yaw": given["angle"]}
        case "drive_on_heading" | "backup_robot":
            kind = "BackUp" if tool == "backup_robot" else "DriveOnHeading"
            return kind, {"target": {"x": given["distance"]}, "speed": given["speed"]}
        case "approach_target":
            x, y = approach_way(given["target_x_base"], given["target_y_base"], given["standoff_m"])
            return "DriveOnHeading", {"target": {"x": x, "y": y}, "speed": given["speed"]}
        case "dock_robot":
            named = bool(given["dock_id"])
            return "DockRobot", {
                "use_dock_id": named,
                "dock_id": given["dock_id"],
                "dock_pose": {} if named else _pose(given, file),
            }
        case "undock_robot":
            return "UndockRobot", {}
        case "plan_and_execute":
            return "MoveGroup", _arm(_constraints(given["target"], file), file)
        case "plan_cartesian_path":
            return "MoveGroup", _arm(_constraints(given, file), file)
        case "execute_plan":
            return "ExecuteTrajectory", {}
        case _:
            return None


def approach_way(x: float, y: float, standoff: float) -> tuple[float, float]:
    """How far approach_target drives towards a target at (x, y) [m] of the base frame; (0, 0) when it is near."""
    distance = math.hypot(x, y)
    share = max(0.0, 1.0 - standoff / distance) if distance > 0 else 0.0
    return share * x, share * y


def _pose(given: Mapping[str, Any], file: RobotFile) -> Message:
    _, _, z, w = yaw_quaternion(float(given.get("yaw") or 0.0))
    return {
        "header": {"frame_id": file.frames.map},
        "pose": {"position": {"x": given.get("x"), "y": given.get("y")}, "orientation": {"z": z, "w": w}},
    }


def _constraints(target: Mapping[str, Any], file: RobotFile) -> Message:
    if target.get("position") is not None:
        x, y, z = target["position"]
        return {
            "position_constraints": [
                {
                    "header": {"frame_id": target.get("frame_id") or file.frames.base},
                    "link_name": file.frames.tool,
                    "constraint_region": {
                        "primitives": [{"dimensions": [0.0]}],
                        "primitive_poses": [{"position": {"x": x, "y": y, "z": z}}],
                    },
                }
            ]
        }
    joints = target.get("joint_positions") or file.arm.named_states.get(str(target.get("state_name")), [])
    return {
        "joint_constraints": [
            {"joint_name": name, "position": value} for name, value in zip(file.arm.joints, joints, strict=False)
        ]
    }


def _arm(constraints: Message, file: RobotFile) -> Message:
    scale = file.arm.speed_scale
    return {
        "request": {
            "goal_constraints": [constraints],
            "max_velocity_scaling_factor": scale,
            "max_acceleration_scaling_factor": scale,
        }
    }
