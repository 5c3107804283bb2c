"""RGB-D cameras: rendered only while somebody subscribes; colour and info of one frame share their stamp.

That of depth is another one, and while the world moves a picture arrives later than it was taken: sensors/timing.py.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from PIL import Image

from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.ros import messages
from quartet_simulation.ros.graph import Graph, Published
from quartet_simulation.ros.types import Message
from quartet_simulation.ros.world import World
from quartet_simulation.sensors.levels import JPEG_QUALITY
from quartet_simulation.sensors.timing import Times

MOVING_PERIOD_S = 0.2
"""Wall time between two frames of a camera while the world moves."""
STANDING_PERIOD_S = 0.5
"""Wall time between repetitions of the frame of a standing world, which is rendered and encoded only once."""


@dataclass(frozen=True)
class Frame:
    """A picture with its time [s of the world] and what is needed to publish it."""

    rgb: np.ndarray
    depth: np.ndarray
    info: dict[str, Any]
    time: float
    jpeg_quality: int
    times: Times


@dataclass(frozen=True)
class Arriving:
    """A picture of a world that moves: when it arrives [s of the world], in which episode, and to which topics."""

    time: float
    revision: int
    raw: Frame
    topics: set[str]


@dataclass
class Camera:
    """Topics of one camera and its last frame; the frame belongs to the simulation's thread."""

    name: str
    colour: str
    compressed: str
    depth: str
    info: str
    node: str
    key: tuple[int, float] | None = None
    sent_wall: float = float("-inf")
    raw: Frame | None = None
    ready: dict[str, Published] = field(default_factory=dict)
    arriving: list[Arriving] = field(default_factory=list)
    requested: set[str] = field(default_factory=set)

    @property
    def topics(self) -> dict[str, str]:
        """Type of each topic."""
        return {
            self.colour: "sensor_msgs/Image",
            self.compressed: "sensor_msgs/CompressedImage",
            self.depth: "sensor_msgs/Image",
            self.info: "sensor_msgs/CameraInfo",
        }


def camera_topics() -> list[Camera]:
    """Return the topics, named as by realsense2_camera and image_transport."""
    return [
        Camera(
            name,
            f"/{name}_camera/color/image_raw",
            f"/{name}_camera/color/image_raw/compressed",
            f"/{name}_camera/aligned_depth_to_color/image_raw",
            f"/{name}_camera/color/camera_info",
            f"/{name}_camera",
        )
        for name in ("front", "arm")
    ]


class Cameras:
    """Renders in the simulation's thread, encodes in a worker, publishes in the event loop."""

    def __init__(self, world: World[ArmSimulation], graph: Graph, post: Callable[[Callable[[], None]], None]) -> None:
        self._world, self._graph, self._post = world, graph, post
        self._cameras = camera_topics()
        self._by_topic = {topic: camera for camera in self._cameras for topic in camera.topics}
        self._worker = ThreadPoolExecutor(1, "image-encoder")
        for camera in self._cameras:
            for topic, type_name in camera.topics.items():
                graph.advertise(topic, type_name, camera.node)
        graph.on_subscribe.append(self._subscribed)

    def warm_up(self, sim: ArmSimulation) -> None:
        """Render once: the first picture takes a third of a second, in which no stop would be heard.

        Raises SimulationError when there is no off-screen renderer.
        """
        for camera in self._cameras:
            sim.render(camera.name)

    def close(self) -> None:
        """End the encoding threads."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _subscribed(self, topic: str) -> None:
        camera = self._by_topic.get(topic)
        if camera is not None:
            camera.requested.add(topic)
            self._world.poke()

    def tick(self, sim: ArmSimulation, moving: bool) -> float | None:
        """Render what is due. Runs in the simulation's thread."""
        demand, wanted, rendered = self._graph.demand, False, False
        for camera in self._cameras:
            self._deliver(camera, sim.time, moving)
            topics = {topic for topic in camera.topics if topic in demand}
            if not topics:
                camera.requested.clear()
                continue
            wanted = True
            now = time.monotonic()
            key = (self._world.revision, sim.time)
            period = MOVING_PERIOD_S if moving else STANDING_PERIOD_S
            changed = camera.key != key and not moving
            due = camera.requested & topics
            if changed or now - camera.sent_wall >= period - 1e-3 or (due and camera.key != key):
                # A new picture goes to all of its topics, so that a client finds all with one stamp.
                due = topics
            if due and rendered:
                # One picture between two looks at the commands: a stop does not wait for two.
                return 0.0
            if due:
                rendered = self._send(camera, due, sim, key, now, moving)
        return STANDING_PERIOD_S if wanted else None

    def flush(self, sim: ArmSimulation) -> None:
        """Do nothing: a frame is rendered only when the world stands still or the period is over."""

    def _deliver(self, camera: Camera, time: float, moving: bool) -> None:
        """Publish what has arrived by now: everything, once the world stands still."""
        known = [item for item in camera.arriving if item.revision == self._world.revision]
        camera.arriving = [item for item in known if item.time > time and moving]
        for item in known:
            if item.time <= time or not moving:
                self._worker.submit(self._encode, camera, item.raw, {}, item.topics)

    def _send(
        self, camera: Camera, topics: set[str], sim: ArmSimulation, key: tuple[int, float], now: float, moving: bool
    ) -> bool:
        """Publish these topics, later while the world moves; return whether the camera had to be rendered for it."""
        camera.requested -= topics
        camera.sent_wall = now
        raw = camera.raw if camera.key == key else None
        stale = raw is None
        if raw is None:
            rgb, depth = sim.render(camera.name)
            times = sim.times_of(camera.name)
            raw = Frame(rgb, depth, sim.camera_info(camera.name), sim.time, sim.jpeg_quality, times)
            camera.key, camera.raw, camera.ready = key, raw, {}
        if moving and raw.times.arrives:
            arrives = raw.time + raw.times.arrives
            camera.arriving.append(Arriving(arrives, self._world.revision, raw, topics))
        else:
            self._worker.submit(self._encode, camera, raw, camera.ready, topics)
        return stale

    def _encode(
        self,
        camera: Camera,
        raw: Frame,
        ready: dict[str, Published],
        topics: set[str],
    ) -> None:
        info, at = raw.info, raw.time + raw.times.colour
        measured_at, stamp_ns = raw.time + raw.times.depth, round(raw.time * 1e9)
        for topic in topics - ready.keys():
            type_name = self._graph.topics[topic].type_name
            message: Message
            if topic == camera.colour:
                message = messages.colour_image(at, info["frame"], raw.rgb)
            elif topic == camera.compressed:
                message = messages.compressed_image(at, info["frame"], jpeg(raw.rgb, raw.jpeg_quality))
            elif topic == camera.depth:
                message = messages.depth_image(measured_at, info["frame"], raw.depth)
            else:
                message = messages.camera_info(at, info)
            ready[topic] = Published(topic, type_name, message, stamp_ns)
        self._post(lambda: self._publish([ready[topic] for topic in topics]))

    def _publish(self, batch: list[Published]) -> None:
        for published in batch:
            topic = self._graph.topics.get(published.topic)
            if topic is not None:
                self._graph.forward(topic, published)


def jpeg(rgb: np.ndarray, quality: int = JPEG_QUALITY) -> bytes:
    """JPEG of an RGB image (uint8, HxWx3)."""
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "jpeg", quality=quality)
    return buffer.getvalue()
