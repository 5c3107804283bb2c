"""What the cameras and the gripper's sensors tell of the arm's surroundings, with the last state as its history."""

import math
import re
from collections.abc import Iterable

from quartet_agent_runtime import RequestContext, VerificationError
from quartet_contracts import MAX_SCENE_OBJECTS, ArmScene, SceneObject
from quartet_contracts.tools.moveit import CurrentPoseResult, GraspState, GripperResult
from quartet_contracts.tools.perception import Detection, DetectResult, GraspPoseResult
from quartet_executor.poses import Hand, hand_at
from quartet_site import CatalogueObject, Container, SiteFile, Surface, normalise

SAME_M, SAME_RAD = 0.01, math.radians(30)
"""An object that has moved less keeps its pose, one that has turned less its yaw: the rule of the MALMM paper against
the noise of a camera, by translation and by rotation."""
ORDINARY_M = (0.08, 0.08, 0.1)
"""Size of a thing of which neither the site file nor a camera tells one [m]."""
AT_FINGERS_M = 0.1
"""A thing between the fingers is the known one that was at most this far away: the fingers hide parts of it."""
NEARBY_M = 0.3
"""How far beyond the arm's reach an object may be and still be told."""


async def look(check: RequestContext, before: ArmScene | None) -> ArmScene:
    """Return the state as it is measured now; what is not in view is where it was seen last, or where `before` has it.

    Raises:
        VerificationError: the arm's server or the cameras do not answer.
    """
    pose = await check.call(CurrentPoseResult, "moveit__get_current_pose")
    if pose.pose is None:
        raise VerificationError(f"moveit__get_current_pose: {pose.error_code}: {pose.message}", uncertain=False)
    hand = hand_at(pose.pose, check.robot)
    grasp = await check.call(GripperResult, "moveit__get_grasp_state")
    detections = await _detections(check)
    held = before.held if before and grasp.state is GraspState.HOLDING else None
    known = {one.name: one for one in before.objects} if before else {}
    if before and before.held in known and held is None:
        known[before.held] = known[before.held].model_copy(update={"unsure": True})
    found: dict[str, SceneObject] = {}
    if held is None and grasp.state is GraspState.HOLDING:
        # Held since before the task, or grasped by a program that failed then: the wrist camera tells what it is.
        held = _seen_in_gripper(check, detections, known, hand)
    for one, thing in _in_reach(check, detections):
        name = _name_of(one, thing, known, found)
        last = known[name].model_copy(update={"unsure": False, "inside": None}) if name in known else None
        # Between open fingers stands what was let go; what they hold is told as held.
        stands = not one.in_gripper or grasp.state is not GraspState.HOLDING
        stands = stands and (last is not None or not _hidden_by_fingers(one, known, hand))
        if one.in_gripper and last is not None:
            # The fingers hide a part of it, and the id that it may have there is not the one that it stands by.
            known[name] = last
        elif stands and name not in found and name != held and len(found) < MAX_SCENE_OBJECTS:
            found[name] = await _measured(check, one, thing, name, last)
    for name, last in known.items():
        if name == held:
            found[name] = last.model_copy(update={"position": hand.position})
        elif name not in found and len(found) < MAX_SCENE_OBJECTS:
            found[name] = last
    return ArmScene(objects=tuple(found.values()), hand_position=hand.position, hand_yaw=hand.yaw, held=held)


Thing = CatalogueObject | Surface | Container


async def _detections(check: RequestContext) -> list[Detection]:
    seen = await check.call(DetectResult, "perception__detect_objects", camera="both")
    if not seen.ok:
        raise VerificationError(f"perception__detect_objects: {seen.error_code}: {seen.message}", uncertain=False)
    return seen.detections


def _in_reach(check: RequestContext, detections: Iterable[Detection]) -> list[tuple[Detection, Thing]]:
    """Return what the site knows by name and the arm can get near to, best first.

    What a camera calls a thing that the site does not know is text from outside; it goes to no other agent.
    """
    by_name, limit = _things(check.site), check.robot.arm.reach_floor_m + NEARBY_M
    found: list[tuple[Detection, Thing]] = []
    for one in detections:
        thing, point = by_name.get(normalise(one.label)), one.near_point_base or one.position_base
        if thing is not None and point is not None and one.position_base is not None and math.hypot(*point[:2]) < limit:
            found.append((one, thing))
    return found


def _things(site: SiteFile) -> dict[str, Thing]:
    """Return what the site knows by names and aliases."""
    by_name: dict[str, Thing] = {}
    for thing in (*site.objects, *site.surfaces, *site.containers):
        by_name |= dict.fromkeys((normalise(thing.name), *map(normalise, thing.aliases)), thing)
    return by_name


def _seen_in_gripper(
    check: RequestContext, detections: Iterable[Detection], known: dict[str, SceneObject], hand: Hand
) -> str | None:
    """Return the name of what the cameras see between the fingers, which is known then; None where they see nothing."""
    by_name = _things(check.site)
    for one in detections:
        thing = by_name.get(normalise(one.label))
        if one.in_gripper and thing is not None:
            name = _name_of(one, thing, known, {})
            size, colour = thing.appearance.size_m or one.size_m or ORDINARY_M, thing.appearance.colours[0]
            new = SceneObject(name=name, position=hand.position, yaw=hand.yaw, size_m=size, colour=colour)
            known[name] = known.get(name, new).model_copy(update={"object_id": one.object_id})
            return name
    return None


def _name_of(one: Detection, thing: Thing, known: dict[str, SceneObject], found: dict[str, SceneObject]) -> str:
    """Return the name of a detection: that of the same object before, else the site's, numbered where it is taken.

    Between the fingers the same object may have another id: there it is the one that stood in that place.
    """
    if one.object_id is None:
        return thing.name
    taken: set[str] = set()
    for name, other in (*known.items(), *found.items()):
        if other.object_id == one.object_id:
            return name
        # What was lost from view may have another id when it is seen again.
        if other.object_id is not None and not other.unsure:
            taken.add(name)
    if one.in_gripper and (there := _known_there(one, thing, known)) is not None:
        return there
    number = 1
    while (name := thing.name if number == 1 else f"{thing.name} {number}") in taken:
        number += 1
    return name


def _known_there(one: Detection, thing: Thing, known: dict[str, SceneObject]) -> str | None:
    """Return the name of the known thing of this kind that stands where a detection is, None where none does."""
    at = one.position_base
    away = {
        name: math.dist(other.position, at)
        for name, other in known.items()
        if at is not None and re.fullmatch(rf"{re.escape(thing.name)}( \d+)?", name)
    }
    nearest = min(away, key=lambda name: away[name], default=None)
    return nearest if nearest is not None and away[nearest] <= AT_FINGERS_M else None


def _hidden_by_fingers(one: Detection, known: dict[str, SceneObject], hand: Hand) -> bool:
    """Return whether a detection is where a known thing stands at the fingers, which hide a part of it.

    Two things are not in one place, so it is that thing, of which too little is seen to tell what it is.
    """
    at = one.position_base
    return at is not None and any(
        not other.unsure
        and math.dist(hand.position, other.position) <= AT_FINGERS_M
        and math.dist(at[:2], other.position[:2]) < min(other.size_m[:2])
        and abs(at[2] - other.position[2]) < other.size_m[2] / 2
        for other in known.values()
    )


async def _measured(
    check: RequestContext, one: Detection, thing: Thing, name: str, last: SceneObject | None
) -> SceneObject:
    assert one.position_base is not None
    colour = thing.appearance.colours[0]
    if isinstance(thing, Surface) and last is not None:
        # It stands; the arm hides a part of it, and its middle would seem to move.
        return last
    size = one.size_m or thing.appearance.size_m or ORDINARY_M
    roughly = SceneObject(name=name, position=one.position_base, size_m=size, colour=colour, object_id=one.object_id)
    if not isinstance(thing, CatalogueObject):
        return roughly
    if last is not None and math.dist(one.position_base, last.position) < SAME_M:
        return last
    asked = {"object_name": thing.name} if one.object_id is None else {"object_id": one.object_id}
    grasp = await check.call(GraspPoseResult, "perception__get_topdown_grasp_pose", camera=one.camera, **asked)
    box, pose, width = grasp.bounding_box, grasp.grasp_pose, grasp.grasp_width_m
    if not grasp.ok or box is None or pose is None or width is None:
        return roughly
    sides = [high - low for low, high in zip(box.minimum, box.maximum, strict=True)]
    x, y, z = ((low + high) / 2 for low, high in zip(box.minimum, box.maximum, strict=True))
    yaw = hand_at(pose, check.robot).yaw
    # A box of sides a and b at this yaw is a|cos| + b|sin| by a|sin| + b|cos| wide.
    other = max(0.0, (sides[0] + sides[1]) / (abs(math.cos(yaw)) + abs(math.sin(yaw))) - width)
    if last is not None:
        if math.dist((x, y, z), last.position) < SAME_M:
            return last
        # Half a turn changes nothing between two fingers.
        if abs(math.remainder(yaw - last.yaw, math.pi)) < SAME_RAD:
            yaw = last.yaw
    return SceneObject(
        name=name, position=(x, y, z), yaw=yaw, size_m=(width, other, sides[2]), colour=colour, object_id=one.object_id
    )
