"""One robot as the servers use it: its file, the link, its clock, its frames, its cameras."""

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from quartet_robot_link.battery import Battery
from quartet_robot_link.bridge import BridgeLink
from quartet_robot_link.clock import RosClock
from quartet_robot_link.errors import CallTimeout, TransformUnavailable
from quartet_robot_link.geometry import Transform
from quartet_robot_link.guard import GuardState
from quartet_robot_link.link import SENSOR, Message, RobotLink
from quartet_robot_link.motion import Motion
from quartet_robot_link.transforms import TransformBuffer
from quartet_site import RobotFile

if TYPE_CHECKING:
    from quartet_robot_link.camera import CameraSnapshot

STANDSTILL_M_S = 0.01
STANDSTILL_RAD_S = 0.01
"""Below both speeds of /odom the base stands still."""
ODOMETRY_WAIT_S = 1.0
"""Wall time that the first look waits for /tf, which this robot may lack."""
ARM_AT_REST_RAD_S = 0.01
"""Below this speed of every joint of the arm it is at rest."""


@dataclass(frozen=True)
class BasePose:
    """Pose of the base on the floor: x, y [m], yaw [rad] in `frame`, at ROS time `stamp`."""

    x: float
    y: float
    yaw: float
    frame: str
    stamp: float


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
    async def open(cls, file: RobotFile, *, url: str | None = None, wait_s: float = 0.0) -> "Robot":
        """Connect to `url` (the robot file's when None). Returns after `wait_s` also without a connection."""
        link = await BridgeLink.open(url or file.bridge.url, call_timeout_s=file.bridge.call_timeout_s, wait_s=wait_s)
        return cls(file, link)

    async def close(self) -> None:
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
        """Frame `source` in frame `target`. Raises TransformUnavailable."""
        return await self.transforms.lookup(target, source, stamp=stamp, timeout_s=timeout_s)

    async def base_pose(self, frame: str | None = None, *, timeout_s: float = 2.0) -> BasePose:
        """Where the base is in `frame` (None: the map). Raises TransformUnavailable."""
        frame = frame or self.file.frames.map
        found = await self.transform(frame, self.file.frames.base, timeout_s=timeout_s)
        x, y, _ = found.translation
        return BasePose(x, y, found.yaw, frame, found.stamp)

    def last_base_pose(self) -> BasePose | None:
        """Where the base was last seen on the map, however long ago; None before it was."""
        found = self.transforms.last(self.file.frames.map, self.file.frames.base)
        if found is None:
            return None
        x, y, _ = found.translation
        return BasePose(x, y, found.yaw, self.file.frames.map, found.stamp)

    async def joint_positions(self, need: Collection[str] = (), *, timeout_s: float = 2.0) -> dict[str, float]:
        """Position [rad or m] of the joints in fresh /joint_states: until those of `need` (none: the arm's) have come,
        since several nodes may publish a part of them each. What has not come by then is missing from the answer.

        Raises CallTimeout when nothing comes, BridgeUnavailable.
        """
        needed, found = set(need) or set(self.file.arm.joints), dict[str, float]()
        topic, deadline = self.file.topics.joint_states, time.monotonic() + timeout_s
        async with self.link.subscribe(topic, "sensor_msgs/msg/JointState", qos=SENSOR, keep=10) as subscription:
            while True:
                try:
                    message = await subscription.next(max(0.0, deadline - time.monotonic()))
                except CallTimeout:
                    if found:
                        return found
                    raise
                found |= dict(zip(message["name"], map(float, message["position"]), strict=True))
                if needed <= found.keys():
                    return found

    async def receive(self, topic: str, msg_type: str, *, timeout_s: float = 2.0) -> Message:
        """The next message of a sensor topic, subscribed for this. Raises CallTimeout, BridgeUnavailable."""
        async with self.link.subscribe(topic, msg_type, qos=SENSOR, keep=1) as subscription:
            return await subscription.next(timeout_s)

    async def snapshot(self, camera: Literal["front", "arm"], *, timeout_s: float = 5.0) -> "CameraSnapshot":
        """Fresh colour and depth of a camera with the pose it had at that stamp; subscribes only for this.

        Fresh: taken after the call, as the robot's own odometry tells the time. No clock of this machine is in it, so
        that an offset between the two matters not. A camera whose clock is behind the odometry's makes a look wait for
        as long as it is behind; one that is ahead may show a scene that much older than the call.
        Raises CameraUnavailable, TransformUnavailable.
        """
        # numpy and Pillow are loaded only where there are images.
        from quartet_robot_link.camera import CameraSnapshot, capture

        names = self.file.frames
        since = await self._robot_time()
        frames = await capture(self.link, getattr(self.file.cameras, camera), timeout_s=timeout_s, since=since)
        base = await self.transform(names.base, frames.frame, stamp=frames.stamp)
        try:
            located = await self.transform(names.map, names.base, stamp=frames.stamp, timeout_s=0.2)
        except TransformUnavailable:
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

    async def _robot_time(self) -> Callable[[], float | None]:
        """The newest stamp of the odometry, which later goes back when the robot's time does, as in the reset of a
        simulation; None where no odometry comes."""
        odom, base = self.file.frames.odom, self.file.frames.base
        try:
            called = (await self.transform(odom, base, timeout_s=ODOMETRY_WAIT_S)).stamp
        except TransformUnavailable:
            return lambda: None

        def since() -> float:
            nonlocal called
            called = min(called, self.transforms.newest(odom, base) or called)
            return called

        return since

    async def wait_standstill(self, *, timeout_s: float = 3.0) -> bool:
        """True once /odom shows that the base stands still; False when it still moves after `timeout_s` (wall time).

        Raises CallTimeout when there is no odometry, BridgeUnavailable.
        """
        deadline = time.monotonic() + timeout_s
        async with self.link.subscribe(
            self.file.topics.odom, "nav_msgs/msg/Odometry", qos=SENSOR, keep=1
        ) as subscription:
            while True:
                message = await subscription.next(max(0.5, deadline - time.monotonic()))
                twist = message["twist"]["twist"]
                speed = math.hypot(twist["linear"]["x"], twist["linear"]["y"])
                if speed < STANDSTILL_M_S and abs(twist["angular"]["z"]) < STANDSTILL_RAD_S:
                    return True
                if time.monotonic() > deadline:
                    return False

    async def wait_arm_at_rest(self, *, timeout_s: float = 3.0) -> bool | None:
        """True once /joint_states shows that no arm joint moves, False when one still does after `timeout_s` (wall
        time), None where it does not say.

        Several drivers may share the topic: a message without speeds of all arm joints tells nothing. Raises
        BridgeUnavailable.
        """
        deadline, seen_moving = time.monotonic() + timeout_s, False
        topic, arm = self.file.topics.joint_states, set(self.file.arm.joints)
        async with self.link.subscribe(topic, "sensor_msgs/msg/JointState", qos=SENSOR, keep=1) as subscription:
            while True:
                try:
                    message = await subscription.next(max(0.1, deadline - time.monotonic()))
                except CallTimeout:
                    return False if seen_moving else None
                velocities = message.get("velocity")
                pairs = zip(message["name"], [] if velocities is None else velocities, strict=False)
                speeds = [abs(float(speed)) for name, speed in pairs if name in arm]
                if len(speeds) == len(arm):
                    if max(speeds) <= ARM_AT_REST_RAD_S:
                        return True
                    seen_moving = True
                if time.monotonic() > deadline:
                    return False if seen_moving else None
