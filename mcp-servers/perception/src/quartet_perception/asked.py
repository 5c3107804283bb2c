"""What a remote segmenter is asked for, and what its labels mean: names that were asked for, and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass

from quartet_perception.catalogue import Catalogue, Thing, free_name
from quartet_perception.errors import UnknownObject
from quartet_site import normalise

MAX_NAMES = 200
"""A whole catalogue fits; a call of a tool names 50 at most."""


@dataclass(frozen=True)
class Asked:
    """A name, with the thing of the catalogue that it means, if any."""

    name: str
    thing: Thing | None


class Names:
    """The names that stand for `prompts`. Raises UnknownObject for a prompt without a word."""

    def __init__(self, catalogue: Catalogue, prompts: Sequence[str]) -> None:
        self._by_name: dict[str, Asked] = {}
        for prompt in prompts:
            try:
                asked = [Asked(thing.name, thing) for thing in catalogue.match(prompt)]
            except UnknownObject:
                asked = [Asked(free_name(prompt), None)]
            for one in asked:
                self._by_name.setdefault(normalise(one.name), one)
        if len(self._by_name) > MAX_NAMES:
            raise UnknownObject(f"{len(self._by_name)} names are too many for one picture; ask for {MAX_NAMES} at most")

    def __iter__(self):
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def of_label(self, label: str) -> Asked | None:
        """What was asked for under this label; None for any other text, which is dropped."""
        return self._by_name.get(normalise(label[:200]))
