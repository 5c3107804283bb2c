"""Plays the same episodes in a deployment of each architecture."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.home.suite import episodes_of, too_wide
from quartet_benchmarks.prices import FREE, counts_as, tokenizer
from quartet_benchmarks.result import START_TIMEOUT_S, BenchParameters, BenchResult
from quartet_benchmarks.serving import served
from quartet_deployment import DeploymentError, Stack, StackOptions, state_folder
from quartet_research.architectures.chart import prompt_chart
from quartet_research.architectures.costs import EpisodeBudget, price_of
from quartet_research.architectures.played import Played, PlayedFile
from quartet_research.architectures.requests import CountedRequests, prompt_sizes
from quartet_research.architectures.summary import VARIANTS, summary
from quartet_scripted_model import AGENTS, Settings, create_app
from quartet_scripted_model.misbehaviour import Kind
from quartet_site import load_robot, load_site

FOLDER = Path("runs/architectures")
EPISODES, SHORT_EPISODES = 14, 1
SCRIPTED = "scripted"
"""Name of the scripted model; --p-fault is for it alone."""
COUNTED_AS = "openai/gpt-4o"
"""Whose tokenizer counts the requests to the scripted model."""
HEALTH_TIMEOUT_S = 30.0
FAULTS = (
    Kind.MALFORMED_JSON,
    Kind.UNKNOWN_TOOL,
    Kind.BAD_ARGUMENTS,
    Kind.HALLUCINATED_OBJECT,
    Kind.REPETITION,
    Kind.EMPTY,
)
"""What goes wrong with an answer of the scripted model, each kind as often as the others."""


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite.

    Each episode is kept in the folder of the run when it has ended. With a language model the same command goes on
    with those that the folder does not have; with the scripted model it begins anew.

    A deployment that breaks down costs its own episodes only: the one that was under way counts as failed, those after
    it are not played, and a note says why. Raises OptionError, UnfitPlacementError, and what the first deployment
    failed with, such as StackError, when no episode was begun at all.
    """
    options = parameters.options
    model, rate = _model(options), _rate(options)
    if rate and model != SCRIPTED:
        raise OptionError(f"p-fault {rate:g} is of the model '{SCRIPTED}'; leave it out for {model}")
    episodes = parameters.episodes or (SHORT_EPISODES if parameters.short else EPISODES)
    folder = Path(options.get("out") or FOLDER)
    chosen = {
        "seed": parameters.seed,
        "model": model,
        "p_fault": rate,
        "sensors": parameters.sensors,
        "robot": ", ".join(parameters.kinds) or "the world's own",
    }
    price = FREE if model == SCRIPTED else price_of(model, options.get("price"))
    kept = PlayedFile(folder, chosen, goes_on=model != SCRIPTED)
    budget = EpisodeBudget(model, price, options.get("budget_usd"))
    budget.tell({variant: max(0, episodes - kept.count(variant)) for variant in VARIANTS}, parameters.progress)
    ended: list[str] = []
    for variant in VARIANTS:
        numbers = range(kept.count(variant), episodes)
        try:
            why = _play(variant, model, rate, numbers, parameters, kept, budget)
        except (DeploymentError, httpx.HTTPError) as error:
            if not kept.episodes:
                raise
            why = str(error)
        if why:
            ended.append(f"{variant} was not played to its end: {why}")
            parameters.progress(ended[-1])
    played = [one for one in kept.episodes if one.number <= episodes]
    chart = _draw(played, folder)
    result = summary(played, {"episodes": episodes, **chosen, "counted": counts_as(_counted(model))})
    result.notes.extend(ended)
    if chart is not None:
        result.notes.append(f"{chart}: the tokens of each prompt of the first episode, call by call.")
    return result


def _play(
    variant: str,
    model: str,
    rate: float,
    numbers: range,
    parameters: BenchParameters,
    kept: PlayedFile,
    budget: EpisodeBudget,
) -> str:
    """Play the episodes of these numbers in one deployment, and keep each; return why it ended before, '' if not."""
    refused = budget.refusal(variant, kept.episodes) if numbers else ""
    if refused or not numbers:
        return refused
    state = state_folder() / f"bench-architectures-{variant}"
    with _deployed(state, variant, model, rate, parameters) as (stack, requests):
        # Not at once, so that what was played is kept when the deployment breaks down.
        for one in _episodes(stack, variant, requests, numbers, parameters):
            kept.add(one)
            if one.number < numbers.stop and (refused := budget.refusal(variant, kept.episodes)):
                return refused
    return ""


def _draw(played: Sequence[Played], folder: Path) -> Path | None:
    """Draw the prompts of the first episode; return the file, None where the model alone counts its prompts."""
    first = [one for one in played if one.number == 1 and one.prompt_sizes]
    if not first:
        return None
    file = folder / "prompts.svg"
    sizes = {one.variant: one.prompt_sizes or [] for one in first}
    file.write_text(prompt_chart(sizes, f"Tokens of each prompt: {first[0].sentence}"))
    return file


def _model(options: dict[str, Any]) -> str:
    names = options.get("model") or [SCRIPTED]
    if len(names) > 1:
        raise OptionError(f"model {', '.join(names)}: one model at a time plays the episodes; give --model once")
    return names[0]


def _rate(options: dict[str, Any]) -> float:
    rates = options.get("p_fault") or [0.0]
    if len(rates) > 1 or not 0 <= rates[0] <= 1:
        raise OptionError(f"p-fault {', '.join(map(str, rates))}: one rate from 0 to 1")
    return rates[0]


def _counted(model: str) -> str:
    return COUNTED_AS if model == SCRIPTED else model


@contextmanager
def _deployed(
    folder: Path, variant: str, model: str, rate: float, parameters: BenchParameters
) -> Iterator[tuple[Stack, CountedRequests | None]]:
    """Start a deployment of a variant; yield it and, with the scripted model, the requests to that."""
    architecture, results = VARIANTS[variant]
    options = {
        "state_dir": folder,
        "fresh": True,
        "architecture": architecture,
        "results": results,
        "sensors": parameters.sensors,
        "kinds": parameters.kinds,
        "start_timeout_s": START_TIMEOUT_S,
    }
    if model != SCRIPTED:
        # Its key and endpoint come from the environment or .env, as for `quartet up`.
        chosen = dict.fromkeys(("QUARTET_MODEL", *(f"QUARTET_MODEL_{agent.upper()}" for agent in AGENTS)), model)
        with Stack(StackOptions(**options, env_of={"gateway": chosen})) as stack:
            require_model(stack.url_of("gateway"), model)
            yield stack, None
        return
    requests = CountedRequests(dict.fromkeys(FAULTS, rate / len(FAULTS)), parameters.seed)
    with served(create_app(Settings(), requests)) as url:
        scripted = {"env_of": {"gateway": {"QUARTET_SCRIPTED_MODEL_URL": url}}, "use_dotenv": False}
        with Stack(StackOptions(**options, **scripted, without=frozenset({"scripted_model"}))) as stack:
            yield stack, requests


def require_model(gateway_url: str, model: str) -> None:
    """Raise OptionError with what the gateway misses for the model, such as its key."""
    problems = httpx.get(f"{gateway_url}/health", timeout=HEALTH_TIMEOUT_S, trust_env=False).json().get("problems", {})
    if missing := next((problems[agent] for agent in AGENTS if agent in problems), ""):
        raise OptionError(f"model '{model}': {missing}")


def _episodes(
    stack: Stack, variant: str, requests: CountedRequests | None, numbers: range, parameters: BenchParameters
) -> Iterator[Played]:
    """Play the episodes of a variant one by one. Raises what made one break down, after that one."""
    site = load_site(stack.site_dir / "site.yaml")
    unfit = too_wide(site, load_robot(stack.site_dir / "robot.yaml"))
    parameters.progress(f"{variant}:")
    for outcome in episodes_of(stack, parameters, numbers, "home", site, unfit):
        sizes = None if requests is None else prompt_sizes(requests.take(), tokenizer(COUNTED_AS))
        yield Played.of(variant, outcome, sizes)
