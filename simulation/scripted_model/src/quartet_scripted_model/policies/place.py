"""The place agent: put the held object down at the place that the robot stands before."""

from collections.abc import Generator
from typing import Any

from quartet_scripted_model.conversation import Conversation
from quartet_scripted_model.language.names import is_floor, named
from quartet_scripted_model.policies.arm import (
    MOVE,
    grasp_state,
    gripper,
    move,
    straight_down,
    straight_up,
    to_pose,
    transit,
)
from quartet_scripted_model.policies.skill import FORGOTTEN, GiveUpError, ask_for, run, why
from quartet_scripted_model.turn import Policy, Result, Turn

REPORT = "report_place_result"
SEGMENT = "perception__segment_objects"
POSE = "perception__get_topdown_placing_pose"
DETECT = "perception__detect_objects"
OPEN = "moveit__open_gripper"
CAMERAS = ("front", "arm")

POSE_CODES = {
    "NOT_A_PLACE": "PLACE_OUT_OF_SCOPE",
    "UNKNOWN_OBJECT": "PLACE_OUT_OF_SCOPE",
    "NO_OBJECTS_FOUND": "PLACE_SEG_MISSED",
    "TOO_FEW_POINTS": "PLACE_SEG_MISSED",
    "CAMERA_UNAVAILABLE": "PLACE_SEG_MISSED",
    "NO_FREE_SPACE": "PLACE_SEG_MISSED",
    "TRANSFORM_UNAVAILABLE": "UNKNOWN",
    "TIMEOUT": "UNKNOWN",
    "ROS_ERROR": "UNKNOWN",
    "INVALID_PARAMETERS": "UNKNOWN",
    "UNKNOWN": "UNKNOWN",
}
"""What the place agent reports for a failed get_topdown_placing_pose."""


def policy(talk: Conversation) -> Policy:
    """Plays the place agent in `talk`."""
    return run(talk, REPORT, _work(talk))


def _work(talk: Conversation) -> Generator[Turn, Result, dict[str, Any]]:
    target, held = str(talk.request.get("target_location", "")), str(talk.request.get("object_name", ""))
    if (yield from grasp_state(talk)).get("state") == "EMPTY":
        raise GiveUpError("PLACE_HOLDING_NOTHING", "The gripper is empty.")
    drop = yield from _drop_pose(talk, _known_target(talk, target))
    above, lower_by = drop.get("pre_place_pose"), drop.get("pre_place_lower_by_m")
    yield from _motion(talk, move(talk, MOVE, to_pose(talk, above, lower_by), "Above the place."))
    retract = drop.get("retract_min_fraction")
    least = drop.get("lower_min_fraction")
    down = straight_down(talk, drop.get("place_pose"), above, retract, "Down to the release.", least)
    yield from _motion(talk, down)
    opened = yield from gripper(talk, OPEN, say="Release.")
    let_go = yield from _let_go(talk, held, opened)
    yield from straight_up(talk, above, retract, lower_by, "Retract.")
    seen = yield from _sees(talk, held, "arm", "Look down at what was placed.")
    yield from transit(talk, "PLACE_PLAN_FAILED", f"{let_go} ")
    if (yield from grasp_state(talk)).get("state") == "HOLDING":
        raise GiveUpError("PLACE_DROP_VERIFY_FAILED", f"'{held}' is still in the gripper after opening it.")
    if not seen and not (yield from _sees(talk, held, "front")):
        raise GiveUpError("PLACE_DROP_VERIFY_FAILED", f"{let_go} No camera sees it at '{target}'.")
    return {"success": True, "error_code": "NONE", "reason": f"'{held}' was put down at '{target}' and is seen there."}


def _let_go(talk: Conversation, held: str, opened: Result) -> Generator[Turn, Result, str]:
    """What is known of the object after the release, in words; a call that failed may have opened the fingers."""
    state = "EMPTY" if opened.ok else (yield from grasp_state(talk)).get("state")
    if state == "EMPTY":
        return f"'{held}' was released."
    return f"'{held}' is still held." if state == "HOLDING" else f"Whether '{held}' was released is not known."


def _known_target(talk: Conversation, target: str) -> str:
    """The name by which the facts know `target`, or "floor"."""
    if is_floor(target):
        return "floor"
    place = named(target, talk.facts["places"])
    if place is None:
        known = ", ".join(p["name"] for p in talk.facts["places"])
        raise GiveUpError(
            "PLACE_OUT_OF_SCOPE", f"'{target}' is not a place to put things; the places are: floor, {known}."
        )
    return str(place["name"])


def _drop_pose(talk: Conversation, target: str) -> Generator[Turn, Result, Result]:
    """A placing pose that can be reached."""
    missed: list[str] = []
    target_id = talk.request.get("target_id")
    known: dict[str, Any] = {"held_object": str(talk.request.get("object_name", ""))}
    known["held_id"] = talk.request.get("held_id")
    for camera in () if target == "floor" else CAMERAS:
        seen = yield from ask_for(talk, SEGMENT, target_id, {"prompt": target}, camera=camera)
        if seen.ok and seen.get("status") != "NO_OBJECTS_FOUND":
            known["camera"] = camera
            break
        missed.append(f"{camera} camera: {why(seen)}")
    if len(missed) == len(CAMERAS):
        raise GiveUpError("PLACE_SEG_MISSED", f"'{target}' was not found. {'; '.join(missed)}")
    height = talk.request.get("object_height_m")
    pose = yield from ask_for(talk, POSE, target_id, {"object_name": target}, object_height_m=height, **known)
    if pose.code == FORGOTTEN:
        # What is held is not known any more by its id.
        del known["held_id"]
        pose = yield from ask_for(talk, POSE, None, {"object_name": target}, object_height_m=height, **known)
    if pose.code in POSE_CODES or not pose.get("place_pose") or not pose.get("pre_place_pose"):
        code = POSE_CODES.get(pose.code, "PLACE_SEG_MISSED")
        raise GiveUpError(code, f"There is no drop pose at '{target}' ({why(pose)}); the object is still held.")
    if pose.get("reachable") is False:
        raise GiveUpError(
            "PLACE_REACH_EXCEEDED", f"The drop pose is {pose.get('distance_m')} m away, beyond the reach."
        )
    return pose


def _sees(talk: Conversation, thing: str, camera: str, say: str = "") -> Generator[Turn, Result, bool]:
    held = talk.request.get("held_id")
    if not held and thing == "held object":
        return False
    result = yield from ask_for(talk, DETECT, held, {"names": [thing]}, camera=camera, say=say)
    found = [d for d in result.get("detections") or [] if isinstance(d, dict) and not d.get("in_gripper")]
    return result.ok and bool(found)


def _motion(talk: Conversation, motion: Generator[Turn, Result, Result]) -> Generator[Turn, Result, None]:
    """A motion towards the place; after a failure the arm goes back to transit, still holding."""
    result = yield from motion
    if result.ok:
        return
    yield from transit(talk, "PLACE_PLAN_FAILED")
    code = "PLACE_REACH_EXCEEDED" if result.code == "OUT_OF_REACH" else "PLACE_PLAN_FAILED"
    raise GiveUpError(code, f"The arm did not get to the place ({why(result)}).")
