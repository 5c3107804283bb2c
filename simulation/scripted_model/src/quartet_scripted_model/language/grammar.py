"""A strict grammar of simple English about carrying things: a rule reads every word, or the sentence is rejected."""

from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from quartet_scripted_model.language.lexicon import (
    ANY_MORE,
    AT,
    BOTH_SHOULD,
    CARRY,
    DETERMINERS,
    GO,
    GREETINGS,
    HELD,
    IN_HAND,
    PREPOSITIONS,
    PUT,
    RESERVED,
    SHOULD,
    SHOULD_BE,
    SOURCE,
    STATE,
    TAKE,
    TARGET,
    THAT,
    THERE_IS,
    VERBS,
    WANT,
    YOU_HOLD,
)
from quartet_scripted_model.language.meaning import Delivery, Ref, Request, Spot
from quartet_scripted_model.language.tokens import merge, tokens
from quartet_scripted_model.language.vocabulary import PLACES, Kind, Vocabulary, Words

EXAMPLE = "pick up the red can in the kitchen and put it on the table"
SIMPLE_ENGLISH = f'The scripted model reads only simple English, for example "{EXAMPLE}".'
WHAT_IS_HELD = Ref("what the gripper holds")


class NotUnderstoodError(Exception):
    """No rule reads the sentence."""


def read(sentence: str, vocabulary: Vocabulary) -> Request:
    """Return what a sentence asks for. Raises NotUnderstoodError if no rule reads all of it."""
    return _Reader(sentence, vocabulary).read()


def read_place(answer: str, vocabulary: Vocabulary) -> Spot | None:
    """Return the place that an answer names, with or without a preposition; None if it is not understood."""
    reader = _Reader(answer, vocabulary)
    try:
        return reader.read_place()
    except NotUnderstoodError:
        return None


@dataclass
class _Group:
    """A preposition with a place. The kind is SOURCE, TARGET, or AT for one that may be either."""

    kind: frozenset[str]
    spot: Spot


@dataclass
class _Item:
    """An object with the groups behind its name; without `ref`, what the deliveries before are about."""

    ref: Ref | None
    held: bool = False
    groups: list[_Group] = field(default_factory=list[_Group])
    there: bool = False
    source: Spot | None = None
    target: Spot | None = None


class _Reader:
    """Reads the words from left to right; `at` is the next one."""

    def __init__(self, sentence: str, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.words = merge(tokens(sentence), vocabulary.names)
        self.at = 0
        self.request = Request()
        self.stated: list[Delivery] = []
        """Things whose place is said and that no clause has asked to move yet."""
        self.last: list[Delivery] = []
        """What "it" or "them" means."""
        self.here: Spot | None = None
        """Where the clause before sent the robot."""

    def read(self) -> Request:
        while any(self._skip(*greeting.split()) for greeting in GREETINGS):
            self._take(",", ":", ".")
        while self.words[-1:] in (["please"], ["."], [","]):
            self.words.pop()
        self._clause()
        while self._goes_on():
            self._clause()
        self._drive()
        if self.stated:
            raise NotUnderstoodError(f"It says where the {self.stated[0].item.said} is, but not what to do with it.")
        without = [one for one in self.request.deliveries if one.target is None and not one.hold]
        if without and len(without) < len(self.request.deliveries):
            raise NotUnderstoodError(f"It does not say where to put the {without[0].item.said}.")
        return self.request

    def read_place(self) -> Spot:
        self._take(*TARGET, *AT)
        spot = self._place()
        self._take("please")
        self._take(".")
        if self.at < len(self.words):
            raise self._unread()
        return spot

    # Words

    @property
    def next(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else ""

    def _take(self, *words: str) -> str:
        if self.next and self.next in words:
            self.at += 1
            return self.words[self.at - 1]
        return ""

    def _skip(self, *words: str) -> bool:
        found = tuple(self.words[self.at : self.at + len(words)]) == words
        self.at += len(words) * found
        return found

    def _unread(self) -> NotUnderstoodError:
        rest = " ".join(self.words[self.at : self.at + 6]).replace("-", " ")
        return NotUnderstoodError(f"I cannot read it from '{rest}' on." if rest else "It ends too early.")

    # Clauses

    def _goes_on(self) -> bool:
        """Read what stands between two clauses; return False at the end of the text."""
        stop = self._take(",")
        while self._take("."):
            stop = "."
        joined = self._take("and")
        then = self._take("then")
        self._take(",")
        if self.at < len(self.words):
            if not (stop or joined or then):
                raise self._unread()
            self.request.ordered = self.request.ordered or bool(then)
            return True
        if joined or then:
            raise self._unread()
        return False

    def _clause(self) -> None:
        if not (self.request.deliveries or self.stated or self.here) and self._take("first"):
            self.request.ordered = True
        while self._take("please"):
            self._take(",")
        if verb := self._take(*VERBS, *GO):
            self._order(verb)
        elif self._take(WANT):
            self._move(self._items(), PUT, needs_both=True)
        elif self.next in (THERE_IS, YOU_HOLD):
            held = self._take(THERE_IS, YOU_HOLD) == YOU_HOLD
            items = self._items()
            self._take(ANY_MORE)
            self._state([replace(item, held=held) for item in items])
        elif self.next in TARGET | AT:
            self._lead()
        else:
            self._subject()
        if self.words[self.at : self.at + 3] == [",", "please", "."]:
            self._take(",")
        self._take("please")

    def _order(self, verb: str) -> None:
        if verb in GO and self._take("to"):
            self._go()
            return
        if verb not in VERBS:
            raise self._unread()
        kind = TAKE if verb in TAKE else CARRY if verb in CARRY else PUT
        if kind is not PUT and self._take("me"):
            items = self._items()
            for item in items:
                item.groups = [*_sources(item), _Group(TARGET, Spot(person=True))]
            self._move(items, kind)
            return
        particles = ("down", "away") if kind is PUT else ("up",) if verb in ("pick", "lift") else ()
        self._take(*particles)
        items = self._items(particles)
        if verb == "leave" and any(item.ref and not item.groups[1:] for item in items):
            raise NotUnderstoodError("'leave' may mean that it is to stay where it is.")
        self._move(items, kind)

    def _lead(self) -> None:
        """Read "onto the desk with the book" and "on the desk, please: the book"."""
        goal = self._groups()
        if goal[-1].kind is not TARGET or not self._take("with"):
            self._take(",")
            self._take("please")
            if not self._take(":"):
                raise self._unread()
        goals = [replace(group, kind=TARGET) for group in goal]
        items = self._items()
        for item in items:
            item.groups = [*_sources(item), *goals]
        self._move(items, CARRY)

    def _subject(self) -> None:
        """Read a clause that begins with what it is about."""
        items = self._items(subject=True)
        if self._take(*STATE):
            for item in items:
                item.groups += self._groups()
            if not all(item.groups for item in items):
                raise self._unread()
            self._state(items)
            return
        if should := self._take(SHOULD, BOTH_SHOULD, SHOULD_BE):
            self._goal(items, should)
        elif not items[-1].groups or items[-1].groups[-1].kind is not TARGET:
            raise self._unread()
        self._move(items, CARRY)

    def _goal(self, items: list[_Item], should: str) -> None:
        """Read where the `items` should go; the groups that they have say where they are."""
        goal = [group if group.kind is SOURCE else replace(group, kind=TARGET) for group in self._groups()]
        # "It should be on the desk" may be a guess, unless it is known to be elsewhere.
        sure = should != SHOULD_BE or all(item.groups or (not item.ref and self.stated) for item in items)
        if not (goal and sure) or (should == BOTH_SHOULD and len(items) != 2):
            raise self._unread()
        for item in items:
            item.groups = [*_sources(item), *goal]

    def _go(self) -> None:
        """Read where the robot is sent, one place or several."""
        self._drive()
        self.here = self._place()
        while True:
            at = self.at
            self._take(",")
            self._take("and")
            self._take("then")
            if self.at == at or not (self._take("to") or self._begins_name()):
                break
            self._drive()
            self.here = self._place()
        self.at = at

    def _drive(self) -> None:
        """Note the drive that no clause has made part of a delivery."""
        if self.here is not None:
            self.request.drives.append((len(self.request.deliveries), self.here))
        self.here = None

    # Names

    def _begins_name(self) -> bool:
        at = self.at
        found = bool(self._take(*DETERMINERS)) or bool(self._name_size(determined=False))
        self.at = at
        return found and self.next not in (VERBS | GO)

    def _name_size(self, *, determined: bool) -> int:
        """Return how many of the next words may be a name: those of the site's names, and all that no rule has."""
        size = 0
        while True:
            rest = self.words[self.at + size : self.at + size + self.vocabulary.longest]
            known = next((n for n in range(len(rest), 1, -1) if tuple(rest[:n]) in self.vocabulary.names), 0)
            if not known and rest:
                own = determined and size == 0 and (rest[0],) in self.vocabulary.names
                known = int(own or rest[0] not in RESERVED)
            if not known:
                return size
            size += known

    def _name(self) -> Words:
        determined = bool(self._take(*DETERMINERS))
        size = self._name_size(determined=determined)
        if not size:
            raise self._unread()
        self.at += size
        return tuple(self.words[self.at - size : self.at])

    def _items(self, particles: tuple[str, ...] = (), *, subject: bool = False) -> list[_Item]:
        """Read one or several objects, each with its groups; one of `particles` may follow the first."""
        if self.next in ("it", "them", HELD):
            return [self._pronoun(particles)]
        items = [self._item(particles)]
        while True:
            at = self.at
            self._take(",")
            self._take("and")
            if self.at == at or not self._begins_name():
                break
            item = self._item()
            if not subject and self.next in STATE | {SHOULD, BOTH_SHOULD, SHOULD_BE}:
                # It begins a clause of its own.
                break
            items.append(item)
        self.at = at
        return items

    def _pronoun(self, particles: tuple[str, ...]) -> _Item:
        said = self._take("it", "them", HELD)
        item = _Item(WHAT_IS_HELD if said == HELD or (said == "it" and not self.last) else None)
        if (said == "them" and len(self.last) < 2) or (said == "it" and len(self.last) > 1):
            raise NotUnderstoodError(f"It is not clear what '{said}' means.")
        if said == "them" and len(self.last) == 2:
            self._take("both")
        return self._rest(item, particles)

    def _item(self, particles: tuple[str, ...] = ()) -> _Item:
        name = self._name()
        return self._rest(_Item(Ref(" ".join(name), self.vocabulary.find(name, [Kind.OBJECT]))), particles)

    def _rest(self, item: _Item, particles: tuple[str, ...]) -> _Item:
        self._take(*particles)
        item.held = bool(self._take(IN_HAND))
        item.there = bool(self._take("there"))
        item.groups = self._groups()
        item.there = item.there or bool(self._take("there"))
        return item

    # Places

    def _groups(self) -> list[_Group]:
        groups: list[_Group] = []
        while True:
            that = self._take(THAT)
            preposition = self._take(*(PREPOSITIONS - {"of"}))
            if not preposition:
                if that:
                    raise self._unread()
                return groups
            kind = SOURCE if that or preposition in SOURCE else TARGET if preposition in TARGET else AT
            if that and preposition not in AT:
                raise self._unread()
            spot = self._place()
            if groups and groups[-1].kind is AT is kind and (both := self._within(groups[-1].spot, spot)):
                # "in the kitchen on the counter"
                groups[-1] = _Group(AT, both)
            else:
                groups.append(_Group(kind, spot))

    def _place(self) -> Spot:
        """Read the name of a place, with the area in which it is."""
        name = self._name()
        at = self.at
        if self._take("in", "of") and not self.vocabulary.find_area(name) and self._begins_name():
            said = self._name()
            if area := self.vocabulary.find_area(said):
                return self._spot(name, Ref(" ".join(said), area))
        self.at = at
        if area := self.vocabulary.find_area(name):
            return Spot(area=Ref(" ".join(name), area))
        for size in range(1, len(name)):
            # "kitchen floor"
            area = self.vocabulary.find_area(name[:size])
            if area and not self.vocabulary.find(name, PLACES) and self.vocabulary.find(name[size:], PLACES):
                return self._spot(name[size:], Ref(" ".join(name[:size]), area))
        return self._spot(name, None)

    def _spot(self, name: Words, area: Ref | None) -> Spot:
        said = " ".join(name)
        within = area.thing.name if area and area.thing else None
        if things := self.vocabulary.find(name, PLACES, within):
            return Spot(area, Ref(said, things))
        elsewhere = self.vocabulary.find(name, PLACES)
        if elsewhere and within:
            stands = ", ".join(sorted({str(thing.area) for thing in elsewhere}))
            conflict = f"the {said} is in the {stands}, not in the {within}"
            return Spot(area, Ref(said, elsewhere), conflict=conflict)
        return Spot(area, Ref(said))

    def _within(self, outer: Spot | None, inner: Spot) -> Spot | None:
        """Return a place with the area that was named before it; None if it is not known to be there."""
        if outer is None or outer.place or not outer.area or inner.area or not inner.place or not inner.place.things:
            return None
        spot = self._spot(tuple(inner.place.said.split()), outer.area)
        return None if spot.conflict else spot

    # What is asked for

    def _state(self, items: list[_Item]) -> None:
        """Note where things are; a later clause has to say what to do with them."""
        self._drive()
        self.last = []
        for item in items:
            spots: list[Spot | None] = [group.spot for group in _sources(item)]
            if item.ref is None or item.ref is WHAT_IS_HELD or len(spots) > (not item.held) or item.there:
                raise self._unread()
            self.last.append(Delivery(item.ref, (spots or [None])[0], held=item.held))
        self.stated += self.last

    def _move(self, items: list[_Item], kind: frozenset[str], *, needs_both: bool = False) -> None:
        for item in items:
            self._assign(item, kind)
        for item, after in reversed(list(pairwise(items))):
            # "A and B from S to T": both; "A from R and B from S to T": T is the target of both.
            item.source = item.source or (None if item.groups else after.source)
            item.target = item.target or after.target
        last = items[-1]
        if kind is PUT and any(_unclear(one, other) for one, other in combinations(items, 2)):
            raise NotUnderstoodError("It may say where a thing is, or where it is to go.")
        if any(item.target for item in items) and not last.target:
            raise NotUnderstoodError("It does not say where to put the last thing.")
        clear = not needs_both or (last.groups and last.groups[-1].kind is TARGET)
        if not clear and not all(item.source and item.target for item in items):
            raise NotUnderstoodError("It may say where a thing is, or where it is to go.")
        self.last = [delivery for item in items for delivery in self._deliver(item, hold=kind is TAKE)]
        self.here = None

    def _assign(self, item: _Item, kind: frozenset[str]) -> None:
        """Tell the groups of an item into where it is and where it goes."""
        sources = [group.spot for group in item.groups if group.kind is SOURCE]
        targets = [group.spot for group in item.groups if group.kind is TARGET]
        either = [group.spot for group in item.groups if group.kind is AT]
        if either and kind is PUT and not targets:
            targets = [either.pop()]
        sources += either
        if len(sources) > 1 or len(targets) > 1:
            raise NotUnderstoodError("It names more places than it takes to carry one thing.")
        item.source, item.target = (sources or [None])[0], (targets or [None])[0]

    def _deliver(self, item: _Item, *, hold: bool) -> list[Delivery]:
        """Add the deliveries of an item to the request, or what it says to those before."""
        ref, done = item.ref, self.request.deliveries
        if ref is WHAT_IS_HELD and hold:
            raise NotUnderstoodError("It is not clear what 'it' means.")
        known = self.last if ref is None else [d for d in (*self.stated, *done) if _same(d.item, ref)]
        deliveries = known or [Delivery(ref or WHAT_IS_HELD, held=item.held)]
        for delivery in deliveries:
            if item.source and delivery.source:
                raise NotUnderstoodError(f"It says twice where the {delivery.item.said} is.")
            delivery.source = delivery.source or item.source
            carried = delivery in done or delivery.held or delivery.item is WHAT_IS_HELD
            outer = self.here or delivery.target
            if item.there and (not outer or (item.target and item.target.area_name not in (None, outer.area_name))):
                raise NotUnderstoodError("It is not clear what 'there' means.")
            target = self._aimed(delivery, item.target, self.here if carried else None)
            if delivery not in done:
                if self.here and not carried:
                    delivery.source = delivery.source or self.here
                    if delivery.source.area_name != self.here.area_name:
                        self._drive()
                done.append(delivery)
            elif target and any(number > done.index(delivery) for number, _ in self.request.drives):
                raise NotUnderstoodError("It sends the robot elsewhere before it says where to put a thing.")
            delivery.target, delivery.hold = target, hold and target is None
        self.stated = [one for one in self.stated if one not in deliveries]
        return deliveries

    def _aimed(self, delivery: Delivery, target: Spot | None, here: Spot | None) -> Spot | None:
        """Return where a delivery goes; `here` is where the robot is sent with the thing."""
        outer = delivery.target or here
        if outer is None or (target is None and here is None):
            return target or outer
        inner = self._within(outer, target) if target else None
        if inner is None and (delivery.target or target is None or target.area_name != outer.area_name):
            raise NotUnderstoodError("It names two places where the thing is to go.")
        return inner or target


def _sources(item: _Item) -> list[_Group]:
    """Return the groups of an item as those that say where it is."""
    if any(group.kind is TARGET for group in item.groups):
        raise NotUnderstoodError("It names two places where the thing is to go.")
    return [replace(group, kind=SOURCE) for group in item.groups]


def _unclear(one: _Item, other: _Item) -> bool:
    """Return whether the place of `one` may be where it is: "put A in the kitchen and B in the hall on the desk"."""
    if other.source is None or [group.kind for group in one.groups] != [AT]:
        return False
    return one.groups[0].spot.place is None or other.groups[0].kind is AT


def _same(one: Ref, other: Ref) -> bool:
    return bool(one.things) and one.things == other.things
