"""The policies name things as a good model does: by id from where it is known, by the person's term where it is not."""

import pytest

from quartet_scripted_model.misbehaviour import Draws, Kind

CAN, TABLE, HELD = "obj_00000000000a", "obj_00000000000b", "obj_00000000000c"
FACTS = {
    "areas": [{"name": "kitchen", "aliases": [], "entry": {"x": 1.0, "y": 2.0, "yaw": 0.5}, "landmarks": []}],
    "places": [{"name": "counter", "aliases": [], "area": "kitchen", "kind": "surface", "approach": None}],
    "arm": {"transit_state": "folded"},
}
POSE = {"frame_id": "base_footprint", "position": [0.6, 0.0, 0.5], "orientation": [1.0, 0.0, 0.0, 0.0]}
POSES = dict.fromkeys(("pre_grasp_pose", "grasp_pose", "lift_pose", "pre_place_pose", "place_pose"), POSE)
FORGOTTEN = {"ok": False, "error_code": "UNKNOWN_OBJECT_ID", "message": "forgotten"}
DETECT = "perception__detect_objects"
GRASP, PLACING = "perception__get_topdown_grasp_pose", "perception__get_topdown_placing_pose"


class Robot:
    """Does everything well; perception knows the ids in `known`."""

    def __init__(self, held=False, known=()):
        self.held = held
        self.known = set(known)

    def __call__(self, name, arguments):
        named = {arguments.get(key) for key in ("object_id", "target_id", "held_id")}
        ids = {*named, *arguments.get("object_ids", [])} - {None}
        if ids - self.known:
            return FORGOTTEN
        self.held = {"moveit__close_gripper": True, "moveit__open_gripper": False}.get(name, self.held)
        extra = {
            "perception__look": {"area": "kitchen"},
            DETECT: {"detections": [{"label": "can"}]},
            GRASP: {**POSES, "reachable": True, "object_height_m": 0.1},
            PLACING: {**POSES, "reachable": True},
            "moveit__get_grasp_state": {"state": "HOLDING" if self.held else "EMPTY"},
            "moveit__close_gripper": {"state": "HOLDING"},
        }.get(name, {})
        return {"ok": True, "error_code": "NONE", "message": "", **extra}


REQUESTS = {
    "approach": {"target_area": "kitchen", "object_name": "can", "next_action": "pick", "object_id": CAN},
    "pick": {"object_name": "can", "object_id": CAN},
    "place": {
        "target_location": "counter",
        "object_name": "can",
        "object_height_m": 0.1,
        "target_id": TABLE,
        "held_id": HELD,
    },
}


def asked(talk):
    """By tool of perception: what named the thing in each call, camera and height left out."""
    found = {}
    for call in talk.calls:
        named = {key: value for key, value in call.arguments.items() if key not in {"camera", "object_height_m"}}
        if call.name.startswith("perception__") and call.name != "perception__look":
            found.setdefault(call.name, []).append(named)
    return found


BY_ID = {
    "approach": {DETECT: [{"object_ids": [CAN]}]},
    "pick": {GRASP: [{"object_id": CAN}]},
    "place": {PLACING: [{"target_id": TABLE, "held_object": "can", "held_id": HELD}]},
}
BY_NAME = {
    "approach": {DETECT: {"names": ["can"]}},
    "pick": {GRASP: {"object_name": "can"}},
    "place": {PLACING: {"object_name": "counter", "held_object": "can"}},
}


@pytest.mark.parametrize("skill", sorted(REQUESTS))
def test_a_thing_with_an_id_is_named_by_it(agent, skill):
    talk = agent(skill, REQUESTS[skill], FACTS)
    assert talk.run(Robot(held=skill == "place", known=(CAN, TABLE, HELD))).arguments["success"]
    assert asked(talk) == BY_ID[skill]


@pytest.mark.parametrize("skill", sorted(REQUESTS))
def test_a_forgotten_id_is_replaced_by_the_name(agent, skill):
    talk = agent(skill, REQUESTS[skill], FACTS)
    assert talk.run(Robot(held=skill == "place")).arguments["success"]
    for tool, named in BY_NAME[skill].items():
        assert asked(talk)[tool][0] == BY_ID[skill][tool][0]
        assert asked(talk)[tool][-1] == named


def test_the_orchestrator_leaves_ids_and_heights_to_code(orchestrator):
    def agents(name, arguments):
        return {"ok": True, "error_code": "NONE", "object_id": CAN, "held_object_height_m": 0.1}

    talk = orchestrator("bring the blue mug from the kitchen to the wooden coffee table")
    assert talk.run(agents).arguments["success"]
    assert talk.made("pick", "place") == [
        ("pick", {"object_name": "blue mug"}),
        ("place", {"target_location": "wooden coffee table", "object_name": "blue mug"}),
    ]


def test_what_goes_wrong_does_not_depend_on_the_ids_of_a_run():
    def kinds(object_id):
        draws = Draws({Kind.EMPTY: 0.3, Kind.REFUSAL: 0.3}, seed=7)
        return [draws.draw({"messages": [{"content": f"{n} {object_id}"}]}) for n in range(40)]

    assert kinds(CAN) == kinds(TABLE)
    assert len(set(kinds(CAN))) == 3
