"""How people ask for the same job: many wordings of the goals of an episode.

Written from how people speak to a helper at home. Nothing here comes from the grammar of the scripted model: what that
does not understand counts as a failure, as it does with an LLM.
"""

import math
from dataclasses import dataclass
from random import Random
from typing import Literal

from quartet_benchmarks.home.world import Goal, Truth
from quartet_site import CatalogueObject, SiteFile

NEXT_TO_M = 0.25
"""A person says that a thing stands next to another one when their centres are at most this far apart [m]."""
WITHOUT_PLACE = 0.15
"""Share of the things of which nobody says where they are."""
WITH_NEIGHBOUR, BY_NEIGHBOUR = 0.15, 0.5
"""Share of the things of which the neighbour is told, and of these where only that tells which of several is meant."""
BY_ALIAS = 0.4
"""Share of the names that are aliases, where there are some."""

ON = (
    "Put {o}{whence} on {t}.",
    "Please bring {o}{whence} over to {t}.",
    "Could you move {o}{whence} to {t}?",
    "Would you mind putting {o}{whence} on {t}?",
    "I'd like {o}{where} on {t}, please.",
    "I need {o}{whence} on {t}.",
    "{O}{where} should go on {t}.",
    "{O}{where} belongs on {t}.",
    "Take {o}{whence} and set it down on {t}.",
    "Grab {o}{whence} and leave it on {t}.",
    "Get {o}{whence} and stand it on {t}, will you?",
    "I can't reach {o}{where}. Would you put it on {t} for me?",
    "Make sure that {o}{where} ends up on {t}.",
    "Somebody left {o}{where}. It should be on {t}.",
    "When you have a moment, carry {o}{whence} to {t}.",
    "Find {o}{where} and place it on {t}.",
    "{O}{whence} to {t}, please.",
    "Hey, can you fetch {o}{whence}? It goes on {t}.",
    "Let's have {o}{where} on {t}.",
    "Onto {t} with {o}{where}!",
    "We want {o}{where} moved to {t}.",
    "On {t}, please: {o}{whence}.",
)
INTO = (
    "Throw {o}{whence} into {t}.",
    "Could you drop {o}{whence} in {t}?",
    "Please put {o}{whence} in {t}.",
    "{O}{where} can go in {t}.",
    "I don't need {o}{where} any more, put it into {t}.",
    "Chuck {o}{whence} into {t}, would you?",
    "Toss {o}{whence} in {t}, please.",
    "Get {o}{whence} into {t}.",
    "{O}{where} belongs in {t}.",
    "Nobody wants {o}{where}. Into {t} with it.",
    "Pick up {o}{where} and let it fall into {t}.",
    "Take {o}{whence} and dump it in {t}.",
    "Would you please get rid of {o}{where}? It goes in {t}.",
    "Clear {o}{where} away into {t}.",
)
DOWN = (
    "Put {o}{whence} on the floor in {t}.",
    "Leave {o}{whence} on the floor of {t}, please.",
    "Could you take {o}{whence} to {t} and set it down on the floor?",
    "I'd like {o}{where} on the floor of {t}.",
    "Carry {o}{whence} into {t} and leave it on the floor there.",
    "{O}{where} should stand on the floor in {t}.",
    "Bring {o}{whence} to {t} and put it on the ground.",
    "On the floor in {t}, that's where I want {o}{where}.",
)
OF_KIND: dict[str, tuple[str, ...]] = {"on": ON, "in": INTO, "floor": DOWN}
HELD: dict[str, tuple[str, ...]] = {
    "on": (
        "You're holding {o}. Please put it on {t}.",
        "Put what you're holding on {t}.",
        "{O} in your gripper goes on {t}.",
        "You've got {o} in your hand: set it down on {t}.",
        "Put {o} down on {t}.",
    ),
}
TOGETHER = (
    "Bring {a} and {b} to {t}.",
    "{A} and {b} should both go on {t}.",
    "Could you put {a} on {t}, and {b} too?",
    "Please take {a} to {t}, then do the same with {b}.",
    "I want {a} on {t}. And {b} as well.",
)
BETWEEN = (" Then ", " After that, ", " And ", " Next, ")
BEFORE = ("", "", "", "Hey robot, ", "Okay, ", "Hello! ", "One more thing: ")


@dataclass(frozen=True)
class _Words:
    thing: str
    where: str
    whence: str
    target: str
    kind: Literal["on", "in", "floor"]
    held: bool


class Wording:
    """Words for the things, places and goals of one episode."""

    def __init__(self, rng: Random, site: SiteFile, truth: Truth) -> None:
        self._rng = rng
        self._site = site
        self._objects: Truth = truth["objects"]
        self._things = {one.name: one for one in site.objects}

    def sentence(self, goals: list[Goal]) -> str:
        """Return a sentence, or a few, in which a person asks for all of `goals`, in their order."""
        parts = [self._words(goal) for goal in goals]
        if len(parts) == 2 and parts[0].target == parts[1].target and self._rng.random() < 0.7:
            first, second = (one.thing + one.whence for one in parts)
            pattern = self._rng.choice(TOGETHER)
            text = pattern.format(a=first, b=second, A=_capital(first), t=parts[0].target)
        else:
            text = self._one(parts[0])
            for part in parts[1:]:
                text += self._rng.choice(BETWEEN) + _continued(self._one(part))
        before = self._rng.choice(BEFORE)
        return before + (text if before in ("", "Hello! ") else _continued(text))

    def _one(self, words: _Words) -> str:
        patterns = (HELD if words.held else OF_KIND)[words.kind]
        return self._rng.choice(patterns).format(
            o=words.thing, O=_capital(words.thing), where=words.where, whence=words.whence, t=words.target
        )

    def _words(self, goal: Goal) -> _Words:
        there = self._objects.get(goal.object)
        held = there is not None and there["held"]
        where, whence = ("", "") if held else self._place(goal.object)
        thing, neighbour = self._thing(goal.object, None if held else there)
        return _Words(thing, neighbour or where, neighbour or whence, self._target(goal), goal.kind, held)

    def _place(self, name: str) -> tuple[str, str]:
        """Return where a thing is and from where it is taken, as phrases with a space before; both may be empty.

        Of a thing that is not there a person says what they believe.
        """
        there = self._objects.get(name)
        area = self._area(there["area"] if there else self._rng.choice(self._site.areas).name)
        if self._rng.random() < WITHOUT_PLACE:
            return "", ""
        on = there["on"] if there else None
        if on == "floor":
            at = self._rng.choice((f"on the floor in {area}", f"lying on the floor of {area}", f"on {area} floor"))
            return f" {at}", f" {self._rng.choice((at, f'from the floor in {area}'))}"
        if on is None or self._rng.random() < 0.25:
            return f" in {area}", self._rng.choice((f" from {area}", f" that is in {area}", f" in {area}"))
        at = self._support(on)
        at += self._rng.choice(("", f" in {area}"))
        return f" on {at}", self._rng.choice((f" from {at}", f" that's on {at}", f" on {at}", f" standing on {at}"))

    def _thing(self, name: str, there: Truth | None) -> tuple[str, str]:
        """Return what a thing is called, and what it stands next to where that is said."""
        called = f"the {self._called(self._things[name])}"
        if there is None or self._rng.random() >= WITH_NEIGHBOUR:
            return called, ""
        near = sorted((_apart(there, other), one) for one, other in self._others(name) if other["on"] == there["on"])
        if not near or near[0][0] > NEXT_TO_M:
            return called, ""
        beside = f" {self._rng.choice(('next to', 'beside', 'right by'))} the {near[0][1]}"
        head = name.split()[-1]
        same = [other for one, other in self._others(name) if one.split()[-1] == head]
        reference = self._objects[near[0][1]]
        # The neighbour tells which one is meant only where no other of the kind is as near to it.
        tells = same and near[0][1].split()[-1] != head and min(_apart(one, reference) for one in same) > 2 * NEXT_TO_M
        if tells and self._rng.random() < BY_NEIGHBOUR:
            return f"the {head}", beside
        return called, beside

    def _others(self, name: str) -> list[tuple[str, Truth]]:
        return [(one, other) for one, other in self._objects.items() if one != name and one in self._things]

    def _target(self, goal: Goal) -> str:
        if goal.kind == "floor":
            return self._area(goal.target)
        place = next(p for p in (*self._site.surfaces, *self._site.containers) if p.name == goal.target)
        said = self._support(place.name)
        return said + self._rng.choice(("", "", f" in {self._area(place.area)}"))

    def _support(self, name: str) -> str:
        """Return the words for a surface or container: its name, or an alias that no other place has."""
        places = [*self._site.surfaces, *self._site.containers]
        place = next(p for p in places if p.name == name)
        other = {words for p in places if p is not place for words in (p.name, *p.aliases)}
        return f"the {self._alias(place.name, [alias for alias in place.aliases if alias not in other])}"

    def _area(self, name: str) -> str:
        area = next(one for one in self._site.areas if one.name == name)
        other = {words for one in self._site.areas if one is not area for words in (one.name, *one.aliases)}
        return f"the {self._alias(area.name, [alias for alias in area.aliases if alias not in other])}"

    def _called(self, thing: CatalogueObject) -> str:
        other = {words for one in self._site.objects if one is not thing for words in (one.name, *one.aliases)}
        clear = [a for a in thing.aliases if not any(set(a.split()) <= set(words.split()) for words in other)]
        return self._alias(thing.name, clear)

    def _alias(self, name: str, aliases: list[str]) -> str:
        return self._rng.choice(aliases) if aliases and self._rng.random() < BY_ALIAS else name


def _apart(one: Truth, other: Truth) -> float:
    return math.dist(one["position"][:2], other["position"][:2])


def _continued(text: str) -> str:
    """Return a sentence as it goes on after other words."""
    return text if text.split()[0] in ("I", "I'd") else text[0].lower() + text[1:]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
