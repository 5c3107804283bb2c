"""Every topic that the robot publishes, received once; the process checks each message against its type."""

from __future__ import annotations

import base64
import io
import math
from typing import Any

import numpy as np
import pytest
from PIL import Image


async def test_every_topic_comes(sim: Any, robot: Any) -> None:
    listed = (await robot.call("/rosapi/topics"))["values"]
    publishers = {
        topic: (await robot.call("/rosapi/publishers", {"topic": topic}))["values"]["publishers"]
        for topic in listed["topics"]
    }
    published = [topic for topic, nodes in publishers.items() if nodes]
    assert len(published) >= 16
    for topic in published:
        assert await robot.once(topic), topic
    assert "FieldError" not in sim.log


async def test_transforms_make_one_tree(robot: Any) -> None:
    moving = (await robot.once("/tf"))["transforms"]
    fixed = (await robot.once("/tf_static_merged"))["transforms"]
    parents = {item["child_frame_id"]: item["header"]["frame_id"] for item in [*moving, *fixed]}
    assert len(parents) == len(moving) + len(fixed)
    for frame in (
        "arm_tool0",
        "gripper_tip",
        "laser",
        "front_camera_color_optical_frame",
        "arm_camera_color_optical_frame",
    ):
        seen = [frame]
        while seen[-1] in parents:
            seen.append(parents[seen[-1]])
            assert len(seen) < 20
        assert seen[-3:] == ["base_footprint", "odom", "map"]
    for item in [*moving, *fixed]:
        turn = item["transform"]["rotation"]
        assert math.hypot(*turn.values()) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("camera", ["front", "arm"])
async def test_pictures_fit_their_camera_info(robot: Any, camera: str) -> None:
    info = await robot.once(f"/{camera}_camera/color/camera_info")
    colour = await robot.once(f"/{camera}_camera/color/image_raw/compressed")
    raw = await robot.once(f"/{camera}_camera/color/image_raw")
    depth = await robot.once(f"/{camera}_camera/aligned_depth_to_color/image_raw")
    size = (info["width"], info["height"])
    with Image.open(io.BytesIO(base64.b64decode(colour["data"]))) as image:
        assert (image.format, image.size, image.mode) == ("JPEG", size, "RGB")
        compressed = np.asarray(image, np.float32)
    assert (raw["encoding"], raw["step"]) == ("rgb8", 3 * size[0])
    pixels = np.frombuffer(base64.b64decode(raw["data"]), np.uint8).reshape(size[1], size[0], 3)
    assert np.abs(compressed - pixels).mean() < 4.0
    assert (depth["encoding"], depth["step"], depth["is_bigendian"]) == ("16UC1", 2 * size[0], 0)
    values = np.frombuffer(base64.b64decode(depth["data"]), "<u2").reshape(size[1], size[0])
    assert 100 < np.median(values[values > 0]) < 10_000
    assert info["header"] == colour["header"] == depth["header"] == raw["header"]
    assert info["k"][0] > 100
    assert info["k"][2] == pytest.approx(size[0] / 2, abs=1.0)


async def test_the_same_world_gives_the_same_picture(sim: Any, robot: Any) -> None:
    topic = "/front_camera/color/image_raw/compressed"
    first = await robot.once(topic)
    await robot.once("/arm_camera/color/image_raw/compressed")
    sim.post("/reset", seed=0)
    again = await robot.once(topic)
    sim.post("/reset", seed=1)
    other = await robot.once(topic)
    assert first["data"] == again["data"]
    assert first["data"] != other["data"]


async def test_the_laser_sees_the_room(robot: Any) -> None:
    scan = await robot.once("/scan")
    count = round((scan["angle_max"] - scan["angle_min"]) / scan["angle_increment"]) + 1
    assert abs(len(scan["ranges"]) - count) <= 1
    ranges = [value for value in scan["ranges"] if value is not None]
    assert len(ranges) > count / 2
    assert scan["range_min"] <= min(ranges)
    assert max(ranges) <= scan["range_max"] + 0.1


async def test_the_map_has_walls_and_floor(robot: Any) -> None:
    grid = await robot.once("/map")
    cells = np.array(grid["data"]).reshape(grid["info"]["height"], grid["info"]["width"])
    assert {0, 100} <= set(np.unique(cells))
    pose = (await robot.once("/amcl_pose"))["pose"]["pose"]["position"]
    origin, size = grid["info"]["origin"]["position"], grid["info"]["resolution"]
    row, column = int((pose["y"] - origin["y"]) / size), int((pose["x"] - origin["x"]) / size)
    assert cells[row, column] == 0
