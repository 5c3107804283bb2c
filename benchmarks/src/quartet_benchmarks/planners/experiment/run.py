"""Runs an experiment as an eval set of Inspect, which resumes what was begun in the same folder."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
from inspect_ai import Task, eval_set
from inspect_ai.model import GenerateConfig, Model, get_model
from rich.text import Text

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.planners.experiment.budget import FREE, Price, Spending, use
from quartet_benchmarks.planners.experiment.prices import known_price
from quartet_benchmarks.planners.experiment.task import MOST_TOKENS_OUT, planners
from quartet_benchmarks.planners.options import HISTORY, Experiment, read_shard
from quartet_benchmarks.planners.speakers import SPEAKERS, Faults, Speakers
from quartet_benchmarks.planners.trial import play
from quartet_contracts import GRANT_HEADER
from quartet_grid_worlds import make
from quartet_teams import Answer, Window, make_team

GATEWAY = "gateway/"
LOGS, SPENT = "logs", "spent-usd.txt"
"""Parts of the folder of a run."""
TOKENS_PER_ANSWER = 200
"""Of a language model, for the estimate: it says more than the reference speakers do."""


@dataclass(frozen=True)
class Limits:
    """Limits of a run; None: no limit."""

    budget_usd: float | None = None
    """Of the whole run."""
    price: Price | None = None
    """Price of the models, where it is not known."""
    token_limit: int | None = None
    """Tokens of one trial."""
    time_limit_s: int | None = None
    """Seconds of one trial."""


def run_trials(
    experiment: Experiment,
    folder: Path,
    *,
    shard: str,
    limits: Limits,
    progress: Callable[[str], None],
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Run the trials of a shard that have no log in `folder` yet.

    Args:
        experiment: what is run.
        folder: of the logs and of what was spent.
        shard: number and count, such as `2/8`.
        limits: of money, tokens and time.
        progress: is told the estimated cost.
        environment: has QUARTET_GATEWAY_URL, QUARTET_GATEWAY_KEY and QUARTET_GATEWAY_GRANT for models of the gateway.

    Raises:
        OptionError: a shard, model or price that there is not, or a model that costs money without a budget.
    """
    number, count = read_shard(shard)
    models, prices = connect(experiment.models, environment, limits.price)
    if any(price != FREE for price in prices.values()):
        _tell_cost(experiment, prices, count, limits.budget_usd, progress)
    folder.mkdir(parents=True, exist_ok=True)
    use(Spending(folder / SPENT, prices, limits.budget_usd, MOST_TOKENS_OUT))
    eval_set(
        _tasks(experiment, number, count),
        log_dir=str(folder / LOGS),
        model=models,
        # A trial that fails does not end the others; the next run of the same folder repeats it.
        fail_on_error=True,
        continue_on_fail=True,
        retry_attempts=0,
        retry_immediate=False,
        # A run that is killed loses no finished trial.
        log_buffer=1,
        token_limit=limits.token_limit,
        time_limit=limits.time_limit_s,
        display="none",
        log_level="error",
        ctl_server=False,
    )


def _tasks(experiment: Experiment, number: int, count: int) -> list[Task]:
    return [
        planners(
            framework, world, list(experiment.robots), experiment.trials, experiment.seed, history, f"{number}/{count}"
        )
        for world in experiment.suite
        for history in experiment.history
        for framework in experiment.framework
    ]


def connect(
    names: Sequence[str], environment: Mapping[str, str], given: Price | None
) -> tuple[list[Model], dict[str, Price]]:
    """Return the models of these names and their prices by their names in Inspect.

    Args:
        names: of models of Inspect, of `gateway/AGENT` or of the reference speakers.
        environment: has QUARTET_GATEWAY_URL, QUARTET_GATEWAY_KEY and QUARTET_GATEWAY_GRANT for models of the gateway.
        given: price, where it is not known.

    Raises:
        OptionError: a model or price that there is not.
    """
    models: list[Model] = []
    prices: dict[str, Price] = {}
    for name in names:
        real = name
        try:
            if name.startswith(GATEWAY):
                url = environment.get("QUARTET_GATEWAY_URL", "http://127.0.0.1:8400").rstrip("/")
                key = environment.get("QUARTET_GATEWAY_KEY") or "none"
                real = _behind_gateway(url, key, name.removeprefix(GATEWAY))
                grant = environment.get("QUARTET_GATEWAY_GRANT")
                config = GenerateConfig(extra_headers={GRANT_HEADER: grant} if grant else None)
                model = get_model(f"openai-api/{name}", config=config, base_url=f"{url}/v1", api_key=key)
            else:
                model = get_model(name)
        except OptionError:
            raise
        except Exception as error:
            # Every provider has errors of its own for a name, a key or a package that it misses.
            told = " ".join(Text.from_markup(str(error)).plain.split())
            raise OptionError(f"model '{name}': {told}") from error
        price = FREE if name.startswith(SPEAKERS) else given or known_price(real)
        if price is None:
            raise OptionError(
                f"the price of model '{real}' is not known; give --price IN,OUT in USD per million tokens"
            )
        models.append(model)
        prices[str(model)] = price
    return models, prices


def _behind_gateway(url: str, key: str, agent: str) -> str:
    try:
        answer = httpx.get(f"{url}/v1/models", headers={"Authorization": f"Bearer {key}"}, timeout=10)
        answer.raise_for_status()
        known = {entry["id"]: entry["models"] for entry in answer.json()["data"]}
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise OptionError(
            f"the gateway at {url} does not answer: {error}; start it or set QUARTET_GATEWAY_URL"
        ) from error
    if not known.get(agent):
        raise OptionError(f"the gateway has no model for '{agent}'; valid: {', '.join(a for a in known if known[a])}")
    return known[agent][0]


def _tell_cost(
    experiment: Experiment,
    prices: Mapping[str, Price],
    count: int,
    budget_usd: float | None,
    progress: Callable[[str], None],
) -> None:
    calls, tokens_in, tokens_out = asyncio.run(estimate(experiment))
    paid = [price for price in prices.values() if price != FREE]
    cost = sum(price.of(tokens_in, tokens_out) for price in paid) / count
    told = (
        f"about ${cost:.2f} for {calls * len(paid) / count:.0f} calls: what teams need that make no mistake, with "
        f"{TOKENS_PER_ANSWER} tokens an answer; a model that errs may need several times as much"
    )
    if budget_usd is None:
        raise OptionError(f"this costs money, {told}. Give --budget-usd, which stops the run")
    progress(f"estimated cost: {told}; the run stops at ${budget_usd:g}")


async def estimate(experiment: Experiment) -> tuple[int, int, int]:
    """Return calls, tokens in and tokens out for one model, from one fault-free trial of each kind."""
    calls = tokens_in = tokens_out = 0
    kinds = {(world, robots) for world, robots, _ in experiment.instances}
    for world, robots in sorted(kinds):
        for framework in experiment.framework:
            for history in experiment.history:
                speakers = _Counted(Speakers(Faults(), seed=0))
                instance = make(world, robots, experiment.seed)
                await play(instance, make_team(framework, world), speakers, Window(HISTORY[history]))
                calls += experiment.trials * speakers.calls
                tokens_in += experiment.trials * speakers.tokens_in
                tokens_out += experiment.trials * speakers.tokens_out
    return calls, tokens_in, tokens_out


class _Counted:
    def __init__(self, speakers: Speakers) -> None:
        self._speakers = speakers
        self.calls = self.tokens_in = self.tokens_out = 0

    async def __call__(self, participant: str, prompt: str) -> Answer:
        answer = await self._speakers(participant, prompt)
        self.calls += 1
        self.tokens_in += answer.tokens_in
        self.tokens_out += max(answer.tokens_out, TOKENS_PER_ANSWER)
        return answer
