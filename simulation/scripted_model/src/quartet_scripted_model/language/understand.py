"""What a sentence asks for: deliveries of objects, or the reason why it cannot be done."""

from dataclasses import replace

from quartet_scripted_model.language.clauses import Clause, Group, Phrase, clauses
from quartet_scripted_model.language.lexicon import (
    DESTINATION,
    GENERIC,
    NEAR,
    PERSONS,
    PLACE_AT,
    PLURAL,
    PRONOUNS,
    SOURCE,
    Verb,
)
from quartet_scripted_model.language.meaning import Delivery, Ref, Request, Spot
from quartet_scripted_model.language.tokens import plain_words
from quartet_scripted_model.language.vocabulary import PLACES, Kind, Spotted, Vocabulary, phrase_words


def understand(sentence: str, vocabulary: Vocabulary) -> Request:
    """Read `sentence` with the names of `vocabulary`."""
    return _Understanding(vocabulary).read(clauses(sentence, vocabulary))


class _Understanding:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.request = Request()
        self.seen_at: dict[str, Spot] = {}
        """Where a thing is said to be, by its name."""
        self.mentioned: list[Ref] = []
        self.hint: Spot | None = None
        self.loose = False
        """Whether the target of the clause comes from a group that may as well say where the thing is."""
        self.at = False
        """Whether the target of the clause is named by a group that may as well say where the thing is."""
        self.here: Spot | None = None
        """Where the robot was sent."""
        self.sent = False
        """Whether the clause before sent the robot somewhere."""

    def read(self, found: list[Clause]) -> Request:
        for clause in found:
            if clause.negated and clause.unwanted and clause.verb is Verb.WANT and not clause.wanted:
                self._unwanted(clause)
                continue
            if clause.negated:
                self.request.forbidden = True
                continue
            if not (clause.too and self._too(clause)):
                self._clause(clause)
        self._share_targets()
        for d in self.request.deliveries:
            if d.source is None and d.item.thing and d.item.thing.name in self.seen_at:
                d.source = self.seen_at[d.item.thing.name]
        return self.request

    def _unwanted(self, clause: Clause) -> None:
        """Note what is said not to be wanted any more, and where it is; another clause says what to do with it."""
        items = [ref for p in clause.objects for ref in self._items(p)]
        spots = [spot for group in clause.groups if group.prep not in NEAR and (spot := self._group_spot(group))]
        spot = spots[0] if spots else None
        for more in spots[1:]:
            spot = self._refine(spot, more) if _modifies(more, spot) else spot
        self._state(items, spot)

    def _too(self, clause: Clause) -> bool:
        """Add what is to go where the thing before it goes; return False where there is none of both."""
        items = [ref for p in [*clause.subjects, *clause.objects] for ref in self._items(p) if ref.things]
        if not items or not self.request.deliveries:
            return False
        source: Spot | None = None
        for group in [*clause.lead, *clause.groups]:
            spot = self._group_spot(group)
            if spot is not None and group.prep not in NEAR:
                source = self._refine(source, spot) if source is None or _modifies(spot, source) else source
        target = self.request.deliveries[-1].target
        self.request.deliveries += [Delivery(ref, source=source, target=target) for ref in items]
        return True

    def _clause(self, clause: Clause) -> None:
        # "I want you to bring ...": what stands before the verb is who does it, not what is moved.
        named = [p for p in clause.objects or clause.subjects or clause.led_to if not _is_person(p)]
        if clause.objects and clause.subjects and clause.verb in {Verb.STATE, Verb.WANT}:
            named = [p for p in [*clause.subjects, *clause.objects] if not _is_person(p)]
        items = self._told_apart(clause, [ref for p in named for ref in self._items(p)])
        if clause.objects and not items and clause.verb not in {Verb.STATE, Verb.WANT}:
            # "the can in the kitchen, bring it ...", "the cup, then the book: put both ..."
            before = [ref for p in clause.subjects if not _is_person(p) for ref in self._items(p) if ref.things]
            if before:
                items = [*(r for r in self.mentioned if not self._known(r)), *before]
        if not clause.objects and any(ref.things for ref in items):
            items = [ref for ref in items if ref.things]
        pronoun = any(_is_pronoun(p) for p in named)
        self.hint, self.loose, self.at = None, False, False
        source, target = self._roles(clause)
        if target is None and clause.verb in {Verb.CARRY, Verb.FETCH} and any(_is_person(p) for p in clause.objects):
            target = Spot(person=True)
        goes_on = clause.verb is None and self.sent and any(group.prep in DESTINATION for group in clause.lead)
        moves = clause.word in {"return", "move"} and not named and not self.request.deliveries
        self.sent = not items and (clause.verb is Verb.GO or goes_on or moves)
        if self.sent:
            self._go(clause, target or source, pronoun or bool(named))
            return
        if clause.verb is Verb.STATE and not clause.wanted:
            self._state(items, source or target)
            return
        if clause.verb is None and not (items and (target or source)) and not (pronoun and target):
            self.mentioned += items
            return
        if len(items) > 1 and source is None:
            # "soup can: kitchen counter -> dining table": a place among the things says where they are.
            places = [p for p in named if not self.vocabulary.matches(p, [Kind.OBJECT]) and self._spot(p).area_name]
            source = self._spot(places[0]) if places else None
            items = [ref for ref in items if ref.things or not places or ref.said not in map(_said, places)]
        self._deliver(clause, items, source, target, refers_back=pronoun or not named)

    def _known(self, ref: Ref) -> bool:
        return any(d.item == ref for d in self.request.deliveries)

    def _go(self, clause: Clause, spot: Spot | None, carrying: bool) -> None:
        self.here = spot
        if not carrying:
            self.request.drives += [(len(self.request.deliveries), one) for one in self._stops(clause) or [spot] if one]

    def _stops(self, clause: Clause) -> list[Spot]:
        """Where a clause sends the robot, one after the other: "to the kitchen, the hallway and to the desk"."""
        stops: list[Spot] = []
        for group in [*clause.lead, *clause.groups]:
            for number, phrase in enumerate([] if group.prep in SOURCE else group.phrases):
                if _is_pronoun(phrase):
                    continue
                spot = self._beside(phrase) if group.prep in NEAR else self._spot(phrase)
                if stops and number == 0 and group.prep not in DESTINATION and _modifies(spot, stops[-1]):
                    stops[-1] = self._refine(stops[-1], spot)
                else:
                    stops.append(spot)
        return stops

    def _state(self, items: list[Ref], spot: Spot | None) -> None:
        self.mentioned = items or self.mentioned
        for ref in items or self.mentioned[-1:]:
            if spot and ref.thing:
                self.seen_at[ref.thing.name] = spot

    def _deliver(
        self, clause: Clause, items: list[Ref], source: Spot | None, target: Spot | None, *, refers_back: bool
    ) -> None:
        taking = clause.verb is Verb.FETCH
        source, target = self._from_or_to_here(clause, items, source, target, refers_back=refers_back)
        if not items and refers_back:
            self._continue(clause, source, target)
            return
        for ref in items:
            earlier = self._open_for(ref)
            if earlier is not None and not taking:
                earlier.source = earlier.source or source
                self._aim(earlier, clause, target)
                continue
            delivery = Delivery(ref, source=source, hint=self.hint, loose=self.loose)
            self._aim(delivery, clause, target)
            delivery.hold = taking and delivery.target is None and not delivery.to_waste
            if (
                clause.gapped
                and target
                and not self.loose
                and self.request.deliveries[-1:]
                and self.request.deliveries[-1].loose
            ):
                # "bring the cup in the kitchen and the can from the hallway to the desk"
                before = self.request.deliveries[-1]
                before.source, before.target = before.source or before.target, None
            if clause.gapped and delivery.source is None and self.request.deliveries:
                delivery.source = self.request.deliveries[-1].source
            self.request.deliveries.append(delivery)
        self.mentioned = items or self.mentioned
        if taking:
            self.here = None

    def _from_or_to_here(
        self, clause: Clause, items: list[Ref], source: Spot | None, target: Spot | None, *, refers_back: bool
    ) -> tuple[Spot | None, Spot | None]:
        """Return source and target with where the robot was sent before: "go to the kitchen and take the cup"."""
        here = self.here
        if here is None:
            return source, target
        if target is None:
            puts = clause.verb in {Verb.PUT, Verb.CARRY} and refers_back and "here" not in clause.particles
            target = here if puts else None
        elif target.area is None and target.place:
            if not target.place.things or _can_stand(target.place, here.area):
                target = self._refine(target, here)
            elif source is None and items:
                source = here
        if source is None and clause.verb is Verb.FETCH and here.area_name and items:
            source = here
        return source, target

    def _aim(self, delivery: Delivery, clause: Clause, target: Spot | None) -> None:
        delivery.hold = False
        if target is not None:
            if delivery.at and delivery.source is None:
                # "take the cup on the shelf and put it in the bin"
                delivery.source = delivery.target
            delivery.at = self.at
        delivery.target = target or delivery.target
        delivery.to_waste = clause.verb is Verb.TRASH or (
            target is None
            and clause.verb is Verb.PUT
            and not clause.particles.isdisjoint({"away", "out"})
            and clause.word[:2] in {"th", "to", "ch", "du"}
        )
        delivery.put_down = target is None and clause.verb is Verb.PUT and "down" in clause.particles

    def _continue(self, clause: Clause, source: Spot | None, target: Spot | None) -> None:
        """A clause about things that were named before: "and put it on the table"."""
        open_ones = [d for d in self.request.deliveries if d.hold or (d.target is None and not d.to_waste)]
        if not open_ones:
            names = [r for r in self.mentioned if not self._known(r)]
            if names:
                self._deliver(clause, names, source, target, refers_back=False)
            elif self.request.deliveries and target is not None:
                # "bring the can to the table and then put it on the shelf": the last word counts,
                # but "take it to the hallway and put it on the floor there" is one place.
                last = self.request.deliveries[-1]
                earlier = last.target
                if earlier and earlier.place is None and target.place and _modifies(target, earlier):
                    target = self._refine(earlier, target)
                self._aim(last, clause, target)
            elif clause.verb in {Verb.PUT, Verb.TRASH} or target is not None:
                held = Delivery(Ref("what the gripper holds"))
                self._aim(held, clause, target)
                self.request.deliveries.append(held)
            return
        for delivery in open_ones:
            delivery.source = delivery.source or source
            if clause.verb is not Verb.FETCH or target is not None:
                self._aim(delivery, clause, target)

    def _open_for(self, ref: Ref) -> Delivery | None:
        for d in self.request.deliveries:
            if d.target is None and (d.item == ref or (set(d.item.things) & set(ref.things))):
                return d
        return None

    def _share_targets(self) -> None:
        """Give both the last target, as in "the can from the kitchen and the apple from the hallway to the table"."""
        target: Spot | None = None
        for d in reversed(self.request.deliveries):
            if d.target is not None and not (d.target.beside and target is not None):
                target = d.target
            elif not d.hold and not d.to_waste and not d.put_down and target is not None:
                d.target = target

    # Noun phrases

    def _told_apart(self, clause: Clause, items: list[Ref]) -> list[Ref]:
        """Return the items; of one told apart by what it stands next to, "the block by the cup", all of its kind."""
        if not any(group.prep in NEAR and (spot := self._group_spot(group)) and spot.beside for group in clause.groups):
            return items
        objects = self.vocabulary.things(Kind.OBJECT)
        found: list[Ref] = []
        for ref in items:
            kind = tuple(t for t in objects if ref.thing and plain_words(t.name)[-1:] == (ref.said,))
            found.append(Ref(ref.said, kind) if len(kind) > 1 else ref)
        return found

    def _items(self, phrase: Phrase) -> list[Ref]:
        """The objects that the phrase names; none for a pronoun."""
        if _is_pronoun(phrase):
            if any(w in {"everything"} for w in phrase_words(phrase)):
                self.request.vague = "everything"
            return []
        said = _said(phrase)
        plural = [p for p in phrase if not (isinstance(p, str) and p in PLURAL | {"objects", "object"})]
        things = self.vocabulary.matches(plural, [Kind.OBJECT])
        if len(plural) < len(phrase) and len(things) > 1:
            return [Ref(t.name, (t,)) for t in things]
        if not plural or (phrase_words(plural) in (["things"], ["stuff"], ["items"], ["toys"]) and not things):
            self.request.vague = said
            return []
        return [Ref(said, tuple(things))]

    def _spot(self, phrase: Phrase) -> Spot:
        """The place that the phrase names, as far as it is known."""
        if _is_person(phrase):
            return Spot(person=True)
        areas = [t for p in phrase if isinstance(p, Spotted) for t in p.things if t.kind is Kind.AREA]
        only_area = (
            bool(areas)
            and all(isinstance(p, Spotted) or p in GENERIC for p in phrase)
            and not any(t.kind in PLACES for p in phrase if isinstance(p, Spotted) for t in p.things)
        )
        places = [] if only_area else self.vocabulary.matches(phrase, PLACES)
        if places:
            return Spot(
                area=Ref(areas[0].name, (areas[0],)) if areas else None, place=Ref(_said(phrase), tuple(places))
            )
        if any(isinstance(p, Spotted) and p.things[0].kind is Kind.FLOOR for p in phrase):
            floor = next(t for p in phrase if isinstance(p, Spotted) for t in p.things if t.kind is Kind.FLOOR)
            return Spot(area=Ref(areas[0].name, (areas[0],)) if areas else None, place=Ref("floor", (floor,)))
        matched = self.vocabulary.matches(phrase, [Kind.AREA])
        if matched:
            return Spot(area=Ref(_said(phrase), tuple(matched)))
        marks = self.vocabulary.matches(phrase, [Kind.LANDMARK])
        if marks:
            return Spot(place=Ref(_said(phrase), tuple(marks)))
        return Spot(place=Ref(_said(phrase)))

    def _group_spot(self, group: Group) -> Spot | None:
        phrases = [p for p in group.phrases if not _is_pronoun(p)]
        if not phrases:
            return None
        if group.prep in NEAR:
            return self._beside(phrases[0])
        return self._spot(phrases[0])

    def _beside(self, phrase: Phrase) -> Spot:
        """The floor next to a piece of furniture; next to anything else is not known."""
        spot = self._spot(phrase)
        if spot.area_name and not spot.person:
            floor = self.vocabulary.things(Kind.FLOOR)[0]
            area = next(t for t in self.vocabulary.things(Kind.AREA) if t.name == spot.area_name)
            return Spot(area=Ref(area.name, (area,)), place=Ref("floor", (floor,)))
        known = bool(self.vocabulary.matches(phrase, [Kind.OBJECT]))
        return Spot(place=Ref(f"next to {_said(phrase)}"), beside=known)

    # From where and to where

    def _roles(self, clause: Clause) -> tuple[Spot | None, Spot | None]:
        source, target = self._lead_roles(clause)
        pending: list[tuple[Group, Spot]] = []
        spots = [(group, spot) for group in clause.groups if (spot := self._group_spot(group))]
        beside = next((spot for _, spot in spots if spot.beside), None)
        to_seen = False
        last: str | None = None
        for group, spot in spots:
            if spot.beside:
                continue
            if group.prep in SOURCE:
                source, last = self._merge(spot, source), "source"
            elif group.prep in DESTINATION:
                target, last, to_seen = self._merge(spot, target), "target", True
            elif group.prep in PLACE_AT and last == "target" and _modifies(spot, target):
                target = self._refine(target, spot)
            elif group.prep in PLACE_AT and last == "source" and _modifies(spot, source):
                source = self._more_of_source(clause, pending, group, spot, source)
            elif group.prep in PLACE_AT | NEAR:
                source = self._add_pending(pending, group, spot, source)
        source, target = self._settle(clause, source, target, pending, to_seen=to_seen)
        if target is None and beside and self._aims(clause):
            # "bring the cup next to the can and the book to the desk" leaves it open, "put it next to the can" not.
            target = replace(beside, beside=clause.verb is Verb.CARRY)
        return source, target

    def _lead_roles(self, clause: Clause) -> tuple[Spot | None, Spot | None]:
        """Return source and target as the groups before the verb name them."""
        source = target = None
        first = self._group_spot(clause.lead[0]) if clause.led and clause.verb in {None, Verb.WANT} else None
        if first is not None and first.place and clause.lead[0].prep in PLACE_AT:
            return self._led_roles(clause)
        for group in clause.lead:
            spot = self._group_spot(group)
            if group.prep in DESTINATION:
                target = spot
            elif spot and group.prep in PLACE_AT and _modifies(spot, target) and not (clause.led and group.follows):
                # "the can on the shelf to the table in the kitchen"; not "onto the table with the can in the kitchen"
                target = self._refine(target, spot)
            elif spot is not None and group.prep not in NEAR:
                # "the ball on the shelf in the hallway"
                source = self._refine(source, spot) if _modifies(spot, source) else spot
        return source, target

    def _led_roles(self, clause: Clause) -> tuple[Spot | None, Spot | None]:
        """Return source and target of a clause that begins with where a thing is to go: "on the shelf, please: ..."."""
        source = target = None
        named = False
        for group in clause.lead:
            spot = self._group_spot(group)
            if spot is None or group.prep in NEAR:
                continue
            if target is None or (not named and _modifies(spot, target)):
                target = self._refine(target, spot)
            else:
                source = self._refine(source, spot) if _modifies(spot, source) else spot
            named = named or len(group.phrases) > 1
        return source, target

    def _add_pending(
        self, pending: list[tuple[Group, Spot]], group: Group, spot: Spot, source: Spot | None
    ) -> Spot | None:
        """Add a group that may name source or target to `pending`, and return the source."""
        before = pending[-1][1] if pending else None
        if before and before.place and before.place.said == "floor" and spot.area and not spot.place and self.hint:
            # "in the kitchen on the floor in the hallway": the first is where it is taken from.
            source, self.hint = source or self.hint, None
            pending[-1] = (pending[-1][0], Spot(area=spot.area, place=before.place))
        elif before and before.place and spot.place is None and before.area_name == spot.area_name and self.hint:
            # "in the kitchen on the counter in the kitchen": the first is where it is taken from.
            source, self.hint = source or self.hint, None
        elif pending and group.prep in PLACE_AT and _modifies(spot, pending[-1][1]):
            if pending[-1][1].place is None:
                self.hint = pending[-1][1]
            pending[-1] = (pending[-1][0], self._refine(pending[-1][1], spot))
        else:
            pending.append((group, spot))
        return source

    def _settle(
        self,
        clause: Clause,
        source: Spot | None,
        target: Spot | None,
        pending: list[tuple[Group, Spot]],
        *,
        to_seen: bool,
    ) -> tuple[Spot | None, Spot | None]:
        """Give the groups that may be either ("in", "on", "next to") their role."""
        aims = self._aims(clause)
        if clause.verb is Verb.TRASH or (clause.verb is Verb.PUT and "away" in clause.particles):
            aims = bool(pending and pending[-1][1].place)
        if aims and not to_seen and target is None and pending:
            self.loose = clause.verb is Verb.CARRY and len(pending) == 1 and source is None
            target, self.at = pending.pop()[1], True
        for group, spot in pending:
            source = source or (spot if group.prep not in NEAR else Spot(area=spot.area) if spot.area else None)
        return source, target

    def _aims(self, clause: Clause) -> bool:
        return clause.verb in {Verb.PUT, Verb.CARRY, Verb.WANT, Verb.GO} or clause.wanted

    def _more_of_source(
        self, clause: Clause, pending: list[tuple[Group, Spot]], group: Group, spot: Spot, source: Spot | None
    ) -> Spot | None:
        """Return the source with what a group behind it adds; what belongs to the target goes to `pending`."""
        behind = [self._group_spot(later) for later in clause.groups[clause.groups.index(group) + 1 :]]
        if pending or (spot.place and self._aims(clause) and not any(later and later.place for later in behind)):
            # "put it from the kitchen on the counter": where it is to go must be said somewhere, and what comes
            # behind belongs to it: "from the kitchen on the floor in the hallway".
            return self._add_pending(pending, group, spot, source)
        return self._refine(source, spot)

    def _merge(self, new: Spot, old: Spot | None) -> Spot:
        """Two groups of one role: "to the living room, to the coffee table"."""
        if old is None or old.person:
            return new
        return self._refine(old, new) if _modifies(new, old) else new

    def _refine(self, spot: Spot | None, more: Spot) -> Spot:
        if spot is None:
            return more
        place, area = spot.place or more.place, spot.area or more.area
        if place and area and area.thing:
            here = tuple(t for t in place.things if t.area in (area.thing.name, None))
            if not here and place.things:
                # Another thing there may go by the same word: "the table in the living room".
                words = self.vocabulary.spot(place.said.split())
                again = self.vocabulary.matches(words, PLACES, area.thing.name)
                here = tuple(t for t in again if t.area == area.thing.name)
            if here:
                place = replace(place, things=here)
            elif place.things:
                stands = ", ".join(sorted({str(t.area) for t in place.things}))
                return Spot(area, place, conflict=f"the {place.said} is in the {stands}, not in the {area.thing.name}")
        return Spot(area, place)


def _modifies(more: Spot, spot: Spot | None) -> bool:
    """Whether `more` says in which area `spot` is, or which place in that area is meant."""
    if spot is None or more.person or spot.person:
        return False
    if more.place is None and spot.area is None:
        return True
    return spot.place is None and more.place is not None and more.area is None and _can_stand(more.place, spot.area)


def _can_stand(place: Ref, area: Ref | None) -> bool:
    names = {t.name for t in area.things} if area else set()
    return any(t.area in names or t.kind is Kind.FLOOR for t in place.things)


def _said(phrase: Phrase) -> str:
    return " ".join(phrase_words(phrase))


def _is_pronoun(phrase: Phrase) -> bool:
    return all(isinstance(p, str) and p in PRONOUNS for p in phrase)


def _is_person(phrase: Phrase) -> bool:
    return all(isinstance(p, str) and p in PERSONS for p in phrase)
