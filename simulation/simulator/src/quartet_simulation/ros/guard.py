"""The robot guard of the simulated robot: an adapter of `quartet_safety.guard` to the simulated world and graph."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math

from quartet_process import BACKGROUND
from quartet_safety.errors import HaltError
from quartet_safety.guard import (
    HEARTBEAT_TOPIC,
    HEARTBEAT_TYPE,
    LOOK_PERIOD_S,
    SERVICE_TYPE,
    STATE_TOPIC,
    STATE_TYPE,
    STOP_SERVICE,
    Guard,
    GuardStatus,
    LatchFile,
)
from quartet_safety.guard import NODE as NAME
from quartet_simulation import metrics
from quartet_simulation.arm.model import ArmModel, GripperModel
from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.errors import GoalRejectedError
from quartet_simulation.ros.graph import Graph, Published
from quartet_simulation.ros.types import Message
from quartet_simulation.ros.world import World

log = logging.getLogger(__name__)

NODE = f"/{NAME}"
TAKEN_WITHIN_S = 5.0
"""Wall time within which the simulation takes a stop; it looks at its commands after each chunk of world time."""


class RobotGuard:
    """Node /robot_guard: its stop service, state and heartbeats as on a real robot.

    While it is latched no action server accepts a goal; while it holds after a lapse, goals end as CANCELED.

    Args:
        world: the simulated robot's.
        graph: where its topics, services and actions are.
        arm: tells the names of its joints.
        hand: tells the name of the gripper's action.
        heartbeat_timeout_s: silence after which a motion is ended [s of wall time].
        file: keeps a stop across restarts.
        name: the robot's in the metrics.
    """

    def __init__(
        self,
        world: World[ArmSimulation],
        graph: Graph,
        arm: ArmModel,
        hand: GripperModel,
        heartbeat_timeout_s: float,
        file: LatchFile | None = None,
        *,
        name: str = "1",
    ) -> None:
        self.name = name
        metrics.begin_guard(name)
        self._world, self._graph = world, graph
        self._loop = asyncio.get_running_loop()
        self._guard = Guard(
            _SimulatedBrakes(world, graph, self._loop, hand.action),
            file,
            heartbeat_timeout_s,
            arm.joints,
            ros_time=lambda: world.time,
            on_change=self._changed,
        )
        world.is_stopped = lambda: self._guard.holding
        self._watching: asyncio.Task[None] | None = None
        graph.advertise(STATE_TOPIC, STATE_TYPE, NODE, latched=True)
        graph.serve(STOP_SERVICE, SERVICE_TYPE, NODE, self._handle_stop)
        graph.listen(HEARTBEAT_TOPIC, HEARTBEAT_TYPE, NODE, self._heartbeat)
        graph.listen("/odom", "nav_msgs/Odometry", NODE, self._odometry)
        graph.listen("/joint_states", "sensor_msgs/JointState", NODE, self._joints)
        self._publish()

    @property
    def status(self) -> GuardStatus:
        """The guard's state."""
        return self._guard.status

    def start(self) -> None:
        """Restore a stop of an earlier process, and supervise heartbeats from now on."""
        self._guard.start()
        self._watching = BACKGROUND.start("guard-watch", self._watch, restart_s=0.1)

    async def close(self) -> None:
        """End the supervision of heartbeats."""
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching

    def accept(self, _: Message) -> None:
        """For action servers: raise GoalRejectedError while the robot is stopped."""
        if self._guard.latched:
            raise GoalRejectedError(f"the robot guard is latched ({self._guard.status.reason})")

    def stop(self, reason: str) -> str:
        """Stop the robot and latch; return the answer for the caller. For any thread but the event loop's."""
        metrics.STOPS.labels(self.name).inc()
        message = self._guard.stop(reason)
        if not self._world.taken(TAKEN_WITHIN_S):
            message += f"; but the simulation has not taken it within {TAKEN_WITHIN_S:g} s"
        return message

    def reset(self) -> str:
        """Release the latch; return the answer for the caller. For any thread but the event loop's."""
        return self._guard.reset()

    async def begin_episode(self) -> None:
        """Forget motions and stop of a world that was reset."""
        await asyncio.to_thread(self._guard.forget)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_PERIOD_S)
            try:
                lapsed = self._guard.look()
            except HaltError:
                log.exception("the robot may move although it is held")
                continue
            if lapsed:
                metrics.LAPSES.labels(self.name).inc()

    def _heartbeat(self, published: Published) -> None:
        self._guard.beat(published.message["frame_id"])

    def _odometry(self, published: Published) -> None:
        twist = published.message["twist"]["twist"]
        self._guard.odometry(math.hypot(twist["linear"]["x"], twist["linear"]["y"]), twist["angular"]["z"])

    def _joints(self, published: Published) -> None:
        message = published.message
        self._guard.joints(message["name"], message["position"], message["velocity"])

    async def _handle_stop(self, _: Message) -> Message:
        return {"success": True, "message": await asyncio.to_thread(self.stop, "stop service called")}

    def _changed(self) -> None:
        self._loop.call_soon_threadsafe(self._publish)

    def _publish(self) -> None:
        status = self._guard.status
        self._graph.publish(
            STATE_TOPIC,
            {
                "level": status.level,
                "name": NAME,
                "message": status.reason,
                "hardware_id": "",
                "values": [{"key": key, "value": value} for key, value in status.values().items()],
            },
        )


class _SimulatedBrakes:
    """Acts on the simulated robot. Goals of the gripper's action are left alone."""

    def __init__(
        self, world: World[ArmSimulation], graph: Graph, loop: asyncio.AbstractEventLoop, gripper: str
    ) -> None:
        self._world, self._graph, self._loop, self._gripper = world, graph, loop, gripper

    def halt_base(self) -> None:
        self._world.halt_base()

    def hold_arm(self) -> bool:
        self._world.hold_arm()
        return True

    def cancel_goals(self, *, again: bool) -> None:
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        for name, action in self._graph.actions.items():
            if action.active and not name.endswith(self._gripper):
                action.cancel_all()
