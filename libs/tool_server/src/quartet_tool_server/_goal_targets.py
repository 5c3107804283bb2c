"""Targets of ROS goals and messages: where they send base, arm or flange, as far as a policy can judge it.

Field names are those of nav2_msgs, moveit_msgs, control_msgs and geometry_msgs of ROS 2 Jazzy.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from quartet_robot_link import Message
from quartet_tool_server.errors import UnjudgeableError

HARMLESS = {"ComputePathToPose", "ComputePathThroughPoses", "SmoothPath"}
"""Actions that plan and move nothing."""
BASE = {
    "NavigateToPose", "NavigateThroughPoses", "FollowWaypoints", "FollowPath", "Spin", "DriveOnHeading", "BackUp",
    "DockRobot", "UndockRobot",
}  # fmt: skip
ARM = {"MoveGroup", "ExecuteTrajectory", "FollowJointTrajectory"}
GRIPPER = {"GripperCommand", "ParallelGripperCommand"}
MOVING_MESSAGES = {
    "geometry_msgs/PoseWithCovarianceStamped", "geometry_msgs/PointStamped", "geometry_msgs/PoseArray",
    "nav_msgs/Path", "nav_msgs/Odometry", "sensor_msgs/JointState", "sensor_msgs/Joy", "tf2_msgs/TFMessage",
    "ackermann_msgs/AckermannDrive", "ackermann_msgs/AckermannDriveStamped", "trajectory_msgs/JointTrajectory",
    "trajectory_msgs/JointTrajectoryPoint", "control_msgs/JointJog", "std_msgs/Float64MultiArray",
    "geometry_msgs/TwistWithCovariance", "geometry_msgs/TwistWithCovarianceStamped", "geometry_msgs/Wrench",
    "geometry_msgs/WrenchStamped", "trajectory_msgs/MultiDOFJointTrajectory", "moveit_msgs/RobotTrajectory",
    "control_msgs/MultiDOFCommand", "std_msgs/Float32MultiArray",
}  # fmt: skip
"""Types that steer the robot, or change where it believes to be, and that are not judged."""


@dataclass(frozen=True)
class Place:
    """Target point of the base in `frame`, at time `stamp` of that frame (None: now)."""

    frame: str
    x: float
    y: float
    stamp: float | None = None


@dataclass(frozen=True)
class Way:
    """A straight motion from the present pose, in the base frame [m]; `speed` [m/s] where the goal has one."""

    x: float
    y: float
    speed: float | None = None


@dataclass(frozen=True)
class ToolPoint:
    """Target of the tool flange: a point [m] of `frame`, met within `tolerance` [m]."""

    frame: str
    point: tuple[float, float, float]
    tolerance: float = 0.0


@dataclass(frozen=True)
class Joints:
    """Positions of all joints of the arm [rad]."""

    positions: tuple[float, ...]


def plain(message_type: str) -> str:
    """Return a type without its kind: `geometry_msgs/Twist` for `geometry_msgs/msg/Twist`."""
    parts = message_type.split("/")
    return f"{parts[0]}/{parts[-1]}"


def short(message_type: str) -> str:
    """Return the name of a type: `NavigateToPose` for `nav2_msgs/action/NavigateToPose`."""
    return message_type.rsplit("/", 1)[-1]


def places(kind: str, goal: Message) -> list[Place]:
    """Every pose of a navigation goal."""
    if kind == "NavigateToPose":
        stamped = [_fields(goal.get("pose"))]
        outer = ""
    elif kind == "FollowPath":
        path = _fields(goal.get("path"))
        stamped, outer = _list(path.get("poses")), str(_fields(path.get("header")).get("frame_id") or "")
    else:
        # NavigateThroughPoses holds a list; from Nav2 1.4 on a nav_msgs/Goals around it.
        poses = goal.get("poses")
        inner = _fields(poses) if isinstance(poses, dict) else {"goals": poses}
        stamped = _list(inner.get("goals"))
        outer = str(_fields(inner.get("header")).get("frame_id") or "")
    if goal.get("behavior_tree"):
        raise UnjudgeableError(
            "a goal with its own behavior_tree may drive anywhere; leave behavior_tree out. Nothing moved."
        )
    return [place(item, outer) for item in stamped]


def place(stamped: Message, outer_frame: str = "") -> Place:
    """A geometry_msgs/PoseStamped."""
    header = _fields(stamped.get("header"))
    position = _fields(_fields(stamped.get("pose")).get("position"))
    stamp = _fields(header.get("stamp"))
    at = number(stamp.get("sec"), "stamp.sec") + number(stamp.get("nanosec"), "stamp.nanosec") * 1e-9
    return Place(
        _frame(str(header.get("frame_id") or outer_frame)),
        number(position.get("x"), "position.x"),
        number(position.get("y"), "position.y"),
        at or None,
    )


def way(kind: str, goal: Message) -> Way:
    """A Spin, DriveOnHeading or BackUp goal."""
    if kind == "Spin":
        return Way(0.0, 0.0)
    target = _fields(goal.get("target"))
    x, y = number(target.get("x"), "target.x"), number(target.get("y"), "target.y")
    speed = number(goal.get("speed"), "speed")
    if kind == "BackUp":
        # Nav2 drives backward by the size of x, whatever its sign (nav2_behaviors, back_up.cpp).
        return Way(-abs(x), y, abs(speed))
    return Way(-abs(x) if x < 0 or speed < 0 else x, y, abs(speed))


def arm_targets(
    kind: str, goal: Message, joints: Sequence[str], tool: str, *, on_the_way: bool
) -> list[Joints | ToolPoint]:
    """Return where a goal sends the arm `joints` or the flange `tool`.

    This is its end, and with `on_the_way` points of a given trajectory before it. Raises UnjudgeableError.
    """
    if kind != "MoveGroup":
        trajectory = _fields(goal.get("trajectory"))
        path = _fields(trajectory.get("joint_trajectory")) if kind == "ExecuteTrajectory" else trajectory
        other = (
            trajectory.get("multi_dof_joint_trajectory")
            if kind == "ExecuteTrajectory"
            else goal.get("multi_dof_trajectory")
        )
        if _fields(other).get("points"):
            raise UnjudgeableError("a trajectory of more than the arm's joints cannot be judged. Nothing moved.")
        names = [str(name) for name in _list_of_any(path.get("joint_names"))]
        points = _list(path.get("points"))
        if not points:
            raise UnjudgeableError("the trajectory has no points. Nothing moved.")
        return [
            _joints(names, _list_of_any(point.get("positions")), joints)
            for point in _thinned(points, MOST_POINTS if on_the_way else 1)
        ]
    constraints = _list(_fields(goal.get("request")).get("goal_constraints"))
    if not constraints:
        raise UnjudgeableError("the goal has no goal_constraints, so where it leads is not known. Nothing moved.")
    return [target for item in constraints for target in _constrained(item, joints, tool)]


def arm_scales(goal: Message) -> Iterator[tuple[str, float]]:
    """The scaling factors of a MoveGroup goal, by name."""
    request = _fields(goal.get("request"))
    for name in ("max_velocity_scaling_factor", "max_acceleration_scaling_factor"):
        yield name, number(request.get(name), name)


def number(value: Any, name: str) -> float:
    """A finite number; 0 where ROS would fill it in. Raises UnjudgeableError."""
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UnjudgeableError(f"{name} {value!r:.80} is no finite number. Nothing moved.")
    return float(value)


MOST_POINTS = 8
"""Points of a trajectory that are judged, spread evenly, the last one among them."""


def _thinned(points: list[Message], count: int) -> list[Message]:
    if len(points) <= count:
        return points
    last = len(points) - 1
    return [points[last - round(number * last / max(1, count - 1))] for number in range(count)]


def _constrained(item: Message, joints: Sequence[str], tool: str) -> Iterator[Joints | ToolPoint]:
    """One of a MoveGroup goal's alternatives: all joints, or a region for the flange."""
    if given := _list(item.get("joint_constraints")):
        names = [str(entry.get("joint_name")) for entry in given]
        yield _joints(names, [entry.get("position") for entry in given], joints)
        return
    regions = _list(item.get("position_constraints"))
    if not regions:
        raise UnjudgeableError(
            "a goal without joint or position constraints leaves open where it leads. Nothing moved."
        )
    for entry in regions:
        if entry.get("link_name") != tool or any(_fields(entry.get("target_point_offset")).values()):
            raise UnjudgeableError(
                f"position constraints are judged for '{tool}' without an offset only. Nothing moved."
            )
        region = _fields(entry.get("constraint_region"))
        poses, shapes = _list(region.get("primitive_poses")), _list(region.get("primitives"))
        if not poses or len(poses) != len(shapes) or region.get("meshes"):
            raise UnjudgeableError("a position constraint needs one pose for each of its primitives. Nothing moved.")
        frame = _frame(str(_fields(entry.get("header")).get("frame_id") or ""))
        for pose, shape in zip(poses, shapes, strict=True):
            at = _fields(pose.get("position"))
            x, y, z = (number(at.get(axis), axis) for axis in "xyz")
            sizes = [number(size, "dimensions") for size in _list_of_any(shape.get("dimensions"))]
            yield ToolPoint(frame, (x, y, z), max(sizes, default=0.0))


def _joints(names: list[str], positions: list[Any], joints: Sequence[str]) -> Joints:
    values = dict(zip(names, positions, strict=False))
    missing = [name for name in joints if name not in values]
    if missing or len(names) != len(positions):
        raise UnjudgeableError(
            f"a goal must give all joints of the arm; {', '.join(missing) or 'some'} missing. Nothing moved."
        )
    return Joints(tuple(number(values[name], name) for name in joints))


def _frame(name: str) -> str:
    if not name:
        raise UnjudgeableError(
            "a pose has no frame_id, so where it lies is not known; name one, e.g. map. Nothing moved."
        )
    return name.lstrip("/")


def _fields(value: Any) -> Message:
    return cast("Message", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Message]:
    return [_fields(item) for item in _list_of_any(value)]


def _list_of_any(value: Any) -> list[Any]:
    if hasattr(value, "tolist"):  # an array of a CBOR message
        value = value.tolist()
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else []
