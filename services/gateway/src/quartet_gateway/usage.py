"""Tokens and cost of one answer: as its provider tells them, or estimated where it tells none that can be."""

import logging
import math
from typing import Any

from quartet_gateway import litellm_settings as _litellm
from quartet_gateway.config import Price
from quartet_gateway.ledger import Spending
from quartet_gateway.models import Model
from quartet_gateway.requests import ChatRequest

MOST_TOKENS = 20_000_000
"""More than any model reads or writes in one answer."""
CHARACTERS_PER_TOKEN = 4
"""Of English text, by the rule of thumb that providers give."""
IMAGE_TOKENS = 1_000
"""Of one image: providers count some hundred to two thousand."""

log = logging.getLogger(__name__)
_told: set[str] = set()
"""Names of the models of which it was logged."""


def spending(model: Model, request: ChatRequest, response: Any) -> Spending:
    """Return what an answer has used.

    A provider that tells nothing, less than nothing, or more than can be, would void the budgets of tasks and agents.
    """
    usage = getattr(response, "usage", None)
    prompt = _tokens(getattr(usage, "prompt_tokens", None))
    completion = _tokens(getattr(usage, "completion_tokens", None))
    cached = _tokens(getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None))
    cost = _cost((getattr(response, "_hidden_params", None) or {}).get("response_cost"))
    if model.price is not None:
        cost = _price_of(model.price, prompt or 0, completion or 0)
    if prompt is None or (completion is None and _written(response)):
        prompt = prompt or _read(request)
        completion = completion or _written(response)
        cost = _estimated_cost(model, prompt, completion)
        if model.name not in _told:
            _told.add(model.name)
            log.warning("%s tells no usage that can be; its tokens and cost are estimated from the text", model.name)
    return Spending(
        requests=1,
        prompt_tokens=prompt,
        completion_tokens=completion or 0,
        cached_tokens=min(cached or 0, prompt),
        cost_usd=cost,
    )


def _tokens(value: Any) -> int | None:
    """Return a number of tokens; None for what is none, and for 0, which is what LiteLLM makes of no usage."""
    if not isinstance(value, int | float) or not math.isfinite(value) or not 0 < value <= MOST_TOKENS:
        return None
    return int(value)


def _cost(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and value > 0 else 0.0


def _read(request: ChatRequest) -> int:
    tokens = sum(len(str(tool.function)) for tool in request.tools or []) // CHARACTERS_PER_TOKEN
    for message in request.messages:
        parts = message.content if isinstance(message.content, list) else []
        texts = [message.content] if isinstance(message.content, str) else [getattr(part, "text", "") for part in parts]
        texts += [call.function.name + call.function.arguments for call in message.tool_calls or []]
        tokens += sum(map(len, texts)) // CHARACTERS_PER_TOKEN
        tokens += IMAGE_TOKENS * sum(part.type == "image_url" for part in parts)
    return max(1, tokens)


def _written(response: Any) -> int:
    characters = 0
    for choice in response.choices:
        message = choice.message
        characters += len(str(message.content or "")) + len(str(getattr(message, "reasoning_content", None) or ""))
        for call in getattr(message, "tool_calls", None) or []:
            characters += len(str(getattr(call, "function", None) or call))
    return math.ceil(characters / CHARACTERS_PER_TOKEN)


def _estimated_cost(model: Model, prompt: int, completion: int) -> float:
    """Return the cost by the prices of the gateway's file, else by those that LiteLLM knows, else 0."""
    if model.price is not None:
        return _price_of(model.price, prompt, completion)
    listed: dict[str, Any] = _litellm.load().model_cost
    known: dict[str, Any] = listed.get(model.name) or listed.get(model.name.partition("/")[2]) or {}
    per_prompt, per_completion = known.get("input_cost_per_token"), known.get("output_cost_per_token")
    return prompt * float(per_prompt or 0.0) + completion * float(per_completion or 0.0)


def _price_of(price: Price, prompt: int, completion: int) -> float:
    return prompt * (price.prompt / 1e6) + completion * (price.completion / 1e6)
