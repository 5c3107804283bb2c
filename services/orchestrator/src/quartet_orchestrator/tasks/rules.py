"""Rules of recovery and budget for the model's calls: a call that breaks one is refused with the reason.

The first line of a refusal says what is wrong, for people too; further lines say what the model should do.

The prompt states the same rules; code enforces them, whatever the model does.
"""

from collections.abc import Callable

from quartet_contracts import (
    HELD_OBJECT,
    ApproachArguments,
    ApproachCode,
    NextAction,
    PickArguments,
    PickCode,
    PlaceArguments,
    PlaceCode,
    StepArguments,
    without_ids,
)
from quartet_orchestrator.tasks.facts import GripperContent, ObjectRecord, TaskFacts
from quartet_orchestrator.tasks.names import FLOOR
from quartet_site import normalise

MAX_CYCLES = 2
"""Full approach-pick-approach-place cycles for each object."""
MAX_WRONG_PICKS = 2
"""Times that another thing may be picked for an object: it stays near, put aside, and may mislead perception again."""
MAX_FAILED_PICKS = 6
"""For each object: every cycle may have a failed attempt, a second plan and a wrong object that is put down."""
SPARE_APPROACHES = 4
"""Failed approaches to one object beyond the number of areas."""
SAME_CALL = 2
"""Times that a call may fail with the same arguments and the same code."""

ONCE_ONLY: dict[str, str] = {
    ApproachCode.NAV_AREA_WRONG: "approach with a more specific area, not with the same arguments",
    ApproachCode.NAV_VERIFY_OVERRIDE: "approach with another name for the object, not with the same arguments",
    PlaceCode.PLACE_OUT_OF_SCOPE: "this robot cannot put things there: report it and keep holding",
}


class CallRules:
    """Decides whether a call may be made now."""

    def __init__(self, facts: TaskFacts, areas: int, unable: Callable[[StepArguments], str] = lambda _: "") -> None:
        """`areas` is the number of areas of the site; `unable` returns why the robot's body cannot do a call."""
        self._facts = facts
        self._unable = unable
        self._max_failed_approaches = areas + SPARE_APPROACHES

    def refusal(self, arguments: StepArguments) -> str | None:
        """Return why the call must not be made now, None when it may."""
        checks = [
            self._has_name,
            self._body_is_able,
            self._look_first,
            self._verify_place_first,
            self._two_objects_failed,
            self._given_up,
            self._same_call,
            self._not_another,
        ]
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

    def _has_name(self, arguments: StepArguments) -> str | None:
        """What is held and has no name can be put down; nobody can drive to it or fetch it."""
        empty = self._facts.gripper is GripperContent.EMPTY
        if isinstance(arguments, PlaceArguments) or (isinstance(arguments, PickArguments) and not empty):
            return None
        if normalise(arguments.object_name) != HELD_OBJECT:
            return None
        return (
            f"'{HELD_OBJECT}' is no name that can be looked for\nName the object in the person's words or as Facts do"
        )

    def _body_is_able(self, arguments: StepArguments) -> str | None:
        if reason := self._unable(arguments):
            return (
                f"{reason}\nDo not try another way: go on with the rest of the task, and report this as not done, with "
                "this reason"
            )
        return None

    def _look_first(self, _: StepArguments) -> str | None:
        if self._facts.look_needed:
            return "the outcome of the last motion is not known\nCall look first, then decide on a new attempt"
        return None

    def _verify_place_first(self, arguments: StepArguments) -> str | None:
        """An object that may lie at its target already is not fetched again before a place has looked."""
        name = self._facts.unverified_place
        if not name or isinstance(arguments, PlaceArguments) or self._facts.object_of(arguments) != name:
            return None
        return (
            f"whether the last place has put '{name}' where it should be is not known, and the gripper is empty\nCall "
            "place again with the same arguments; it sees whether the thing lies there already"
        )

    def _two_objects_failed(self, arguments: StepArguments) -> str | None:
        """After two objects in a row that failed at the same stage, no third is begun."""
        subject = self._facts.object_of(arguments)
        if subject is None or subject in self._facts.objects or self._frees_the_gripper(arguments):
            return None
        worked = list(self._facts.objects.values())[-2:]
        if len(worked) == 2 and all(r.failed for r in worked) and worked[0].last_stage == worked[1].last_stage:
            return (
                f"two objects in a row ({worked[0].name}, {worked[1].name}) failed at the stage "
                f"'{worked[0].last_stage}': the task stops here\nCall report_task_result"
            )
        return None

    def _given_up(self, arguments: StepArguments) -> str | None:
        subject = self._facts.object_of(arguments)
        record = self._facts.objects.get(subject) if subject else None
        if record is None:
            return None
        record.given_up = record.given_up or self._why_give_up(record)
        if record.given_up and not self._frees_the_gripper(arguments):
            return f"'{record.name}' is given up: {record.given_up}\nGo on with the next object, or report"
        return None

    def _why_give_up(self, record: ObjectRecord) -> str:
        if record.failed_picks >= MAX_FAILED_PICKS:
            return f"{record.failed_picks} picks of it failed, the last with {record.last_code}"
        if record.failed_approaches >= self._max_failed_approaches:
            return f"{record.failed_approaches} approaches to it failed, the last with {record.last_code}"
        if record.drop_failures_in_a_row >= 2:
            return "two drops in a row could not be verified"
        return ""

    def _frees_the_gripper(self, arguments: StepArguments) -> bool:
        return isinstance(arguments, PlaceArguments) and self._facts.gripper in {
            GripperContent.OBJECT,
            GripperContent.SOMETHING,
        }

    def _same_call(self, arguments: StepArguments) -> str | None:
        arguments = without_ids(arguments)
        code = self._facts.last_codes.get(arguments, "NONE")
        if code in ONCE_ONLY:
            return f"the same call ended with {code}\n{ONCE_ONLY[code].capitalize()}"
        failures = self._facts.repeats.get((arguments, code), 0)
        if not isinstance(arguments, PickArguments) and failures >= SAME_CALL:
            return (
                f"the same call ended {failures} times with {code}\nGive the object up, "
                "go on with the next one, or report"
            )
        return None

    def _not_another(self, arguments: StepArguments) -> str | None:
        """What lay at the target before, and looks like a thing that was lost, is not fetched in its place."""
        if isinstance(arguments, PlaceArguments) or arguments.object_id is None:
            return None
        record = self._facts.objects.get(self._facts.names.thing(arguments.object_name))
        if record is None or arguments.object_id not in record.others:
            return None
        return (
            f"{arguments.object_id} looks like '{record.name}' and lay near the target before that was to be put down: "
            "it is another one\nLook for the lost one elsewhere, or report that where it is is not known"
        )

    def _drive_to_drop(self, arguments: StepArguments) -> str | None:
        """A failed pick is never followed by a drive to the drop place."""
        assert isinstance(arguments, ApproachArguments)
        if arguments.next_action is NextAction.PICK:
            return self._no_more_picks(arguments.object_name)
        if arguments.next_action is NextAction.LOOK:
            return None
        if self._nothing_held():
            return f"{self._why_not_held()}, so there is nothing to bring there\nPick first (next_action 'pick')"
        if self._facts.pick_failed == PickCode.PICK_WRONG_OBJECT and arguments.next_action != NextAction.FLOOR_PLACE:
            return (
                "the last pick took the wrong object\nPlace it on the floor, approach the right one and pick that, "
                "before you drive to the drop place"
            )
        return None

    def _pick(self, arguments: StepArguments) -> str | None:
        assert isinstance(arguments, PickArguments)
        record = self._facts.objects.get(self._facts.names.thing(arguments.object_name))
        if record is not None and record.needs_approach:
            return f"the last pick of '{record.name}' ended with {record.last_code}\nApproach it again, then pick"
        if record is not None and record.plan_failures >= SAME_CALL:
            return (
                f"the same pick ended {record.plan_failures} times with PICK_PLAN_FAILED\nGive the object up, "
                "go on with the next one, or report"
            )
        return self._no_more_picks(arguments.object_name)

    def _no_more_picks(self, object_name: str) -> str | None:
        """Return why an object is not to be picked again."""
        record = self._facts.objects.get(self._facts.names.thing(object_name))
        if record is None:
            return None
        if record.wrong_picks >= MAX_WRONG_PICKS:
            free = "" if self._nothing_held() else ", put down what is held"
            return (
                f"another thing was picked for '{record.name}' {record.wrong_picks} times\nGive the object up{free}, "
                "go on with the next one, or report"
            )
        if record.picks >= MAX_CYCLES and self._facts.held != record.name:
            return (
                f"'{record.name}' had {record.picks} full cycles, the limit is {MAX_CYCLES}\nGive it up, "
                "go on with the next object, or report"
            )
        return None

    def _place(self, arguments: StepArguments) -> str | None:
        assert isinstance(arguments, PlaceArguments)
        to_floor = self._facts.names.place(arguments.target_location) == FLOOR
        if self._facts.pick_failed == PickCode.PICK_WRONG_OBJECT and not to_floor and not self._nothing_held():
            return "the gripper holds the wrong object\nPlace it on the floor (target_location 'floor')"
        # After a place of unknown outcome, the next one looks whether the thing lies there already.
        if self._nothing_held() and not self._facts.release_uncertain:
            return f"{self._why_not_held()}, so there is nothing to place\nPick first"
        return None

    def _nothing_held(self) -> bool:
        return self._facts.gripper in {GripperContent.EMPTY, GripperContent.UNCERTAIN}

    def _why_not_held(self) -> str:
        if self._facts.pick_failed:
            return f"the last pick ended with {self._facts.pick_failed}"
        return "the gripper is empty"
