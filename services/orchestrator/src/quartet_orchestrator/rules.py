"""Rules of recovery and budget that hold whatever the model wants: a refused call goes back to it with the reason.

The prompt tells the model the same rules; this is for a model that does not follow them.
"""

from quartet_contracts import (
    ApproachArguments,
    ApproachCode,
    NextAction,
    PickArguments,
    PickCode,
    PlaceArguments,
    PlaceCode,
    SkillArguments,
    without_ids,
)
from quartet_orchestrator.ledger import Hold, Ledger, ObjectRecord
from quartet_orchestrator.names import FLOOR

MAX_CYCLES = 2
"""Full approach-pick-approach-place cycles per object."""
MAX_FAILED_PICKS = 6
"""Per object: every cycle may have a failed attempt, a plan tried again and a wrong object freed."""
SPARE_APPROACHES = 4
SAME_CALL = 2
"""A call that failed may be made once more with the same arguments, where its code allows it."""

ONCE_ONLY: dict[str, str] = {
    ApproachCode.NAV_AREA_WRONG: "approach with a more specific area, not with the same arguments",
    ApproachCode.NAV_VERIFY_OVERRIDE: "approach with another name for the object, not with the same arguments",
    PlaceCode.PLACE_OUT_OF_SCOPE: "this robot cannot put things there: report it and keep holding",
}


class Rules:
    """Says why a call must not be made now, or None. `areas` is how many areas the site has."""

    def __init__(self, ledger: Ledger, areas: int) -> None:
        self._ledger = ledger
        self._max_failed_approaches = areas + SPARE_APPROACHES

    def refusal(self, arguments: SkillArguments) -> str | None:
        checks = [self._look_first, self._settle_place_first, self._two_objects_failed, self._given_up, self._same_call]
        if isinstance(arguments, ApproachArguments):
            checks.append(self._drive_to_drop)
        elif isinstance(arguments, PickArguments):
            checks.append(self._pick)
        else:
            checks.append(self._place)
        for check in checks:
            if reason := check(arguments):
                return reason
        return None

    def _look_first(self, _: SkillArguments) -> str | None:
        if self._ledger.look_needed:
            return "the outcome of the last motion is not known: call look first, then decide on a new attempt"
        return None

    def _settle_place_first(self, arguments: SkillArguments) -> str | None:
        """What may lie at its place already is not fetched again before somebody has looked."""
        name = self._ledger.unsettled_place
        if not name or isinstance(arguments, PlaceArguments) or self._ledger.subject(arguments) != name:
            return None
        return (
            f"whether the last place has put '{name}' where it should be is not known, and the gripper is empty: call "
            "place again with the same arguments; it sees whether the thing lies there already"
        )

    def _two_objects_failed(self, arguments: SkillArguments) -> str | None:
        """Two objects in a row that failed at the same stage end the task: no third is begun."""
        subject = self._ledger.subject(arguments)
        if subject is None or subject in self._ledger.objects or self._frees_the_gripper(arguments):
            return None
        worked = list(self._ledger.objects.values())[-2:]
        if len(worked) == 2 and all(r.failed for r in worked) and worked[0].last_stage == worked[1].last_stage:
            return (
                f"two objects in a row ({worked[0].name}, {worked[1].name}) failed at the stage "
                f"'{worked[0].last_stage}': the task stops here. Call report_task_result"
            )
        return None

    def _given_up(self, arguments: SkillArguments) -> str | None:
        subject = self._ledger.subject(arguments)
        record = self._ledger.objects.get(subject) if subject else None
        if record is None:
            return None
        record.given_up = record.given_up or self._why_give_up(record)
        if record.given_up and not self._frees_the_gripper(arguments):
            return f"'{record.name}' is given up: {record.given_up}. Go on with the next object, or report"
        return None

    def _why_give_up(self, record: ObjectRecord) -> str:
        if record.failed_picks >= MAX_FAILED_PICKS:
            return f"{record.failed_picks} picks of it failed, the last with {record.last_code}"
        if record.failed_approaches >= self._max_failed_approaches:
            return f"{record.failed_approaches} approaches to it failed, the last with {record.last_code}"
        if record.drop_failures_in_a_row >= 2:
            return "two drops in a row could not be verified"
        return ""

    def _frees_the_gripper(self, arguments: SkillArguments) -> bool:
        return isinstance(arguments, PlaceArguments) and self._ledger.hold in {Hold.OBJECT, Hold.SOMETHING}

    def _same_call(self, arguments: SkillArguments) -> str | None:
        arguments = without_ids(arguments)
        code = self._ledger.last_codes.get(arguments, "NONE")
        if code in ONCE_ONLY:
            return f"the same call ended with {code}: {ONCE_ONLY[code]}"
        failures = self._ledger.repeats.get((arguments, code), 0)
        if not isinstance(arguments, PickArguments) and failures >= SAME_CALL:
            return (
                f"the same call ended {failures} times with {code}: give the object up, "
                "go on with the next one, or report"
            )
        return None

    def _drive_to_drop(self, arguments: SkillArguments) -> str | None:
        """A failed pick is never followed by a drive to the drop place."""
        assert isinstance(arguments, ApproachArguments)
        if arguments.next_action is NextAction.PICK:
            return self._cycles(arguments.object_name)
        if self._nothing_held():
            return f"{self._why_not_held()}, so there is nothing to bring there; pick first (next_action 'pick')"
        if self._ledger.pick_failed == PickCode.PICK_WRONG_OBJECT and arguments.next_action != NextAction.FLOOR_PLACE:
            return (
                "the last pick took the wrong object: place it on the floor, approach the right one and pick that, "
                "before you drive to the drop place"
            )
        return None

    def _pick(self, arguments: SkillArguments) -> str | None:
        assert isinstance(arguments, PickArguments)
        record = self._ledger.objects.get(self._ledger.names.thing(arguments.object_name))
        if record is not None and record.needs_approach:
            return f"the last pick of '{record.name}' ended with {record.last_code}: approach it again, then pick"
        if record is not None and record.plan_failures >= SAME_CALL:
            return (
                f"the same pick ended {record.plan_failures} times with PICK_PLAN_FAILED: give the object up, "
                "go on with the next one, or report"
            )
        return self._cycles(arguments.object_name)

    def _cycles(self, object_name: str) -> str | None:
        record = self._ledger.objects.get(self._ledger.names.thing(object_name))
        if record is not None and record.picks >= MAX_CYCLES and self._ledger.held != record.name:
            return (
                f"'{record.name}' had {record.picks} full cycles, the limit is {MAX_CYCLES}: give it up, "
                "go on with the next object, or report"
            )
        return None

    def _place(self, arguments: SkillArguments) -> str | None:
        assert isinstance(arguments, PlaceArguments)
        to_floor = self._ledger.names.place(arguments.target_location) == FLOOR
        if self._ledger.pick_failed == PickCode.PICK_WRONG_OBJECT and not to_floor and not self._nothing_held():
            return "the gripper holds the wrong object: place it on the floor (target_location 'floor')"
        # A place whose end is not known is settled by the next one, which looks whether the thing lies there already.
        if self._nothing_held() and not self._ledger.doubtful:
            return f"{self._why_not_held()}, so there is nothing to place; pick first"
        return None

    def _nothing_held(self) -> bool:
        return self._ledger.hold in {Hold.EMPTY, Hold.UNCERTAIN}

    def _why_not_held(self) -> str:
        if self._ledger.pick_failed:
            return f"the last pick ended with {self._ledger.pick_failed}"
        return "the gripper is empty"
