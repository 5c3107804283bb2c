"""Periodic topics: at their rate of world time, never faster than the wall-clock cap, slowly in a standing world."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quartet_simulation.arm.model import GripperModel
from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.mobile.build import OPTICAL
from quartet_simulation.ros import messages
from quartet_simulation.ros.graph import Graph
from quartet_simulation.ros.types import Message
from quartet_simulation.ros.world import World
from quartet_simulation.simulation import Simulation

WALL_PERIOD_S = 0.02
"""No topic is published more often than this, however fast the world runs."""
STANDING_PERIOD_S = 0.2
"""Wall time between repetitions while the world stands still."""
STANDING_JOINTS_S = 0.02
"""The same of /joint_states, of which several are read to tell how hard fingers press."""
STATUS_PERIOD_S = 0.1
"""World time between two looks at the gripper, whose status is published when it has changed. It is looked at earlier
before a result, at rest, and when the fingers are told to move or the world was changed."""

BROADCASTERS = {
    "/robot_state_publisher": "",
    **{f"/{name}_camera": frame for name, frame in OPTICAL.items()},
}
"""Publishers of /tf_static, as on a robot: each camera's driver its own optical frame, and one the others."""
MERGED = "/tf_static_merged"
"""All of them in one message, as the node static_transforms of quartet_bringup publishes them."""

Batched = tuple[str, Message, str]
"""Topic, message and, where a topic has several, its publisher."""


@dataclass
class Periodic:
    """One periodic topic; its schedule belongs to the simulation's thread."""

    topic: str
    type_name: str
    node: str
    period_s: float
    build: Callable[[Any], Message]
    before_results: bool = False
    """Published again before a goal's result, so that a reader of the result sees the world after the goal."""
    standing_s: float = STANDING_PERIOD_S
    published_at: float = -1.0
    published_wall: float = float("-inf")
    fresh: bool = False


def arm_topics() -> list[Periodic]:
    """What every robot publishes, with usual rates; the odometry of one that does not drive stays where it is."""
    return [
        Periodic(
            "/clock",
            "rosgraph_msgs/Clock",
            "/clock_server",
            0.01,
            lambda sim: {"clock": messages.stamp(sim.time)},
            True,
        ),
        Periodic(
            "/tf",
            "tf2_msgs/TFMessage",
            "/robot_state_publisher",
            0.02,
            lambda sim: messages.tf(sim.time, sim.transforms()),
            True,
        ),
        Periodic(
            "/joint_states",
            "sensor_msgs/JointState",
            "/joint_state_broadcaster",
            0.02,
            lambda sim: messages.joint_states(sim.time, sim.joint_states()),
            True,
            STANDING_JOINTS_S,
        ),
        Periodic(
            "/odom",
            "nav_msgs/Odometry",
            "/base_controller",
            0.02,
            lambda sim: messages.odometry(sim.time, sim.odometry()),
            True,
        ),
    ]


def base_topics() -> list[Periodic]:
    """What a robot that drives publishes beside, with Nav2 and a localisation."""

    def localise(sim: Simulation) -> Message:
        return messages.localisation(sim.time, sim.estimated_pose(), sim.localisation_error())

    return [
        Periodic("/amcl_pose", "geometry_msgs/PoseWithCovarianceStamped", "/amcl", 0.5, localise, True),
        Periodic(
            "/scan",
            "sensor_msgs/LaserScan",
            "/laser",
            0.1,
            lambda sim: messages.scan(sim.time, sim.scan()),
            True,
        ),
        Periodic(
            "/plan",
            "nav_msgs/Path",
            "/planner_server",
            1.0,
            lambda sim: messages.path(sim.time, sim.planned_path()),
        ),
        Periodic(
            "/battery_state",
            "sensor_msgs/BatteryState",
            "/battery",
            1.0,
            lambda sim: messages.battery(sim.time),
        ),
    ]


class Publishers:
    """Publishes periodic topics that somebody subscribes to, and latched topics when their value changes."""

    def __init__(
        self,
        world: World[ArmSimulation],
        graph: Graph,
        post: Callable[[Callable[[], None]], None],
        hand: GripperModel,
        *,
        drives: bool,
    ) -> None:
        self._world, self._graph, self._post = world, graph, post
        topics = [*arm_topics(), *(base_topics() if drives else ())]
        self._periodic = {item.topic: item for item in topics}
        self._status: Message = {}
        self._status_at = float("-inf")
        """World time of the last look at the gripper [s]."""
        self._target = float("nan")
        """Position that the fingers had been told to go to at that look."""
        self._revision = -1
        for item in self._periodic.values():
            graph.advertise(item.topic, item.type_name, item.node)
        for node in BROADCASTERS:
            graph.advertise("/tf_static", "tf2_msgs/TFMessage", node, latched=True)
        graph.advertise(MERGED, "tf2_msgs/TFMessage", "/static_transforms", latched=True)
        if drives:
            graph.advertise("/map", "nav_msgs/OccupancyGrid", "/map_server", latched=True)
        graph.advertise("/gripper/status", "std_msgs/String", hand.driver, latched=True)
        graph.on_subscribe.append(self._subscribed)

    def _subscribed(self, topic: str) -> None:
        if topic in self._periodic:
            self._periodic[topic].fresh = True
            self._world.poke()

    def tick(self, sim: ArmSimulation, moving: bool) -> float | None:
        """Publish what is due. Runs in the simulation's thread."""
        now, demand = time.monotonic(), self._graph.demand
        batch: list[Batched] = []
        self._publish_latched(sim, batch, at_once=not moving)
        wanted = [item for topic, item in self._periodic.items() if topic in demand]
        for item in wanted:
            since = now - item.published_wall
            due = item.fresh or (
                sim.time - item.published_at >= item.period_s - 1e-9 and since >= WALL_PERIOD_S
                if moving
                else since >= item.standing_s - 1e-3
            )
            if due or sim.time < item.published_at:
                self._build(item, sim, now, batch)
        self._send(batch)
        return min((item.standing_s for item in wanted), default=None)

    def flush(self, sim: ArmSimulation) -> None:
        """Publish the state after a motion. Runs in the simulation's thread."""
        now, demand = time.monotonic(), self._graph.demand
        batch: list[Batched] = []
        self._publish_latched(sim, batch, at_once=True)
        for topic, item in self._periodic.items():
            if topic in demand and item.before_results and item.published_at != sim.time:
                self._build(item, sim, now, batch)
        self._send(batch)

    def _publish_latched(self, sim: ArmSimulation, batch: list[Batched], *, at_once: bool) -> None:
        """Add the latched topics that have changed; `at_once`: also when it is too early for the gripper's status."""
        if self._revision != self._world.revision:
            self._revision, at_once = self._world.revision, True
            transforms = sim.static_transforms()
            for node, camera in BROADCASTERS.items():
                own = [one for one in transforms if (one[1] == camera if camera else one[1] not in OPTICAL.values())]
                batch.append(("/tf_static", messages.tf(sim.time, own), node))
            batch.append((MERGED, messages.tf(sim.time, transforms), ""))
            if isinstance(sim, Simulation):
                batch.append(("/map", messages.occupancy_grid(sim.time, sim.occupancy_grid()), ""))
        target = sim.gripper_target
        if at_once or target != self._target or not 0 <= sim.time - self._status_at < STATUS_PERIOD_S:
            self._status_at, self._target = sim.time, target
            status = messages.gripper_status(sim.gripper_state())
            if self._status != status:
                self._status = status
                batch.append(("/gripper/status", status, ""))

    def _build(self, item: Periodic, sim: ArmSimulation, now: float, batch: list[Batched]) -> None:
        item.fresh = False
        item.published_at, item.published_wall = sim.time, now
        batch.append((item.topic, item.build(sim), ""))

    def _send(self, batch: list[Batched]) -> None:
        if batch:
            self._post(lambda: self._publish(batch))

    def _publish(self, batch: list[Batched]) -> None:
        for topic, message, node in batch:
            self._graph.publish(topic, message, node)
