"""What the episodes are likely to cost with a model that costs money, and the budget that ends a run."""

from collections.abc import Callable, Mapping, Sequence

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import FREE, Price, known_price, read_price
from quartet_research.architectures.played import Played
from quartet_research.harness.estimate import TOKENS_PER_ANSWER, Use, tell_cost

TYPICAL = {
    "multi": Use(17, 36_194, 17 * TOKENS_PER_ANSWER),
    "single": Use(17, 145_093, 17 * TOKENS_PER_ANSWER),
    "skill": Use(5, 11_998, 5 * TOKENS_PER_ANSWER),
    "skill_prose": Use(5, 12_250, 5 * TOKENS_PER_ANSWER),
}
"""What one task uses: means of three tasks with the scripted model (docs/architectures.md)."""


def price_of(model: str, given: str | None) -> Price:
    """Return the price of a model by its name in LiteLLM, or the one that is given. Raises OptionError."""
    price = read_price(given) or known_price(model)
    if price is None:
        raise OptionError(f"the price of model '{model}' is not known; give --price IN,OUT in USD per million tokens")
    return price


class EpisodeBudget:
    """Money of a run.

    Args:
        model: its name.
        price: of the model.
        budget_usd: None: there is no limit, which only a model that is free may have.
    """

    def __init__(self, model: str, price: Price, budget_usd: float | None) -> None:
        self._model, self._price, self._budget = model, price, budget_usd

    def tell(self, left: Mapping[str, int], progress: Callable[[str], None]) -> None:
        """Tell what so many episodes of each variant are likely to cost. Raises OptionError without a budget."""
        use = Use()
        for variant, episodes in left.items():
            use = use.plus(TYPICAL[variant], episodes)
        if self._price != FREE and use.calls:
            tell_cost(use, {self._model: self._price}, 1, self._budget, progress)

    def refusal(self, variant: str, played: Sequence[Played]) -> str:
        """Return why no further episode of a variant may begin, '' when one may.

        The next one is taken to cost as much as the dearest of its variant so far, and at least what is typical. One
        that broke down is taken to have cost as much, too: what it used is not known.
        """
        if self._budget is None or self._price == FREE:
            return ""
        spent = sum(self._cost(one, played) for one in played)
        coming = self._dearest(variant, played)
        if spent + coming <= self._budget:
            return ""
        return (
            f"about ${spent:.2f} of the budget of ${self._budget:g} are spent, and an episode of {variant} may cost "
            f"${coming:.2f}; give a larger --budget-usd to go on"
        )

    def _cost(self, one: Played, played: Sequence[Played]) -> float:
        return self._dearest(one.variant, played) if one.broke_down else self._known(one)

    def _known(self, one: Played) -> float:
        tokens = self._price.of(one.tokens_in, int(one.figures.get("completion_tokens", 0)))
        return max(tokens, one.figures.get("cost_usd", 0.0))

    def _dearest(self, variant: str, played: Sequence[Played]) -> float:
        typical = self._price.of(TYPICAL[variant].tokens_in, TYPICAL[variant].tokens_out)
        return max([typical, *(self._known(one) for one in played if one.variant == variant)])
