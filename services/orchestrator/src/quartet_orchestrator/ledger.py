"""What happened to each object of a task so far: the facts on which rules and the final check stand."""

from dataclasses import dataclass, field
from enum import StrEnum

from quartet_contracts import (
    ApproachArguments,
    ApproachCode,
    NextAction,
    PickArguments,
    PickCode,
    PlaceArguments,
    PlaceCode,
    SkillArguments,
    SkillResult,
    State,
    without_ids,
)
from quartet_contracts.journal import SkillSettled
from quartet_contracts.tools.moveit import GraspState
from quartet_orchestrator.names import Names


class Hold(StrEnum):
    """What is known of the gripper."""

    UNSEEN = "unseen"
    """No pick or place has told anything yet."""
    EMPTY = "empty"
    OBJECT = "object"
    """The object that a pick reported."""
    SOMETHING = "something"
    """A thing that was there at the start, or the wrong one."""
    UNCERTAIN = "uncertain"
    """A pick ended without saying."""


@dataclass
class ObjectRecord:
    """One object. Counts are of finished attempts."""

    name: str
    picks: int = 0
    """Successful picks: one per full cycle."""
    failed_picks: int = 0
    failed_approaches: int = 0
    drop_failures_in_a_row: int = 0
    plan_failures: int = 0
    """PICK_PLAN_FAILED in a row from the same standpoint."""
    needs_approach: bool = False
    """The last pick's code asks for an approach before the next one."""
    last_stage: str = ""
    last_code: str = ""
    last_reason: str = ""
    place_succeeded: bool | None = None
    """Of the last place; None: not placed."""
    placed_at: str = ""
    given_up: str = ""
    """Why it is not worked on any more."""

    @property
    def failed(self) -> bool:
        """Whether its last step failed."""
        return self.last_code not in {"", "NONE"}


@dataclass
class Ledger:
    names: Names
    objects: dict[str, ObjectRecord] = field(default_factory=dict[str, ObjectRecord])
    """In the order in which they were first worked on."""
    hold: Hold = Hold.UNSEEN
    held: str = ""
    """Name of the object in the gripper when `hold` is OBJECT."""
    doubtful: bool = False
    """The last place ended without saying whether it let go."""
    unsettled_place: str = ""
    """Object that a place of unknown end let go: whether it lies where it should is for the next place to see."""
    pick_failed: str = ""
    """Code of the last pick when it failed and nothing is held since."""
    look_needed: bool = False
    """The last outcome is not known: look first."""
    repeats: dict[tuple[SkillArguments, str], int] = field(default_factory=dict[tuple[SkillArguments, str], int])
    """How often the same call ended with the same code, cleared by a success of that skill."""
    last_codes: dict[SkillArguments, str] = field(default_factory=dict[SkillArguments, str])
    reached: bool = False
    """The last approach succeeded."""
    looked: bool = False

    def record(self, name: str) -> ObjectRecord:
        """The record of an object, made at its first mention."""
        known = self.names.thing(name)
        return self.objects.setdefault(known, ObjectRecord(known))

    def subject(self, arguments: SkillArguments) -> str | None:
        """The object that a call is for; None for a drive to a place with nothing known in the gripper."""
        if isinstance(arguments, PlaceArguments) and self.pick_failed == PickCode.PICK_WRONG_OBJECT:
            # Whatever the model calls it: this is not the object that was wanted.
            return None
        if isinstance(arguments, PickArguments | PlaceArguments):
            return self.names.thing(arguments.object_name)
        if arguments.next_action is NextAction.PICK:
            return self.names.thing(arguments.object_name)
        return self.held or None

    def note(self, arguments: SkillArguments, result: SkillResult, settled: SkillSettled | None = None) -> None:
        """Write down what a skill answered, and what was seen afterwards where that left the outcome open."""
        code = str(result.error_code)
        self._count_repeats(arguments, code)
        self.look_needed = result.state is State.UNCERTAIN
        subject = self.subject(arguments)
        record = self.record(subject) if subject else None
        if record is not None:
            record.last_stage, record.last_code, record.last_reason = str(result.skill), code, result.reason
        if isinstance(arguments, ApproachArguments):
            self._approached(arguments, code, record)
        elif isinstance(arguments, PickArguments):
            self._picked(self.record(arguments.object_name), code)
        else:
            self._placed(record, arguments, code)
        if settled is not None:
            self._note_settled(settled, subject)

    def note_grasp(self, grasp: str, in_hand: str) -> None:
        """Write down what gripper and wrist camera say; a place whose end is not known stays in doubt.

        What a camera calls a thing counts only where the site knows it by that name: it is a name in later answers.
        """
        if grasp == GraspState.EMPTY:
            self.hold, self.held = Hold.EMPTY, ""
        elif grasp == GraspState.HOLDING:
            self.doubtful = False
            if known := self.names.known(in_hand):
                self.hold, self.held, self.pick_failed = Hold.OBJECT, known, ""
            elif self.hold is not Hold.OBJECT:
                self.hold, self.held = Hold.SOMETHING, ""

    def _note_settled(self, settled: SkillSettled, subject: str | None) -> None:
        if settled.state is not State.UNCERTAIN:
            self.look_needed = False
            self.note_grasp(settled.grasp, settled.in_hand)
            if self.doubtful and self.hold is Hold.EMPTY:
                self.unsettled_place = subject or ""

    def note_look(self, *, ok: bool) -> None:
        self.looked = self.looked or ok
        # A failing look also settles it: the cameras may be what is broken, and the task must be able to end.
        self.look_needed = False

    def _count_repeats(self, arguments: SkillArguments, code: str) -> None:
        arguments = without_ids(arguments)
        if code == "NONE":
            self._forget_failures(type(arguments))
        else:
            self.repeats[arguments, code] = self.repeats.get((arguments, code), 0) + 1
        self.last_codes[arguments] = code

    def _approached(self, arguments: ApproachArguments, code: str, record: ObjectRecord | None) -> None:
        self.reached = code == ApproachCode.NONE
        if record is None:
            return
        if self.reached:
            if arguments.next_action is NextAction.PICK:
                record.needs_approach, record.plan_failures = False, 0
        else:
            record.failed_approaches += 1

    def _picked(self, record: ObjectRecord, code: str) -> None:
        self.doubtful, self.unsettled_place = False, ""
        if code == PickCode.NONE:
            record.picks += 1
            record.place_succeeded, record.needs_approach, record.plan_failures = None, False, 0
            self.hold, self.held, self.pick_failed = Hold.OBJECT, record.name, ""
            self._forget_failures(PlaceArguments)
            return
        record.failed_picks += 1
        record.plan_failures = record.plan_failures + 1 if code == PickCode.PICK_PLAN_FAILED else 0
        if code in {PickCode.PICK_WRONG_OBJECT, PickCode.PICK_HOLDING_ALREADY}:
            if not (code == PickCode.PICK_HOLDING_ALREADY and self.hold is Hold.OBJECT):
                self.hold, self.held = Hold.SOMETHING, ""
            self.pick_failed = code if code == PickCode.PICK_WRONG_OBJECT else ""
            return
        record.needs_approach = code in {
            PickCode.PICK_SEG_MISSED,
            PickCode.PICK_REACH_EXCEEDED,
            PickCode.PICK_ATTACH_TIMEOUT,
        }
        self.hold = Hold.UNCERTAIN if code == PickCode.UNKNOWN else Hold.EMPTY
        self.held, self.pick_failed = "", code

    def _placed(self, record: ObjectRecord | None, arguments: PlaceArguments, code: str) -> None:
        if record is not None:
            record.place_succeeded = code == PlaceCode.NONE
            if code == PlaceCode.NONE:
                record.placed_at = arguments.target_location
                record.drop_failures_in_a_row = 0
            elif code == PlaceCode.PLACE_DROP_VERIFY_FAILED:
                record.drop_failures_in_a_row += 1
        self.doubtful, self.unsettled_place = code == PlaceCode.UNKNOWN, ""
        if code in {PlaceCode.NONE, PlaceCode.PLACE_DROP_VERIFY_FAILED, PlaceCode.PLACE_HOLDING_NOTHING}:
            self.hold, self.held = Hold.EMPTY, ""

    def _forget_failures(self, kind: type[SkillArguments]) -> None:
        self.repeats = {known: count for known, count in self.repeats.items() if type(known[0]) is not kind}
        self.last_codes = {known: code for known, code in self.last_codes.items() if type(known) is not kind}

    def holding_words(self) -> str:
        """What the robot holds at the end, in words, or ''."""
        if self.doubtful and self.hold is not Hold.EMPTY:
            return "Whether the robot still holds something is not known."
        return {
            Hold.OBJECT: f"The robot keeps holding the {self.held}.",
            Hold.SOMETHING: "The robot keeps holding the thing in its gripper.",
            Hold.UNCERTAIN: "Whether the robot holds something is not known.",
        }.get(self.hold, "")
