"""The gripper controller of ros2_control."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quartet_simulation.arm.model import GripperModel
from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.ros.actions import ActionServer, GoalHandle, GoalStatus
from quartet_simulation.ros.goals import run_in_world
from quartet_simulation.ros.graph import Graph
from quartet_simulation.ros.types import Message
from quartet_simulation.ros.world import World


class Gripper:
    """control_msgs/action/GripperCommand; a grasp that stalls on an object has succeeded."""

    def __init__(
        self, world: World[ArmSimulation], graph: Graph, accept: Callable[[Message], None], hand: GripperModel
    ) -> None:
        self._world = world
        graph.add_action(
            ActionServer(
                hand.action,
                "control_msgs/GripperCommand",
                hand.node,
                self._execute,
                accept,
                graph.now,
                graph.checked,
            )
        )

    async def _execute(self, handle: GoalHandle) -> tuple[GoalStatus, Message]:
        command = handle.request["command"]
        status, goal = await run_in_world(
            self._world,
            handle,
            lambda sim: sim.gripper_command(command["position"], command["max_effort"]),
            _values,
            0,
        )
        return status, _values(goal.result or goal.feedback)


def _values(values: dict[str, Any]) -> Message:
    return {
        "position": float(values.get("position", 0.0)),
        "effort": float(values.get("effort", 0.0)),
        "stalled": bool(values.get("stalled", False)),
        "reached_goal": bool(values.get("reached_goal", False)),
    }
