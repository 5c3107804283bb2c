"""Velocity commands of a teleoperator or a controller: /cmd_vel."""

from __future__ import annotations

from quartet_simulation.ros.graph import Graph, Published
from quartet_simulation.ros.world import World


class VelocityInput:
    """Passes geometry_msgs/Twist on; a command is stale after 0.5 s and ignored while the guard is latched."""

    def __init__(self, world: World, graph: Graph) -> None:
        self._world = world
        graph.listen("/cmd_vel", "geometry_msgs/Twist", "/base_controller", self._receive)

    def _receive(self, published: Published) -> None:
        linear, angular = published.message["linear"], published.message["angular"]
        self._world.command_velocity(linear["x"], linear["y"], angular["z"])
