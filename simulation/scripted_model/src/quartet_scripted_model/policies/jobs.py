"""What is asked for, made definite with the names of the facts; a person is asked where a sentence leaves it open."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from quartet_scripted_model.conversation import Conversation
from quartet_scripted_model.language.grammar import SIMPLE_ENGLISH, WHAT_IS_HELD, read_place
from quartet_scripted_model.language.lexicon import DETERMINERS
from quartet_scripted_model.language.meaning import Delivery, Ref, Spot
from quartet_scripted_model.language.tokens import plain_words
from quartet_scripted_model.language.vocabulary import FLOOR, Kind, Thing, Vocabulary, entries_of
from quartet_scripted_model.turn import Call, Result, Turn

ASK = "ask_person"
MAX_CHOICES = 6
"""As ask_person takes them."""
POLITE = frozenset({"please", "one", "ones"})
"""Words of an answer that name nothing."""
FURNITURE = (Kind.SURFACE, Kind.CONTAINER)


class UnknownName(str):
    """Problem with a name that the site does not have."""


class UnclearName(str):
    """Problem with a name that several things have, or with what was left out, where nobody said which."""


class NothingHeldError(Exception):
    """A person was not asked, since the gripper does not hold what the sentence is about."""


@dataclass
class Job:
    """One object to carry. `problem` says why it cannot be begun."""

    said: str
    item: str = ""
    names: list[str] = field(default_factory=list)
    """Other names of the item."""
    areas: list[str] = field(default_factory=list)
    """Where to look for it, in this order."""
    source_place: str = ""
    target: str | None = None
    """Surface, container or "floor"; None: hold it."""
    target_area: str = ""
    next_action: str = "surface_place"
    in_hand: bool = False
    """It is what the gripper holds already."""
    said_held: bool = False
    """The sentence says so of it, by name; a pick will tell whether it is true."""
    passed: list[str] = field(default_factory=list)
    """Areas on the way to the target, as the approach has driven it."""
    problem: str = ""

    @property
    def pickup_text(self) -> str:
        """Where the object is picked up, for a person."""
        if self.in_hand:
            return "the gripper"
        where = self.areas[0] if len(self.areas) == 1 else "the gripper" if self.said_held else "to be found"
        return f"{self.source_place}, {where}" if self.source_place else where

    @property
    def target_text(self) -> str:
        """Where the object is put down, for a person."""
        if self.target is None:
            return "keep holding" if not self.problem else ""
        return f"{self.target}, {self.target_area}"


Settling = Generator[Turn, Result, None]


def settle(
    talk: Conversation, vocabulary: Vocabulary, deliveries: list[Delivery]
) -> Generator[Turn, Result, list[Job]]:
    """A job for each delivery."""
    jobs: list[Job] = []
    asked: dict[str, Spot | None] = {}
    for delivery in deliveries:
        job = Job(said=delivery.item.said or "object")
        yield from _item(talk, vocabulary, delivery, job)
        if not job.problem:
            job.said_held = delivery.held and not jobs
            _source(vocabulary, delivery, job)
        if not job.problem and not delivery.hold:
            yield from _target(talk, vocabulary, delivery, job, asked)
        jobs.append(job)
    return jobs


def settle_drive(vocabulary: Vocabulary, spot: Spot) -> tuple[str, str, str]:
    """Return area, what to look at in it, and "" or the reason why it cannot be reached."""
    problem = _spot_problem(vocabulary, spot)
    if problem or spot.area_name is None:
        return "", "", problem or f"I do not know where to drive. The areas are: {known(vocabulary, 'areas')}."
    place = spot.place.thing if spot.place else None
    return spot.area_name, place.name if place and place.kind in FURNITURE else spot.area_name, ""


def known(vocabulary: Vocabulary, what: str) -> str:
    """The names of one kind of thing, for a message."""
    kinds = {"objects": (Kind.OBJECT,), "areas": (Kind.AREA,), "places": FURNITURE}[what]
    return ", ".join(t.name for t in vocabulary.things(*kinds)) or "none"


def _item(talk: Conversation, vocabulary: Vocabulary, delivery: Delivery, job: Job) -> Settling:
    ref = delivery.item
    if ref is WHAT_IS_HELD:
        job.in_hand, job.item = True, "held object"
        return
    if len(ref.things) > 1:
        names = [t.name for t in ref.things]
        answer = yield from _question(talk, f"Which one do you mean by '{ref.said}': {_either(names)}?", names)
        chosen = _among(vocabulary, answer, ref.things)
        if chosen is None:
            options = _either([t.name for t in ref.things])
            job.problem = UnclearName(f"'{ref.said}' can be {options}, and I was not told which.")
            return
        ref = Ref(ref.said, (chosen,))
    thing = ref.thing
    if thing is None:
        job.problem = UnknownName(
            f"I do not know an object '{ref.said}'. I know: {known(vocabulary, 'objects')}. {SIMPLE_ENGLISH}"
        )
        return
    job.item = job.said = thing.name
    entry = next((e for e in entries_of(talk.facts, "objects") if e["name"] == thing.name), {})
    job.names = [a for a in entry.get("aliases", []) if a != thing.name]


def _source(vocabulary: Vocabulary, delivery: Delivery, job: Job) -> None:
    spot = delivery.source
    if spot is not None and not spot.person:
        job.problem = _spot_problem(vocabulary, spot)
        if job.problem:
            return
        if spot.place and spot.place.thing and spot.place.thing.kind in FURNITURE:
            job.source_place = spot.place.thing.name
        if spot.area_name:
            job.areas = [spot.area_name]
            return
        # One of several places of that name: their areas are where to look.
        job.areas = list(dict.fromkeys(t.area for t in (spot.place.things if spot.place else ()) if t.area))
    if not job.areas:
        job.areas = [t.name for t in vocabulary.things(Kind.AREA)]


def _target(
    talk: Conversation, vocabulary: Vocabulary, delivery: Delivery, job: Job, asked: dict[str, Spot | None]
) -> Settling:
    spot = delivery.target
    if spot is None or spot.person:
        if "target" not in asked:
            try:
                asked["target"] = yield from _ask_target(talk, vocabulary, job, to_person=bool(spot))
            except NothingHeldError as error:
                job.problem = str(error)
                return
        spot = asked["target"]
    if spot is None:
        places = known(vocabulary, "places")
        job.problem = UnclearName(f"I was not told where to put it. The places are: floor, {places}.")
        return
    job.problem = _spot_problem(vocabulary, spot)
    if job.problem:
        return
    thing: Thing | None = spot.place.thing if spot.place else None
    if spot.place and len(spot.place.things) > 1:
        names = [t.name for t in spot.place.things]
        answer = yield from _question(talk, f"Which '{spot.place.said}' is it to go to: {_either(names)}?", names)
        thing = _among(vocabulary, answer, spot.place.things)
        if thing is None:
            job.problem = UnclearName(f"'{spot.place.said}' can be {_either(names)}, and I was not told which.")
            return
    _aim(vocabulary, job, spot, thing)


def _aim(vocabulary: Vocabulary, job: Job, spot: Spot, thing: Thing | None) -> None:
    area = spot.area_name or (thing.area if thing else None)
    if thing is None:
        # Only an area is named: any surface there will do, else its floor.
        thing = next((t for t in vocabulary.things(Kind.SURFACE) if t.area == area), None)
        thing = thing or FLOOR
    job.target = thing.name
    job.target_area = area or job.areas[0]
    kinds = {Kind.SURFACE: "surface_place", Kind.CONTAINER: "container_place"}
    job.next_action = kinds.get(thing.kind, "floor_place")


def _spot_problem(vocabulary: Vocabulary, spot: Spot) -> str:
    if spot.conflict:
        return f"That does not fit: {spot.conflict}."
    if spot.area and len(spot.area.things) > 1:
        return f"'{spot.area.said}' can be {_either([t.name for t in spot.area.things])}."
    unknown = next((ref.said for ref in (spot.area, spot.place) if ref and not ref.things), "")
    areas, places = known(vocabulary, "areas"), known(vocabulary, "places")
    return unknown and UnknownName(
        f"I do not know a place '{unknown}'. The areas are: {areas}. The places are: floor, {places}. {SIMPLE_ENGLISH}"
    )


def _ask_target(
    talk: Conversation, vocabulary: Vocabulary, job: Job, *, to_person: bool
) -> Generator[Turn, Result, Spot | None]:
    because = "I cannot hand things over. " if to_person else ""
    answer = yield from _question(
        talk,
        f"{because}Where shall I put the {job.item}? The places are: floor, {known(vocabulary, 'places')}.",
    )
    return read_place(answer, vocabulary)


def _question(talk: Conversation, question: str, choices: Sequence[str] = ()) -> Generator[Turn, Result, str]:
    """A person's answer, or "" when there is none."""
    if ASK not in talk.tools:
        return ""
    offered = list(choices) if 0 < len(choices) <= MAX_CHOICES else None
    result = yield Call(ASK, talk.fit(ASK, question=question, choices=offered))
    if result.code == "NOTHING_HELD":
        raise NothingHeldError(result.message.partition("\n")[0])
    if not result.ok:
        return ""
    for key in ("answer", "text", "reply"):
        value: Any = result.get(key)
        if isinstance(value, str):
            return value.strip()
    return ""


def _among(vocabulary: Vocabulary, answer: str, options: tuple[Thing, ...]) -> Thing | None:
    """Return the one of `options` that the answer names, by words of a name or by its number in the question."""
    words = set(plain_words(answer)) - DETERMINERS - POLITE
    ordinal = {"first": 0, "1": 0, "second": 1, "2": 1, "third": 2, "3": 2, "last": len(options) - 1}
    if len(words) == 1 and (number := ordinal.get(min(words), len(options))) < len(options):
        return options[number]
    fitting = [t for t in options if words and any(words <= set(alias) for alias in vocabulary.aliases[t])]
    return fitting[0] if len(fitting) == 1 else None


def _either(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else "".join(names)
