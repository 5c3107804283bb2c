"""opennav_docking's server: /dock_robot and /undock_robot.

A dock is a pose that the robot drives onto forward, from a staging pose behind it, as opennav's
SimpleNonChargingDock: nothing charges. Each world has one dock in its database, home_dock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from quartet_simulation.codes import DockCode, NavCode
from quartet_simulation.errors import UnknownFrameError
from quartet_simulation.goal import Goal
from quartet_simulation.ros import frames
from quartet_simulation.ros.actions import ActionServer, GoalHandle, GoalStatus
from quartet_simulation.ros.goals import run_in_world
from quartet_simulation.ros.graph import Graph
from quartet_simulation.ros.messages import stamp, yaw_of
from quartet_simulation.ros.types import Message
from quartet_simulation.ros.world import World
from quartet_simulation.simulation import Simulation

NODE = "/docking_server"
DOCK_TYPE = "simple_non_charging_dock"
STAGING_M = 0.7
"""The staging pose lies this far behind the dock (opennav_docking's default staging_x_offset)."""
SPEED = 0.15
"""opennav_docking's default v_linear_min is 0.1, v_linear_max 0.25 [m/s]."""
REACHED_M = 0.1
TO_STAGING, CONTROLLING = 1, 3
"""States of DockRobot's feedback."""

Result = tuple[GoalStatus, Message]


class Docking:
    """The two actions. `accept` may raise GoalRejectedError."""

    def __init__(self, world: World[Simulation], graph: Graph, accept: Callable[[Message], None]) -> None:
        self._world = world
        for name, kind, execute in (
            ("/dock_robot", "DockRobot", self._dock),
            ("/undock_robot", "UndockRobot", self._undock),
        ):
            graph.add_action(ActionServer(name, f"nav2_msgs/{kind}", NODE, execute, accept, graph.now, graph.checked))

    async def _dock(self, handle: GoalHandle) -> Result:
        request, began = handle.request, time.monotonic()
        if request["dock_type"] not in ("", DOCK_TYPE):
            return _failed(DockCode.DOCK_NOT_VALID, f"dock type '{request['dock_type'][:40]}' is not {DOCK_TYPE}")
        docks = await self._world.call(lambda sim: sim.docks())
        if request["use_dock_id"]:
            pose = docks.get(request["dock_id"])
            if pose is None:
                known = ", ".join(docks)
                return _failed(DockCode.DOCK_NOT_IN_DB, f"no dock '{request['dock_id'][:40]}'; valid: {known}")
        else:
            try:
                tree = await self._world.call(lambda sim: sim.frame_tree())
                stamped = request["dock_pose"]
                found = frames.to_pose(
                    tree.between("map", stamped["header"]["frame_id"] or "map") @ frames.from_pose(stamped["pose"])
                )
            except (UnknownFrameError, ValueError) as error:
                return _failed(DockCode.DOCK_NOT_VALID, str(error))
            pose = (found["position"]["x"], found["position"]["y"], yaw_of(found["orientation"]))

        def state(number: int) -> Callable[[Message], Message]:
            return lambda _: {"state": number, "docking_time": stamp(time.monotonic() - began)}

        x, y, yaw = pose
        if request["navigate_to_staging_pose"]:
            staging = (x - STAGING_M * math.cos(yaw), y - STAGING_M * math.sin(yaw), yaw)
            status, goal = await self._run(handle, lambda sim: sim.navigate_to_pose(*staging), state(TO_STAGING))
            if status is not GoalStatus.SUCCEEDED:
                return _ended(status, goal, DockCode.FAILED_TO_STAGE)
        status, goal = await self._run(
            handle, lambda sim: sim.drive_on_heading(max(0.01, sim.distance_to(x, y)), SPEED), state(CONTROLLING)
        )
        if status is not GoalStatus.SUCCEEDED:
            return _ended(status, goal, DockCode.FAILED_TO_CONTROL)
        left = await self._world.call(lambda sim: sim.distance_to(x, y))
        if left > REACHED_M:
            return _failed(DockCode.FAILED_TO_CONTROL, f"ended {left:.2f} m beside the dock; stage it first")
        return status, {"success": True}

    async def _undock(self, handle: GoalHandle) -> Result:
        if handle.request["dock_type"] not in ("", DOCK_TYPE):
            kind = handle.request["dock_type"][:40]
            return _failed(DockCode.DOCK_NOT_VALID, f"dock type '{kind}' is not {DOCK_TYPE}")
        status, goal = await self._run(handle, lambda sim: sim.backup(STAGING_M, SPEED), lambda _: {})
        if status is not GoalStatus.SUCCEEDED:
            return _ended(status, goal, DockCode.FAILED_TO_CONTROL)
        return status, {"success": True}

    async def _run(
        self, handle: GoalHandle, start: Callable[[Simulation], Goal], feedback: Callable[[Message], Message]
    ) -> tuple[GoalStatus, Goal]:
        return await run_in_world(self._world, handle, start, feedback, NavCode.NONE)


def _failed(code: DockCode, text: str) -> Result:
    return GoalStatus.ABORTED, {"success": False, "error_code": int(code), "error_msg": text}


def _ended(status: GoalStatus, goal: Goal, code: DockCode) -> Result:
    """Canceled, or failed with the code of the docking server and the text of what it ran."""
    if status is GoalStatus.CANCELED:
        return status, {"success": False}
    return _failed(code, goal.error_text or f"code {goal.error_code}")
