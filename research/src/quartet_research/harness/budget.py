"""Money that a run has spent, kept in a file, and the limit that stops it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from quartet_benchmarks.errors import BudgetSpentError
from quartet_benchmarks.prices import FREE, Price


class Call:
    """One call of a model: what it may cost at most until it is settled."""

    def __init__(self, spending: "Spending", price: Price, most: float) -> None:
        self._spending, self._price, self._reserved = spending, price, most

    def settle(self, tokens_in: int, tokens_out: int) -> None:
        """Put what was used in the place of what was reserved."""
        cost = self._price.of(tokens_in, tokens_out)
        self._spending.add(cost - self._reserved)
        self._reserved = cost


class Spending:
    """Sum of the costs of a run. A call is refused that could bring it beyond the budget.

    Every amount goes into the file before the call, so that a run that is killed has counted what it may owe.

    Args:
        path: file of the amounts, one a line; it goes on where it ends.
        prices: of the models, by their names in Inspect; one without a price is free.
        budget_usd: None: there is no limit.
        most_out: tokens that an answer can have.
    """

    def __init__(self, path: Path, prices: Mapping[str, Price], budget_usd: float | None, most_out: int) -> None:
        self._prices = prices
        self._path, self._budget, self._most_out = path, budget_usd, most_out
        self.spent = sum(map(float, path.read_text().split())) if path.exists() else 0.0

    def add(self, amount: float) -> None:
        """Count an amount [USD]; a negative one gives back what was reserved."""
        self.spent += amount
        if amount:
            with self._path.open("a") as file:
                file.write(f"{amount!r}\n")

    @contextmanager
    def call(self, model: str, prompt: str) -> Iterator[Call]:
        """Reserve what a call can cost at most; a call that fails keeps its reservation, since it may be billed.

        Raises BudgetSpentError when there is not as much left.
        """
        # A token has at least one byte.
        price = self._prices.get(model, FREE)
        most = price.of(len(prompt.encode()), self._most_out)
        if self._budget is not None and self.spent + most > self._budget:
            raise BudgetSpentError(
                f"${self.spent:.4f} of the budget of ${self._budget:g} are spent and the next call may "
                f"cost ${most:.4f}; give a larger --budget-usd to go on"
            )
        self.add(most)
        yield Call(self, price, most)


_CURRENT: ContextVar[Spending | None] = ContextVar("spending", default=None)


def use(spending: Spending) -> None:
    """Count the calls of this run with `spending`."""
    _CURRENT.set(spending)


def spending() -> Spending:
    """Return what counts the calls of this run; where none was given, one without prices and limit."""
    return _CURRENT.get() or Spending(Path(os.devnull), {}, None, 0)
