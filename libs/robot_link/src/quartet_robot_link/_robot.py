"""One robot as the servers use it: its file, link, clock, frames, cameras, joints and battery."""

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from quartet_robot_link._bridge import BridgeLink
from quartet_robot_link._clock import RosClock
from quartet_robot_link._guard import GuardState
from quartet_robot_link._joints import JointSpeeds, joint_values
from quartet_robot_link._motion import Motion
from quartet_robot_link._transforms import TransformBuffer
from quartet_robot_link.errors import CallTimeoutError, TransformUnavailableError
from quartet_robot_link.geometry import Rigid, Transform, rpy_quaternion
from quartet_robot_link.link import SENSOR, Message, RobotLink, Subscription, number
from quartet_site import RobotFile

if TYPE_CHECKING:
    from quartet_robot_link.camera import CameraSnapshot
    from quartet_site import Camera

JOINTS_LATE_S = 3.0
"""Wall time that the arm's joints may take to come on /joint_states."""
ODOMETRY_WAIT_S = 1.0
"""Wall time that a snapshot waits for the odometry in /tf, which this robot may lack."""


@dataclass(frozen=True)
class BasePose:
    """Pose of the base on the floor: x, y [m], yaw [rad] in `frame`, at ROS time `stamp`."""

    x: float
    y: float
    yaw: float
    frame: str
    stamp: float


class Battery:
    """Follows sensor_msgs/msg/BatteryState from `start` on; `topic` is None for a robot that has none."""

    def __init__(self, link: RobotLink, topic: str | None) -> None:
        self._link, self._topic = link, topic
        self._subscription: Subscription | None = None
        self.ratio: float | None = None
        """Charge, 0 to 1; None while it is not known."""

    def start(self) -> None:
        """Subscribe; a second call does nothing."""
        if self._topic is not None and self._subscription is None:
            self._subscription = self._link.subscribe(
                self._topic, "sensor_msgs/msg/BatteryState", qos=SENSOR, keep=1, on_message=self._on_state
            )

    def close(self) -> None:
        """End the subscription."""
        if self._subscription is not None:
            self._subscription.close()

    def _on_state(self, message: Message) -> None:
        self.ratio = number(message.get("percentage"))


class Robot:
    """One robot. Make it with `await Robot.open(file)` inside a running event loop; end it with `await close()`."""

    def __init__(self, file: RobotFile, link: RobotLink) -> None:
        self.file = file
        self.link = link
        self.clock = RosClock(link, file.topics.clock)
        self.guard = GuardState(link, file.topics.guard_state, file.topics.guard_heartbeat)
        self.battery = Battery(link, file.topics.battery)
        self.transforms = TransformBuffer(link, self.clock, tf=file.topics.tf, tf_static=file.topics.tf_static)

    @classmethod
    async def open(
        cls,
        file: RobotFile,
        *,
        url: str | None = None,
        token: Callable[[], str | None] = lambda: None,
        wait_s: float = 0.0,
    ) -> "Robot":
        """Connect to `url` (the robot file's when None). Returns after `wait_s` also without a connection.

        `token` gives the bearer token of a bridge proxy.
        """
        address, call_timeout_s = url or file.bridge.url, file.bridge.call_timeout_s
        return cls(file, await BridgeLink.open(address, token=token, call_timeout_s=call_timeout_s, wait_s=wait_s))

    async def close(self) -> None:
        """End all subscriptions and the connection."""
        self.clock.close()
        self.guard.close()
        self.battery.close()
        self.transforms.close()
        await self.link.close()

    def start_motion(
        self,
        action: str,
        action_type: str,
        args: Message,
        *,
        limit_s: float,
        on_feedback: Callable[[Message], None] | None = None,
    ) -> Motion:
        """Send a goal and supervise it; `limit_s` is ROS time."""
        return Motion(self.link, self.clock, action, action_type, args, limit_s=limit_s, on_feedback=on_feedback)

    async def transform(
        self, target: str, source: str, *, stamp: float | None = None, timeout_s: float = 2.0
    ) -> Transform:
        """Return frame `source` in frame `target`, at a ROS time or (None) now. Raises TransformUnavailableError."""
        return await self.transforms.lookup(target, source, stamp=stamp, timeout_s=timeout_s)

    async def base_pose(self, frame: str | None = None, *, timeout_s: float = 2.0) -> BasePose:
        """Return where the base is in `frame` (None: the map). Raises TransformUnavailableError."""
        frame = frame or self.file.frames.map
        found = await self.transform(frame, self.file.frames.base, timeout_s=timeout_s)
        x, y, _ = found.translation
        return BasePose(x, y, found.yaw, frame, found.stamp)

    def last_base_pose(self) -> BasePose | None:
        """Return where the base was last localised on the map, however long ago; None before the first time."""
        found = self.transforms.last(self.file.frames.map, self.file.frames.base)
        if found is None:
            return None
        x, y, _ = found.translation
        return BasePose(x, y, found.yaw, self.file.frames.map, found.stamp)

    async def joint_positions(self, need: Collection[str] = (), *, timeout_s: float = 2.0) -> dict[str, float]:
        """Return the positions [rad or m] of the joints in fresh /joint_states, by name.

        Several nodes may publish a part of the joints each, so this waits for those of `need` (none: the arm's). What
        has not arrived after `timeout_s` (wall time) is missing from the result.

        Raises CallTimeoutError when nothing arrives, BridgeUnavailableError.
        """
        needed, found = set(need) or set(self.file.arm.joints), dict[str, float]()
        topic, deadline = self.file.topics.joint_states, time.monotonic() + timeout_s
        async with self.link.subscribe(topic, "sensor_msgs/msg/JointState", qos=SENSOR, keep=10) as subscription:
            while True:
                try:
                    message = await subscription.next(max(0.0, deadline - time.monotonic()))
                except CallTimeoutError:
                    if found:
                        return found
                    raise
                found |= joint_values(message, "position")
                if needed <= found.keys():
                    return found

    async def receive(self, topic: str, msg_type: str, *, timeout_s: float = 2.0) -> Message:
        """Return the next message of a sensor topic; subscribes only for this.

        Raises CallTimeoutError, BridgeUnavailableError.
        """
        async with self.link.subscribe(topic, msg_type, qos=SENSOR, keep=1) as subscription:
            return await subscription.next(timeout_s)

    async def snapshot(self, camera: Literal["front", "arm"], *, timeout_s: float = 5.0) -> "CameraSnapshot":
        """Return fresh colour and depth of a camera with its pose at that stamp; subscribes only for this.

        Fresh means taken after the call, by the stamps of the robot's odometry. This machine's clock plays no part, so
        an offset between the two does not matter. A camera whose clock is behind the odometry's delays the snapshot by
        as much; one that is ahead may show a scene that much older than the call.

        Raises CameraUnavailableError, TransformUnavailableError.
        """
        # numpy and Pillow are loaded only where there are images.
        from quartet_robot_link.camera import CameraSnapshot, capture

        names = self.file.frames
        since = await self._robot_time()
        facts: Camera = getattr(self.file.cameras, camera)
        frames = await capture(self.link, facts, timeout_s=timeout_s, since=since)
        mounted = await self.transform(names.base, frames.frame, stamp=frames.stamp)
        base = replace(mounted, rigid=mounted.rigid @ self.correction(camera).rigid)
        try:
            located = await self.transform(names.map, names.base, stamp=frames.stamp, timeout_s=0.2)
        except TransformUnavailableError:
            located = None
        return CameraSnapshot(
            camera=camera,
            stamp=frames.stamp,
            frame=frames.frame,
            colour=frames.colour,
            depth=frames.depth,
            intrinsics=frames.intrinsics,
            base_from_camera=base.matrix,
            map_from_base=None if located is None else located.matrix,
            jpeg=frames.jpeg,
        )

    def correction(self, camera: Literal["front", "arm"]) -> Transform:
        """Return the frame of a camera as it is truly mounted in the one that /tf has, as robot.yaml says."""
        facts: Camera = getattr(self.file.cameras, camera)
        turned = rpy_quaternion(*facts.correction.rpy_rad)
        return Transform(facts.frame, facts.frame, Rigid(facts.correction.position_m, turned), 0.0)

    async def _robot_time(self) -> Callable[[], float | None]:
        """Return a function that gives the odometry's newest stamp as of now, or None without odometry.

        The stamp is lowered later when the robot's time jumps back, as in the reset of a simulation.
        """
        odom, base = self.file.frames.odom, self.file.frames.base
        try:
            called = (await self.transform(odom, base, timeout_s=ODOMETRY_WAIT_S)).stamp
        except TransformUnavailableError:
            return lambda: None

        def since() -> float:
            nonlocal called
            called = min(called, self.transforms.newest(odom, base) or called)
            return called

        return since

    async def wait_standstill(self, *, timeout_s: float = 3.0) -> bool:
        """Return True once /odom shows standstill, False when the base still moves after `timeout_s` (wall time).

        Nothing moves while a simulation stands still, whatever it published last. Raises CallTimeoutError when there
        is no odometry, or only one without speeds (NaN), and BridgeUnavailableError.
        """
        deadline, base, known = time.monotonic() + timeout_s, self.file.base, False
        async with self.link.subscribe(
            self.file.topics.odom, "nav_msgs/msg/Odometry", qos=SENSOR, keep=1
        ) as subscription:
            while True:
                message = await subscription.next(max(0.5, deadline - time.monotonic()))
                linear, angular = message["twist"]["twist"]["linear"], message["twist"]["twist"]["angular"]
                x, y, turn = (number(value) for value in (linear["x"], linear["y"], angular["z"]))
                rests = self.clock.stands
                if x is not None and y is not None and turn is not None:
                    known = True
                    rests = rests or (math.hypot(x, y) < base.standstill_m_s and abs(turn) < base.standstill_rad_s)
                if rests:
                    return True
                if time.monotonic() > deadline:
                    if known:
                        return False
                    raise CallTimeoutError(
                        f"the speeds on {self.file.topics.odom} are no numbers (NaN or infinite); check the node that "
                        "publishes the odometry"
                    )

    async def wait_arm_at_rest(self, *, timeout_s: float = 3.0) -> bool:
        """Return True once /joint_states shows that no arm joint moves, False when one still does.

        `timeout_s` is wall time for the arm to come to rest; its joints may be late by JOINTS_LATE_S in any case.
        Nothing moves while a simulation stands still, whatever speeds it told last.
        Several drivers may share the topic, and a speed that a message lacks is derived from positions. Raises
        CallTimeoutError, which says what is missing, when the speeds stay unknown, and BridgeUnavailableError.
        """
        topic, arm, speeds = self.file.topics.joint_states, self.file.arm, JointSpeeds()
        began, known = time.monotonic(), False
        async with self.link.subscribe(topic, "sensor_msgs/msg/JointState", qos=SENSOR, keep=10) as subscription:
            while True:
                deadline = began + (timeout_s if known else max(timeout_s, JOINTS_LATE_S))
                late = time.monotonic() > deadline
                try:
                    if not late:
                        speeds.add(await subscription.next(max(0.1, deadline - time.monotonic())))
                except CallTimeoutError:
                    late = True
                found = speeds.of(arm.joints)
                if found is not None and (max(found) <= arm.at_rest_rad_s or self.clock.stands):
                    return True
                known = known or found is not None
                if late:
                    if known:
                        return False
                    raise CallTimeoutError(_no_speeds(topic, speeds.missing(arm.joints), arm.joints))


def _no_speeds(topic: str, missing: Sequence[str], joints: Sequence[str]) -> str:
    if len(missing) == len(joints):
        return f"no joint of the arm came on {topic} within {JOINTS_LATE_S:g} s; check that the arm's driver runs"
    if missing:
        return f"{topic} has no {', '.join(missing)}; check arm.joints in robot.yaml and the arm's driver"
    return f"{topic} came too seldom to tell the arm's speeds; check the rate of the arm's driver"
