"""Arm motions as the pick and place policies make them: plan, once more where that can help, go on or give up."""

from typing import Any

from quartet_scripted_model.conversation import Conversation
from quartet_scripted_model.policies.skill import Asking, Doing, GiveUpError, final, why
from quartet_scripted_model.turn import Call, Result

MOVE = "moveit__plan_and_execute"
STRAIGHT = "moveit__plan_cartesian_path"
CLEAR = "moveit__clear_planning_scene"
GRASP = "moveit__get_grasp_state"

Pose = dict[str, Any]


def named_state(talk: Conversation, state: str) -> dict[str, Any]:
    """Arguments of plan_and_execute that take the arm to a named state."""
    return talk.fit(MOVE, group=_group(talk), target_type="named_state", target={"state_name": state})


def to_pose(talk: Conversation, pose: Pose, lower_by_m: float | None = None) -> dict[str, Any]:
    """Arguments of plan_and_execute that take the tool to `pose`, or up to `lower_by_m` below it."""
    return talk.fit(MOVE, group=_group(talk), target_type="pose", target=_target(pose), lower_by_m=lower_by_m)


def straight_to(talk: Conversation, pose: Pose, min_fraction: float | None = None) -> dict[str, Any]:
    """Arguments of plan_cartesian_path that take the tool to `pose` in a straight line, or that part of the way."""
    properties = talk.tools.get(STRAIGHT, {}).get("properties", {})
    if "waypoints" in properties:
        return talk.fit(STRAIGHT, group=_group(talk), waypoints=[_target(pose)])
    if "target" in properties:
        return talk.fit(STRAIGHT, group=_group(talk), target=_target(pose))
    return talk.fit(STRAIGHT, group=_group(talk), **_target(pose), min_fraction=min_fraction)


def move(talk: Conversation, tool: str, arguments: dict[str, Any], say: str = "") -> Asking:
    """One motion; if it fails it is tried once more, where the scene may be wrong with a cleared one.

    Not one to a pose on which something stopped the arm: it would be pushed again. A scene that is cleared for another
    reason forgets what no camera sees just now, such as the top of a table over the hand, and the arm would then be
    moved into that.
    """
    result = yield Call(tool, arguments, say)
    final(result, tool)
    if (
        result.ok
        or result.code in {"OUT_OF_REACH", "PATH_INCOMPLETE", "INVALID_PARAMETERS"}
        or (blocked(result) and arguments.get("target_type") != "named_state")
    ):
        return result
    if result.code == "TIMEOUT" and GRASP in talk.tools:
        # The outcome is not known: see what the gripper says before anything moves again.
        final((yield Call(GRASP, talk.fit(GRASP))), GRASP)
    if CLEAR in talk.tools and result.code in {"START_IN_COLLISION", "GOAL_IN_COLLISION"}:
        final((yield Call(CLEAR, {})), CLEAR)
    result = yield Call(tool, arguments)
    final(result, tool)
    return result


def blocked(result: Result) -> bool:
    """Whether something stopped the arm on its way."""
    return result.code == "EXECUTION_FAILED"


def straight_down(
    talk: Conversation, pose: Pose, above: Pose, min_fraction: float | None, say: str, least: float | None = None
) -> Asking:
    """A straight motion from `above` down to `pose`, or `least` of the way.

    What stops it is left as the hand came, straight up: at least `min_fraction` of that way.
    """
    result = yield from move(talk, STRAIGHT, straight_to(talk, pose, least), say)
    if blocked(result):
        yield from move(talk, STRAIGHT, straight_to(talk, above, min_fraction), "Something is in the way: up again.")
    return result


def straight_up(
    talk: Conversation, pose: Pose, min_fraction: float | None, lower_by_m: float | None, say: str = ""
) -> Asking:
    """A straight motion up to `pose` or that part of the way, or a planned one where that is not possible."""
    result = yield from move(talk, STRAIGHT, straight_to(talk, pose, min_fraction), say)
    if not result.ok:
        result = yield from move(talk, MOVE, to_pose(talk, pose, lower_by_m))
    return result


def transit(talk: Conversation, failed: str, note: str = "", **extra: Any) -> Doing:
    """The arm to the pose that the robot drives with; GiveUpError(`failed`) when it does not get there."""
    result = yield from move(talk, MOVE, named_state(talk, talk.facts["arm"]["transit_state"]), "Arm to transit.")
    if not result.ok:
        raise GiveUpError(failed, f"{note}The arm did not reach its transit pose ({why(result)}).", **extra)


def gripper(talk: Conversation, tool: str, position: float | None = None, say: str = "") -> Asking:
    """Open or close the gripper, wholly or to a position of its joint, once more if that fails."""
    result = yield Call(tool, talk.fit(tool, position=position), say)
    final(result, tool)
    if not result.ok:
        result = yield Call(tool, talk.fit(tool, position=position))
        final(result, tool)
    return result


def grasp_state(talk: Conversation) -> Asking:
    """The last get_grasp_state, asked again while the fingers still move or nothing is known."""
    result = Result({})
    for _ in range(3):
        result = yield Call(GRASP, talk.fit(GRASP))
        final(result, GRASP)
        if result.ok and result.get("state") in {"HOLDING", "EMPTY"}:
            break
    return result


def _group(talk: Conversation) -> str | None:
    return talk.facts.get("arm", {}).get("group")


def _target(pose: Pose) -> dict[str, Any]:
    return {"position": pose["position"], "orientation": pose["orientation"], "frame_id": pose["frame_id"]}
