"""The approach agent: tuck the arm, drive to the area, check area and target, report."""

import math
from collections.abc import Generator
from typing import Any

from quartet_scripted_model.conversation import Conversation
from quartet_scripted_model.language.names import is_floor, named, normal
from quartet_scripted_model.policies.arm import MOVE, move, named_state
from quartet_scripted_model.policies.skill import Doing, GiveUpError, ask, ask_for, final, run, why
from quartet_scripted_model.turn import Call, Policy, Result, Turn

REPORT = "report_approach_result"
DRIVE = "nav2__navigate_to_pose"
POSE = "nav2__get_robot_pose"
COSTMAPS = "nav2__clear_costmaps"
PARKING = "parking"
LOOK = "perception__look"
DETECT = "perception__detect_objects"

Entry = dict[str, Any]


def policy(talk: Conversation) -> Policy:
    """Plays the approach agent in `talk`."""
    return run(talk, REPORT, _work(talk))


def _work(talk: Conversation) -> Generator[Turn, Result, dict[str, Any]]:
    target = str(talk.request.get("object_name", ""))
    tuck = named_state(talk, talk.facts["arm"]["transit_state"])
    tucked = yield from move(talk, MOVE, tuck, "Tuck the arm before driving.")
    if not tucked.ok:
        raise GiveUpError("NAV_PLAN_FAILED", f"The arm could not be tucked ({why(tucked)}).")
    area, place = _where(talk, target)
    parks = normal(target) == PARKING and area.get("parking")
    stand = parks[0] if parks else (place or {}).get("approach") or area["entry"]
    yield from _drive(talk, stand, area, again=stand if parks else area["entry"])
    checks = [(yield from _check_area(talk, area))]
    if is_floor(target) or parks or named(target, talk.facts["areas"]) is not None:
        checks.append(_check("target", "SKIP", "There is nothing to detect."))
        return _report(checks, f"In the {area['name']}, ready to use the floor.")
    seen, note = yield from _seen(talk, target)
    if seen:
        checks.append(_check("target", "PASS", f"'{target}' is in view."))
        return _report(checks, f"In the {area['name']} with '{target}' in view.")
    reason = f"'{target}' is not in view from where the robot stands in the {area['name']}. {note}".strip()
    raise GiveUpError("NAV_TARGET_NOT_VISIBLE", reason, checks=[*checks, _check("target", "FAIL", reason)])


def _where(talk: Conversation, target: str) -> tuple[Entry, Entry | None]:
    """The wanted area, and the target's entry if it is a place in it."""
    wanted, areas = str(talk.request.get("target_area", "")), talk.facts["areas"]
    area = named(wanted, areas)
    place = named(target, talk.facts["places"])
    if area is None:
        reason = f"There is no area '{wanted}'; the areas are: {', '.join(a['name'] for a in areas)}."
    elif place is not None and place["area"] != area["name"]:
        reason = f"'{place['name']}' stands in the {place['area']}, not in the {area['name']}."
    else:
        return area, place
    raise GiveUpError("NAV_AREA_WRONG", reason, checks=[_check("area", "FAIL", reason)])


def _drive(talk: Conversation, stand: dict[str, float], area: Entry, again: dict[str, float]) -> Doing:
    """To `stand`; after a failure to the pose `again`."""
    result = yield Call(DRIVE, _pose(talk, stand), f"Drive to the {area['name']}.")
    final(result, DRIVE)
    if result.ok:
        return
    if result.code == "TIMEOUT":
        # The outcome is not known: see where the robot is before it moves again.
        here = yield from ask(talk, POSE)
        if here.ok and _stands_at(here.get("pose"), stand):
            return
    final((yield Call(COSTMAPS, {})), COSTMAPS)
    result = yield Call(DRIVE, _pose(talk, again))
    final(result, DRIVE)
    if not result.ok:
        raise GiveUpError("NAV_DRIVE_FAILED", f"The robot did not get to the {area['name']} ({why(result)}).")


def _check_area(talk: Conversation, area: Entry) -> Generator[Turn, Result, dict[str, str]]:
    here = None
    for again in (True, False):
        result = yield from ask(talk, POSE)
        if not result.ok:
            raise GiveUpError("UNKNOWN", f"The robot does not know where it is ({why(result)}).")
        here = result.get("area")
        if here == area["name"]:
            yield from ask(talk, LOOK, camera="both", say="Look with both cameras.")
            return _check("area", "PASS", f"The pose lies in the {here}.")
        if again:
            yield from _drive(talk, area["entry"], area, again=area["entry"])
    reason = f"The robot stands in {here or 'no known area'}, not in the {area['name']}."
    raise GiveUpError("NAV_DRIVE_FAILED", reason, checks=[_check("area", "FAIL", reason)])


def _seen(talk: Conversation, target: str) -> Generator[Turn, Result, tuple[bool, str]]:
    """Whether a camera shows the target outside of the gripper, and otherwise what was said about it."""
    result = yield from ask_for(talk, DETECT, talk.request.get("object_id"), {"names": [target]}, camera="both")
    found = [d for d in result.get("detections") or [] if isinstance(d, dict) and not d.get("in_gripper")]
    return result.ok and bool(found), result.message if not result.ok else ""


def _pose(talk: Conversation, stand: dict[str, float]) -> dict[str, Any]:
    return talk.fit(DRIVE, x=stand["x"], y=stand["y"], yaw=stand["yaw"])


def _stands_at(pose: Any, stand: dict[str, float]) -> bool:
    """Whether `pose` is `stand` within half a metre: near enough to see what was to be seen from there."""
    return isinstance(pose, dict) and math.hypot(pose["x"] - stand["x"], pose["y"] - stand["y"]) < 0.5


def _check(name: str, result: str, note: str) -> dict[str, str]:
    return {"name": name, "result": result, "note": note[:500]}


def _report(checks: list[dict[str, str]], reason: str) -> dict[str, Any]:
    return {"success": True, "error_code": "NONE", "reason": reason, "checks": checks}
