"""Cameras: live, decodable, calibrated, depth aligned with colour."""

import time
from typing import TYPE_CHECKING

import numpy as np

from quartet_cli.doctor.examination import Examination, candidates
from quartet_robot_link import SENSOR, BadFrameError, CallTimeoutError, RobotLinkError
from quartet_robot_link.camera import Frames, capture

if TYPE_CHECKING:
    from quartet_site import Camera

DEPTH_SHARE = 0.2
"""Least share of the picture that must have depth."""
SLOW_MS = 1500.0
IMAGES = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")
INFO = "sensor_msgs/msg/CameraInfo"
STARTS = {
    "colour_topic": "start the camera's driver (with image_transport's compressed plug-in)",
    "depth_topic": "start the camera's driver with depth (realsense2_camera: enable_depth and align_depth.enable true)",
    "info_topic": "start the camera's driver with its calibration",
}


async def check_cameras(exam: Examination) -> None:
    """Check that each camera sends pictures that can be used."""
    cameras = exam.robot.file.cameras
    for name, camera in (("front", cameras.front), ("arm", cameras.arm)):
        fields = [_is_there(exam, name, camera, field) for field in STARTS]
        if all(fields):
            await _look(exam, name, camera)


def _is_there(exam: Examination, name: str, camera: "Camera", field: str) -> bool:
    if exam.graph is None:
        return True
    topic, types = getattr(camera, field), (INFO,) if field == "info_topic" else IMAGES
    kind = exam.graph.topics.get(topic)
    if kind in types:
        return True
    others = [other for wanted in types for other in exam.topics_of(wanted)]
    what = f"the robot has no topic {topic}" if kind is None else f"{topic} carries {kind}, not {' or '.join(types)}"
    exam.wrong(
        "cameras",
        f"{name} camera: {what} (cameras.{name}.{field})",
        f"{STARTS[field]}, or set cameras.{name}.{field} in robot.yaml to what is there: "
        f"{candidates(topic, others) or 'nothing'}",
    )
    return False


async def _look(exam: Examination, name: str, camera: "Camera") -> None:
    link, began = exam.robot.link, time.monotonic()
    try:
        frames = await capture(link, camera, timeout_s=exam.patience_s)
        took_ms = (time.monotonic() - began) * 1e3
        info = await exam.robot.receive(camera.info_topic, INFO, timeout_s=exam.patience_s)
    except BadFrameError as error:
        exam.wrong("cameras", f"{name} camera: {error}", "change that in the driver, or the topics in robot.yaml")
        return
    except RobotLinkError as error:
        if await _loses_cbor(exam, camera):
            exam.wrong(
                "cameras",
                f"{name} camera: {camera.info_topic} comes as JSON and not as CBOR, in which pictures are asked for",
                "upgrade rosbridge_suite (`ros2 pkg xml rosbridge_server -t version`): several versions before 2.5, "
                "2.1 among them, fail to encode arrays as CBOR",
            )
            return
        exam.wrong(
            "cameras",
            f"{name} camera: {error}",
            "read the log of its driver; if pictures come but do not match, let it align and synchronise depth "
            "(realsense2_camera: align_depth.enable and enable_sync true); rosbridge loses pictures above its "
            "max_message_size, which is 1 MB unless it is set: 10000000 will do",
        )
        return
    faults = faults_of(name, camera, frames, str(info["header"]["frame_id"]))
    for what, remedy in faults:
        exam.wrong("cameras", f"{name} camera: {what}", remedy)
    if not faults:
        height, width = frames.colour.shape[:2]
        text = f"{name} camera: {width}x{height}, depth aligned"
        if frames.straightened:
            text += "; the images are not rectified, so their distortion is removed here"
        if took_ms > SLOW_MS:
            exam.warn(
                "cameras",
                f"{text}, but a look takes {took_ms:.0f} ms",
                "let the camera run at 15 Hz or more, smaller, or with compressed depth; check the network's bandwidth",
                latency_ms=took_ms,
            )
        else:
            exam.ok("cameras", text, latency_ms=took_ms)


async def _loses_cbor(exam: Examination, camera: "Camera") -> bool:
    """Return whether the calibration, which has arrays, comes as JSON and not as CBOR."""
    try:
        await exam.robot.receive(camera.info_topic, INFO, timeout_s=exam.patience_s)
    except RobotLinkError:
        return False
    topic, link = camera.info_topic, exam.robot.link
    async with link.subscribe(topic, INFO, qos=SENSOR, compression="cbor", keep=1) as subscription:
        try:
            await subscription.next(exam.patience_s)
        except CallTimeoutError:
            return True
    return False


def faults_of(name: str, camera: "Camera", frames: Frames, info_frame: str) -> list[tuple[str, str]]:
    """Return what is wrong with a matching set of colour, depth and calibration, each with its remedy."""
    found: list[tuple[str, str]] = []
    colour, depth, k = frames.colour.shape[:2], frames.depth.shape[:2], frames.intrinsics
    if colour != depth:
        found.append(
            (
                f"depth is {depth[1]}x{depth[0]}, colour {colour[1]}x{colour[0]}: depth is not aligned with colour",
                f"let the driver align depth (realsense2_camera: align_depth.enable true) and set "
                f"cameras.{name}.depth_topic in robot.yaml to the aligned topic",
            )
        )
    elif np.count_nonzero(frames.depth) < DEPTH_SHARE * frames.depth.size:
        share = 100 * np.count_nonzero(frames.depth) / frames.depth.size
        found.append(
            (
                f"only {share:.0f} % of the picture has depth",
                "check whether the lens is covered or too close to something, and the depth sensor's laser and range",
            )
        )
    if (k.height, k.width) != colour:
        found.append(
            (
                f"the calibration is for {k.width}x{k.height}, the picture is {colour[1]}x{colour[0]}",
                f"set cameras.{name}.info_topic in robot.yaml to the one beside {camera.colour_topic}",
            )
        )
    info_frame = info_frame.lstrip("/")
    if info_frame != frames.colour_frame:
        found.append(
            (
                f"its pictures are in frame '{frames.colour_frame}', its calibration is in '{info_frame}': "
                f"{camera.info_topic} belongs to another camera",
                f"set cameras.{name}.info_topic in robot.yaml to the one beside {camera.colour_topic}",
            )
        )
    if frames.colour_frame != camera.frame:
        found.append(
            (
                f"its pictures are in frame '{frames.colour_frame}', robot.yaml says '{camera.frame}'",
                f"set cameras.{name}.frame in robot.yaml to '{frames.colour_frame}'",
            )
        )
    return found
