"""Transform buffer over /tf, /tf_static and the static transforms that quartet_bringup merges."""

import asyncio
import bisect
import math
import time
from dataclasses import dataclass, field
from functools import partial

from quartet_process import tracing
from quartet_robot_link._clock import RosClock, stamp_of
from quartet_robot_link.errors import TransformStaleError, TransformUnavailableError
from quartet_robot_link.geometry import Rigid, Transform, slerp, unit
from quartet_robot_link.link import MERGED_SUFFIX, STATIC_TRANSFORMS, Message, QoS, RobotLink, Subscription

HISTORY_S = 10.0
"""ROS time that is kept, tf2's default."""
MAX_SAMPLES = 4000
MAX_FRAMES = 2000
"""Frames kept, more than several robots have: a publisher that invents frames must not fill the memory."""
MAX_AGE_S = 5.0
"""A moving frame is stale if it was not received for this long (wall time), or if its newest stamp is this far before
the robot's clock."""
EXTRAPOLATE_S = 0.1
"""A stamp may lie this far beyond what was received [s of ROS time]."""
UNHEARD_WAIT_S = 0.3
"""Wall time for a frame that was never received: messages that have arrived may still be queued on a busy machine."""
TF_QOS = QoS(depth=100)


@dataclass(frozen=True)
class _Sample:
    stamp: float
    rigid: Rigid


def _stamp(sample: _Sample) -> float:
    return sample.stamp


@dataclass
class _Edge:
    """One frame in its parent, over time."""

    parent: str
    static: bool
    samples: list[_Sample] = field(default_factory=list[_Sample])
    """By stamp."""
    received_at: float = 0.0

    def add(self, sample: _Sample) -> None:
        """Put a sample where its stamp belongs: two publishers of one edge may be behind each other."""
        self.received_at = time.monotonic()
        if self.static or (self.samples and sample.stamp < self.samples[-1].stamp - HISTORY_S):
            # A stamp before all history means that time jumped back.
            self.samples.clear()
        index = bisect.bisect_left(self.samples, sample.stamp, key=_stamp)
        same = index < len(self.samples) and self.samples[index].stamp == sample.stamp
        self.samples[index : index + same] = [sample]
        oldest = bisect.bisect_left(self.samples, self.samples[-1].stamp - HISTORY_S, key=_stamp)
        del self.samples[: max(oldest, len(self.samples) - MAX_SAMPLES)]

    def forget_after(self, stamp: float) -> None:
        del self.samples[bisect.bisect_right(self.samples, stamp, key=_stamp) :]

    def covers(self, stamp: float) -> bool:
        return self.static or stamp <= self.samples[-1].stamp + EXTRAPOLATE_S

    def at(self, stamp: float | None) -> tuple[Rigid, float]:
        """Return the child in its parent and the stamp of that; None means the newest."""
        newest = self.samples[-1]
        if self.static or stamp is None or stamp >= newest.stamp:
            return newest.rigid, newest.stamp
        index = bisect.bisect_left(self.samples, stamp, key=_stamp)
        after = self.samples[index]
        if index == 0 or after.stamp == stamp:
            return after.rigid, after.stamp
        before = self.samples[index - 1]
        f = (stamp - before.stamp) / (after.stamp - before.stamp)
        (ax, ay, az), (bx, by, bz) = before.rigid.translation, after.rigid.translation
        translation = (ax + f * (bx - ax), ay + f * (by - ay), az + f * (bz - az))
        return Rigid(translation, slerp(before.rigid.rotation, after.rigid.rotation, f)), stamp


class TransformBuffer:
    """The transforms between all frames of the robot, over the last 10 s of ROS time.

    It subscribes at the first look-up, so that a server which needs no transforms does not pay for them.
    """

    def __init__(self, link: RobotLink, clock: RosClock, *, tf: str = "/tf", tf_static: str = "/tf_static") -> None:
        self._link, self._clock = link, clock
        self._topics = (tf, tf_static)
        self._edges: dict[str, _Edge] = {}
        self._changed = asyncio.Event()
        self._subscriptions: list[Subscription] = []
        self._jumps = clock.jumps
        self._heard_at: float | None = None
        """When the first transform came [monotonic s]."""

    def start(self) -> None:
        """Subscribe to /tf, /tf_static and the merged static transforms; a second call does nothing."""
        if self._subscriptions:
            return
        kind, (tf, tf_static) = "tf2_msgs/msg/TFMessage", self._topics
        wanted = ((tf, TF_QOS, False), (tf_static, STATIC_TRANSFORMS, True))
        wanted += ((f"{tf_static}{MERGED_SUFFIX}", STATIC_TRANSFORMS, True),)
        self._subscriptions = [
            self._link.subscribe(topic, kind, qos=qos, keep=1, on_message=partial(self.add, static=static))
            for topic, qos, static in wanted
        ]

    def close(self) -> None:
        """End the subscriptions."""
        for subscription in self._subscriptions:
            subscription.close()
        self._subscriptions = []

    def add(self, message: Message, *, static: bool) -> None:
        """Take a tf2_msgs/msg/TFMessage; the error of its first bad transform is raised after the others were taken."""
        self._heard_at = self._heard_at or time.monotonic()
        problem: Exception | None = None
        for item in message["transforms"]:
            try:
                self._take(item, static)
            except Exception as error:
                problem = problem or error
        self._changed.set()
        if problem is not None:
            raise problem

    def _forget_the_future(self) -> None:
        """After the robot's clock jumped back, drop what is stamped later than it is now."""
        if self._jumps == self._clock.jumps:
            return
        self._jumps = self._clock.jumps
        for child, edge in list(self._edges.items()):
            if not edge.static:
                edge.forget_after(self._clock.now())
                if not edge.samples:
                    del self._edges[child]

    def _take(self, item: Message, static: bool) -> None:
        self._forget_the_future()
        child, parent = _bare(item["child_frame_id"]), _bare(item["header"]["frame_id"])
        t, r = item["transform"]["translation"], item["transform"]["rotation"]
        # First all that may be wrong with it: an edge without a sample could not be looked up.
        rotation = _number(r, "x"), _number(r, "y"), _number(r, "z"), _number(r, "w")
        rigid = Rigid((_number(t, "x"), _number(t, "y"), _number(t, "z")), unit(rotation))
        sample = _Sample(stamp_of(item), rigid)
        edge = self._edges.get(child)
        if edge is None or edge.parent != parent or edge.static != static:
            if edge is None and len(self._edges) >= MAX_FRAMES:
                raise ValueError(f"more than {MAX_FRAMES} frames; '{child[:100]}' is not taken")
            edge = self._edges[child] = _Edge(parent, static)
        edge.add(sample)

    async def lookup(
        self,
        target: str,
        source: str,
        *,
        stamp: float | None = None,
        timeout_s: float = 2.0,
        max_age_s: float = MAX_AGE_S,
    ) -> Transform:
        """Return `source` in `target`, at a ROS time or (None) with the newest data of every frame.

        Waits up to `timeout_s` (wall time) for data, but only briefly for a frame that was never received although
        transforms have arrived for that long. Raises TransformUnavailableError, which names the missing link.
        """
        self.start()
        await self._clock.measure()
        with tracing.step("rosbridge transforms"):
            return await self._wait(target, source, stamp, timeout_s, max_age_s)

    async def _wait(
        self, target: str, source: str, stamp: float | None, timeout_s: float, max_age_s: float
    ) -> Transform:
        began = time.monotonic()
        deadline = began + timeout_s
        while True:
            self._changed.clear()
            try:
                return self._lookup(_bare(target), _bare(source), stamp, max_age_s)
            except TransformUnavailableError:
                if self._heard_at is not None and not {_bare(target), _bare(source)} <= set(self.frames()):
                    deadline = min(deadline, max(self._heard_at + timeout_s, began + UNHEARD_WAIT_S))
                left = deadline - time.monotonic()
                if left <= 0:
                    raise
                try:
                    await asyncio.wait_for(self._changed.wait(), left)
                except TimeoutError:
                    continue

    def newest(self, target: str, source: str) -> float | None:
        """Return the stamp [s, ROS time] of the newest data between two frames; None when they are not connected."""
        self.start()
        try:
            return self._lookup(_bare(target), _bare(source), None, MAX_AGE_S).stamp
        except TransformUnavailableError:
            return None

    def last(self, target: str, source: str) -> Transform | None:
        """Return `source` in `target` as last received, however long ago; None when they are not connected."""
        self.start()
        try:
            return self._lookup(_bare(target), _bare(source), None, math.inf)
        except TransformUnavailableError:
            return None

    def _lookup(self, target: str, source: str, stamp: float | None, max_age_s: float) -> Transform:
        self._forget_the_future()
        up, down = self._chain(source), self._chain(target)
        common = next((frame for frame in up if frame in down), None)
        if common is None:
            raise TransformUnavailableError(
                f"no transform from '{source}' to '{target}': '{source}' is connected up to '{up[-1]}', "
                f"'{target}' up to '{down[-1]}', and nothing joins '{up[-1]}' and '{down[-1]}'; "
                f"known frames: {', '.join(self.frames()) or 'none'}"
            )
        to_common, stamp_up = self._climb(up[: up.index(common)], stamp, max_age_s)
        from_common, stamp_down = self._climb(down[: down.index(common)], stamp, max_age_s)
        stamps = [s for s in (stamp_up, stamp_down) if s is not None]
        when = stamp if stamp is not None else min(stamps, default=self._clock.now())
        return Transform(target, source, from_common.inverse() @ to_common, when)

    def _chain(self, frame: str) -> list[str]:
        """Return `frame` and its ancestors."""
        chain = [frame]
        while (edge := self._edges.get(chain[-1])) is not None and edge.parent not in chain:
            chain.append(edge.parent)
        return chain

    def _climb(self, frames: list[str], stamp: float | None, max_age_s: float) -> tuple[Rigid, float | None]:
        """Return the product of the edges from the first frame to the last one's parent, and their oldest stamp."""
        result = Rigid()
        oldest: float | None = None
        now = self._clock.robot_time()
        for frame in frames:
            edge = self._edges[frame]
            age = time.monotonic() - edge.received_at
            if not edge.static and age > max_age_s:
                raise TransformStaleError(
                    f"'{edge.parent}' -> '{frame}' was last received {age:.1f} s ago (limit {max_age_s:g} s); "
                    "check that its publisher and the bridge run"
                )
            behind = 0.0 if now is None or edge.static else now - edge.samples[-1].stamp
            if stamp is None and behind > max_age_s:
                raise TransformStaleError(
                    f"the newest stamp of '{edge.parent}' -> '{frame}' is {behind:.1f} s before the robot's clock "
                    f"(limit {max_age_s:g} s); check that its publisher runs, and the clock of its computer (chrony)"
                )
            if stamp is not None and not edge.covers(stamp):
                raise TransformUnavailableError(
                    f"'{edge.parent}' -> '{frame}' is known up to {edge.samples[-1].stamp:.3f}, asked for {stamp:.3f}"
                )
            if stamp is not None and not edge.static and stamp < edge.samples[0].stamp - EXTRAPOLATE_S:
                raise TransformUnavailableError(
                    f"'{edge.parent}' -> '{frame}' is known from {edge.samples[0].stamp:.3f}, asked for {stamp:.3f}"
                )
            step, when = edge.at(stamp)
            result = step @ result
            if not edge.static:
                oldest = when if oldest is None else min(oldest, when)
        return result, oldest

    def frames(self) -> list[str]:
        """Return the names of all frames received so far, sorted."""
        return sorted({*self._edges, *(edge.parent for edge in self._edges.values())})


def _number(vector: Message, axis: str) -> float:
    value = float(vector[axis])
    if not math.isfinite(value):
        raise ValueError(f"{axis} is {value}")
    return value


def _bare(frame: str) -> str:
    """Return the name without a leading slash, which tf2 does not allow."""
    return frame.removeprefix("/")
