"""Requests to MoveIt: goal joints or tool pose, start state, speed.

Everything here is a plain function of a message and a snapshot; errors carry MoveIt's own codes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quartet_simulation.arm.model import ArmModel
from quartet_simulation.arm.scene import Plan, Scene
from quartet_simulation.arm.trajectory import Trajectory
from quartet_simulation.codes import MoveItCode
from quartet_simulation.errors import RequestError, UnknownFrameError, UnknownNameError
from quartet_simulation.ros.frames import from_pose
from quartet_simulation.ros.messages import header, seconds, stamp
from quartet_simulation.ros.types import Message
from quartet_simulation.sensors.frame_tree import FrameTree, matrix

DEFAULT_PLANNING_TIME_S = 5.0
FARTHEST_M = 100.0
"""A pose further away is a mistake, and a straight path to it would have more points than memory."""


@dataclass(frozen=True)
class Snapshot:
    """State of the world at one time, as planning needs it."""

    scene: Scene
    frames: FrameTree
    time: float


@dataclass(frozen=True)
class Outcome:
    """A plan with the state it starts from."""

    plan: Plan
    start: np.ndarray


def check_group(name: str, arm: ArmModel) -> None:
    """Raise RequestError for another group than the arm's."""
    if name != arm.group:
        raise RequestError(MoveItCode.INVALID_GROUP_NAME, f"unknown group '{name}'; valid: {arm.group}")


def joints_of(state: Message, scene: Scene) -> np.ndarray:
    """Return the arm joints of a RobotState, the present positions for those it does not name. Raises RequestError."""
    joint_state = state["joint_state"]
    names, positions = joint_state["name"], joint_state["position"]
    if len(names) != len(positions):
        raise RequestError(MoveItCode.INVALID_ROBOT_STATE, f"{len(names)} joint names with {len(positions)} positions")
    joints = scene.positions.copy()
    for name, position in zip(names, positions, strict=True):
        if name in scene.arm.joints:
            joints[scene.arm.joints.index(name)] = position
    return joints


def pose_in_base(pose: Message, frame: str, link: str, snapshot: Snapshot) -> np.ndarray:
    """Return the tool pose in the base frame that puts `link` at `pose` of `frame`. Raises RequestError."""
    arm = snapshot.scene.arm
    link, links = link or arm.tool, (arm.tool, arm.tip)
    if link not in links:
        raise RequestError(MoveItCode.INVALID_LINK_NAME, f"'{link}' cannot be given a pose; valid: {', '.join(links)}")
    try:
        wanted = snapshot.frames.between(arm.base, frame or arm.base) @ from_pose(pose)
    except UnknownFrameError as error:
        raise RequestError(MoveItCode.FRAME_TRANSFORM_FAILURE, str(error)) from error
    except ValueError as error:
        raise RequestError(MoveItCode.INVALID_GOAL_CONSTRAINTS, str(error)) from error
    if not np.abs(wanted[:3, 3]).max() <= FARTHEST_M:
        raise RequestError(
            MoveItCode.INVALID_GOAL_CONSTRAINTS,
            f"position {wanted[:3, 3].tolist()} in {arm.base} is absurd; valid: up to {FARTHEST_M:g} m",
        )
    if link == arm.tool:
        return wanted
    scene = snapshot.scene
    return wanted @ np.linalg.inv(scene.fk(link=link)) @ scene.fk(link=arm.tool)


def plan(request: Message, snapshot: Snapshot) -> Outcome:
    """Carry out a MotionPlanRequest; runs as long as its planning time. Raises RequestError."""
    check_group(request["group_name"], snapshot.scene.arm)
    path = request["path_constraints"]
    if any(path[kind] for kind in path if kind != "name"):
        raise RequestError(
            MoveItCode.PLANNING_FAILED, "path constraints are not supported; leave path_constraints empty"
        )
    start = joints_of(request["start_state"], snapshot.scene)
    if not request["goal_constraints"]:
        raise RequestError(MoveItCode.INVALID_GOAL_CONSTRAINTS, "goal_constraints is empty; give one goal")
    outcomes = (_plan_goal(goal, request, start, snapshot) for goal in request["goal_constraints"])
    last: Plan | None = None
    for last in outcomes:
        if last.code == MoveItCode.SUCCESS:
            break
    assert last is not None
    return Outcome(last, start)


def _plan_goal(goal: Message, request: Message, start: np.ndarray, snapshot: Snapshot) -> Plan:
    timeout = request["allowed_planning_time"]
    if not timeout > 0:
        timeout = DEFAULT_PLANNING_TIME_S
    planner = request["planner_id"]
    try:
        return _plan_with(planner, goal, request, start, snapshot, timeout)
    except UnknownNameError as error:
        # MoveIt plans with its default when it has no configuration of that name.
        found = _plan_with("", goal, request, start, snapshot, timeout)
        text = f"{found.text}; {error}, the default was used".removeprefix("; ")
        return Plan(found.code, text, found.trajectory, found.planning_time)


def _plan_with(
    planner: str, goal: Message, request: Message, start: np.ndarray, snapshot: Snapshot, timeout: float
) -> Plan:
    scale = speed_scale(request)
    if goal["joint_constraints"]:
        joints, known = start.copy(), snapshot.scene.arm.joints
        for constraint in goal["joint_constraints"]:
            name = constraint["joint_name"]
            if name not in known:
                raise RequestError(
                    MoveItCode.INVALID_GOAL_CONSTRAINTS,
                    f"unknown joint '{name}'; valid: {', '.join(known)}",
                )
            joints[known.index(name)] = constraint["position"]
        return snapshot.scene.plan_joints(joints, planner, timeout, scale=scale, start=start)
    pose = _pose_of(goal, snapshot)
    return snapshot.scene.plan_pose(pose, planner, timeout, scale=scale, start=start)


def speed_scale(request: Message) -> float:
    """Return the velocity scaling; outside (0, 1] it is 1, as MoveIt documents the field."""
    scale = float(request["max_velocity_scaling_factor"])
    return scale if 0.0 < scale <= 1.0 else 1.0


def _pose_of(goal: Message, snapshot: Snapshot) -> np.ndarray:
    """Return the pose that one position and one orientation constraint define together."""
    positions, orientations = goal["position_constraints"], goal["orientation_constraints"]
    if len(positions) != 1 or len(orientations) != 1:
        raise RequestError(
            MoveItCode.INVALID_GOAL_CONSTRAINTS,
            "a pose goal has one position and one orientation constraint, this has"
            f" {len(positions)} and {len(orientations)}",
        )
    position, orientation = positions[0], orientations[0]
    region = position["constraint_region"]
    if len(region["primitive_poses"]) != 1 or len(region["primitives"]) != 1:
        raise RequestError(
            MoveItCode.INVALID_GOAL_CONSTRAINTS,
            "constraint_region of a position constraint needs one primitive with one pose",
        )
    links = {position["link_name"], orientation["link_name"]}
    frames = {position["header"]["frame_id"], orientation["header"]["frame_id"]}
    if len(links) != 1 or len(frames) != 1:
        raise RequestError(
            MoveItCode.INVALID_GOAL_CONSTRAINTS,
            f"position and orientation must be of one link in one frame, got {sorted(links)} in {sorted(frames)}",
        )
    pose = {
        "position": region["primitive_poses"][0]["position"],
        "orientation": orientation["orientation"],
    }
    wanted = pose_in_base(pose, frames.pop(), links.pop(), snapshot)
    offset = [position["target_point_offset"][axis] for axis in "xyz"]
    return wanted @ np.linalg.inv(matrix(offset, [0.0, 0.0, 0.0, 1.0]))


def cartesian(request: Message, snapshot: Snapshot) -> tuple[Trajectory, float, np.ndarray]:
    """Carry out a GetCartesianPath request: trajectory, fraction, start joints. Raises RequestError."""
    check_group(request["group_name"], snapshot.scene.arm)
    if not request["max_step"] > 0:
        raise RequestError(MoveItCode.INVALID_GOAL_CONSTRAINTS, f"max_step must be over 0 m, got {request['max_step']}")
    if not request["waypoints"]:
        raise RequestError(MoveItCode.INVALID_GOAL_CONSTRAINTS, "waypoints is empty; give at least one pose")
    frame, link = request["header"]["frame_id"], request["link_name"]
    poses = [pose_in_base(pose, frame, link, snapshot) for pose in request["waypoints"]]
    start = joints_of(request["start_state"], snapshot.scene)
    trajectory, fraction = snapshot.scene.cartesian(
        poses,
        request["max_step"],
        scale=speed_scale(request),
        avoid_collisions=request["avoid_collisions"],
        start=start,
    )
    return trajectory, fraction, start


def points_of(trajectory: Message) -> tuple[list[str], list[tuple[float, list[float]]]]:
    """Joint names and (time, positions) of a RobotTrajectory. Raises RequestError when it is empty."""
    joint_trajectory = trajectory["joint_trajectory"]
    if not joint_trajectory["points"]:
        raise RequestError(MoveItCode.INVALID_MOTION_PLAN, "the trajectory has no points; plan first")
    points = [(seconds(point["time_from_start"]), point["positions"]) for point in joint_trajectory["points"]]
    return joint_trajectory["joint_names"], points


# --- answers ------------------------------------------------------------------------------------------


def error_code(code: int, text: str = "") -> Message:
    """Return moveit_msgs/MoveItErrorCodes."""
    return {"val": int(code), "message": text, "source": "move_group" if text else ""}


def robot_state(arm: ArmModel, joints: np.ndarray, time: float) -> Message:
    """Return moveit_msgs/RobotState of joint positions [rad]."""
    return {
        "joint_state": {
            "header": header(time, arm.base),
            "name": list(arm.joints),
            "position": [float(value) for value in joints],
        }
    }


def robot_trajectory(arm: ArmModel, trajectory: Trajectory | None) -> Message:
    """Return moveit_msgs/RobotTrajectory; empty where there is none."""
    if trajectory is None:
        return {}
    rows = zip(trajectory.times, trajectory.positions, trajectory.velocities, strict=True)
    return {
        "joint_trajectory": {
            "header": {"stamp": stamp(0.0), "frame_id": arm.base},
            "joint_names": list(trajectory.joint_names),
            "points": [
                {
                    "positions": positions.tolist(),
                    "velocities": velocities.tolist(),
                    "time_from_start": stamp(float(at)),
                }
                for at, positions, velocities in rows
            ],
        }
    }
