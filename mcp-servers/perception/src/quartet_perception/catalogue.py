"""The catalogue: everything that a site names, and which of it a person's words mean."""

import difflib
import re
from dataclasses import dataclass, replace
from typing import Literal, get_args

from quartet_perception.errors import UnknownObjectError
from quartet_perception.scene.colour import COLOUR_WORDS, words_of_sample
from quartet_site import Pose2D, SiteFile, normalise
from quartet_site.site import Appearance, Size

Kind = Literal["object", "surface", "container"]
KINDS: tuple[Kind, ...] = get_args(Kind)
OBJECTS: tuple[Kind, ...] = ("object",)
PLACES: tuple[Kind, ...] = ("surface", "container")

_NEUTRAL = frozenset(
    {"dark", "light", "bright", "small", "big", "large", "little", "old", "new", "other", "one", "some"}
    | {"my", "your", "this", "that", "please"}
)
_STOP = frozenset({"the", "a", "an", "of", "in", "on", "at", "to", "from", "with", "and", "for", "by", "its"})
# Synonyms of everyday words; the aliases of the site file prevail.
_SYNONYMS = (
    ("can", "tin"),
    ("coke", "cola", "soda"),
    ("bin", "trash", "garbage", "rubbish", "waste", "wastebasket"),
    ("cup", "mug"),
    ("sofa", "couch"),
    ("nightstand", "bedside"),
    ("wood", "wooden"),
    ("grey", "gray", "silver"),
    ("purple", "violet"),
)


SEEN_ERROR = 0.1
"""How far a size that was measured in a picture may be off, relative."""


@dataclass(frozen=True)
class CatalogueEntry:
    """One named object, surface or container of the site."""

    name: str
    kind: Kind
    appearance: Appearance
    aliases: tuple[str, ...] = ()
    area: str | None = None
    outline: tuple[tuple[float, float], ...] | None = None
    """Corners of its area, map frame [m]."""
    approach: Pose2D | None = None
    """Where to stand to look at it, map frame."""
    as_seen: bool = False
    """Whether its size is not that of the site file, which has none, but what one picture shows."""

    @property
    def sized(self) -> bool:
        """Whether the site file tells its size."""
        return self.appearance.size_m is not None

    @property
    def size_m(self) -> Size:
        """Its size [m], where the site file tells it. Raises ValueError where it does not."""
        return self.appearance.known_size_m

    def measured(self, size: Size) -> "CatalogueEntry":
        """Return it with a size that was measured in a picture [m]."""
        told = {"size_m": size, "size_error": SEEN_ERROR}
        return replace(self, appearance=self.appearance.model_copy(update=told), as_seen=True)

    @property
    def palette(self) -> tuple[str, ...]:
        """Colours of the entry and of its parts."""
        parts = (c for part in self.appearance.parts for c in part.colours)
        return tuple(dict.fromkeys((*self.appearance.colours, *parts)))

    @property
    def words(self) -> frozenset[str]:
        """All words of its names and colours, with their synonyms."""
        words = {w for name in (self.name, *self.aliases) for w in _tokens(name)}
        for colour in self.appearance.colours:
            words |= words_of_sample(colour) if colour.startswith("#") else set(colour.split())
        return frozenset(_with_synonyms(words))


class Catalogue:
    """All entries of site.yaml."""

    def __init__(self, entries: list[CatalogueEntry]) -> None:
        self.entries = entries
        self._vocabulary = frozenset(w for t in entries for w in t.words)

    @classmethod
    def of_site(cls, site: SiteFile) -> "Catalogue":
        """Return the catalogue of a site file."""
        outlines = {a.name: tuple(a.outline) for a in site.areas}
        entries = [CatalogueEntry(o.name, "object", o.appearance, tuple(o.aliases)) for o in site.objects]
        for kind, places in (("surface", site.surfaces), ("container", site.containers)):
            entries += [
                CatalogueEntry(p.name, kind, p.appearance, tuple(p.aliases), p.area, outlines.get(p.area), p.approach)  # type: ignore[arg-type]
                for p in places
            ]
        return cls(entries)

    def match(self, prompt: str, kinds: tuple[Kind, ...] = KINDS) -> list[CatalogueEntry]:
        """Return what `prompt` means: several entries when it is ambiguous ("can" where there are two).

        An exact name or alias wins; otherwise the last noun must be known, no colour may be contradicted and at
        least half of the words must fit. Raises UnknownObjectError with the catalogue's names.
        """
        wanted = normalise(prompt)
        candidates = [t for t in self.entries if t.kind in kinds]
        exact = [t for t in candidates if wanted == t.name]
        exact = exact or [t for t in candidates if wanted in t.aliases]
        if exact:
            return exact
        tokens = [self._spelled(t) for t in _tokens(wanted)]
        scored = [(self._fit(tokens, t), t) for t in candidates]
        best = max((s for s, _ in scored), default=0.0)
        if best <= 0:
            raise UnknownObjectError(self._unknown(prompt, candidates))
        return [t for s, t in scored if s >= best - 1e-9]

    def _fit(self, tokens: list[str], entry: CatalogueEntry) -> float:
        content = [t for t in tokens if t not in _NEUTRAL]
        nouns = [t for t in content if t not in COLOUR_WORDS]
        colours = [t for t in content if t in COLOUR_WORDS]
        words = entry.words
        if any(c not in words for c in colours if c in self._vocabulary or c in COLOUR_WORDS):
            return 0.0
        if not nouns or nouns[-1] not in words:
            return 0.0
        known = sum(n in words for n in nouns)
        # A word that fits another entry of the catalogue excludes this one ("apple bowl" is not an apple).
        foreign = sum(n not in words and n in self._vocabulary for n in nouns)
        if 2 * known < len(nouns) or foreign:
            return 0.0
        own = _with_synonyms(set(_tokens(entry.name)))
        closeness = len(own.intersection(content)) / max(len(_tokens(entry.name)), 1)
        return known / len(nouns) + 0.01 * min(closeness, 1.0)

    def _spelled(self, word: str) -> str:
        """Return `word`, or the catalogue's word that it is a misspelling or plural of."""
        if word in self._vocabulary or word in COLOUR_WORDS or word in _NEUTRAL:
            return word
        if word.endswith("s") and word[:-1] in self._vocabulary:
            return word[:-1]
        if len(word) < 5:
            return word
        close = difflib.get_close_matches(word, sorted(self._vocabulary), n=1, cutoff=0.84)
        return close[0] if close else word

    @staticmethod
    def _unknown(prompt: str, candidates: list[CatalogueEntry]) -> str:
        names = ", ".join(t.name for t in candidates)
        return (
            f"nothing here is called {prompt[:80]!r}; this site's catalogue has: {names}. Ask for one of these names."
        )


def free_name(prompt: str) -> str:
    """Return a name that is not in the catalogue as segmenters are asked for it: printable, in lower case.

    Raises UnknownObjectError when nothing is left of it.
    """
    name = normalise("".join(c if c.isprintable() else " " for c in prompt))
    if not name:
        raise UnknownObjectError(f"{prompt[:80]!r} has no word in it; say what to look for, such as 'red mug'")
    return name


def _tokens(text: str) -> list[str]:
    return [w for w in re.findall(r"[^\W_]+", text.lower().replace("'s", "").replace("s'", "s")) if w not in _STOP]


def _with_synonyms(words: set[str]) -> set[str]:
    return words | {s for group in _SYNONYMS if words.intersection(group) for s in group}
