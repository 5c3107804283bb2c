"""Nav2's action servers and services."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from quartet_simulation.codes import BackUpCode, DriveCode, NavCode, SpinCode
from quartet_simulation.goal import Goal
from quartet_simulation.ros import frames, running
from quartet_simulation.ros.actions import ActionServer, GoalHandle, GoalStatus
from quartet_simulation.ros.goals import failed, run_in_world
from quartet_simulation.ros.graph import Graph
from quartet_simulation.ros.messages import header, planar_pose, seconds, stamp, yaw_of
from quartet_simulation.ros.types import Message
from quartet_simulation.ros.world import World

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
NAVIGATE_TF_ERROR = 9002
"""nav2_msgs/action/NavigateToPose TF_ERROR."""
NO_ALLOWANCE_S = 3600.0
"""A time_allowance of zero is no limit."""
ACTIVE: Message = {"id": 3, "label": "active"}
"""lifecycle_msgs/msg/State PRIMARY_STATE_ACTIVE."""

Result = tuple[GoalStatus, Message]


class Navigation:
    """/navigate_to_pose, /spin, /drive_on_heading, /backup, /wait, the costmap and lifecycle services."""

    def __init__(self, world: World, graph: Graph, accept: Callable[[Message], None]) -> None:
        self._world, self._graph = world, graph
        for name, type_name, node, execute in (
            ("/navigate_to_pose", "NavigateToPose", "/bt_navigator", self._navigate),
            ("/spin", "Spin", "/behavior_server", self._spin),
            ("/drive_on_heading", "DriveOnHeading", "/behavior_server", self._drive),
            ("/backup", "BackUp", "/behavior_server", self._back_up),
            ("/wait", "Wait", "/behavior_server", self._wait),
        ):
            graph.add_action(
                ActionServer(name, f"nav2_msgs/{type_name}", node, execute, accept, graph.now, graph.checked)
            )
        for costmap in ("global", "local"):
            graph.serve(
                f"/{costmap}_costmap/clear_entirely_{costmap}_costmap",
                "nav2_msgs/ClearEntireCostmap",
                f"/{costmap}_costmap/{costmap}_costmap",
                self._clear_costmap,
            )
        for node in LIFECYCLE_NODES:
            graph.serve(f"/{node}/get_state", "lifecycle_msgs/GetState", f"/{node}", self._get_state)

    async def _get_state(self, _: Message) -> Message:
        return {"current_state": dict(ACTIVE)}

    async def _clear_costmap(self, _: Message) -> Message:
        await self._world.call(lambda sim: sim.clear_costmaps())
        return {"response": {}}

    async def _navigate(self, handle: GoalHandle) -> Result:
        pose = handle.request["pose"]
        frame = pose["header"]["frame_id"]
        try:
            goal_pose = frames.from_pose(pose["pose"])
            if frame != "map":
                tree = await self._world.call(frames.tree)
                goal_pose = tree.between("map", frame) @ goal_pose
        except (frames.UnknownFrame, ValueError) as error:
            return GoalStatus.ABORTED, {"error_code": NAVIGATE_TF_ERROR, "error_msg": str(error)}
        target = frames.to_pose(goal_pose)
        x, y = target["position"]["x"], target["position"]["y"]
        yaw = yaw_of(target["orientation"])

        def feedback(values: Message) -> Message:
            time = self._world.time
            return {
                "current_pose": {
                    "header": header(time, "map"),
                    "pose": planar_pose(*values.get("current_pose", (0.0, 0.0, 0.0))),
                },
                "navigation_time": stamp(float(values.get("navigation_time", 0.0))),
                "estimated_time_remaining": stamp(max(0.0, float(values.get("estimated_time_remaining", 0.0)))),
                "number_of_recoveries": int(values.get("number_of_recoveries", 0)),
                "distance_remaining": float(values.get("distance_remaining", 0.0)),
            }

        status, goal = await run_in_world(
            self._world, handle, lambda sim: sim.navigate_to_pose(x, y, yaw), feedback, NavCode.UNKNOWN
        )
        return status, {"error_code": goal.error_code, "error_msg": goal.error_text}

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
        done = self._world.wait(duration)
        handle.on_cancel = lambda: running.cancel(done)
        if handle.cancel_asked.is_set():
            done.cancel()
        while not done.done():
            await asyncio.wait({done}, timeout=0.1)
            if handle.on_feedback is not None and not done.done():
                left = max(0.0, began + duration - self._world.time)
                handle.on_feedback({"time_left": stamp(left)})
        status = GoalStatus.CANCELED if done.cancelled() else GoalStatus.SUCCEEDED
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
