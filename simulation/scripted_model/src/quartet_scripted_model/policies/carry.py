"""Delivery of one object: the calls of the sub-agents, and the recovery from each of their error codes."""

from collections.abc import Generator
from dataclasses import dataclass

from quartet_scripted_model.conversation import Conversation
from quartet_scripted_model.language.vocabulary import entries_of
from quartet_scripted_model.policies.jobs import Job
from quartet_scripted_model.turn import Call, Result, Turn

CYCLES = 2
"""Full approach-pick-approach-place cycles per object."""
PICKS_PER_CYCLE = 2
HOLDING = "PICK_HOLDING_ALREADY"
_NO_SENSE = frozenset({"REFUSED", "BUDGET_SPENT", "REPEATED_CALL", "INVALID_ARGUMENTS", "UNKNOWN_TOOL"})
"""Codes of the loop itself: the same call again would be answered the same way."""


@dataclass
class Outcome:
    """Outcome for one object: `stage` is where it failed, `stop` ends the work on the other objects, too."""

    completed: bool
    code: str = "NONE"
    reason: str = ""
    stage: str = ""
    stop: bool = False


class StageFailedError(Exception):
    """Ends the work on one object: `stage` failed with `result`."""

    def __init__(self, stage: str, result: Result) -> None:
        super().__init__(result.message)
        self.stage = stage
        self.result = result


Asking = Generator[Turn, Result, Result]


class Carrier:
    """Carry the objects of one task; `plan` is said with the first call."""

    def __init__(self, talk: Conversation, plan: str) -> None:
        self.talk = talk
        self.plan = plan
        self.spoke = False
        self.last_failure: Result | None = None
        self.held: str | None = None
        """The thing that this task's picks put into the gripper."""

    def carry(self, job: Job) -> Generator[Turn, Result, Outcome]:
        """Carry out `job`, recoveries included."""
        drops_failed = 0
        areas, nameless = job.areas, job.in_hand
        self.last_failure = None
        try:
            for cycle in range(CYCLES):
                if job.in_hand:
                    yield from self._name_what_is_held(job)
                elif cycle > 0 or not nameless:
                    yield from self._fetch(job, areas)
                if job.target is None:
                    return Outcome(True, reason="picked up and held.")
                result = yield from self._put(job)
                if result.ok:
                    self.held = None
                    return Outcome(True, reason=f"put down at {job.target_text}.")
                if result.code == "PLACE_DROP_VERIFY_FAILED" and not result.get("still_held"):
                    drops_failed += 1
                    self.held = None
                    yield from self._look()
                    areas = [job.target_area]
                elif result.code == "PLACE_HOLDING_NOTHING":
                    self.held = None
                    # It was lost on the way, at either end of it or in between.
                    areas = list(dict.fromkeys([*job.areas, *job.passed, job.target_area]))
                else:
                    raise StageFailedError("place", result)
                # A thing without a name cannot be looked for again.
                if job.in_hand or drops_failed == CYCLES or cycle == CYCLES - 1:
                    raise StageFailedError("place", result)
        except StageFailedError as failed:
            return self._outcome(failed)
        raise AssertionError("every cycle ends in a return or a failure")

    # Pick up

    def _fetch(self, job: Job, areas: list[str]) -> Generator[Turn, Result, None]:
        """Find the object in one of `areas`, stand before it and pick it up."""
        if job.said_held and self.held is None and (yield from self._is_in_hand(job)):
            return
        yield from self._find(job, areas)
        yield from self._pick_up(job)

    def _pick_up(self, job: Job) -> Generator[Turn, Result, None]:
        """Pick the object up from where the robot stands, with the recovery from each code."""
        result = Result({})
        retried_plan = may_hold_it = False
        not_wanted: list[str] = []
        attempt = 0
        while attempt < PICKS_PER_CYCLE:
            result = yield from self._call("pick", object_name=job.item)
            if result.get("refused") or result.code in _NO_SENSE:
                break
            match result.code:
                case "NONE":
                    self.held = job.item
                    return
                case "PICK_PLAN_FAILED" if not retried_plan:
                    retried_plan = True
                    yield from self._stand_before(job, "other_side")
                    continue
                case "PICK_HOLDING_ALREADY" if self.held == job.item or _holds(result, job, unnamed=may_hold_it):
                    self.held = job.item
                    return
                case "PICK_HOLDING_ALREADY" | "PICK_WRONG_OBJECT":
                    not_wanted.append(result.code)
                    yield from self._free_and_return(job, result, not_wanted)
                    continue
                case "PICK_SEG_MISSED" | "PICK_REACH_EXCEEDED" | "PICK_ATTACH_TIMEOUT":
                    attempt += 1
                case "UNKNOWN" if not _stopped(result):
                    attempt += 1
                    may_hold_it = True
                    yield from self._look()
                    # It may be in the gripper by now, where no approach would see it: a pick begins with that.
                    continue
                case _:
                    break
            if attempt < PICKS_PER_CYCLE:
                yield from self._stand_before(job, "nearer" if result.code == "PICK_REACH_EXCEEDED" else None)
        raise StageFailedError("pick", result)

    def _find(self, job: Job, areas: list[str]) -> Generator[Turn, Result, None]:
        """Stand before the object in the first of `areas` that shows it."""
        result, seen = Result({}), None
        searched: list[str] = []
        followed, waiting = {job.target_area}, list(areas)
        while waiting:
            area = waiting.pop(0)
            tries = 2 if len(areas) == 1 else 1
            result = yield from self.approach(area, job.item, "pick", job.names, job.source_place, tries=tries)
            if result.code == HOLDING:
                return
            if result.ok:
                job.areas = [area]
                return
            if _is_seen(result):
                # It may have a twin elsewhere; if it has none, this is what the person wants to know.
                seen = seen or result
            searched.append(area if result.code == "NAV_TARGET_NOT_VISIBLE" else f"{area} ({result.code})")
            if _stopped(result) or (result.code == "NAV_PLAN_FAILED" and len(areas) > 1):
                break
            where = result.get("seen_in")
            if len(areas) > 1 and where and where not in followed:
                followed.add(where)
                waiting = [where, *(one for one in waiting if one != where)]
        if seen is not None and not _stopped(result):
            result = seen
        elif job.passed and len(searched) > 1:
            told = f"It was lost on the way, and not found in {', '.join(searched)}. {result.message}"
            result = Result({**result.data, "message": told})
        raise StageFailedError("approach", result)

    def _stand_before(self, job: Job, stand: str | None = None) -> Generator[Turn, Result, None]:
        result = yield from self.approach(job.areas[0], job.item, "pick", job.names, job.source_place, stand=stand)
        if not result.ok:
            raise StageFailedError("approach", result)

    def _is_in_hand(self, job: Job) -> Generator[Turn, Result, bool]:
        """Where the sentence says that the gripper holds the object: a pick tells whether it does."""
        result = yield from self._call("pick", object_name=job.item)
        # The camera may not tell (black between black fingers, say): the person's word counts.
        if not (result.ok or (result.code == "PICK_HOLDING_ALREADY" and _holds(result, job, unnamed=True))):
            return False
        self.held = job.item
        return True

    def _name_what_is_held(self, job: Job) -> Generator[Turn, Result, None]:
        """Where the sentence has no name for what the gripper holds: a pick looks at it."""
        result = yield from self._call("pick", object_name=job.item)
        if name := _what_it_holds(result):
            self.held = job.item = name
            job.areas, job.in_hand = [job.target_area], False

    def _free_and_return(self, job: Job, result: Result, codes: list[str]) -> Generator[Turn, Result, None]:
        """Put down what the gripper still holds, and stand before the object again where that is needed.

        codes: of the picks that ended with another thing in the gripper, this one last. Raises StageFailedError when
            that was there before for the third time, or was picked by mistake for the second time: the first one was
            put aside and is taken for the object again, or there are more that look like it.
        """
        if codes.count("PICK_HOLDING_ALREADY") > 2:
            raise StageFailedError("pick", result)
        moved = not result.get("put_back") and (yield from self._free_gripper(job, _what_it_holds(result)))
        if codes.count("PICK_WRONG_OBJECT") == 2:
            raise StageFailedError("pick", result)
        if moved or result.code == "PICK_WRONG_OBJECT":
            yield from self._stand_before(job)

    def _free_gripper(self, job: Job, named: str) -> Generator[Turn, Result, bool]:
        """Put what is in the gripper on the floor, here or else where it is in nobody's way; True if it drove."""
        held = self.held or named or "held object"
        moved = False
        put = {"target_location": "floor", "object_name": held}
        result = yield from self._call("place", **put)
        if result.code in {"PLACE_PLAN_FAILED", "PLACE_REACH_EXCEEDED", "PLACE_SEG_MISSED"}:
            # Before furniture the arm may have no room; in the middle of a room that the job leads through the thing
            # would stand in the way afterwards.
            areas = [a["name"] for a in entries_of(self.talk.facts, "areas")]
            spare = next((a for a in areas if a not in {job.areas[0], job.target_area}), job.areas[0])
            moved = (yield from self.approach(spare, "floor", "floor_place")).ok
            result = yield from self._call("place", **put)
        # An unknown thing cannot be looked for by name, so that its drop cannot be confirmed: the next pick will see.
        freed = {"PLACE_HOLDING_NOTHING", *([] if result.get("still_held") else ["PLACE_DROP_VERIFY_FAILED"])}
        if not result.ok and result.code not in freed:
            raise StageFailedError("place", result)
        self.held = None
        return moved

    # Put down

    def _put(self, job: Job) -> Asking:
        """Stand before the target and puts the object there; codes that need another cycle are given back."""
        yield from self._stand_at_target(job)
        result = Result({})
        tried: set[str] = set()
        while True:
            result = yield from self._call("place", target_location=job.target, object_name=job.item)
            if result.code in tried or result.get("refused"):
                return result
            tried.add(result.code)
            match result.code:
                case "PLACE_PLAN_FAILED":
                    # Where the thing may have been let go already, only the same place may look for it.
                    yield from self._stand_again(job, "other_side", result, may_be_refused=True)
                case "PLACE_SEG_MISSED":
                    # From another side of a surface there may be room that this one does not show.
                    stand = "other_side" if job.next_action == "surface_place" else None
                    yield from self._stand_again(job, stand, result)
                case "PLACE_REACH_EXCEEDED":
                    yield from self._stand_again(job, "nearer", result)
                case "UNKNOWN" if not _stopped(result):
                    yield from self._look()
                case "PLACE_DROP_VERIFY_FAILED" if result.get("still_held"):
                    continue
                case _:
                    return result

    def _stand_at_target(
        self, job: Job, stand: str | None = None, *, may_be_refused: bool = False
    ) -> Generator[Turn, Result, None]:
        result = yield from self.approach(job.target_area, str(job.target), job.next_action, stand=stand)
        job.passed = list(dict.fromkeys([*job.passed, *(result.get("passed") or [])]))
        if not result.ok and not (may_be_refused and result.get("refused")):
            raise StageFailedError("approach", result)

    def _stand_again(
        self, job: Job, stand: str | None, failed: Result, *, may_be_refused: bool = False
    ) -> Generator[Turn, Result, None]:
        """Stand before the target again, after a place has `failed`; if this approach fails, the place is the reason.

        Not where the robot was withdrawn, or where it is not known how the approach ended.
        """
        try:
            yield from self._stand_at_target(job, stand, may_be_refused=may_be_refused)
        except StageFailedError as ended:
            if _stopped(ended.result) or ended.result.code in {"UNKNOWN", *_NO_SENSE}:
                raise
            raise StageFailedError("place", failed) from ended

    # Calls

    def approach(
        self,
        area: str,
        thing: str,
        next_action: str,
        other_names: list[str] | None = None,
        place: str = "",
        *,
        tries: int = 2,
        stand: str | None = None,
    ) -> Asking:
        """Approaches, and once more in the way that the code calls for."""
        where, name, how = area, thing, {"next_action": next_action, "stand": stand}
        result = yield from self._call("approach", target_area=where, object_name=name, **how)
        # An outcome that nobody knows says nothing about where the thing is.
        for _ in range(max(tries, 2) - 1 if result.code == "UNKNOWN" else tries - 1):
            if result.ok or result.get("refused") or result.code in {*_NO_SENSE, HOLDING} or _stopped(result):
                break
            if result.code == "NAV_AREA_WRONG":
                narrower = self._more_specific(area, place or thing)
                if narrower is None:
                    break
                where = narrower
            elif result.code == "NAV_VERIFY_OVERRIDE":
                if not other_names:
                    break
                name = other_names[0]
            elif result.code == "UNKNOWN":
                yield from self._look()
            result = yield from self._call("approach", target_area=where, object_name=name, **how)
        return result

    def _more_specific(self, area: str, place: str) -> str | None:
        """The area in which the place stands, another name of the area, or nothing else to try."""
        facts = self.talk.facts
        places = [*entries_of(facts, "surfaces"), *entries_of(facts, "containers")]
        stands = next((p["area"] for p in places if p["name"] == place), None)
        if stands and stands != area:
            return stands
        return next(
            (alias for a in entries_of(facts, "areas") if a["name"] == area for alias in a.get("aliases", [])), None
        )

    def _look(self) -> Generator[Turn, Result, None]:
        if "look" in self.talk.tools:
            yield Call("look", self.talk.fit("look", camera="both"))

    def _call(self, tool: str, **arguments: object) -> Asking:
        say, self.spoke = ("" if self.spoke else self.plan), True
        result = yield Call(tool, self.talk.fit(tool, **arguments), say)
        if result.code == "REFUSED" and self.last_failure is not None:
            # What ended it is the failure before; the refusal only says that it may not be tried again.
            return Result({**self.last_failure.data, "refused": result.message})
        if not result.ok:
            self.last_failure = result
        return result

    def _outcome(self, failed: StageFailedError) -> Outcome:
        reason = failed.result.message or f"{failed.stage} failed."
        return Outcome(False, failed.result.code, reason, failed.stage, stop=_stopped(failed.result))


def _is_seen(result: Result) -> bool:
    """Whether an approach that failed saw the object all the same, where it could not stand before it."""
    return (result.get("checks") or {}).get("target") == "PASS"


def _holds(result: Result, job: Job, *, unnamed: bool) -> bool:
    """Whether the gripper holds the wanted object.

    unnamed: whether that counts where the camera does not tell; what is put down is looked at anyway.
    """
    return _says_it_holds(result, job) or (unnamed and not _what_it_holds(result))


def _says_it_holds(result: Result, job: Job) -> bool:
    """Whether the result says that the gripper holds the wanted object by one of its names."""
    return _what_it_holds(result).lower() in {name.lower() for name in (job.item, *job.names)}


def _what_it_holds(result: Result) -> str:
    """The name that a pick gives to what it found in the gripper, or ''."""
    return str(result.get("held_object") or "")


def _stopped(result: Result) -> bool:
    """Whether a person or another caller took the robot away: then nothing more is to be tried."""
    return result.get("withdrawn") is not None
