"""Approach: drive to an area and see whether the target is in view. approach.md has it in words."""

from typing import Any

from quartet_contracts import PARKING, ApproachCode, CheckResult
from quartet_contracts.tools.perception import PerceptionCode
from quartet_procedures._arm import Arm
from quartet_procedures._turns import DRIVE, Call, Procedure, carry_out, procedure, sees, why
from quartet_procedures.errors import GaveUpError
from quartet_site import is_floor, normalise

CLEAR_COSTMAPS = "nav2__clear_costmaps"
LOOK = "perception__look"
DETECT = "perception__detect_objects"

Entry = dict[str, Any]
"""Entry of the areas or places in Facts."""


@procedure
def approach(request: dict[str, Any], facts: dict[str, Any]) -> Procedure:
    """Tuck the arm, drive to `target_area` of the request, look, and report whether `object_name` is in view."""
    area, place = _where(request, facts)
    target, name = str(request["object_name"]), str(area["name"])
    parks = normalise(target) == PARKING
    stand = area["parking"][0] if parks and area.get("parking") else (place or {}).get("approach") or area["entry"]
    arm = Arm(str(facts["arm"]["transit_state"]), failed=ApproachCode.NAV_PLAN_FAILED, out_of_reach="")
    nothing_to_see = parks or is_floor(target) or _is(area, target) or request["next_action"] == "look"
    look = [Call(LOOK, {"camera": "front"})] + ([] if nothing_to_see else [_detect(request)])

    # The grant of an approach does not cover clear_planning_scene.
    results = yield from carry_out(arm.to_transit, _drive(stand, name), *look, clears_scene=False)
    if len(results) == 1 and not results[0].ok:
        raise GaveUpError(ApproachCode.NAV_PLAN_FAILED, f"the arm could not be tucked: {why(results[0])}")
    results = results[1:]
    again = _drive(stand if parks else area["entry"], name)
    if len(results) == 1 and not results[0].ok:
        yield from carry_out(Call(CLEAR_COSTMAPS))
        results = yield from carry_out(again, *look)
    elif results[1].ok and results[1].get("area") != name:
        results = yield from carry_out(again, *look)
    if len(results) == 1 and not results[0].ok:
        raise GaveUpError(ApproachCode.NAV_DRIVE_FAILED, f"the robot did not get to the {name}: {why(results[0])}")

    if results[1].ok and (here := results[1].get("area")) != name:
        reason = f"the robot stands in {here or 'no known area'} after the drive to the {name}"
        raise GaveUpError(ApproachCode.NAV_DRIVE_FAILED, reason, checks=[_check("area", CheckResult.FAIL, reason)])
    checks = [_check("area", CheckResult.PASS, f"in the {name}")]
    if nothing_to_see:
        return _report([*checks, _check("target", CheckResult.SKIP, "nothing to detect")], f"in the {name}")
    # Without a picture of the area the target may still be seen.
    seen = results[2] if len(results) > 2 else (yield from carry_out(look[-1]))[-1]
    if sees(seen):
        reason = f"in the {name} with '{target}' in view"
        return _report([*checks, _check("target", CheckResult.PASS, reason)], reason)
    reason = f"'{target}' is not in view in the {name}{'' if seen.ok else f': {why(seen)}'}"
    checks.append(_check("target", CheckResult.FAIL, reason))
    unknown = seen.code == PerceptionCode.UNKNOWN_OBJECT
    code = ApproachCode.UNKNOWN_NAME if unknown else ApproachCode.NAV_TARGET_NOT_VISIBLE
    raise GaveUpError(code, reason, checks=checks)


def _where(request: dict[str, Any], facts: dict[str, Any]) -> tuple[Entry, Entry | None]:
    """Return the wanted area, and the entry of the target if it is a place there. Raises GaveUpError."""
    wanted, areas = str(request["target_area"]), facts["areas"]
    area = next((one for one in areas if _is(one, wanted)), None)
    named = [one for one in facts["places"] if _is(one, str(request["object_name"]))]
    if area is None:
        reason = f"there is no area '{wanted}'; the areas are: {', '.join(one['name'] for one in areas)}"
    elif named and all(one["area"] != area["name"] for one in named):
        reason = f"'{named[0]['name']}' is in the {named[0]['area']}, not in the {area['name']}"
    else:
        return area, next((one for one in named if one["area"] == area["name"]), None)
    raise GaveUpError(ApproachCode.NAV_AREA_WRONG, reason, checks=[_check("area", CheckResult.FAIL, reason)])


def _is(entry: Entry, name: str) -> bool:
    return normalise(name) in {normalise(known) for known in (entry["name"], *entry["aliases"])}


def _drive(stand: dict[str, float], area: str) -> Call:
    return Call(DRIVE, {key: stand[key] for key in ("x", "y", "yaw")}, f"Drive to the {area}.")


def _detect(request: dict[str, Any]) -> Call:
    by_name = {"names": [request["object_name"]], "camera": "both"}
    object_id = request.get("object_id")
    if not object_id:
        return Call(DETECT, by_name)
    return Call(DETECT, {"object_ids": [object_id], "camera": "both"}, by_name=by_name)


def _check(name: str, result: CheckResult, note: str) -> dict[str, str]:
    return {"name": name, "result": str(result), "note": note[:500]}


def _report(checks: list[dict[str, str]], reason: str) -> dict[str, Any]:
    return {"success": True, "error_code": str(ApproachCode.NONE), "reason": reason, "checks": checks}
