"""The things that the facts name, and which of them a noun phrase means."""

import difflib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from quartet_scripted_model.language.lexicon import (
    COLOURS,
    FILLERS,
    GENERIC,
    PREPOSITIONS,
    ROOMS_AND_THINGS,
    SYNONYMS,
    VERBS,
)
from quartet_scripted_model.language.tokens import plain_words, singular


class Kind(StrEnum):
    """Kinds of things in the facts."""

    AREA = "area"
    SURFACE = "surface"
    CONTAINER = "container"
    OBJECT = "object"
    LANDMARK = "landmark"
    FLOOR = "floor"


PLACES = frozenset({Kind.SURFACE, Kind.CONTAINER})


@dataclass(frozen=True)
class Thing:
    """One entry of the facts; `area` is where a place or landmark stands."""

    kind: Kind
    name: str
    area: str | None = None


@dataclass(frozen=True)
class Spotted:
    """Words of a sentence that are, as they stand, a name of one or more things."""

    words: tuple[str, ...]
    things: tuple[Thing, ...]


Token = str | Spotted
_KNOWN_WORDS = frozenset(VERBS) | PREPOSITIONS | FILLERS | GENERIC | COLOURS | ROOMS_AND_THINGS
"""Words that are no misspelled name."""

FLOOR = Thing(Kind.FLOOR, "floor")


class Vocabulary:
    """All names and aliases of the facts, with the synonyms that general English has for them."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.aliases: dict[Thing, list[tuple[str, ...]]] = {}
        for kind, key in (
            (Kind.AREA, "areas"),
            (Kind.SURFACE, "surfaces"),
            (Kind.CONTAINER, "containers"),
            (Kind.OBJECT, "objects"),
        ):
            for entry in entries_of(facts, key):
                thing = Thing(kind, entry["name"], entry.get("area"))
                self.aliases[thing] = [plain_words(n) for n in (entry["name"], *entry.get("aliases", []))]
        taken = {alias for names in self.aliases.values() for alias in names}
        for area in facts.get("areas", []):
            for landmark in area.get("landmarks", []):
                alias = plain_words(landmark)
                if alias not in taken:
                    self.aliases.setdefault(Thing(Kind.LANDMARK, landmark, area["name"]), [alias])
        self.aliases[FLOOR] = [("floor",), ("ground",), ("carpet",), ("rug",)]
        self._phrases = self._index(taken)
        self._longest = max(map(len, self._phrases), default=1)
        self.words = {w for phrase in self._phrases for w in phrase}

    def things(self, *kinds: Kind) -> list[Thing]:
        """All things of these kinds, in the order of the facts."""
        return [t for t in self.aliases if t.kind in kinds]

    def _index(self, taken: set[tuple[str, ...]]) -> dict[tuple[str, ...], list[Thing]]:
        index: dict[tuple[str, ...], list[Thing]] = {}
        for thing, names in self.aliases.items():
            for name in names:
                _append(index, name, thing)
        for thing, names in self.aliases.items():
            for name in names:
                for other in _synonyms(name):
                    if other not in taken:
                        _append(index, other, thing)
        return index

    def spot(self, words: Sequence[str]) -> list[Token]:
        """`words` with every name in it, the longest first, made one token; mistyped words of names are corrected."""
        words = [self._corrected(w) for w in words]
        singulars = [singular(w) for w in words]
        out: list[Token] = []
        i = 0
        while i < len(words):
            for n in range(min(self._longest, len(words) - i), 0, -1):
                said = tuple(words[i : i + n])
                things = self._phrases.get(said) or self._phrases.get((*said[:-1], singulars[i + n - 1]))
                if things:
                    out.append(Spotted(said, tuple(things)))
                    i += n
                    break
            else:
                out.append(words[i])
                i += 1
        return out

    def _corrected(self, word: str) -> str:
        if len(word) < 4 or word in self.words or singular(word) in self.words or word in _KNOWN_WORDS:
            return word
        close = difflib.get_close_matches(word, [w for w in self.words if len(w) > 3], n=1, cutoff=0.84)
        return close[0] if close else word

    def matches(self, phrase: Sequence[Token], kinds: Iterable[Kind], area: str | None = None) -> list[Thing]:
        """The things of `kinds` that the noun phrase can mean, all equally well; empty when there is none.

        Every word must be in one of the thing's names or be an adjective that may be said of anything; a colour must
        not contradict the thing's own. `area`: only things that stand there, if there are any.
        """
        said = phrase_words(phrase)
        # An area's name inside the phrase says where: "kitchen counter".
        inside = [t for p in phrase if isinstance(p, Spotted) for t in p.things if t.kind is Kind.AREA]
        wanted = set(kinds)
        if inside and Kind.AREA not in wanted and all(isinstance(p, Spotted) and p.things[0] in inside for p in phrase):
            return []
        if inside and len(phrase) > 1 and Kind.AREA not in wanted:
            area = inside[0].name
            rest = [p for p in phrase if not (isinstance(p, Spotted) and p.things[0].kind is Kind.AREA)]
            said = phrase_words(rest) or said
        scored = [(self._score(t, said, phrase), t) for t in self.aliases if t.kind in wanted]
        scored = [(s, t) for s, t in scored if s > 0]
        here = [(s, t) for s, t in scored if area and t.area == area]
        if here:
            scored = here
        best = max((s for s, _ in scored), default=0.0)
        return [t for s, t in scored if s == best]

    def _score(self, thing: Thing, said: list[str], phrase: Sequence[Token]) -> float:
        spotted = [p for p in phrase if isinstance(p, Spotted) and thing in p.things]
        known: set[str] = {singular(w) for name in self.aliases[thing] for w in name}
        for p in spotted:
            known |= {singular(w) for w in p.words}
        words = [singular(w) for w in said]
        if not words:
            return 0.0
        colours = known & COLOURS
        for word in words:
            if word in known or word in GENERIC:
                continue
            if word in COLOURS and not colours:
                continue
            return 0.0
        content = [w for w in words if w in known]
        if not content or words[-1] not in known:
            return 0.0
        best, first = 0.0, self.aliases[thing][0]
        for name in [*self.aliases[thing], *(p.words for p in spotted)]:
            alias = [singular(w) for w in name]
            hits = [w for w in content if w in alias]
            if not hits:
                continue
            head = 1.0 if words[-1] == alias[-1] else 0.4
            own = name in self.aliases[thing]
            # A synonym does not count as the thing's own name: "cup" for a mug stands beside every other cup.
            whole = 0.0 if not own else 0.5 if len(hits) == len(alias) else 0.25 if name == first else 0.2
            best = max(best, 2 * len(hits) / len(words) + whole + head)
        return round(best, 3)


def entries_of(facts: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The entries of one kind: those that the sentence names, and the others, of which facts have the names alone."""
    others: Any = facts.get("others", {}).get(key, [])
    named = others if isinstance(others, dict) else {None: others}
    return [*facts.get(key, []), *({"name": n, "area": area} for area, names in named.items() for n in names)]


def vocabulary_of(facts: dict[str, Any]) -> Vocabulary:
    """The vocabulary of `facts`, kept for the next request with the same facts: building one takes some 4 ms."""
    return _built(json.dumps(facts))


@lru_cache(maxsize=8)
def _built(facts: str) -> Vocabulary:
    return Vocabulary(json.loads(facts))


def phrase_words(phrase: Sequence[Token]) -> list[str]:
    """The words of a noun phrase, without articles and fillers, which a name may have: "sitting room"."""
    return [w for p in phrase for w in (p.words if isinstance(p, Spotted) else (p,) if p not in FILLERS else ())]


def _append(index: dict[tuple[str, ...], list[Thing]], key: tuple[str, ...], thing: Thing) -> None:
    things = index.setdefault(key, [])
    if thing not in things:
        things.append(thing)


_CLASSES = [[tuple(member.split()) for member in members] for members in SYNONYMS]


def _synonyms(name: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    for members in _CLASSES:
        for member in members:
            n = len(member)
            for i in range(len(name) - n + 1):
                if name[i : i + n] == member:
                    yield from (name[:i] + other + name[i + n :] for other in members if other != member)
