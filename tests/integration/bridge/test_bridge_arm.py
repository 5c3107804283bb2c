"""MoveIt over the bridge: kinematics, planning, execution, and MoveIt's own codes for what cannot be done."""

from __future__ import annotations

import math
from typing import Any

import pytest

MOVE, MOVE_TYPE = "/move_action", "moveit_msgs/action/MoveGroup"
PAN = "arm_shoulder_pan_joint"


async def arm(robot: Any) -> dict[str, float]:
    joints = await robot.once("/joint_states")
    pairs = zip(joints["name"], joints["position"], strict=True)
    return {name: value for name, value in pairs if name.startswith("arm_")}


def joint_goal(joints: dict[str, float]) -> dict[str, Any]:
    return {
        "joint_constraints": [
            {"joint_name": name, "position": value, "tolerance_above": 0.001, "tolerance_below": 0.001, "weight": 1.0}
            for name, value in joints.items()
        ]
    }


def pose_goal(pose: Any, frame: str, link: str = "arm_tool0") -> dict[str, Any]:
    head = {"frame_id": frame}
    return {
        "position_constraints": [
            {
                "header": head,
                "link_name": link,
                "constraint_region": {
                    "primitives": [{"type": 2, "dimensions": [0.001]}],
                    "primitive_poses": [{"position": pose["position"]}],
                },
            }
        ],
        "orientation_constraints": [{"header": head, "link_name": link, "orientation": pose["orientation"]}],
    }


def move(goal: Any, plan_only: bool = False, **request: Any) -> dict[str, Any]:
    wanted = {"group_name": "manipulator", "allowed_planning_time": 5.0, "goal_constraints": [goal]} | request
    return {"request": wanted, "planning_options": {"plan_only": plan_only}}


async def tool_pose(robot: Any, frame: str = "base_footprint", link: str = "arm_tool0") -> Any:
    answer = await robot.call("/compute_fk", {"header": {"frame_id": frame}, "fk_link_names": [link]})
    assert answer["values"]["error_code"]["val"] == 1
    (stamped,) = answer["values"]["pose_stamped"]
    assert stamped["header"]["frame_id"] == frame
    return stamped["pose"]


def distance(a: Any, b: Any) -> float:
    return math.dist([a["position"][axis] for axis in "xyz"], [b["position"][axis] for axis in "xyz"])


async def test_joint_goal_plans_and_moves(robot: Any) -> None:
    target = await arm(robot)
    target[PAN] += 0.5
    await robot.goal("g", MOVE, MOVE_TYPE, move(joint_goal(target)), feedback=True)
    result = await robot.result("g")
    values = result["values"]
    assert (result["status"], values["error_code"]["val"]) == (4, 1)
    assert values["planned_trajectory"] == values["executed_trajectory"]
    points = values["planned_trajectory"]["joint_trajectory"]["points"]
    assert points[-1]["positions"] == pytest.approx(list(target.values()), abs=1e-3)
    assert values["trajectory_start"]["joint_state"]["name"] == list(target)
    states = [frame["values"]["state"] for frame in robot.kept if frame["op"] == "action_feedback"]
    assert states[:2] == ["PLANNING", "MONITOR"]
    assert (await arm(robot))[PAN] == pytest.approx(target[PAN], abs=0.02)


async def test_plan_only_does_not_move_and_can_be_executed(robot: Any) -> None:
    start = await arm(robot)
    target = start | {PAN: start[PAN] - 0.4}
    await robot.goal("g", MOVE, MOVE_TYPE, move(joint_goal(target), plan_only=True))
    planned = (await robot.result("g"))["values"]["planned_trajectory"]
    assert (await arm(robot))[PAN] == pytest.approx(start[PAN], abs=0.01)
    await robot.goal("h", "/execute_trajectory", "moveit_msgs/ExecuteTrajectory", {"trajectory": planned})
    result = await robot.result("h")
    assert (result["status"], result["values"]["error_code"]["val"]) == (4, 1)
    assert (await arm(robot))[PAN] == pytest.approx(target[PAN], abs=0.02)


async def test_slower_takes_longer(robot: Any) -> None:
    start = await arm(robot)
    target = joint_goal(start | {PAN: start[PAN] + 1.0})
    durations = []
    for scale in (1.0, 0.25):
        args = move(target, plan_only=True, max_velocity_scaling_factor=scale)
        await robot.goal("g", MOVE, MOVE_TYPE, args)
        trajectory = (await robot.result("g"))["values"]["planned_trajectory"]["joint_trajectory"]
        last = trajectory["points"][-1]["time_from_start"]
        durations.append(last["sec"] + last["nanosec"] * 1e-9)
    assert durations[1] > 2 * durations[0]


@pytest.mark.parametrize("frame", ["base_footprint", "map", "arm_base", "front_camera_color_optical_frame"])
async def test_the_present_pose_is_reached_in_any_frame(robot: Any, frame: str) -> None:
    """A pose that was measured in a frame and is asked for in the same frame needs (almost) no motion."""
    pose = await tool_pose(robot, frame)
    await robot.goal("g", MOVE, MOVE_TYPE, move(pose_goal(pose, frame), plan_only=True))
    values = (await robot.result("g"))["values"]
    assert values["error_code"]["val"] == 1, values["error_code"]
    last = values["planned_trajectory"]["joint_trajectory"]["points"][-1]["positions"]
    state = {"joint_state": {"name": list(await arm(robot)), "position": last}}
    answer = await robot.call(
        "/compute_fk", {"header": {"frame_id": frame}, "fk_link_names": ["arm_tool0"], "robot_state": state}
    )
    # /tf of a noisy localisation moves a little between two looks.
    assert distance(answer["values"]["pose_stamped"][0]["pose"], pose) < 0.01


async def test_pose_goal_for_the_finger_tip(robot: Any) -> None:
    tip = await tool_pose(robot, link="gripper_tip")
    tool = await tool_pose(robot)
    assert distance(tip, tool) == pytest.approx(0.14, abs=1e-6)
    request = {
        "group_name": "manipulator",
        "ik_link_name": "gripper_tip",
        "pose_stamped": {"header": {"frame_id": "base_footprint"}, "pose": tip},
    }
    solution = (await robot.call("/compute_ik", {"ik_request": request}))["values"]["solution"]["joint_state"]
    assert solution["position"] == pytest.approx(list((await arm(robot)).values()), abs=0.01)


async def test_cartesian_path_goes_straight(robot: Any) -> None:
    pose = await tool_pose(robot)
    goal = {"position": pose["position"] | {"z": pose["position"]["z"] + 0.1}, "orientation": pose["orientation"]}
    args = {
        "header": {"frame_id": "base_footprint"},
        "group_name": "manipulator",
        "link_name": "arm_tool0",
        "waypoints": [goal],
        "max_step": 0.01,
        "avoid_collisions": True,
    }
    values = (await robot.call("/compute_cartesian_path", args))["values"]
    assert (values["error_code"]["val"], values["fraction"]) == (1, 1.0)
    await robot.goal("g", "/execute_trajectory", "moveit_msgs/ExecuteTrajectory", {"trajectory": values["solution"]})
    assert (await robot.result("g"))["status"] == 4
    assert distance(await tool_pose(robot), goal) < 0.01
    far = {"position": {"x": 3.0, "y": 0.0, "z": 1.0}, "orientation": pose["orientation"]}
    values = (await robot.call("/compute_cartesian_path", args | {"waypoints": [far]}))["values"]
    assert 0.0 <= values["fraction"] < 0.9


@pytest.mark.parametrize("x", [1e7, 1e308])
async def test_an_absurd_waypoint_is_refused_at_once(robot: Any, x: float) -> None:
    far = {"position": {"x": x}, "orientation": {"w": 1.0}}
    args = {"header": {"frame_id": "base_footprint"}, "group_name": "manipulator", "waypoints": [far], "max_step": 0.01}
    answer = (await robot.call("/compute_cartesian_path", args))["values"]["error_code"]
    assert answer["val"] == -16
    assert "valid: up to 100 m" in answer["message"]


@pytest.mark.parametrize("position", [7.0, -1e308])
async def test_a_trajectory_beyond_the_joints_limits_moves_nothing(robot: Any, position: float) -> None:
    before = await arm(robot)
    point = {"positions": [position, *list(before.values())[1:]], "time_from_start": {"sec": 1}}
    trajectory = {"joint_trajectory": {"joint_names": list(before), "points": [point]}}
    await robot.goal("g", "/execute_trajectory", "moveit_msgs/ExecuteTrajectory", {"trajectory": trajectory})
    result = await robot.result("g")
    assert (result["status"], result["values"]["error_code"]["val"]) == (6, -2)
    assert f"{PAN} {position:g} rad is outside of its limits" in result["values"]["error_code"]["message"]
    assert await arm(robot) == pytest.approx(before, abs=0.01)


FAR = {"position": {"x": 5.0, "y": 0.0, "z": 1.0}, "orientation": {"w": 1.0}}


@pytest.mark.parametrize(
    ("goal", "request_fields", "code", "named"),
    [
        (pose_goal(FAR, "base_footprint"), {}, -31, "5.000"),
        (pose_goal(FAR, "moon"), {}, -21, "moon"),
        (pose_goal(FAR, "map", link="elbow"), {}, -18, "elbow"),
        (pose_goal(FAR, "map"), {"group_name": "legs"}, -15, "legs"),
        (joint_goal({"arm_knee_joint": 0.0}), {}, -16, "arm_knee_joint"),
        (joint_goal({PAN: 100.0}), {}, -16, PAN),
        ({}, {}, -16, "position"),
        ({}, {"goal_constraints": []}, -16, "goal_constraints"),
        (
            pose_goal({"position": {"x": 0.5}, "orientation": {"x": 0.0, "w": 0.0}}, "map"),
            {},
            -16,
            "quaternion",
        ),
        (
            joint_goal({PAN: 0.3}),
            {"start_state": {"joint_state": {"name": [PAN], "position": []}}},
            -17,
            "positions",
        ),
        (
            joint_goal({PAN: 0.3}),
            {"path_constraints": joint_goal({PAN: 0.0})},
            -1,
            "path constraints",
        ),
    ],
)
async def test_what_cannot_be_planned_has_its_code(
    robot: Any, goal: Any, request_fields: Any, code: int, named: str
) -> None:
    args = move(goal, **request_fields)
    await robot.goal("g", MOVE, MOVE_TYPE, args)
    result = await robot.result("g")
    error = result["values"]["error_code"]
    assert (result["status"], result["result"], error["val"]) == (6, True, code)
    assert named in error["message"]
    planned = await robot.call("/plan_kinematic_path", {"motion_plan_request": args["request"]})
    assert planned["values"]["motion_plan_response"]["error_code"]["val"] == code


async def test_an_unknown_planner_falls_back_to_the_default(robot: Any) -> None:
    start = await arm(robot)
    goal = joint_goal(start | {PAN: start[PAN] + 0.2})
    await robot.goal("g", MOVE, MOVE_TYPE, move(goal, plan_only=True, planner_id="Teleport"))
    error = (await robot.result("g"))["values"]["error_code"]
    assert error["val"] == 1
    assert "Teleport" in error["message"]
    assert "RRTConnect" in error["message"]


async def test_an_empty_trajectory_is_invalid(robot: Any) -> None:
    await robot.goal("g", "/execute_trajectory", "moveit_msgs/ExecuteTrajectory", {})
    result = await robot.result("g")
    assert (result["status"], result["values"]["error_code"]["val"]) == (6, -2)


async def test_a_trajectory_of_other_joints_is_invalid(robot: Any) -> None:
    trajectory = {"joint_trajectory": {"joint_names": ["knee"], "points": [{"positions": [1.0]}]}}
    await robot.goal("g", "/execute_trajectory", "moveit_msgs/ExecuteTrajectory", {"trajectory": trajectory})
    result = await robot.result("g")
    assert (result["status"], result["values"]["error_code"]["val"]) == (6, -2)
    assert "knee" in result["values"]["error_code"]["message"]


async def test_ik_and_fk_errors(robot: Any) -> None:
    pose = {"header": {"frame_id": "base_footprint"}, "pose": FAR}
    for request, code in (
        ({"group_name": "manipulator", "pose_stamped": pose}, -31),
        ({"group_name": "legs", "pose_stamped": pose}, -15),
        ({"group_name": "manipulator", "pose_stamped": pose | {"header": {"frame_id": "moon"}}}, -21),
    ):
        answer = await robot.call("/compute_ik", {"ik_request": request})
        assert (answer["result"], answer["values"]["error_code"]["val"]) == (True, code)
    answer = await robot.call("/compute_fk", {"fk_link_names": ["elbow"]})
    assert answer["values"]["error_code"]["val"] == -18
    answer = await robot.call("/compute_fk", {"header": {"frame_id": "moon"}})
    assert answer["values"]["error_code"]["val"] == -21


async def test_state_validity(robot: Any) -> None:
    answer = await robot.call("/check_state_validity", {"group_name": "manipulator"})
    assert answer["values"]["valid"] is True
    # Straight down: the arm would reach through the body of its own robot.
    joints = await arm(robot)
    through = {"joint_state": {"name": list(joints), "position": [0.0, 1.2, 1.0, 0.0, 0.0, 0.0]}}
    answer = await robot.call("/check_state_validity", {"group_name": "manipulator", "robot_state": through})
    assert answer["values"]["valid"] is False


async def test_planning_scene_can_be_read_and_cleared(robot: Any) -> None:
    scene = (await robot.call("/get_planning_scene", {"components": {"components": 8}}))["values"]["scene"]
    assert scene["world"]["collision_objects"] == []
    assert scene["robot_state"]["joint_state"]["name"] == list(await arm(robot))
    removal = {"is_diff": True, "world": {"collision_objects": [{"id": "box", "operation": 1}]}}
    assert (await robot.call("/apply_planning_scene", {"scene": removal}))["values"]["success"] is True
    adding = {"is_diff": True, "world": {"collision_objects": [{"id": "box", "operation": 0}]}}
    assert (await robot.call("/apply_planning_scene", {"scene": adding}))["values"]["success"] is False
    assert (await robot.call("/clear_octomap"))["result"] is True


async def test_cancel_while_the_arm_moves(robot: Any) -> None:
    start = await arm(robot)
    goal = move(joint_goal(start | {PAN: start[PAN] + 3.0}), max_velocity_scaling_factor=0.01)
    await robot.goal("g", MOVE, MOVE_TYPE, goal, feedback=True)
    while (await robot.op("action_feedback"))["values"]["state"] != "MONITOR":
        pass
    await robot.call(f"{MOVE}/_action/cancel_goal")
    result = await robot.result("g")
    assert (result["status"], result["values"]["error_code"]["val"]) == (5, -7)
    assert abs((await arm(robot))[PAN] - start[PAN]) < 3.0
