"""The simulated robot: the simulation's thread, the graph and every node on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from quartet_safety.guard import LatchFile
from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.faults import Faults
from quartet_simulation.ros.cameras import Cameras
from quartet_simulation.ros.docking import Docking
from quartet_simulation.ros.engine import Engine
from quartet_simulation.ros.graph import Graph, Published
from quartet_simulation.ros.gripper import Gripper
from quartet_simulation.ros.guard import NODE as GUARD
from quartet_simulation.ros.guard import RobotGuard
from quartet_simulation.ros.moveit import MoveIt
from quartet_simulation.ros.namespace import Namespace
from quartet_simulation.ros.navigation import LIFECYCLE_NODES, Navigation
from quartet_simulation.ros.parameters import Parameters
from quartet_simulation.ros.publishers import Publishers
from quartet_simulation.ros.rosapi import RosApi
from quartet_simulation.ros.world import World
from quartet_simulation.simulation import Simulation


class VelocityInput:
    """The guard's gate: passes geometry_msgs/Twist on; stale after 0.5 s and ignored while the guard is latched."""

    def __init__(self, world: World[Simulation], graph: Graph) -> None:
        self._world = world
        graph.listen("/cmd_vel", "geometry_msgs/Twist", GUARD, self._receive)

    def _receive(self, published: Published) -> None:
        linear, angular = published.message["linear"], published.message["angular"]
        self._world.command_velocity(linear["x"], linear["y"], angular["z"])


class Robot:
    """Robot with all its nodes; a bridge serves its `graph`."""

    def __init__(
        self,
        make: Callable[[], ArmSimulation],
        realtime: bool = False,
        faults: Faults | None = None,
        checked: bool = False,
        heartbeat_timeout_s: float = 5.0,
        latch_file: LatchFile | None = None,
        *,
        engine: Engine | None = None,
        place: int = 0,
        shared: Graph | None = None,
        namespace: str = "",
    ) -> None:
        """Make the only robot of a world, or, with an `engine`, robot number `place` of a world that several share.

        With a `namespace` (`/ada`) its names are below that in the graph `shared`, or in one of its own.
        """
        self.faults = faults or Faults()
        self.world = World(make, realtime, engine=engine, place=place)
        self.graph = shared or Graph(lambda: round(self.world.time * 1e9), checked)
        self._own_graph = shared is None
        self._nodes = Namespace(self.graph, namespace) if namespace else self.graph
        self._cameras: Cameras | None = None
        self._guard: RobotGuard | None = None
        self._moveit: MoveIt | None = None
        self._guard_options = heartbeat_timeout_s, latch_file
        self._name = namespace.strip("/") or str(place + 1)

    @property
    def guard(self) -> RobotGuard:
        """Once started."""
        assert self._guard is not None
        return self._guard

    async def start(self) -> None:
        """Build the world and put the nodes on the graph. Raises what the simulation raises."""
        await self.world.start()
        loop, graph, world = asyncio.get_running_loop(), self._nodes, self.world

        def post(function: Callable[[], None]) -> None:
            loop.call_soon_threadsafe(function)

        arm, hand, drives = await world.call(lambda sim: (sim.arm, sim.hand, sim.drives))
        self._guard = RobotGuard(world, graph, arm, hand, *self._guard_options, name=self._name)
        nodes = ["/move_group", "/robot_guard"]
        if drives:
            base = cast("World[Simulation]", world)
            navigation = Navigation(base, graph, self._guard.accept)
            Docking(base, graph, navigation.accept)
            VelocityInput(base, graph)
            nodes += [f"/{node}" for node in LIFECYCLE_NODES]
        Gripper(world, graph, self._guard.accept, hand)
        self._moveit = MoveIt(world, graph, self._guard.accept, arm)
        Parameters(graph, nodes)
        if self._own_graph:
            RosApi(self.graph, self.faults)
        for server in graph.actions.values():
            server.refuses_cancels = lambda: self.faults.strikes("cancels_refused")
        self._cameras = Cameras(world, graph, post)
        await world.call(self._cameras.warm_up)
        world.observers = [Publishers(world, graph, post, hand, drives=drives), self._cameras, self._moveit]
        world.poke()
        self._guard.start()

    async def close(self) -> None:
        """End the simulation's thread and the workers."""
        if self._guard is not None:
            await self._guard.close()
        await self.world.close()
        if self._cameras is not None:
            self._cameras.close()
        if self._moveit is not None:
            self._moveit.close()
