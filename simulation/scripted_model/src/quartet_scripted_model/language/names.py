"""Names as a person says them against names as the facts give them."""

from collections.abc import Iterable
from typing import Any

ARTICLES = frozenset({"the", "a", "an", "my", "our", "your", "this", "that", "some"})
FLOOR = frozenset({"floor", "ground", "here", "on the floor", "the floor", "floor here"})

Entry = dict[str, Any]


def normal(name: str) -> str:
    """Lower case, plain apostrophes, single spaces, no leading article."""
    tokens = name.lower().replace("’", "'").replace("_", " ").replace("-", " ").split()
    while tokens and tokens[0] in ARTICLES:
        tokens = tokens[1:]
    return " ".join(tokens)


def words(name: str) -> set[str]:
    """The words of `name`, normalised."""
    return set(normal(name).split())


def named(name: str, entries: Iterable[Entry]) -> Entry | None:
    """The entry with `name` as its name or one of its aliases, or None."""
    wanted = normal(name)
    return next((e for e in entries if wanted in {normal(e["name"]), *map(normal, e.get("aliases", []))}), None)


def is_floor(name: str) -> bool:
    """Whether `name` means the floor and no piece of furniture."""
    return normal(name) in FLOOR or normal(name).split()[-1:] in (["floor"], ["ground"])
