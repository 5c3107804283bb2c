"""MoveIt's move_group node: planning, kinematics and execution of the arm."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from quartet_simulation.arm.model import ArmModel
from quartet_simulation.arm.trajectory import Trajectory
from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.codes import MoveItCode
from quartet_simulation.errors import RequestError, UnknownFrameError, UnknownNameError
from quartet_simulation.ros import arm_requests, frames, planning_scene
from quartet_simulation.ros.actions import ActionServer, GoalHandle, GoalStatus
from quartet_simulation.ros.arm_requests import Outcome, Snapshot, error_code, robot_state, robot_trajectory
from quartet_simulation.ros.goals import run_in_world
from quartet_simulation.ros.graph import Graph
from quartet_simulation.ros.messages import header
from quartet_simulation.ros.types import Message
from quartet_simulation.ros.world import World

log = logging.getLogger(__name__)
T = TypeVar("T")

NODE = "/move_group"
LINK, WORLD_OBJECT, ATTACHED_OBJECT = 0, 1, 2
"""Kinds of bodies of moveit_msgs/msg/ContactInformation."""

Result = tuple[GoalStatus, Message]


class MoveIt:
    """/move_action, /execute_trajectory and move_group's services. Planning runs in threads on snapshots."""

    def __init__(
        self, world: World[ArmSimulation], graph: Graph, accept: Callable[[Message], None], arm: ArmModel
    ) -> None:
        self._world, self._arm = world, arm
        self._workers = ThreadPoolExecutor(2, "planner")
        for name, type_name, execute in (
            ("/move_action", "moveit_msgs/MoveGroup", self._move),
            ("/execute_trajectory", "moveit_msgs/ExecuteTrajectory", self._execute),
        ):
            graph.add_action(ActionServer(name, type_name, NODE, execute, accept, graph.now, graph.checked))
        for name, type_name, handler in (
            ("/compute_ik", "moveit_msgs/GetPositionIK", self._compute_ik),
            ("/compute_fk", "moveit_msgs/GetPositionFK", self._compute_fk),
            ("/compute_cartesian_path", "moveit_msgs/GetCartesianPath", self._compute_cartesian_path),
            ("/plan_kinematic_path", "moveit_msgs/GetMotionPlan", self._plan_kinematic_path),
            ("/check_state_validity", "moveit_msgs/GetStateValidity", self._check_state_validity),
            ("/get_planning_scene", "moveit_msgs/GetPlanningScene", self._get_planning_scene),
            ("/apply_planning_scene", "moveit_msgs/ApplyPlanningScene", self._apply_planning_scene),
            ("/clear_octomap", "std_srvs/Empty", self._clear_octomap),
        ):
            graph.serve(name, type_name, NODE, handler)

    def tick(self, sim: ArmSimulation, moving: bool) -> float | None:
        """Let the octomap see what the robot drives past. Runs in the simulation's thread."""
        if moving:
            sim.watch()
        return None

    def flush(self, sim: ArmSimulation) -> None:
        """Do nothing: a plan looks by itself."""

    def close(self) -> None:
        """End the planning threads; a plan in progress is not waited for."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    # --- helpers --------------------------------------------------------------------------------------
    async def _snapshot(self, *, look: bool = True) -> Snapshot:
        def take(sim: ArmSimulation) -> Snapshot:
            return Snapshot(sim.snapshot(look=look), sim.frame_tree(), sim.time)

        return await self._world.call(take)

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._workers, function)

    # --- actions --------------------------------------------------------------------------------------
    async def _move(self, handle: GoalHandle) -> Result:
        request = handle.request["request"]
        _state(handle, "PLANNING")
        snapshot = await self._snapshot()
        planning = asyncio.ensure_future(self._in_thread(lambda: arm_requests.plan(request, snapshot)))
        cancelled = asyncio.ensure_future(handle.cancel_asked.wait())
        await asyncio.wait({planning, cancelled}, return_when=asyncio.FIRST_COMPLETED)
        cancelled.cancel()
        if handle.cancel_asked.is_set():
            # The thread ends by its own time limit; what it finds is not looked at.
            planning.add_done_callback(lambda task: task.cancelled() or task.exception())
            return GoalStatus.CANCELED, {"error_code": error_code(MoveItCode.PREEMPTED, "canceled while planning")}
        try:
            outcome = planning.result()
        except RequestError as error:
            return GoalStatus.ABORTED, {"error_code": error_code(error.code, str(error))}
        result = self._planned(outcome, snapshot)
        trajectory = outcome.plan.trajectory
        if outcome.plan.code != MoveItCode.SUCCESS or trajectory is None:
            return GoalStatus.ABORTED, result
        if handle.request["planning_options"]["plan_only"]:
            return GoalStatus.SUCCEEDED, result
        _state(handle, "MONITOR")
        status, code, text = await self._run(handle, list(trajectory.joint_names), _points(trajectory))
        _state(handle, "IDLE")
        executed = result["planned_trajectory"] if status is GoalStatus.SUCCEEDED else {}
        return status, result | {"error_code": error_code(code, text), "executed_trajectory": executed}

    def _planned(self, outcome: Outcome, snapshot: Snapshot) -> Message:
        plan = outcome.plan
        return {
            "error_code": error_code(plan.code, plan.text),
            "trajectory_start": robot_state(self._arm, outcome.start, snapshot.time),
            "planned_trajectory": robot_trajectory(self._arm, plan.trajectory),
            "planning_time": plan.planning_time,
        }

    async def _execute(self, handle: GoalHandle) -> Result:
        try:
            names, points = arm_requests.points_of(handle.request["trajectory"])
        except RequestError as error:
            return GoalStatus.ABORTED, {"error_code": error_code(error.code, str(error))}
        _state(handle, "MONITOR")
        status, code, text = await self._run(handle, names, points)
        _state(handle, "IDLE")
        return status, {"error_code": error_code(code, text)}

    async def _run(
        self, handle: GoalHandle, names: list[str], points: list[tuple[float, list[float]]]
    ) -> tuple[GoalStatus, int, str]:
        status, goal = await run_in_world(
            self._world,
            handle,
            lambda sim: sim.execute_trajectory(names, points),
            lambda _: {"state": "MONITOR"},
            MoveItCode.INVALID_MOTION_PLAN,
        )
        code = MoveItCode.SUCCESS if status is GoalStatus.SUCCEEDED else goal.error_code
        return status, code or MoveItCode.PREEMPTED, goal.error_text

    # --- services -------------------------------------------------------------------------------------
    async def _plan_kinematic_path(self, request: Message) -> Message:
        snapshot = await self._snapshot()
        wanted = request["motion_plan_request"]
        response: Message = {"group_name": wanted["group_name"]}
        try:
            outcome = await self._in_thread(lambda: arm_requests.plan(wanted, snapshot))
        except RequestError as error:
            response |= {"error_code": error_code(error.code, str(error))}
        else:
            planned = self._planned(outcome, snapshot)
            response |= {"trajectory": planned.pop("planned_trajectory"), **planned}
        return {"motion_plan_response": response}

    async def _compute_cartesian_path(self, request: Message) -> Message:
        snapshot = await self._snapshot()
        try:
            trajectory, fraction, start = await self._in_thread(lambda: arm_requests.cartesian(request, snapshot))
        except RequestError as error:
            return {"error_code": error_code(error.code, str(error)), "fraction": -1.0}
        return {
            "start_state": robot_state(self._arm, start, snapshot.time),
            "solution": robot_trajectory(self._arm, trajectory),
            "fraction": fraction,
            "error_code": error_code(MoveItCode.SUCCESS),
        }

    async def _compute_ik(self, request: Message) -> Message:
        snapshot = await self._snapshot()
        wanted = request["ik_request"]
        stamped = wanted["pose_stamped"]

        def solve() -> np.ndarray | None:
            arm_requests.check_group(wanted["group_name"], self._arm)
            pose = arm_requests.pose_in_base(
                stamped["pose"], stamped["header"]["frame_id"], wanted["ik_link_name"], snapshot
            )
            seed = arm_requests.joints_of(wanted["robot_state"], snapshot.scene)
            return snapshot.scene.ik(pose, seed, avoid_collisions=wanted["avoid_collisions"])

        try:
            joints = await self._in_thread(solve)
        except RequestError as error:
            return {"error_code": error_code(error.code, str(error))}
        if joints is None:
            return {"error_code": error_code(MoveItCode.NO_IK_SOLUTION, "the pose cannot be reached")}
        return {
            "solution": robot_state(self._arm, joints, snapshot.time),
            "error_code": error_code(MoveItCode.SUCCESS),
        }

    async def _compute_fk(self, request: Message) -> Message:
        snapshot = await self._snapshot(look=False)
        arm = self._arm
        frame = request["header"]["frame_id"] or arm.base
        links = request["fk_link_names"] or [arm.tool]
        try:
            joints = arm_requests.joints_of(request["robot_state"], snapshot.scene)
            to_frame = snapshot.frames.between(frame, arm.base)
            poses = [frames.to_pose(to_frame @ snapshot.scene.fk(joints, link)) for link in links]
        except RequestError as error:
            return {"error_code": error_code(error.code, str(error))}
        except UnknownFrameError as error:
            return {"error_code": error_code(MoveItCode.FRAME_TRANSFORM_FAILURE, str(error))}
        except UnknownNameError as error:
            return {"error_code": error_code(MoveItCode.INVALID_LINK_NAME, str(error))}
        return {
            "pose_stamped": [{"header": header(snapshot.time, frame), "pose": pose} for pose in poses],
            "fk_link_names": links,
            "error_code": error_code(MoveItCode.SUCCESS),
        }

    async def _check_state_validity(self, request: Message) -> Message:
        arm = self._arm
        snapshot = await self._snapshot()
        try:
            joints = arm_requests.joints_of(request["robot_state"], snapshot.scene)
        except RequestError as error:
            log.info("check_state_validity: %s", error)
            return {"valid": False}
        attached = {item.name for item in await self._world.call(lambda sim: list(sim.scene_objects)) if item.attached}

        own = {arm.base, arm.mount, *arm.hand, arm.tip, *arm.fingers}

        def kind(name: str) -> int:
            if name in attached:
                return ATTACHED_OBJECT
            return LINK if name in own else WORLD_OBJECT

        contacts = [
            {
                "header": header(snapshot.time, arm.base),
                "depth": depth,
                "contact_body_1": first,
                "body_type_1": kind(first),
                "contact_body_2": second,
                "body_type_2": kind(second),
            }
            for first, second, depth in snapshot.scene.named_contacts(joints)
        ]
        return {"valid": not contacts, "contacts": contacts}

    async def _get_planning_scene(self, request: Message) -> Message:
        components = request["components"]["components"]

        def describe(sim: ArmSimulation) -> Message:
            world, attached = planning_scene.describe(sim, components)
            state = robot_state(self._arm, sim.believed_joints(), sim.time)
            return {
                "name": "simulation",
                "robot_state": state | {"attached_collision_objects": attached},
                "robot_model_name": self._arm.robot,
                "allowed_collision_matrix": planning_scene.matrix(sim, components),
                "world": {"collision_objects": world, "octomap": planning_scene.octomap(components)},
            }

        return {"scene": await self._world.call(describe)}

    async def _apply_planning_scene(self, request: Message) -> Message:
        fault = await self._world.call(lambda sim: planning_scene.apply(sim, request["scene"]))
        if fault is not None:
            log.warning("the planning scene was not changed: %s", fault)
        return {"success": fault is None}

    async def _clear_octomap(self, _: Message) -> Message:
        await self._world.call(lambda sim: sim.clear_octomap())
        return {}


def _state(handle: GoalHandle, name: str) -> None:
    if handle.on_feedback is not None:
        handle.on_feedback({"state": name})


def _points(trajectory: Trajectory) -> list[tuple[float, list[float]]]:
    return [
        (float(at), positions.tolist()) for at, positions in zip(trajectory.times, trajectory.positions, strict=True)
    ]
