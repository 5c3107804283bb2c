"""The things that the facts name, and which of them a name means."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from quartet_scripted_model.language.lexicon import FLOORS
from quartet_scripted_model.language.tokens import plain_words

Words = tuple[str, ...]


class Kind(StrEnum):
    """Kinds of things in the facts."""

    AREA = "area"
    SURFACE = "surface"
    CONTAINER = "container"
    OBJECT = "object"
    FLOOR = "floor"


PLACES = (Kind.SURFACE, Kind.CONTAINER, Kind.FLOOR)


@dataclass(frozen=True)
class Thing:
    """One entry of the facts; `area` is where a place stands."""

    kind: Kind
    name: str
    area: str | None = None


FLOOR = Thing(Kind.FLOOR, "floor")


class Vocabulary:
    """All names and aliases of the facts."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.aliases: dict[Thing, list[Words]] = {}
        for kind, key in (
            (Kind.AREA, "areas"),
            (Kind.SURFACE, "surfaces"),
            (Kind.CONTAINER, "containers"),
            (Kind.OBJECT, "objects"),
        ):
            for entry in entries_of(facts, key):
                thing = Thing(kind, entry["name"], entry.get("area"))
                names = [plain_words(name) for name in (entry["name"], *entry.get("aliases", []))]
                self.aliases[thing] = [name for name in names if name]
        self.aliases[FLOOR] = sorted(FLOORS)
        self.names = {alias for names in self.aliases.values() for alias in names}
        self.longest = max(map(len, self.names))

    def things(self, *kinds: Kind) -> list[Thing]:
        """Return all things of these kinds, in the order of the facts."""
        return [t for t in self.aliases if t.kind in kinds]

    def find(self, said: Words, kinds: Iterable[Kind], area: str | None = None) -> tuple[Thing, ...]:
        """Return the things of `kinds` that `said` names, else those with a name that ends alike and has all its words.

        area: only things that stand there, and the floor.
        """
        things = [t for t in self.things(*kinds) if area is None or t.area in (area, None)]
        if exact := tuple(t for t in things if said in self.aliases[t]):
            return exact
        return tuple(t for t in things if any(_shortens(said, alias) for alias in self.aliases[t]))

    def find_area(self, said: Words) -> tuple[Thing, ...]:
        """Return the areas with this name."""
        return tuple(t for t in self.things(Kind.AREA) if said in self.aliases[t])


def _shortens(said: Words, name: Words) -> bool:
    rest = iter(name)
    return said[-1] == name[-1] and all(word in rest for word in said)


def entries_of(facts: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the entries of one kind: those of the sentence, and the others, which have a name alone."""
    others: Any = facts.get("others", {}).get(key, [])
    named = others if isinstance(others, dict) else {None: others}
    return [*facts.get(key, []), *({"name": n, "area": area} for area, names in named.items() for n in names)]


def vocabulary_of(facts: dict[str, Any]) -> Vocabulary:
    """Return the vocabulary of `facts`, kept for the next request with the same facts."""
    return _built(json.dumps(facts))


@lru_cache(maxsize=8)
def _built(facts: str) -> Vocabulary:
    return Vocabulary(json.loads(facts))
