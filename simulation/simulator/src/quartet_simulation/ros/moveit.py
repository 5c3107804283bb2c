"""MoveIt's move_group node."""

from __future__ import annotations

from collections.abc import Callable

from quartet_simulation.ros.graph import Graph
from quartet_simulation.ros.types import Message
from quartet_simulation.ros.world import World


class MoveIt:
    """Planning, kinematics and execution of the arm."""

    def __init__(self, world: World, graph: Graph, accept: Callable[[Message], None]) -> None:
        self._world = world
        graph.serve("/clear_octomap", "std_srvs/Empty", "/move_group", self._clear_octomap)

    def close(self) -> None:
        """End the planning threads."""

    async def _clear_octomap(self, _: Message) -> Message:
        await self._world.call(lambda sim: sim.clear_octomap())
        return {}
