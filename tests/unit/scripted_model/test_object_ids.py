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
    "place": {
        PLACING: [{"target_id": TABLE, "held_object": "can", "held_id": HELD}],
        DETECT: [{"object_ids": [HELD]}],
    },
}
BY_NAME = {
    "approach": {DETECT: {"names": ["can"]}},
    "pick": {GRASP: {"object_name": "can"}},
    "place": {
        PLACING: {"object_name": "counter", "held_object": "can"},
        DETECT: {"names": ["can"]},
    },
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


def test_the_orchestrator_hands_on_the_ids_that_results_tell(orchestrator):
    ids = {"pick": HELD, "place": HELD}

    def agents(name, arguments):
        done = {"ok": True, "success": True, "error_code": "NONE", "reason": "done", "held_object_height_m": 0.1}
        thing = CAN if arguments.get("next_action") == "pick" else TABLE
        return {**done, "object_id": ids.get(name, thing)}

    talk = orchestrator("bring the blue mug from the kitchen to the wooden coffee table")
    assert talk.run(agents).arguments["success"]
    ((_, pick),) = talk.made("pick")
    ((_, place),) = talk.made("place")
    assert pick == {"object_name": "blue mug", "object_id": CAN}
    assert (place["target_id"], place["held_id"]) == (TABLE, HELD)


def test_a_wrong_thing_is_put_down_by_the_id_that_the_pick_tells(orchestrator):
    wrong = {"ok": False, "success": False, "error_code": "PICK_WRONG_OBJECT", "reason": "it is another"}
    picks = [{**wrong, "object_id": HELD}]

    def agents(name, arguments):
        if name == "pick" and picks:
            return picks.pop()
        return {"ok": True, "success": True, "error_code": "NONE", "reason": "done", "object_id": CAN}

    talk = orchestrator("bring the blue mug from the kitchen to the wooden coffee table")
    talk.run(agents)
    freed, placed = talk.made("place")
    assert (freed[1]["target_location"], freed[1]["held_id"]) == ("floor", HELD)
    assert placed[1]["held_id"] == CAN


def test_what_goes_wrong_does_not_depend_on_the_ids_of_a_run():
    def kinds(object_id):
        draws = Draws({Kind.EMPTY: 0.3, Kind.REFUSAL: 0.3}, seed=7)
        return [draws.draw({"messages": [{"content": f"{n} {object_id}"}]}) for n in range(40)]

    assert kinds(CAN) == kinds(TABLE)
    assert len(set(kinds(CAN))) == 3
