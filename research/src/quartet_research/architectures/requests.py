"""Requests of one deployment to the scripted model: what goes wrong with them, and how many tokens they have."""

from typing import Any

from quartet_benchmarks.tokens.count import Tokenizer, count_request
from quartet_scripted_model.misbehaviour import Draws, Kind

Body = dict[str, Any]


class CountedRequests:
    """Draws what goes wrong as the scripted model does by itself, and keeps the requests of the task that runs."""

    def __init__(self, rates: dict[Kind, float], seed: int) -> None:
        self._draws = Draws(rates, seed)
        self._bodies: list[Body] = []

    def draw(self, body: Body) -> Kind | None:
        """Keep a request and return what goes wrong with it. See quartet_scripted_model.app.Choice."""
        self._bodies.append(body)
        return self._draws.draw(body)

    def take(self) -> list[Body]:
        """Return the requests since the last call, in order."""
        taken, self._bodies = self._bodies, []
        return taken


def prompt_sizes(bodies: list[Body], tokens: Tokenizer) -> list[int]:
    """Return the tokens of each request."""
    return [sum(count_request(body, tokens).values()) for body in bodies]
