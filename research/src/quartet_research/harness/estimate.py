"""What an experiment with models that cost money is likely to cost, told before the first call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import FREE, Price
from quartet_teams import Answer, Model

TOKENS_PER_ANSWER = 200
"""Of a language model, for the estimate: it says more than the reference speakers do."""


@dataclass(frozen=True)
class Use:
    """Calls of a model, with their tokens."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def plus(self, other: "Use", times: int = 1) -> "Use":
        """Return the sum of this and so many times another one."""
        return Use(
            self.calls + times * other.calls,
            self.tokens_in + times * other.tokens_in,
            self.tokens_out + times * other.tokens_out,
        )


class Counted:
    """A model that counts what a language model in its place would use, in `use`."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.use = Use()

    async def __call__(self, participant: str, prompt: str) -> Answer:
        """Return the model's answer."""
        answer = await self._model(participant, prompt)
        self.use = self.use.plus(Use(1, answer.tokens_in, max(answer.tokens_out, TOKENS_PER_ANSWER)))
        return answer


def tell_cost(
    use: Use, prices: Mapping[str, Price], shards: int, budget_usd: float | None, progress: Callable[[str], None]
) -> None:
    """Tell what the models that cost money are likely to cost.

    Args:
        use: of one model, for all shards.
        prices: of the models.
        shards: into how many the experiment is parted; one of them is run.
        budget_usd: that stops the run.
        progress: is told.

    Raises:
        OptionError: there is no budget; it tells the cost.
    """
    paid = [price for price in prices.values() if price != FREE]
    cost = sum(price.of(use.tokens_in, use.tokens_out) for price in paid) / shards
    told = (
        f"about ${cost:.2f} for {use.calls * len(paid) / shards:.0f} calls: what is used where nobody makes a mistake, "
        f"with {TOKENS_PER_ANSWER} tokens an answer; a model that errs may need several times as much"
    )
    if budget_usd is None:
        raise OptionError(f"this costs money, {told}. Give --budget-usd, which stops the run")
    progress(f"estimated cost: {told}; the run stops at ${budget_usd:g}")
