"""All questions, by category and number. They are made on first use, and kept."""

from collections import defaultdict
from collections.abc import Callable
from threading import Lock

import numpy as np

from quartet_research.harness.errors import StateError
from quartet_research.roco.text import sorting, stacking
from quartet_research.roco.text.question import Question

DRAWS: dict[str, Callable[[int, np.random.Generator], Question | None]] = {
    "capability": sorting.capability,
    "memory": stacking.memory,
    "inquiry": sorting.inquiry,
    "respond": sorting.respond,
    "adaptation": stacking.adaptation,
}
"""Functions that draw a question for a number, or None if the draw does not suit it."""
COUNTS = {"capability": 57, "memory": 44, "inquiry": 41, "respond": 96, "adaptation": 31}
"""Questions of each category in the paper."""
MOST_DRAWS = 5000
_made: dict[tuple[str, int], list[Question]] = defaultdict(list)
_lock = Lock()


def question_of(category: str, number: int) -> Question:
    """Return the question of a number; no two of the first `COUNTS` have the same text. Raises StateError."""
    batch, index = divmod(number, COUNTS[category])
    with _lock:
        made = _made[category, batch]
        while len(made) <= index:
            made.append(_next(category, number - index + len(made), {one.texts for one in made}))
        return made[index]


def _next(category: str, number: int, known: set[tuple[str, ...]]) -> Question:
    rng = np.random.default_rng([list(DRAWS).index(category), number])
    drawn = (DRAWS[category](number, rng) for _ in range(MOST_DRAWS))
    for found in drawn:
        if found and found.texts not in known:
            return found
    raise StateError(f"no question {number} of {category} was found in {MOST_DRAWS} draws")
