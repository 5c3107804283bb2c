"""Nav2's action servers and services."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable

import numpy as np

from quartet_simulation.codes import BackUpCode, DriveCode, NavCode, SpinCode
from quartet_simulation.errors import GoalRejectedError, UnknownFrameError
from quartet_simulation.goal import Goal
from quartet_simulation.ros import frames, running
from quartet_simulation.ros.actions import ActionServer, GoalHandle, GoalStatus
from quartet_simulation.ros.goals import failed, run_in_world
from quartet_simulation.ros.graph import Graph
from quartet_simulation.ros.messages import header, planar_pose, seconds, stamp, yaw_of
from quartet_simulation.ros.types import Message
from quartet_simulation.ros.world import World
from quartet_simulation.simulation import Simulation

LIFECYCLE_NODES = (
    "map_server",
    "amcl",
    "controller_server",
    "planner_server",
    "behavior_server",
    "bt_navigator",
    "waypoint_follower",
    "velocity_smoother",
)
NO_ALLOWANCE_S = 3600.0
"""A time_allowance of zero is no limit."""
UNCONFIGURED: Message = {"id": 1, "label": "unconfigured"}
INACTIVE: Message = {"id": 2, "label": "inactive"}
ACTIVE: Message = {"id": 3, "label": "active"}
"""Primary states of lifecycle_msgs/msg/State."""
LOCALISATION_NODES = ("map_server", "amcl")
"""Nodes with a lifecycle manager of their own, which stay active."""
MANAGER = "/lifecycle_manager_navigation"
STARTUP, PAUSE, RESUME, RESET, SHUTDOWN = range(5)
"""Commands of nav2_msgs/srv/ManageLifecycleNodes."""

Result = tuple[GoalStatus, Message]


class Navigation:
    """Nav2's actions, costmap and lifecycle services.

    Actions: /navigate_to_pose, /follow_waypoints, /compute_path_to_pose, /spin, /drive_on_heading, /backup, /wait.
    """

    def __init__(self, world: World[Simulation], graph: Graph, accept: Callable[[Message], None]) -> None:
        self._world, self._graph, self._may_move = world, graph, accept
        self._state = ACTIVE
        self._waiting: asyncio.Future[None] | None = None
        """The wait that runs."""
        for name, type_name, node, execute in (
            ("/navigate_to_pose", "NavigateToPose", "/bt_navigator", self._navigate),
            ("/follow_waypoints", "FollowWaypoints", "/waypoint_follower", self._follow_waypoints),
            ("/compute_path_to_pose", "ComputePathToPose", "/planner_server", self._compute_path),
            ("/spin", "Spin", "/behavior_server", self._spin),
            ("/drive_on_heading", "DriveOnHeading", "/behavior_server", self._drive),
            ("/backup", "BackUp", "/behavior_server", self._back_up),
            ("/wait", "Wait", "/behavior_server", self._wait),
        ):
            admit = self._accept_planning if name == "/compute_path_to_pose" else self.accept
            graph.add_action(
                ActionServer(name, f"nav2_msgs/{type_name}", node, execute, admit, graph.now, graph.checked)
            )
        for costmap in ("global", "local"):
            graph.serve(
                f"/{costmap}_costmap/clear_entirely_{costmap}_costmap",
                "nav2_msgs/ClearEntireCostmap",
                f"/{costmap}_costmap/{costmap}_costmap",
                self._clear_costmap,
            )
        for node in LIFECYCLE_NODES:
            graph.serve(f"/{node}/get_state", "lifecycle_msgs/GetState", f"/{node}", self._get_state(node))
        graph.serve(f"{MANAGER}/manage_nodes", "nav2_msgs/ManageLifecycleNodes", MANAGER, self._manage)
        graph.serve(f"{MANAGER}/is_active", "std_srvs/Trigger", MANAGER, self._is_active)

    def _accept_planning(self, _: Message) -> None:
        if not self._world.navigation_active:
            raise GoalRejectedError(f"Nav2 is not active; call {MANAGER}/manage_nodes with STARTUP")

    def accept(self, request: Message) -> None:
        """For action servers of motions: raises GoalRejectedError while Nav2 is not active or the robot is stopped."""
        self._accept_planning(request)
        self._may_move(request)

    def _get_state(self, node: str) -> Callable[[Message], Awaitable[Message]]:
        async def answer(_: Message) -> Message:
            active = node in LOCALISATION_NODES or self._world.navigation_active
            return {"current_state": dict(ACTIVE if active else self._state)}

        return answer

    async def _manage(self, request: Message) -> Message:
        command, active = request["command"], self._world.navigation_active
        # RESUME is valid only for paused nodes, STARTUP only for unconfigured ones, as in Nav2.
        allowed = {STARTUP: not active and self._state != INACTIVE, RESUME: not active and self._state == INACTIVE}
        if command in allowed:
            self._world.navigation_active = active or allowed[command]
            return {"success": self._world.navigation_active}
        if command not in (PAUSE, RESET, SHUTDOWN):
            return {"success": False}
        self._world.navigation_active = False
        self._state = INACTIVE if command == PAUSE else UNCONFIGURED
        for action in self._graph.actions.values():
            if action.node.rsplit("/", 1)[-1] in LIFECYCLE_NODES:
                action.cancel_all()
        return {"success": True}

    async def _is_active(self, _: Message) -> Message:
        active = self._world.navigation_active
        return {"success": active, "message": "Managed nodes are active" if active else "Managed nodes are inactive"}

    async def _clear_costmap(self, _: Message) -> Message:
        await self._world.call(lambda sim: sim.clear_costmaps())
        return {"response": {}}

    async def _in_map(self, stamped: Message) -> tuple[float, float, float]:
        """x, y, yaw of a PoseStamped in map. Raises UnknownFrameError, ValueError."""
        pose, frame = frames.from_pose(stamped["pose"]), stamped["header"]["frame_id"]
        if frame != "map":
            tree = await self._world.call(lambda sim: sim.frame_tree())
            pose = tree.between("map", frame) @ pose
        found = frames.to_pose(pose)
        return found["position"]["x"], found["position"]["y"], yaw_of(found["orientation"])

    async def _navigate(self, handle: GoalHandle) -> Result:
        try:
            x, y, yaw = await self._in_map(handle.request["pose"])
        except (UnknownFrameError, ValueError) as error:
            return GoalStatus.ABORTED, {"error_msg": str(error)}

        def feedback(values: Message) -> Message:
            return {
                "current_pose": {
                    "header": header(self._world.time, "map"),
                    "pose": planar_pose(*values.get("current_pose", (0.0, 0.0, 0.0))),
                },
                "navigation_time": stamp(float(values.get("navigation_time", 0.0))),
                "estimated_time_remaining": stamp(max(0.0, float(values.get("estimated_time_remaining", 0.0)))),
                "number_of_recoveries": int(values.get("number_of_recoveries", 0)),
                "distance_remaining": float(values.get("distance_remaining", 0.0)),
            }

        status, goal = await run_in_world(
            self._world, handle, lambda sim: sim.navigate_to_pose(x, y, yaw), feedback, NavCode.NONE
        )
        return status, {"error_code": goal.error_code, "error_msg": goal.error_text}

    async def _follow_waypoints(self, handle: GoalHandle) -> Result:
        """Visit the waypoints in order; stop at the first that is missed, as Nav2 does by default (stop_on_failure)."""
        poses, loops = handle.request["poses"], handle.request["number_of_loops"]
        text, missed = "", []
        if not poses:
            return GoalStatus.ABORTED, {"error_msg": "Empty vector of waypoints passed to waypoint following action."}
        first = handle.request["goal_index"]
        for index in [*range(first, len(poses)), *(number for _ in range(loops) for number in range(len(poses)))]:
            if handle.on_feedback is not None:
                handle.on_feedback({"current_waypoint": index})
            try:
                target = await self._in_map(poses[index])
            except (UnknownFrameError, ValueError) as error:
                status, goal = GoalStatus.ABORTED, failed("waypoint", NavCode.NONE, str(error))
            else:
                status, goal = await run_in_world(
                    self._world,
                    handle,
                    lambda sim, target=target: sim.navigate_to_pose(*target),
                    lambda _, index=index: {"current_waypoint": index},
                    NavCode.NONE,
                )
            if status is GoalStatus.CANCELED:
                return status, {}
            if status is not GoalStatus.SUCCEEDED:
                missed = [
                    {
                        "index": index,
                        "goal": poses[index],
                        "error_code": goal.error_code,
                        "error_msg": goal.error_text,
                    }
                ]
                text = f"Failed to process waypoint {index}: {goal.error_text}"
                break
        status = GoalStatus.ABORTED if missed else GoalStatus.SUCCEEDED
        return status, {"missed_waypoints": missed, "error_msg": text}

    async def _compute_path(self, handle: GoalHandle) -> Result:
        request, began = handle.request, time.monotonic()
        try:
            goal = await self._in_map(request["goal"])
            start = await self._in_map(request["start"]) if request["use_start"] else None
        except (UnknownFrameError, ValueError) as error:
            return GoalStatus.ABORTED, {"error_code": int(NavCode.TF_ERROR), "error_msg": str(error)}
        code, text, points = await self._world.call(lambda sim: sim.compute_path(goal, start, request["planner_id"]))
        if handle.cancel_asked.is_set():
            return GoalStatus.CANCELED, {}
        spent = stamp(time.monotonic() - began)
        if points is None:
            return GoalStatus.ABORTED, {"error_code": int(code), "error_msg": text, "planning_time": spent}
        # Every point looks along the path, the last one as the goal does.
        ahead = np.diff(points, axis=0)
        yaws = [*np.arctan2(ahead[:, 1], ahead[:, 0]), goal[2]]
        now = header(self._world.time, "map")
        poses = [
            {"header": now, "pose": planar_pose(float(x), float(y), float(yaw))}
            for (x, y), yaw in zip(points, yaws, strict=True)
        ]
        return GoalStatus.SUCCEEDED, {"path": {"header": now, "poses": poses}, "planning_time": spent}

    async def _spin(self, handle: GoalHandle) -> Result:
        target = handle.request["target_yaw"]
        allowance = _allowance(handle.request)
        status, goal = await run_in_world(
            self._world,
            handle,
            lambda sim: sim.spin(target, allowance),
            lambda values: {"angular_distance_traveled": float(values.get("angular_distance_traveled", 0.0))},
            SpinCode.UNKNOWN,
        )
        return status, self._behaviour_result(goal)

    async def _drive(self, handle: GoalHandle) -> Result:
        target, speed = handle.request["target"], handle.request["speed"]
        if target["y"] or target["z"]:
            goal = failed("drive_on_heading", DriveCode.INVALID_INPUT, "Drive in Y and Z is not supported")
            return GoalStatus.ABORTED, self._behaviour_result(goal)
        if speed == 0 or (target["x"] > 0) != (speed > 0):
            text = f"Speed {speed} and command {target['x']} must have the same sign"
            goal = failed("drive_on_heading", DriveCode.INVALID_INPUT, text)
            return GoalStatus.ABORTED, self._behaviour_result(goal)
        return await self._straight(handle, target["x"], speed, DriveCode.INVALID_INPUT, backwards=target["x"] < 0)

    async def _back_up(self, handle: GoalHandle) -> Result:
        target, speed = handle.request["target"], handle.request["speed"]
        if target["y"] or target["z"]:
            goal = failed("backup", BackUpCode.INVALID_INPUT, "Backing up in Y and Z is not supported")
            return GoalStatus.ABORTED, self._behaviour_result(goal)
        return await self._straight(handle, target["x"], speed, BackUpCode.INVALID_INPUT, backwards=True)

    async def _straight(
        self, handle: GoalHandle, distance: float, speed: float, bad_input: int, backwards: bool
    ) -> Result:
        length, pace, allowance = abs(distance), abs(speed), _allowance(handle.request)
        status, goal = await run_in_world(
            self._world,
            handle,
            lambda sim: (sim.backup if backwards else sim.drive_on_heading)(length, pace, allowance),
            lambda values: {"distance_traveled": float(values.get("distance_traveled", 0.0))},
            bad_input,
        )
        return status, self._behaviour_result(goal)

    async def _wait(self, handle: GoalHandle) -> Result:
        duration = seconds(handle.request["time"])
        began = self._world.time
        preempted = self._waiting
        self._waiting = done = self._world.wait(duration)
        if preempted is not None:
            preempted.cancel()
        handle.on_cancel = lambda: running.cancel(done)
        if handle.cancel_asked.is_set():
            done.cancel()
        while not done.done():
            await asyncio.wait({done}, timeout=0.1)
            if handle.on_feedback is not None and not done.done():
                left = max(0.0, began + duration - self._world.time)
                handle.on_feedback({"time_left": stamp(left)})
        status = GoalStatus.CANCELED if done.cancelled() else GoalStatus.SUCCEEDED
        if self._waiting is done:
            self._waiting = None
        elif done.cancelled() and not handle.cancel_asked.is_set():
            # Nav2's behaviours do not go over from one goal to the next: the newer one ends the older.
            status = GoalStatus.ABORTED
        return status, {"total_elapsed_time": stamp(max(0.0, self._world.time - began))}

    def _behaviour_result(self, goal: Goal) -> Message:
        elapsed = 0.0 if goal.ended_at is None else goal.ended_at - goal.started_at
        return {
            "total_elapsed_time": stamp(max(0.0, elapsed)),
            "error_code": goal.error_code,
            "error_msg": goal.error_text,
        }


def _allowance(request: Message) -> float:
    allowance = seconds(request["time_allowance"])
    return allowance if math.isfinite(allowance) and allowance > 0 else NO_ALLOWANCE_S
