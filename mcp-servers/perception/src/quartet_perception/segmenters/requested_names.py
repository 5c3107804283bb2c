"""The names that a remote segmenter is asked for: only these count as labels of its answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quartet_perception.catalogue import Catalogue, CatalogueEntry, free_name
from quartet_perception.errors import UnknownObjectError
from quartet_site import normalise

MAX_NAMES = 200
"""A whole catalogue fits; a call of a tool names 50 at most."""


@dataclass(frozen=True)
class RequestedName:
    """A name, with the catalogue entry that it means, if any."""

    name: str
    entry: CatalogueEntry | None


class RequestedNames:
    """The names that stand for `prompts`. Raises UnknownObjectError for a prompt without a word, and too many names."""

    def __init__(self, catalogue: Catalogue, prompts: Sequence[str]) -> None:
        self._by_name: dict[str, RequestedName] = {}
        for prompt in prompts:
            try:
                names = [RequestedName(entry.name, entry) for entry in catalogue.match(prompt)]
            except UnknownObjectError:
                names = [RequestedName(free_name(prompt), None)]
            for one in names:
                self._by_name.setdefault(normalise(one.name), one)
        if len(self._by_name) > MAX_NAMES:
            raise UnknownObjectError(
                f"{len(self._by_name)} names are too many for one picture; ask for {MAX_NAMES} at most"
            )

    def __iter__(self) -> Iterator[RequestedName]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def of_label(self, label: str) -> RequestedName | None:
        """Return the requested name that a label of the answer means; None for any other text, which is dropped."""
        return self._by_name.get(normalise(label[:200]))
