"""Facts of a task so far, by object: what the rules for calls and the check of the final report stand on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from quartet_contracts import (
    HELD_OBJECT,
    AlikeThing,
    ApproachArguments,
    ApproachCode,
    DeliveryOutcome,
    ExecutorArguments,
    NextAction,
    PickArguments,
    PickCode,
    PickResult,
    PlaceArguments,
    PlaceCode,
    PlaceResult,
    SkillArguments,
    SkillResult,
    State,
    StepArguments,
    without_ids,
)
from quartet_contracts.journal import SkillSettled
from quartet_contracts.tools.moveit import GraspState
from quartet_orchestrator.recovery import History
from quartet_orchestrator.tasks.names import FLOOR, SiteNames
from quartet_site import normalise

S = TypeVar("S", bound=StepArguments)
OTHER_PUT_DOWN = "what was put down is another one that looks like it and lay there before; where it is is not known"


class GripperContent(StrEnum):
    """What the gripper holds, as far as it is known."""

    UNSEEN = "unseen"
    """No pick or place has reported anything yet."""
    EMPTY = "empty"
    OBJECT = "object"
    """It holds the object that a pick reported."""
    SOMETHING = "something"
    """It holds a thing that was there at the start, or the wrong object."""
    UNCERTAIN = "uncertain"
    """A pick ended without reporting."""


@dataclass
class ObjectRecord:
    """One object of a task. Counts are of finished attempts."""

    name: str
    picks: int = 0
    """Successful picks: one per full cycle."""
    failed_picks: int = 0
    failed_approaches: int = 0
    drop_failures_in_a_row: int = 0
    wrong_picks: int = 0
    """Times that another thing was picked for it since it, or one that looks like it, was picked last."""
    plan_failures: int = 0
    """PICK_PLAN_FAILED in a row from the same standpoint."""
    needs_approach: bool = False
    """The error code of the last pick asks for an approach before the next one."""
    last_stage: str = ""
    last_code: str = ""
    last_reason: str = ""
    place_succeeded: bool | None = None
    """Result of the last place; None: not placed."""
    placed_at: str = ""
    delivered: dict[str, str] = field(default_factory=dict[str, str])
    """Things of this name that lie where a place of this task has put them: object id and place. Two that look alike
    have one name, and one of them is no delivery of the other."""
    others: set[str] = field(default_factory=set[str])
    """Ids of things that look like it and lay near its target before a place of it failed: none of them is this one."""
    given_up: str = ""
    """Reason why it is not worked on any more, '' while it is."""

    @property
    def failed(self) -> bool:
        """Whether its last skill failed."""
        return self.last_code not in {"", "NONE"}

    def deliveries(self, rows: int) -> list[str]:
        """Return where things of this name lie, for a report or plan with `rows` of them: the newest of `delivered`.

        Perception may take a thing that is picked again for another one. So there are no more than rows, and where the
        last one did not arrive, one row is left without.
        """
        most = rows if self.place_succeeded else rows - 1
        return list(self.delivered.values())[-most:] if most > 0 else []


@dataclass(frozen=True)
class PutAside:
    """A thing that was let go. It is told at the end, unless the report has it delivered there."""

    name: str
    """'' where nobody could name it."""
    place: str | None
    """The site's place where it was let go."""
    text: str
    """A sentence on where it lies."""


@dataclass
class TaskFacts:
    """What happened in one task, and what is known of the gripper."""

    names: SiteNames
    objects: dict[str, ObjectRecord] = field(default_factory=dict[str, ObjectRecord])
    """In the order in which they were first worked on."""
    gripper: GripperContent = GripperContent.UNSEEN
    held: str = ""
    """Name of the object in the gripper when `gripper` is OBJECT."""
    release_uncertain: bool = False
    """The last place ended without reporting whether it let go."""
    failed_place: PlaceArguments | None = None
    """The last place, where it failed and nothing was picked since: it may have let go before it did."""
    found_at_end: str = ""
    """Sentence on a thing that was seen at the end where a failed place should have put it."""
    unverified_place: str = ""
    """Object that a place of unknown outcome let go: the next place sees whether it lies where it should."""
    pick_failed: str = ""
    """Code of the last pick when it failed and the gripper holds nothing since."""
    look_needed: bool = False
    """The last outcome is not known: the model has to look first."""
    repeats: dict[tuple[SkillArguments, str], int] = field(default_factory=dict[tuple[SkillArguments, str], int])
    """How often the same call ended with the same code, cleared by a success of that skill."""
    last_codes: dict[SkillArguments, str] = field(default_factory=dict[SkillArguments, str])
    reached: bool = False
    """The last approach succeeded."""
    looked: bool = False
    """A look has succeeded."""

    held_id: str | None = None
    """Object id of what the last pick reported to hold."""
    held_height_m: float | None = None
    """Its height [m], which pick has from the grasp or the site file."""
    in_hand: str = ""
    """The site's name of what the gripper holds, as a pick or the wrist camera told it; '' where nobody could."""
    stands_at: tuple[str, str] | None = None
    """Area and thing of the last approach that succeeded."""
    stands_before_id: str | None = None
    """Object id of that thing; None if it has none, or the last approach failed."""
    drives: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Area and thing of every approach that succeeded, in order."""
    hand_seen: bool = False
    """The gripper was looked at after an approach that missed its object."""
    put_aside: list[PutAside] = field(default_factory=list[PutAside])
    """What was let go and not picked again since."""

    def record(self, name: str) -> ObjectRecord:
        """Return the record of an object; it is made at the first mention."""
        known = self.names.thing(name)
        return self.objects.setdefault(known, ObjectRecord(known))

    def object_of(self, arguments: SkillArguments) -> str | None:
        """Return the object that a call is for; None for a drive to a place with nothing known in the gripper."""
        if isinstance(arguments, PlaceArguments) and self.pick_failed == PickCode.PICK_WRONG_OBJECT:
            # Whatever the model calls it, this is not the wanted object.
            return None
        if isinstance(arguments, PickArguments | PlaceArguments):
            name = self.names.thing(arguments.object_name)
            # Other words for what is held: they are another object only if the site knows both names.
            other_words = self.held and not (self.names.known(name) and self.names.known(self.held))
            return self.held if isinstance(arguments, PlaceArguments) and other_words else name
        if isinstance(arguments, ExecutorArguments):
            return None
        if arguments.next_action is NextAction.PICK:
            return self.names.thing(arguments.object_name)
        return None if arguments.next_action is NextAction.LOOK else self.held or None

    def with_name_of_held(self, arguments: S) -> S:
        """Return the arguments of a place with the height of what is held, and its name where they say HELD_OBJECT."""
        if not isinstance(arguments, PlaceArguments):
            return arguments
        name = (self.held or self.in_hand) if normalise(arguments.object_name) == HELD_OBJECT else ""
        known = {"object_name": name or None, "object_height_m": self.held_height_m}
        return arguments.model_copy(update={key: value for key, value in known.items() if value is not None})

    def with_ids(self, arguments: S) -> S:
        """Return the arguments of a pick or place with the ids that results have given and the model has left out."""
        known: dict[str, str | None] = {}
        if isinstance(arguments, PickArguments) and self._stands_before(arguments.object_name, self.names.thing):
            known = {"object_id": self.stands_before_id}
        elif isinstance(arguments, PlaceArguments):
            if self._stands_before(arguments.target_location, self.names.place):
                known["target_id"] = self.stands_before_id
            if self.gripper is not GripperContent.EMPTY or self.release_uncertain:
                known["held_id"] = self.held_id
        known = {name: value for name, value in known.items() if getattr(arguments, name) is None}
        return arguments.model_copy(update=known) if known else arguments

    def _stands_before(self, name: str, resolve: Callable[[str], str | None]) -> bool:
        """Return whether the last approach brought the robot before what `resolve` takes for the same thing."""
        return self.stands_at is not None and resolve(name) == resolve(self.stands_at[1]) is not None

    def note(
        self,
        arguments: SkillArguments,
        result: SkillResult,
        settled: SkillSettled | None = None,
        alike_before: Sequence[AlikeThing] = (),
    ) -> None:
        """Note what a skill reported, and what was seen afterwards where that left the outcome open.

        alike_before: of a place, the things that could be taken for what was held.
        """
        code = str(result.error_code)
        self._count_repeats(arguments, code)
        self.look_needed = result.state is State.UNCERTAIN
        if isinstance(arguments, ExecutorArguments):
            # A program may have done anything with the hand.
            self.gripper = GripperContent.UNCERTAIN
            if settled is not None:
                self._note_settled(settled, None)
            return
        subject = self.object_of(arguments)
        record = self.record(subject) if subject else None
        if record is not None:
            record.last_stage, record.last_code, record.last_reason = str(result.skill), code, result.reason
        if isinstance(arguments, ApproachArguments):
            self._approached(arguments, code, record)
            self.stands_before_id = result.object_id if self.reached else None
        elif isinstance(arguments, PickArguments):
            told = result.held_object if isinstance(result, PickResult) else None
            self.in_hand = self.names.known(told or (arguments.object_name if code == PickCode.NONE else "")) or ""
            self.held_id = None if _is_put_back(result) else result.object_id
            self.held_height_m = result.held_object_height_m if isinstance(result, PickResult) else None
            self._picked(self.record(arguments.object_name), code, result)
        else:
            still_held = isinstance(result, PlaceResult) and result.still_held is True
            self._placed(record, arguments, code, still_held=still_held)
            if record is not None and code != PlaceCode.NONE:
                record.others |= {one.object_id for one in alike_before if one.object_id is not None}
        if settled is not None:
            self._note_settled(settled, subject)

    def note_grasp(self, grasp: str, in_hand: str) -> None:
        """Note what the gripper's sensors and the wrist camera say; an uncertain release stays uncertain.

        The label of a camera counts only when the site knows it: it becomes a name in later answers.
        """
        if grasp == GraspState.EMPTY:
            self.gripper, self.held, self.in_hand = GripperContent.EMPTY, "", ""
        elif grasp == GraspState.HOLDING:
            self.release_uncertain = False
            self.in_hand = self.names.known(in_hand) or self.in_hand
            if known := self.names.known(in_hand):
                self.gripper, self.held, self.pick_failed = GripperContent.OBJECT, known, ""
            elif self.gripper is not GripperContent.OBJECT:
                self.gripper, self.held = GripperContent.SOMETHING, ""

    @property
    def hand_in_doubt(self) -> bool:
        """Whether what the gripper holds is to be measured before it is told."""
        if self.failed_place is not None and self.gripper in {GripperContent.OBJECT, GripperContent.SOMETHING}:
            return True
        return self.gripper is GripperContent.UNCERTAIN or self.release_uncertain

    def note_confirmed(self, arguments: PlaceArguments) -> None:
        """Note that the thing of a place that failed was measured to lie where it should."""
        subject = self.object_of(arguments)
        record = self.record(subject) if subject else None
        self.found_at_end = f"At the end the {arguments.object_name} was seen at '{arguments.target_location}'."
        if record is not None:
            record.last_code, record.last_reason = str(PlaceCode.NONE), ""
        self._placed(record, arguments, PlaceCode.NONE, still_held=False)

    def restore(self, history: History, task_id: str) -> None:
        """Note everything that the model has read so far, from the journal."""
        for index, attempt in enumerate(history.attempts, start=1):
            if attempt.returned and attempt.started:
                before = attempt.requested.alike_before or ()
                self.note(attempt.arguments, attempt.result(task_id), attempt.settled, before)
            for after, ok in history.looks:
                if after == index:
                    self.note_look(ok=ok)
        if any(ok for after, ok in history.looks if after == 0):
            self.note_look(ok=True)

    def _note_settled(self, settled: SkillSettled, subject: str | None) -> None:
        if settled.state is not State.UNCERTAIN:
            self.look_needed = False
            self.note_grasp(settled.grasp, settled.in_hand)
            if self.release_uncertain and self.gripper is GripperContent.EMPTY:
                self.unverified_place = subject or ""

    def note_look(self, *, ok: bool) -> None:
        """Note a look of the model; `ok` tells whether it showed anything."""
        self.looked = self.looked or ok
        # A look that fails counts, too: the cameras may be what is broken, and the task must be able to end.
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
        if self.reached:
            self.stands_at = arguments.target_area, arguments.object_name
            self.drives.append(self.stands_at)
        if record is None:
            return
        if self.reached:
            if arguments.next_action is NextAction.PICK:
                record.needs_approach, record.plan_failures = False, 0
        else:
            record.failed_approaches += 1

    def _picked(self, record: ObjectRecord, code: str, result: SkillResult) -> None:
        object_id = result.object_id
        self.release_uncertain, self.unverified_place, self.failed_place = False, "", None
        if code == PickCode.NONE:
            record.picks, record.wrong_picks = record.picks + 1, 0
            if object_id is None:
                # It may be any of them.
                record.delivered.clear()
            else:
                record.delivered.pop(object_id, None)
            record.place_succeeded, record.needs_approach, record.plan_failures = None, False, 0
            self.gripper, self.held, self.pick_failed = GripperContent.OBJECT, record.name, ""
            self.put_aside = [one for one in self.put_aside if one.name != record.name]
            self._forget_failures(PlaceArguments)
            return
        record.failed_picks += 1
        record.plan_failures = record.plan_failures + 1 if code == PickCode.PICK_PLAN_FAILED else 0
        record.wrong_picks += code == PickCode.PICK_WRONG_OBJECT
        if code in {PickCode.PICK_WRONG_OBJECT, PickCode.PICK_HOLDING_ALREADY} and not _is_put_back(result):
            if not (code == PickCode.PICK_HOLDING_ALREADY and self.gripper is GripperContent.OBJECT):
                self.gripper, self.held = GripperContent.SOMETHING, ""
            self.pick_failed = code if code == PickCode.PICK_WRONG_OBJECT else ""
            return
        record.needs_approach = code in {
            PickCode.PICK_SEG_MISSED,
            PickCode.PICK_REACH_EXCEEDED,
            PickCode.PICK_ATTACH_TIMEOUT,
            PickCode.PICK_WRONG_OBJECT,
        }
        self.gripper = GripperContent.UNCERTAIN if code == PickCode.UNKNOWN else GripperContent.EMPTY
        self.held, self.pick_failed = "", code

    def _placed(self, record: ObjectRecord | None, arguments: PlaceArguments, code: str, *, still_held: bool) -> None:
        if record is not None:
            record.place_succeeded = code == PlaceCode.NONE
            if code == PlaceCode.NONE:
                record.placed_at = arguments.target_location
                record.drop_failures_in_a_row = 0
                object_id = arguments.held_id or self.held_id
                if object_id in record.others:
                    record.place_succeeded = False
                    record.last_code, record.last_reason = "UNKNOWN", OTHER_PUT_DOWN
                else:
                    record.delivered[object_id or f"unknown {len(record.delivered)}"] = arguments.target_location
            elif code == PlaceCode.PLACE_DROP_VERIFY_FAILED:
                record.drop_failures_in_a_row += 1
        self.release_uncertain, self.unverified_place = code == PlaceCode.UNKNOWN, ""
        self.failed_place = None if code == PlaceCode.NONE else arguments
        holding = self.gripper in {GripperContent.SOMETHING, GripperContent.OBJECT}
        dropped = code == PlaceCode.PLACE_DROP_VERIFY_FAILED and not still_held
        if holding and (code == PlaceCode.NONE or dropped):
            self._note_put_aside(arguments, seen=code == PlaceCode.NONE)
        if dropped or code in {PlaceCode.NONE, PlaceCode.PLACE_HOLDING_NOTHING}:
            self.gripper, self.held, self.in_hand = GripperContent.EMPTY, "", ""

    def _note_put_aside(self, arguments: PlaceArguments, *, seen: bool) -> None:
        """Note where a thing was let go, in case that the report does not have it there."""
        wrong = self.pick_failed == PickCode.PICK_WRONG_OBJECT
        name = self.held or self.in_hand
        what = f"the {name}" if name else "what was picked by mistake" if wrong else "what was held"
        place = self.names.place(arguments.target_location)
        where = "on the floor" if place == FLOOR else f"at the {arguments.target_location}"
        area, thing = self.stands_at or ("", "")
        # A drive to a bare floor names no thing.
        near = f" near where the {thing} stood" if thing and self.names.place(thing) != FLOOR else ""
        near += f" in the {area}" if area else " where the robot stood when the task began"
        doubt = "" if seen else ", where it was not seen afterwards"
        self.put_aside.append(PutAside(name, place, f"Put aside: {what}, {where}{near}{doubt}."))

    def describe_put_aside(self, outcomes: Sequence[DeliveryOutcome] = ()) -> str:
        """Return a sentence on each thing that was put aside: what lies elsewhere than where the report has it.

        outcomes: those of the report. Where it does not name a thing, a delivery to its place stands for it.
        """
        return " ".join(one.text for one in self.put_aside if not self._is_reported_there(one, outcomes))

    def _is_reported_there(self, aside: PutAside, outcomes: Sequence[DeliveryOutcome]) -> bool:
        own = [one for one in outcomes if aside.name and self.names.thing(one.object_name) == aside.name]
        # A floor is in every room, and the reason says nothing of this one.
        return any(
            self.names.place(one.target) == aside.place and (one.completed or aside.place != FLOOR)
            for one in own or (one for one in outcomes if one.completed)
        )

    def _forget_failures(self, kind: type[SkillArguments]) -> None:
        self.repeats = {known: count for known, count in self.repeats.items() if type(known[0]) is not kind}
        self.last_codes = {known: code for known, code in self.last_codes.items() if type(known) is not kind}

    def describe_release(self) -> str:
        """Return a sentence on a last place whose outcome was not known when it ended, '' if there is none."""
        place = self.failed_place
        if place is None or not self.release_uncertain:
            return self.found_at_end
        what = f"the {place.object_name} was put down at '{place.target_location}'"
        return f"Whether {what} is not known. Look there before you repeat the task."

    def describe_held(self) -> str:
        """Return a sentence on what the robot holds at the end, '' when it holds nothing."""
        if self.release_uncertain and self.gripper is not GripperContent.EMPTY:
            return "Whether the robot still holds something is not known."
        return {
            GripperContent.OBJECT: f"The robot keeps holding the {self.held}.",
            GripperContent.SOMETHING: "The robot keeps holding the thing in its gripper.",
            GripperContent.UNCERTAIN: "Whether the robot holds something is not known.",
        }.get(self.gripper, "")


def _is_put_back(result: SkillResult) -> bool:
    return isinstance(result, PickResult) and result.put_back
