"""Names of a site: resolves the words for an object or a place to the site's own name."""

import functools
from collections.abc import Sequence

from quartet_site import FLOOR_WORDS, CatalogueObject, Container, SiteFile, Surface, normalise

FLOOR = "floor"


class SiteNames:
    """Names of objects and places in one site. An alias that several things share names none of them."""

    def __init__(self, site: SiteFile) -> None:
        self._objects = _by_alias(site.objects)
        self._places = _by_alias([*site.surfaces, *site.containers])
        self._area_names = {normalise(name): area.name for area in site.areas for name in (area.name, *area.aliases)}
        self._landmarks = {normalise(landmark): area.name for area in site.areas for landmark in area.landmarks}
        self._destinations = self._landmarks | self._area_names | self._places
        things = [*site.objects, *site.surfaces, *site.containers]
        named = [*FLOOR_WORDS, *(name for thing in things for name in (thing.name, *thing.aliases))]
        self._all = {normalise(name): name for name in named} | {name: name for name in self._area_names}

    def thing(self, words: str) -> str:
        """Return the catalogue's name for an object, or the words themselves in normal form."""
        text = normalise(words)
        return self._objects.get(text, text)

    def known(self, words: str) -> str | None:
        """Return the catalogue's name for an object, None for words that it does not have."""
        return self._objects.get(normalise(words))

    def is_area(self, words: str) -> bool:
        """Return whether the site has an area of this name."""
        return normalise(words) in self._area_names

    def area(self, words: str) -> str | None:
        """Return the site's name for an area, None for words that name none."""
        return self._area_names.get(normalise(words))

    def destinations_in(self, text: str) -> list[str]:
        """Return the areas and places that a text names, in its order; a landmark stands for its area."""
        return _named_in(text, self._destinations)

    def is_named(self, words: str) -> bool:
        """Return whether an area, place or object is named in `words`, also by an alias that several things share."""
        return _inside(words, self._all) is not None

    def is_name(self, words: str) -> bool:
        """Return whether `words` are exactly a name or alias of an area, place or object."""
        return normalise(words) in self._all

    def landmark_area(self, words: str) -> str | None:
        """Return the area of a landmark, by which a viewer recognises it; None for words that name no landmark."""
        return self._landmarks.get(normalise(words))

    def thing_in(self, words: str) -> str:
        """Return the name as `thing` does, for a longer text such as 'the red coke can from the kitchen'."""
        return self._objects.get(normalise(words)) or _inside(words, self._objects) or normalise(words)

    def objects_in(self, text: str) -> list[str]:
        """Return the catalogue's objects that a text names, each once; of names that overlap, the longest counts."""
        return [name for name in self._things_in(text) if self.known(name) is not None]

    def places_in(self, text: str) -> list[str]:
        """Return the surfaces and containers that a text names, each once, in the same way."""
        return [name for name in self._things_in(text) if normalise(name) in self._places]

    def _things_in(self, text: str) -> list[str]:
        # Both kinds at once: "trash can" names no can.
        return list(dict.fromkeys(_named_in(text, self._places | self._objects)))

    def place(self, words: str) -> str | None:
        """Return the site's name for a surface or container, 'floor', or None when the words name no place."""
        found = self._places.get(normalise(words)) or _inside(words, self._places)
        if found is None and any(word in _words(words).split() for word in FLOOR_WORDS):
            return FLOOR
        return found


def _by_alias(things: Sequence[CatalogueObject] | Sequence[Surface | Container]) -> dict[str, str]:
    table: dict[str, str] = {}
    shared: set[str] = set()
    for thing in things:
        for alias in {normalise(name) for name in (thing.name, *thing.aliases)}:
            if table.setdefault(alias, thing.name) != thing.name:
                shared.add(alias)
    for thing in things:
        shared.discard(normalise(thing.name))
        table[normalise(thing.name)] = thing.name
    return {alias: name for alias, name in table.items() if alias not in shared}


def _inside(text: str, table: dict[str, str]) -> str | None:
    """Return the name of the longest alias that stands as whole words in `text`, None without one."""
    padded = f" {_words(text)} "
    found = [alias for alias in table if f" {_words(alias)} " in padded]
    return table[max(found, key=len)] if found else None


def _named_in(text: str, names: dict[str, str]) -> list[str]:
    """Return what a text names, in its order; of names that overlap, the longest counts."""
    table = {_words(alias): name for alias, name in names.items()}
    words, found = _words(text).split(), list[str]()
    longest = max((len(alias.split()) for alias in table), default=0)
    while words:
        said = next((n for n in range(longest, 0, -1) if " ".join(words[:n]) in table), 0)
        found += [table[" ".join(words[:said])]] if said else []
        words = words[said or 1 :]
    return found


@functools.lru_cache(maxsize=2048)
def _words(text: str) -> str:
    """Return lower-case words with single spaces and no punctuation."""
    plain = text.replace("’", "'").lower()
    return " ".join("".join(c if c.isalnum() or c == "'" else " " for c in plain).split())
