"""Models of an experiment by their names, and calls of them that count what they cost."""

from collections.abc import Mapping, Sequence

import httpx
from inspect_ai.model import ChatMessageUser, GenerateConfig, Model, get_model
from inspect_ai.solver import TaskState
from rich.text import Text

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import FREE, SPEAKERS, Price, known_price
from quartet_contracts import GRANT_HEADER
from quartet_research.harness.budget import spending
from quartet_teams import Answer
from quartet_teams import Model as Ask

GATEWAY = "gateway/"


def asker(state: TaskState) -> Ask:
    """Return a function that asks the model of a sample, with the temperature that its setting may have.

    Each call is counted, and names trial, seed and speaker.
    """
    model = get_model()
    config = GenerateConfig(temperature=state.metadata["setting"].get("temperature"))

    async def ask(participant: str, prompt: str) -> Answer:
        about = {"trial": state.uuid, "seed": state.metadata["instance"]["seed"], "participant": participant}
        with spending().call(str(model), prompt) as call:
            output = await model.generate([ChatMessageUser(content=prompt, metadata=about)], config=config)
            used = output.usage
            tokens = (used.input_tokens, used.output_tokens) if used else (0, 0)
            call.settle(*tokens)
        return Answer(output.completion, *tokens)

    return ask


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
        answer = httpx.get(f"{url}/v1/models", headers={"Authorization": f"Bearer {key}"}, timeout=10, trust_env=False)
        answer.raise_for_status()
        known = {entry["id"]: entry["models"] for entry in answer.json()["data"]}
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise OptionError(
            f"the gateway at {url} does not answer: {error}; start it or set QUARTET_GATEWAY_URL"
        ) from error
    if not known.get(agent):
        raise OptionError(f"the gateway has no model for '{agent}'; valid: {', '.join(a for a in known if known[a])}")
    return known[agent][0]
