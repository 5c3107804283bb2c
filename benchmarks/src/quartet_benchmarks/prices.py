"""Prices and tokenizers of models as LiteLLM knows them, read from the package and not from the network."""

import functools
import math
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_teams import count_tokens

SPEAKERS = "reference-speakers"
"""Name of the reference speakers, which are rules and no language model, as that of a provider."""


@dataclass(frozen=True)
class Price:
    """Price of a model [USD per million tokens]."""

    tokens_in: float
    tokens_out: float

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """Return what so many tokens cost [USD]."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


FREE = Price(0.0, 0.0)
FREE_PROVIDERS = (
    SPEAKERS,
    *("mockllm", "none", "hf", "vllm", "ollama", "sglang", "llama-cpp-python"),
    *("hosted_vllm", "ollama_chat", "lm_studio", "llamafile"),
)
"""Providers that bill nothing, by their names in Inspect and in LiteLLM: rules, and models on one's own machine."""


def provider(model: str) -> str:
    """Return the provider of a model by its name in Inspect."""
    return model.partition("/")[0]


def read_price(text: str | None) -> Price | None:
    """Return the price of a text such as `2.5,10`, in USD per million tokens. Raises OptionError."""
    if text is None:
        return None
    try:
        price = Price(*map(float, text.split(",")))
        if not (0 <= price.tokens_in < math.inf and 0 <= price.tokens_out < math.inf):
            raise ValueError
    except (TypeError, ValueError) as error:
        raise OptionError(f"price '{text}': give IN,OUT in USD per million tokens, such as 2.5,10") from error
    return price


def known_price(model: str) -> Price | None:
    """Return the price of a model; None: not known."""
    if provider(model) in FREE_PROVIDERS:
        return FREE
    found = _known(model)
    if found is None or "input_cost_per_token" not in found:
        return None
    return Price(1e6 * found["input_cost_per_token"], 1e6 * found["output_cost_per_token"])


@functools.cache
def tokenizer(model: str) -> Callable[[str], int]:
    """Return what counts tokens as the model does; where LiteLLM does not know it, four characters are a token."""
    if not _has_tokenizer(model):
        return count_tokens
    name = _name(model)
    litellm = _litellm()
    return functools.lru_cache(maxsize=4096)(lambda text: litellm.token_counter(model=name, text=text))


def counts_as(model: str) -> str:
    """Return in words how `tokenizer` counts the tokens of a model."""
    if _has_tokenizer(model):
        return f"by LiteLLM's tokenizer for {model}"
    return f"as one for every four characters, since the tokenizer of {model} is not known"


def _has_tokenizer(model: str) -> bool:
    return provider(model) not in FREE_PROVIDERS and _known(model) is not None


def _known(model: str) -> dict[str, Any] | None:
    return _litellm().model_cost.get(_name(model))


def _name(model: str) -> str:
    """Return LiteLLM's name of a model of Inspect: with its provider or without."""
    costs = _litellm().model_cost
    parts = model.split("/")
    return next((name for at in range(len(parts)) if (name := "/".join(parts[at:])) in costs), model)


@functools.cache
def _litellm() -> ModuleType:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    with warnings.catch_warnings():
        # LiteLLM's own types make pydantic warn at import.
        warnings.simplefilter("ignore")
        import litellm
    return litellm
