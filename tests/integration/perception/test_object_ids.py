"""Things by their id: two that look alike are told apart, and nobody else's id is taken."""

import math

import pytest

from quartet_contracts import new_object_id
from quartet_site import PolicyFile

CAN, TWIN = "red coke can", "second red coke can"


@pytest.fixture
def twins(studio):
    """Two cans that look alike on the floor before the robot, and where they stand (y in the base frame) by ground
    truth."""
    studio.post("/reset", world="twins", seed=0)
    studio.place(CAN, 0.80, 0.16, 0.0)
    studio.place(TWIN, 0.80, -0.16, 0.0)
    return studio


async def ids_by_side(eyes):
    """Id of the left and of the right can."""
    seen = (await eyes.call("detect_objects", names=["coke can"]))["detections"]
    assert [one["label"] for one in seen] == [CAN, CAN]
    left, right = sorted(seen, key=lambda one: -one["position_base"][1])
    return left["object_id"], right["object_id"]


async def test_what_was_grasped_by_mistake_is_left_out_from_then_on(eyes, twins):
    left, right = await ids_by_side(eyes)
    await eyes.call("get_topdown_grasp_pose", object_id=left, camera="front")
    seen = await eyes.call("detect_objects", names=["coke can"], mistaken=True)
    assert [one["object_id"] for one in seen["detections"]] == [right]
    assert [
        one["object_id"] for one in (await eyes.call("segment_objects", prompt=CAN, camera="front"))["outputs"]
    ] == [right]
    grasp = await eyes.call("get_topdown_grasp_pose", object_name="coke can", camera="front")
    assert grasp["object_id"] == right, "the other one is still there to be picked"
    gone = await eyes.call("get_topdown_grasp_pose", object_id=left, camera="front")
    assert (gone["error_code"], "ruled out in this task" in gone["message"]) == ("UNKNOWN_OBJECT_ID", True)
    seen = await eyes.call("detect_objects", names=["red cup"], mistaken=True)
    assert seen["ok"], "a grasp of another name says nothing about a cup"
    assert len((await eyes.call("detect_objects", names=["coke can"]))["detections"]) == 1
    assert (await eyes.call("detect_objects", mistaken=True))["error_code"] == "INVALID_PARAMETERS"


async def test_an_id_names_one_of_two_that_look_alike(eyes, twins):
    left, right = await ids_by_side(eyes)
    assert left != right
    by_term = await eyes.call("get_topdown_grasp_pose", object_name="coke can", camera="front")
    assert by_term["object_id"] in {left, right}
    for name, object_id in ((CAN, left), (TWIN, right)):
        x, y, _ = twins.position_in_base(name)
        grasp = await eyes.call("get_topdown_grasp_pose", object_id=object_id, camera="front")
        assert grasp["object_id"] == object_id, grasp
        assert math.dist(grasp["grasp_pose"]["position"][:2], (x, y)) < 0.02
        segmented = await eyes.call("segment_objects", object_id=object_id, camera="front")
        assert [one["object_id"] for one in segmented["outputs"]] == [object_id]
        detected = await eyes.call("detect_objects", object_ids=[object_id])
        assert [one["object_id"] for one in detected["detections"]] == [object_id]
        assert math.dist(detected["detections"][0]["position_base"][:2], (x, y)) < 0.02
    # Somebody takes the left one away: the other does not take its place.
    twins.place(CAN, -3.0, 0.0, 0.0)
    gone = await eyes.call("get_topdown_grasp_pose", object_id=left, camera="front")
    assert (gone["error_code"], left in gone["message"]) == ("NO_OBJECTS_FOUND", True)
    assert (await eyes.call("segment_objects", object_id=left, camera="front"))["status"] == "NO_OBJECTS_FOUND"
    assert (await eyes.call("detect_objects", object_ids=[left]))["detections"] == []
    assert (await eyes.call("detect_objects", object_ids=[right]))["detections"]


async def test_an_id_wins_over_the_name_beside_it(eyes, studio):
    studio.reset(0)
    (can,) = (await eyes.call("detect_objects", names=["coke can"]))["detections"]
    both = {"object_name": "green tea box", "object_id": can["object_id"]}
    assert (await eyes.call("get_topdown_grasp_pose", **both))["object_name"] == "red coke can"
    for ids in ([can["object_id"]], []):
        seen = await eyes.call("detect_objects", names=["coke can"], object_ids=ids)
        assert [one["object_id"] for one in seen["detections"]] == [can["object_id"]]
    assert (await eyes.call("detect_objects", names=[]))["error_code"] == "INVALID_PARAMETERS"


async def test_a_place_by_its_id(eyes, studio):
    studio.reset(0)
    (counter,) = (await eyes.call("detect_objects", names=["counter"]))["detections"]
    by_id = await eyes.call("get_topdown_placing_pose", target_id=counter["object_id"], held_object="coke can")
    assert (by_id["ok"], by_id["mode"], by_id["object_id"]) == (True, "surface", counter["object_id"]), by_id
    (can,) = (await eyes.call("detect_objects", names=["coke can"]))["detections"]
    no_place = await eyes.call("get_topdown_placing_pose", target_id=can["object_id"])
    assert no_place["error_code"] == "NOT_A_PLACE"
    no_object = await eyes.call("get_topdown_grasp_pose", object_id=counter["object_id"])
    assert no_object["error_code"] == "UNKNOWN_OBJECT"
    ids = counter["object_id"], can["object_id"]
    for names in (("target_id", "held_id"), ("object_id", "held_object_id")):
        held = await eyes.call("get_topdown_placing_pose", **dict(zip(names, ids, strict=True)))
        assert held.get("drop_point") == by_id["drop_point"], "an id tells as well as a name how much room it needs"
    for tool in await eyes.client.list_tools():
        shown = set(tool.input_schema["properties"])
        assert "held_object_id" not in shown, tool.name
        assert tool.name != "get_topdown_placing_pose" or "object_id" not in shown


async def test_an_id_of_another_task_another_robot_or_a_guess_is_refused(eyes, studio, open_eyes, tmp_path):
    studio.reset(0)
    (mine,) = (await eyes.call("detect_objects", names=["coke can"]))["detections"]
    by_id = (
        ("segment_objects", {"object_id": "?"}),
        ("detect_objects", {"object_ids": ["?"]}),
        ("get_topdown_grasp_pose", {"object_id": "?"}),
        ("get_topdown_placing_pose", {"target_id": "?"}),
        ("get_topdown_placing_pose", {"object_name": "floor", "held_id": "?"}),
    )

    async def refuses(someone, object_id):
        for tool, arguments in by_id:
            put_in = {"?": object_id, "floor": "floor"}
            given = {key: [object_id] if value == ["?"] else put_in[value] for key, value in arguments.items()}
            answer = await someone.call(tool, **given)
            assert answer["error_code"] == "UNKNOWN_OBJECT_ID", (tool, answer)
            assert object_id in answer["message"]
            assert "Go on with the name" in answer["message"], "it says what to do"

    await refuses(eyes, new_object_id())
    # Another server process has the same robot: another robot's, or the same one started anew.
    (tmp_path / "other").mkdir()
    async with open_eyes(studio, tmp_path / "other") as other:
        await refuses(other, mine["object_id"])
    eyes.work_for("another task")
    await refuses(eyes, mine["object_id"])


async def test_a_rule_on_names_holds_for_what_goes_by_its_id(studio, open_eyes, tmp_path):
    studio.reset(0)
    policy = PolicyFile.model_validate(
        {
            "approval": [
                {"tool": f"perception__{tool}", "when": {argument: {"one_of": [name]}}, "then": "deny"}
                for tool, argument, name in (
                    ("get_topdown_grasp_pose", "object_name", CAN),
                    ("segment_objects", "prompt", CAN),
                    ("get_topdown_placing_pose", "held_object", CAN),
                    ("detect_objects", "names.0", "counter"),
                )
            ]
        }
    )
    async with open_eyes(studio, tmp_path, policy) as eyes:
        seen = (await eyes.call("detect_objects"))["detections"]
        ids = {one["label"]: one["object_id"] for one in seen}
        can, counter = ids[CAN], ids["counter"]
        for tool, arguments, code in (
            ("get_topdown_grasp_pose", {"object_name": CAN}, "POLICY_DENIED"),
            ("get_topdown_grasp_pose", {"object_id": can}, "POLICY_DENIED"),
            ("get_topdown_grasp_pose", {"object_id": can, "object_name": None}, "POLICY_DENIED"),
            ("get_topdown_grasp_pose", {"object_id": counter}, "UNKNOWN_OBJECT"),
            ("get_topdown_grasp_pose", {"object_id": {"of": [can]}}, "INVALID_PARAMETERS"),
            ("segment_objects", {"object_id": can, "camera": "front"}, "POLICY_DENIED"),
            ("segment_objects", {"object_id": counter, "camera": "front"}, "NONE"),
            ("get_topdown_placing_pose", {"object_id": counter, "held_object_id": can}, "POLICY_DENIED"),
            ("get_topdown_placing_pose", {"target_id": counter, "held_id": can}, "POLICY_DENIED"),
            ("detect_objects", {"object_ids": [can]}, "NONE"),
            ("detect_objects", {"object_ids": [new_object_id(), counter]}, "POLICY_DENIED"),
            ("detect_objects", {"object_ids": [new_object_id()]}, "UNKNOWN_OBJECT_ID"),
        ):
            answer = await eyes.call(tool, **arguments)
            assert answer.get("error_code", "NONE") == code, (tool, arguments, answer)


async def test_a_name_or_an_id_is_needed_and_an_id_is_well_formed(eyes, studio):
    studio.reset(0)
    for tool in ("segment_objects", "get_topdown_grasp_pose", "get_topdown_placing_pose"):
        answer = await eyes.call(tool)
        assert answer["error_code"] == "INVALID_PARAMETERS", (tool, answer)
        assert ("target_id" if tool == "get_topdown_placing_pose" else "object_id") in answer["message"]
    for wrong in ("obj_1", "red coke can", "obj_" + "g" * 12, "obj_0123456789ab\n"):
        answer = await eyes.call("get_topdown_grasp_pose", object_id=wrong)
        assert (answer["error_code"], "object_id" in answer["message"]) == ("INVALID_PARAMETERS", True)


async def test_what_is_out_of_view_was_last_seen_where_it_stood(eyes, twins):
    left, right = await ids_by_side(eyes)
    expected = {one["object_id"]: one for one in (await eyes.call("detect_objects", names=[CAN]))["detections"]}
    twins.place(CAN, -3.0, 0.0, 0.0)
    twins.place(TWIN, -3.0, 1.0, 0.0)
    assert (await eyes.call("detect_objects", names=[CAN]))["detections"] == []
    sightings = (await eyes.call("last_seen", names=["coke can"]))["sightings"]
    assert {one["object_id"] for one in sightings} == {left, right}
    for one in sightings:
        assert math.dist(one["position_map"], expected[one["object_id"]]["position_map"]) < 0.01
        assert (one["in_gripper"], 0.0 < one["age_s"] < 60.0) == (False, True)
    assert (await eyes.call("last_seen", names=["wrench"]))["error_code"] == "UNKNOWN_OBJECT"
