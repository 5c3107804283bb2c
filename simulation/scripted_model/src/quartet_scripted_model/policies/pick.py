"""The pick agent: grasp the object that the robot stands before and lift it."""

from collections.abc import Generator
from typing import Any

from quartet_scripted_model.conversation import Conversation
from quartet_scripted_model.language.names import words
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
from quartet_scripted_model.policies.skill import Doing, GiveUpError, ask, ask_for, final, run, why
from quartet_scripted_model.turn import Call, Policy, Result, Turn

REPORT = "report_pick_result"
SEGMENT = "perception__segment_objects"
POSE = "perception__get_topdown_grasp_pose"
OPEN = "moveit__open_gripper"
CLOSE = "moveit__close_gripper"
CAMERAS = ("arm", "front")


def policy(talk: Conversation) -> Policy:
    """Plays the pick agent in `talk`."""
    return run(talk, REPORT, _work(talk))


def _work(talk: Conversation) -> Generator[Turn, Result, dict[str, Any]]:
    wanted = str(talk.request.get("object_name", ""))
    state = yield from grasp_state(talk)
    if state.get("state") == "HOLDING":
        yield from _holding_already(talk, wanted, state)
    if state.get("state") != "EMPTY":
        raise GiveUpError("UNKNOWN", f"The gripper's state is not known ({why(state)}).")
    pose = yield from _grasp(talk, wanted)
    height = pose.get("object_height_m")
    held = {"held_object_height_m": height} if isinstance(height, (int, float)) and 0 <= height <= 1 else {}
    lifted = yield from _up(talk, pose, "Lift.")
    if not lifted.ok:
        raise GiveUpError("PICK_PLAN_FAILED", f"'{wanted}' is held, but could not be lifted ({why(lifted)}).", **held)
    yield from transit(talk, "PICK_PLAN_FAILED", f"'{wanted}' is held. ", **held)
    state = yield from grasp_state(talk)
    if state.get("state") != "HOLDING":
        raise GiveUpError("PICK_ATTACH_TIMEOUT", f"'{wanted}' is no longer in the gripper after the lift.")
    attached = state.get("attached_object")
    if attached and words(str(attached)).isdisjoint(words(wanted)):
        raise GiveUpError(
            "PICK_WRONG_OBJECT", f"The gripper reports that it holds '{attached}', not '{wanted}'.", **held
        )
    return {"success": True, "error_code": "NONE", "reason": f"'{wanted}' is held and lifted.", **held}


def _grasp(talk: Conversation, wanted: str) -> Generator[Turn, Result, Result]:
    """Close the fingers on the object, at the second try at the latest; the grasp pose that led to it."""
    for last in (False, True):
        pose = yield from _grasp_pose(talk, wanted)
        yield from _open(talk, pose)
        yield from _above(talk, pose)
        if pose.get("look_again"):
            named = {"object_name": wanted}
            nearer = yield from ask_for(talk, POSE, talk.request.get("object_id"), named, camera="arm")
            usable = nearer.ok and nearer.get("grasp_pose") and nearer.get("pre_grasp_pose")
            if usable and nearer.get("too_uncertain"):
                yield from transit(talk, "PICK_PLAN_FAILED")
                text = nearer.get("message")
                raise GiveUpError("PICK_PLAN_FAILED", f"'{wanted}' is not known well enough: {text}")
            if usable and nearer.get("reachable") is not False:
                if nearer.get("open_position") != pose.get("open_position"):
                    yield from _open(talk, nearer)
                pose = nearer
                yield from _above(talk, pose)
        down = straight_down(
            talk, pose.get("grasp_pose"), pose.get("pre_grasp_pose"), pose.get("lift_min_fraction"), "Straight down."
        )
        yield from _motion(talk, down)
        final((yield Call(CLOSE, talk.fit(CLOSE, object_size_m=pose.get("object_size_m")))), CLOSE)
        if (yield from grasp_state(talk)).get("state") == "HOLDING":
            return pose
        opened = yield from gripper(talk, OPEN)
        yield from _up(talk, pose, "Nothing was grasped: up again.")
        if last or not opened.ok:
            yield from transit(talk, "PICK_PLAN_FAILED")
        if not opened.ok:
            raise GiveUpError("UNKNOWN", f"'{wanted}' may be in the gripper ({why(opened)}).")
    raise GiveUpError("PICK_ATTACH_TIMEOUT", f"The fingers closed on nothing at '{wanted}', twice.")


def _open(talk: Conversation, pose: Result) -> Generator[Turn, Result, None]:
    """The fingers as far open as a grasp pose says."""
    opened = yield from gripper(talk, OPEN, pose.get("open_position"))
    if not opened.ok:
        raise GiveUpError("UNKNOWN", f"The gripper does not open ({why(opened)}).")


def _above(talk: Conversation, pose: Result) -> Generator[Turn, Result, None]:
    """The hand above a grasp pose."""
    above = to_pose(talk, pose.get("pre_grasp_pose"), pose.get("pre_grasp_lower_by_m"))
    yield from _motion(talk, move(talk, MOVE, above, "To the pre-grasp pose."))


def _up(talk: Conversation, pose: Result, say: str) -> Generator[Turn, Result, Result]:
    """The hand straight up from the grasp, as high as it gets."""
    lift = pose.get("lift_pose") or pose.get("pre_grasp_pose")
    return (yield from straight_up(talk, lift, pose.get("lift_min_fraction"), pose.get("pre_grasp_lower_by_m"), say))


def _holding_already(talk: Conversation, wanted: str, state: Result) -> Doing:
    """Give up with what is in the gripper, as far as the wrist camera or the gripper's driver tells."""
    seen = yield from ask(talk, SEGMENT, prompt=wanted, camera="arm", say="What is it that is held?")
    in_hand = [o for o in seen.get("outputs") or [] if isinstance(o, dict) and o.get("in_gripper")]
    if seen.ok and in_hand:
        size = in_hand[0].get("size_m")
        height = {"held_object_height_m": size[2]} if size and 0 <= size[2] <= 1 else {}
        raise GiveUpError(
            "PICK_HOLDING_ALREADY", f"The gripper already holds the {wanted}.", held_object=wanted, **height
        )
    attached = state.get("attached_object")
    raise GiveUpError("PICK_HOLDING_ALREADY", f"The gripper already holds {attached or 'something else'}.")


def _grasp_pose(talk: Conversation, wanted: str) -> Generator[Turn, Result, Result]:
    """A grasp pose that can be reached, from the wrist camera or else from the front one."""
    missed: list[str] = []
    object_id, named = talk.request.get("object_id"), {"object_name": wanted}
    for camera in CAMERAS:
        seen = yield from ask_for(talk, SEGMENT, object_id, {"prompt": wanted}, camera=camera)
        if not seen.ok or seen.get("status") == "NO_OBJECTS_FOUND":
            missed.append(f"{camera} camera: {why(seen)}")
            continue
        pose = yield from ask_for(talk, POSE, object_id, named)
        if not pose.ok:
            pose = yield from ask_for(talk, POSE, object_id, named, camera=camera)
        if not pose.ok or not pose.get("grasp_pose") or not pose.get("pre_grasp_pose"):
            missed.append(f"{camera} camera: {why(pose)}")
            continue
        if pose.get("reachable") is False:
            raise GiveUpError(
                "PICK_REACH_EXCEEDED", f"'{wanted}' is {pose.get('distance_m')} m away, beyond the reach."
            )
        return pose
    raise GiveUpError("PICK_SEG_MISSED", f"'{wanted}' was not found. {'; '.join(missed)}")


def _motion(talk: Conversation, motion: Generator[Turn, Result, Result]) -> Generator[Turn, Result, None]:
    """A motion towards the object; after a failure the arm goes back to transit before the pick is given up."""
    result = yield from motion
    if result.ok:
        return
    yield from transit(talk, "PICK_PLAN_FAILED")
    code = "PICK_REACH_EXCEEDED" if result.code == "OUT_OF_REACH" else "PICK_PLAN_FAILED"
    raise GiveUpError(code, f"The arm did not get to the object ({why(result)}).")
