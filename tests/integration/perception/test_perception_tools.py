"""The tools over MCP against the simulated studio, its scoring interface as the judge."""

import asyncio
import base64
import functools
import io
import math
import threading
from typing import Any

import pytest
from PIL import Image

from quartet_perception import plan_grasp
from quartet_perception.segmenters.colour_shape import ColourShapeSegmenter

COUNTER = 0.90


async def approach(eyes, x, y, yaw):
    """Drive the base to a pose of the map, as a navigation server would."""
    half = yaw / 2
    pose = {
        "position": {"x": x, "y": y, "z": 0.0},
        "orientation": {"x": 0.0, "y": 0.0, "z": math.sin(half), "w": math.cos(half)},
    }
    motion = eyes.server.robot.start_motion(
        "/navigate_to_pose",
        "nav2_msgs/action/NavigateToPose",
        {"pose": {"header": {"frame_id": "map"}, "pose": pose}, "behavior_tree": ""},
        limit_s=60,
    )
    await motion.outcome()


async def test_detect_objects_says_where_things_are(eyes, studio):
    studio.reset(0)
    result = await eyes.call("detect_objects")
    assert result["ok"], result
    seen = {d["label"]: d for d in result["detections"]}
    assert {"counter", "red coke can", "red cup"} <= set(seen)
    x, y, _ = studio.position_in_base("red coke can")
    can = seen["red coke can"]
    assert math.dist(can["position_base"][:2], (x, y)) < 0.01
    assert can["distance_m"] == pytest.approx(math.hypot(x, y), abs=0.01)
    assert can["bearing_rad"] == pytest.approx(math.atan2(y, x), abs=0.01)
    truth = studio.truth()["objects"]["red coke can"]["position"]
    assert math.dist(can["position_map"][:2], truth[:2]) < 0.08  # localisation has its own error
    counter = seen["counter"]
    assert counter["near_point_base"][2] == pytest.approx(COUNTER, abs=0.01)
    assert counter["distance_m"] < math.hypot(*counter["position_base"][:2])


async def test_what_is_not_there_is_not_found(eyes, studio):
    studio.reset(0, "absent:red coke can")
    detected = await eyes.call("detect_objects", names=["coke can"], camera="both")
    assert detected["ok"]
    assert detected["detections"] == []
    segmented = await eyes.call("segment_objects", prompt="coke can", camera="front")
    assert (segmented["ok"], segmented["status"], segmented["outputs"]) == (True, "NO_OBJECTS_FOUND", [])
    grasp = await eyes.call("get_topdown_grasp_pose", object_name="coke can", camera="front")
    assert (grasp["ok"], grasp["error_code"]) == (False, "NO_OBJECTS_FOUND")
    assert "grasp_pose" not in grasp


@pytest.mark.parametrize("light", ["normal", "dim", "warm", "cool"])
async def test_the_right_red_thing_in_any_light(eyes, studio, light):
    studio.reset(0, light)
    for name in ("red coke can", "red cup"):
        result = await eyes.call("segment_objects", prompt=name, camera="front")
        assert [o["label"] for o in result["outputs"]] == [name]
        x, y, _ = studio.position_in_base(name)
        assert math.dist(result["outputs"][0]["position_base"][:2], (x, y)) < 0.012


async def test_segmenting_shows_what_it_found(eyes, studio):
    studio.reset(0)
    result = await eyes.call_full("segment_objects", prompt="the coke", camera="front", timeout=20)
    assert result.structured_content["status"] == "SUCCESS"
    (image,) = [c for c in result.content if c.type == "image"]
    assert image.mime_type == "image/jpeg"
    assert len(image.data) * 3 / 4 <= 60_100


async def test_grasp_pose_near_the_truth_and_steady(eyes, studio):
    studio.reset(0)
    for name, x, y in (("red coke can", 0.78, 0.1), ("green tea box", 0.80, -0.2), ("purple toy block", 0.8, 0.28)):
        studio.place(name, x, y, 0.0, yaw=0.5)
        first = await eyes.call("get_topdown_grasp_pose", object_name=name, camera="front")
        assert first["ok"], first
        tx, ty, _ = studio.position_in_base(name)
        gx, gy, gz = first["grasp_pose"]["position"]
        assert math.dist((gx, gy), (tx, ty)) < 0.006
        assert first["reachable"]
        assert first["grasp_pose"]["frame_id"] == "base_footprint"
        offset = first["gripper_offset_m"]
        assert 0.005 < gz - offset < first["object_height_m"]
        file = eyes.server.robot.file.manipulation
        assert first["pre_grasp_pose"]["position"][2] == pytest.approx(gz + file.pre_grasp_height_m)
        assert first["lift_pose"]["position"][2] == pytest.approx(gz + file.lift_height_m)
        # At the least height the finger tips pass 2 cm above the object.
        top = first["bounding_box"]["maximum"][2] + 0.02
        lowest = first["pre_grasp_pose"]["position"][2] - first["pre_grasp_lower_by_m"] - offset
        assert lowest == pytest.approx(top, abs=0.001)
        assert gz - offset + first["lift_min_fraction"] * file.lift_height_m == pytest.approx(top, abs=0.001)
        again = await eyes.call("get_topdown_grasp_pose", object_name=name, camera="front")
        assert again["centroid_base"] == first["centroid_base"]


async def test_a_moved_object_gets_a_new_pose(eyes, studio):
    studio.reset(0)
    studio.place("red coke can", 0.78, 0.1, 0.0)
    first = await eyes.call("get_topdown_grasp_pose", object_name="red coke can", camera="front")
    studio.place("red coke can", 0.78, -0.1, 0.0)
    second = await eyes.call("get_topdown_grasp_pose", object_name="red coke can", camera="front")
    assert second["grasp_pose"]["position"][1] - first["grasp_pose"]["position"][1] == pytest.approx(-0.2, abs=0.01)


async def test_far_things_are_not_reachable(eyes, studio):
    studio.reset(0)
    result = await eyes.call("get_topdown_grasp_pose", object_name="coke can")
    assert result["ok"]
    assert result["reachable"] is False
    assert "drive nearer" in result["message"]


async def test_placing_on_the_counter_into_the_bin_and_on_the_floor(eyes, studio):
    studio.reset(0)
    await approach(eyes, 0.95, 0.0, 0.0)
    result = await eyes.call("get_topdown_placing_pose", object_name="kitchen counter", object_height_m=0.12)
    assert result["ok"], result
    assert (result["mode"], result["target_name"]) == ("surface", "counter")
    assert result["surface_height_m"] == pytest.approx(COUNTER, abs=0.01)
    assert result["reachable"], result["message"]
    near = (await eyes.call("detect_objects", names=["counter"]))["detections"][0]["near_point_base"]
    assert result["drop_point"][0] > near[0] + 0.05
    drop = result["drop_point"]
    for name in ("red coke can", "red cup"):
        assert math.dist(studio.position_in_base(name)[:2], drop[:2]) > 0.1
    gap = result["pre_place_pose"]["position"][2] - result["place_pose"]["position"][2]
    assert gap == pytest.approx(eyes.server.robot.file.manipulation.pre_place_height_m)
    # At the least height the finger tips, which overlap the uppermost 6.5 cm, pass 2 cm above it.
    assert gap - result["pre_place_lower_by_m"] == pytest.approx(0.085, abs=1e-4)
    assert result["retract_min_fraction"] * gap == pytest.approx(0.085, abs=1e-4)
    # It may be let go 2 cm higher.
    assert (1 - result["lower_min_fraction"]) * gap == pytest.approx(0.02, abs=1e-4)
    higher = await eyes.call(
        "get_topdown_placing_pose", object_name="counter", object_height_m=0.12, top_clearance_m=0.3
    )
    assert higher["pre_place_lower_by_m"] == pytest.approx(0.215, abs=1e-4)
    assert higher["pre_place_pose"]["position"][2] - higher["place_pose"]["position"][2] == pytest.approx(0.3)

    floor = await eyes.call("get_topdown_placing_pose", object_name="the floor", object_height_m=0.12)
    assert (floor["mode"], floor["reachable"]) == ("floor", True)
    assert floor["drop_point"][2] == 0.0

    await approach(eyes, -1.35, 0.9, 2.1)
    inside = await eyes.call("get_topdown_placing_pose", object_name="trash can", object_height_m=0.12)
    assert inside["ok"], inside
    assert inside["mode"] == "container"
    assert inside["surface_height_m"] == pytest.approx(0.34, abs=0.02)
    clearance = eyes.server.robot.file.manipulation.container_clearance_m
    assert inside["place_pose"]["position"][2] == pytest.approx(inside["surface_height_m"] + clearance, abs=0.001)


async def test_the_measured_height_of_what_is_held_wins(eyes, studio):
    """Over what a caller says, who may have seen only the part below the fingers."""
    studio.reset(0)
    await approach(eyes, 0.95, 0.0, 0.0)

    async def used(**arguments):
        pose = await eyes.call("get_topdown_placing_pose", object_name="counter", use_cached=False, **arguments)
        return pose["object_height_source"], pose["object_height_m"], pose["place_pose"]["position"][2]

    sizes = [one.appearance.size_m[2] for one in eyes.server.site.objects]
    source, height, safe_z = await used()
    assert (source, height) == ("assumed", max(sizes))
    source, height, can_z = await used(held_object="coke can", object_height_m=0.076)
    assert (source, height) == ("catalogue", 0.122)
    assert can_z <= safe_z
    source, height, part_z = await used(held_object="held object", object_height_m=0.076)
    assert (source, height) == ("argument", 0.076)
    assert part_z < can_z
    grasp = await eyes.call("get_topdown_grasp_pose", object_name="coke can")
    source, height, _ = await used(held_object="coke can", object_height_m=0.076)
    assert (source, height) == ("grasp", grasp["object_height_m"])
    source, _, _ = await used(held_id=grasp["object_id"], object_height_m=0.076)
    assert source == "grasp"
    assert (await used(held_object="red cup"))[0] == "catalogue", "another thing than was grasped"
    eyes.work_for("another task")
    assert (await used(held_object="coke can", object_height_m=0.076))[:2] == ("catalogue", 0.122)


async def test_the_cameras_that_saw_a_thing_are_named(eyes, studio):
    studio.reset(0)
    both = (await eyes.call("detect_objects", names=["counter"], camera="both"))["message"]
    assert both == "the front camera shows counter; the arm camera shows none of what was asked for"


async def test_what_is_no_place(eyes, studio):
    studio.reset(0)
    thing = await eyes.call("get_topdown_placing_pose", object_name="red cup")
    assert thing["error_code"] == "NOT_A_PLACE"
    assert "floor, wooden table, counter, bin" in thing["message"]
    nothing = await eyes.call("get_topdown_placing_pose", object_name="moon")
    assert nothing["error_code"] == "UNKNOWN_OBJECT"
    behind = await eyes.call("get_topdown_placing_pose", object_name="bin")
    assert behind["error_code"] == "NO_OBJECTS_FOUND"


async def test_unknown_names_list_the_catalogue(eyes, studio):
    for tool in ["segment_objects", "get_topdown_grasp_pose", "detect_objects"]:
        argument = {"segment_objects": "prompt", "get_topdown_grasp_pose": "object_name", "detect_objects": "names"}[
            tool
        ]
        result = await eyes.call(tool, **{argument: ["banana"] if argument == "names" else "banana"})
        assert (result["ok"], result["error_code"]) == (False, "UNKNOWN_OBJECT")
        assert "red coke can" in result["message"]


async def test_wrong_arguments_are_refused(eyes):
    for tool, arguments in [
        ("segment_objects", {"prompt": ""}),
        ("segment_objects", {"prompt": "can", "camera": "left"}),
        ("detect_objects", {"names": []}),
        ("detect_objects", {"colour": "red"}),
        ("get_topdown_placing_pose", {"object_name": "counter", "object_height_m": -1}),
        ("get_topdown_placing_pose", {"object_name": "counter", "object_height_m": "NaN"}),
        ("get_topdown_grasp_pose", {}),
        ("look", {"camera": "rear"}),
    ]:
        result = await eyes.call(tool, **arguments)
        assert (result["ok"], result["error_code"]) == (False, "INVALID_PARAMETERS")


async def test_look_returns_small_pictures_and_the_area(eyes, studio):
    studio.reset(0)
    result = await eyes.call_full("look", camera="both")
    assert result.structured_content["cameras"] == ["front", "arm"]
    assert result.structured_content["area"] == "studio"
    images = [c for c in result.content if c.type == "image"]
    assert len(images) == 2
    for image in images:
        data = base64.b64decode(image.data)
        assert len(data) <= 60_000
        assert Image.open(io.BytesIO(data)).size == (640, 480)


async def test_annotations_tell_that_nothing_moves(eyes):
    hints = {tool.name: tool.annotations for tool in await eyes.server.mcp.list_tools(run_middleware=False)}
    assert {"look", "segment_objects", "detect_objects", "get_topdown_grasp_pose"} <= set(hints)
    assert all(hint.read_only_hint and not hint.destructive_hint for hint in hints.values()), hints


async def test_a_lost_bridge_is_said(eyes, studio):
    await eyes.server.robot.link.close()
    result = await eyes.call("look", camera="front")
    assert (result["ok"], result["error_code"]) == (False, "BRIDGE_UNAVAILABLE")


async def test_a_silent_camera_is_said(eyes, studio):
    file = eyes.server.robot.file
    front = file.cameras.front.model_copy(update={"depth_topic": "/nobody/depth"})
    eyes.server.robot.file = file.model_copy(update={"cameras": file.cameras.model_copy(update={"front": front})})
    result = await eyes.call("segment_objects", prompt="red cup", camera="front", timeout=0.8)
    assert result["error_code"] == "TIMEOUT"
    robot = eyes.server.robot
    robot.snapshot = functools.partial(robot.snapshot, timeout_s=0.8)
    result = await eyes.call("segment_objects", prompt="red cup", camera="front", timeout=20)
    assert result["error_code"] == "CAMERA_UNAVAILABLE"
    assert "/nobody/depth" in result["message"]


async def test_a_camera_that_sends_no_images(eyes, studio):
    studio.reset(0)
    robot = eyes.server.robot
    front, topic, kind = robot.file.cameras.front, "/broken/colour/compressed", "sensor_msgs/msg/CompressedImage"
    sent = set()

    def spoil(message):
        """A frame of the same moment as each of depth, which is text."""
        text = {"header": message["header"], "format": "jpeg", "data": base64.b64encode(b"no image at all").decode()}
        task = asyncio.create_task(robot.link.publish(topic, kind, text))
        sent.add(task)

    cameras = robot.file.cameras.model_copy(update={"front": front.model_copy(update={"colour_topic": topic})})
    good, robot.file = robot.file, robot.file.model_copy(update={"cameras": cameras})
    before = studio.truth()["time"]
    await robot.link.advertise(topic, kind)
    async with robot.link.subscribe(front.depth_topic, "sensor_msgs/msg/Image", compression="cbor", on_message=spoil):
        for tool, arguments in (
            ("look", {"camera": "front"}),
            ("detect_objects", {}),
            ("segment_objects", {"prompt": "coke can", "camera": "front"}),
            ("get_topdown_grasp_pose", {"object_name": "coke can", "camera": "front"}),
            ("get_topdown_placing_pose", {"object_name": "counter"}),
        ):
            result = await eyes.call(tool, **arguments)
            assert result["error_code"] == "CAMERA_UNAVAILABLE", result
            assert topic in result["message"]
            assert "JPEG" in result["message"]
    await asyncio.gather(*sent)
    assert studio.truth()["time"] == before, "nothing moved"
    robot.file = good
    assert (await eyes.call("detect_objects"))["ok"]


async def test_computing_never_blocks_the_event_loop(eyes, studio, monkeypatch):
    studio.reset(0)
    segment, threads = ColourShapeSegmenter.segment, set()

    def noted(*args, **named):
        threads.add(threading.get_ident())
        return segment(*args, **named)

    monkeypatch.setattr(ColourShapeSegmenter, "segment", noted)
    assert (await eyes.call("detect_objects"))["ok"]
    assert threads
    assert threading.get_ident() not in threads


async def test_from_above_it_is_enough_that_something_stands_where_the_object_was_seen(home_eyes, home):
    """A can may show its lid only; here an apple of another colour stands for that."""
    home.reset(0)
    home.place("red apple", 0.8, 0.0, 0.0)
    first = await home_eyes.call("get_topdown_grasp_pose", object_name="red apple", camera="front")
    known = {"object_id": first["object_id"]}
    home.place("red apple", -1.0, 0.0, 0.0)
    gone = await home_eyes.call("get_topdown_grasp_pose", **known, camera="arm")
    assert gone["error_code"] == "NO_OBJECTS_FOUND", "nothing stands there"
    home.place("green apple", 0.8, 0.0, 0.0)
    front = await home_eyes.call("get_topdown_grasp_pose", **known, camera="front")
    assert front["error_code"] == "NO_OBJECTS_FOUND", "that camera must recognise it"
    above = await home_eyes.call("get_topdown_grasp_pose", **known, camera="arm")
    assert (above["ok"], above["object_name"], above["camera"]) == (True, "red apple", "arm")
    assert above["grasp_pose"]["position"] == pytest.approx(first["grasp_pose"]["position"], abs=0.001)


async def test_the_grasp_of_a_thing_without_a_size_has_the_measured_one_and_asks_for_another_look(
    open_eyes, studio, tmp_path
):
    studio.reset(0)
    studio.place("green tea box", 0.8, 0.0, 0.0, yaw=0.4)
    async with open_eyes(studio, tmp_path, unsized=["green tea box"]) as eyes:
        front = await eyes.call("get_topdown_grasp_pose", object_name="green tea box", camera="front")
    assert front["ok"], front["message"]
    assert front["object_size_m"] == pytest.approx((0.065, 0.1, 0.075), abs=0.006)
    assert front["look_again"]
    assert "its size is only as seen from here: look again from pre_grasp_pose" in front["message"]


async def test_a_grasp_between_neighbours_opens_less_and_asks_for_another_look(eyes, studio):
    studio.reset(0)
    studio.place("green tea box", 0.8, 0.0, 0.0, yaw=0.0)
    alone = await eyes.call("get_topdown_grasp_pose", object_name="green tea box", camera="front")
    assert (alone["look_again"], alone.get("open_position")) == (False, None)
    studio.place("red coke can", 0.8, 0.083, 0.0)
    studio.place("red cup", 0.8, -0.093, 0.0)
    between = await eyes.call("get_topdown_grasp_pose", object_name="green tea box", camera="front")
    gripper = eyes.server.robot.file.gripper
    opening = gripper.width_at(between["open_position"])
    assert between["grasp_width_m"] < opening < gripper.stroke_m
    assert between["look_again"]
    assert "look again from pre_grasp_pose" in between["message"]


async def test_a_look_from_above_asks_for_no_other(eyes, studio, monkeypatch):
    looks = []

    def from_above(camera, centre):
        looks.append((camera[2], centre[2]))
        return True

    studio.reset(0)
    studio.place("green tea box", 0.8, 0.0, 0.0, yaw=0.0)
    studio.place("red coke can", 0.8, 0.083, 0.0)
    studio.place("red cup", 0.8, -0.093, 0.0)
    asked = {"object_name": "green tea box", "camera": "front"}
    assert (await eyes.call("get_topdown_grasp_pose", **asked))["look_again"]
    monkeypatch.setattr("quartet_perception.tools.grasp._is_from_above", from_above)
    assert not (await eyes.call("get_topdown_grasp_pose", **asked))["look_again"]
    [(camera, centre)] = looks
    assert camera - centre > 0.9, "the front camera is above the box"


async def test_a_grasp_pose_combines_both_cameras_until_the_object_is_moved(eyes, studio):
    studio.reset(0)
    studio.place("purple toy block", 0.8, 0.0, 0.0)
    front = await eyes.call("get_topdown_grasp_pose", object_name="purple toy block", camera="front")
    both = await eyes.call("get_topdown_grasp_pose", object_id=front["object_id"], camera="arm")
    assert "2 looks from 1 place" in both["message"]
    assert max(both["position_sd_m"]) < max(front["position_sd_m"])
    assert both["yaw_sd_rad"] > 0
    assert both["width_sd_m"] > 0
    assert front["needed_room_m"] > 2 * max(front["position_sd_m"])
    studio.place("purple toy block", 0.8, 0.06, 0.0)
    moved = await eyes.call("get_topdown_grasp_pose", object_name="purple toy block", camera="front")
    assert "looks" not in moved["message"]
    assert moved["grasp_pose"]["position"][1] == pytest.approx(0.06, abs=0.01)


async def test_a_grasp_is_planned_with_the_other_camera_s_picture_and_the_wrist_camera_s_place(
    eyes, studio, monkeypatch: pytest.MonkeyPatch
):
    """Neighbours that are too near to the wrist camera have no depth there, and its body may meet them."""
    planned: list[tuple[Any, ...]] = []

    def noted(*given: Any) -> Any:
        planned.append(given)
        return plan_grasp(*given)

    monkeypatch.setattr("quartet_perception.tools.grasp.plan_grasp", noted)
    studio.reset(0)
    studio.place("purple toy block", 0.8, 0.0, 0.0)
    for camera in ("front", "arm"):
        assert (await eyes.call("get_topdown_grasp_pose", object_name="purple toy block", camera=camera))["ok"]
    (first, _, _, none, _), (second, _, _, before, mount) = planned
    assert (first.camera, none, second.camera) == ("front", [], "arm")
    assert [view.camera for view in before] == ["front"]
    assert mount[:3, 3] == pytest.approx((0.0, -0.075, 0.015), abs=0.002)
