"""All questions, by category and number. They are made when they are asked for, and kept."""

from collections import defaultdict
from collections.abc import Callable
from threading import Lock

import numpy as np

from quartet_research.harness.errors import StateError
from quartet_research.roco.text import adaptation, capability, inquiry, memory, respond
from quartet_research.roco.text.question import Question

Draw = Callable[[int, np.random.Generator], Question | None]
"""Returns a question for a number, or None if what was drawn does not fit."""
DRAWS: dict[str, Draw] = {
    "capability": capability.draw,
    "memory": memory.draw,
    "inquiry": inquiry.draw,
    "respond": respond.draw,
    "adaptation": adaptation.draw,
}
COUNTS = {"capability": 57, "memory": 44, "inquiry": 41, "respond": 96, "adaptation": 31}
"""Questions of each category in the paper."""
MOST_DRAWS = 5000
_made: dict[tuple[str, int], list[Question]] = defaultdict(list)
_lock = Lock()


def question_of(category: str, number: int) -> Question:
    """Return a question; equal numbers give equal questions, and no two of the first `COUNTS` have equal texts."""
    batch, index = divmod(number, COUNTS[category])
    with _lock:
        made = _made[category, batch]
        while len(made) <= index:
            made.append(_next(category, number - index + len(made), {one.texts for one in made}))
        return made[index]


def _next(category: str, number: int, texts: set[tuple[str, str]]) -> Question:
    rng = np.random.default_rng([list(DRAWS).index(category), number])
    for _ in range(MOST_DRAWS):
        found = DRAWS[category](number, rng)
        if found and found.texts not in texts:
            return found
    raise StateError(f"no question {number} of {category} was found in {MOST_DRAWS} draws")
