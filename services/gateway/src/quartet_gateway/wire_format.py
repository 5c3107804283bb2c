"""Fits conversations to one model, and that model's answers to what agents read.

A model's reasoning (thinking, signatures, its own ids of calls) leaves the gateway as one opaque field `reasoning` of
the message. It comes back with the conversation and is given to the model that made it and to no other.
"""

import hashlib
import re
from typing import Any, cast

from quartet_gateway.models import Model

REASONING = "reasoning"
MALFORMED = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "MISSING_THOUGHT_SIGNATURE",
        "TOO_MANY_TOOL_CALLS",
        "UNEXPECTED_TOOL_CALL",
        "error",
        "insufficient_system_resource",
        "network_error",
        "pause_turn",
    }
)
"""Reasons to stop that say that an empty answer is a fault of the provider or of a call, and may not come again."""
BETWEEN = "I have read the results."
"""Assistant's message between a tool's result and a user's message, for models that want one there."""

_FIELDS = ("reasoning_content", "thinking_blocks", "reasoning_items")
_FIELDS_OF: dict[str, tuple[str, ...]] = {
    "gemini": ("provider_specific_fields",),
    "vertex_ai": ("provider_specific_fields", "thinking_blocks"),
    "vertex_ai_beta": ("provider_specific_fields",),
    "openrouter": ("reasoning_details",),
    # Refuses a message with such a field.
    "groq": (),
}
"""Fields of a message that a provider wants back, where they are not _FIELDS."""
_ANYWHERE = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""Ids of calls that every provider but Mistral accepts."""
_MISTRAL = re.compile(r"[A-Za-z0-9]{9}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_NAME_LENGTH = 64
"""OpenAI's rule for names of functions, within the rules of all others."""
DEEPSEEK_API = re.compile(r"https?://([a-z0-9-]+\.)*deepseek\.com(:\d+)?(/|$)", re.IGNORECASE)
"""Addresses of DeepSeek's own API, which many reach as an OpenAI-compatible one: openai/... with an api_base."""
_STRICT_BY_DEFAULT = frozenset({"openai", "azure"})
"""Providers whose Responses API makes each optional argument required, unless a tool says that it is not strict."""
_THOUGHTLESS = {"reasoning_content": " "}
"""Without it DeepSeek refuses an assistant's message with calls; for one that was made without thinking."""


def read_answer(body: dict[str, Any], model: Model) -> None:
    """Change the completion `body` of `model` to OpenAI's format with the field `reasoning`."""
    for choice in body["choices"]:
        message = choice["message"]
        if choice.get("finish_reason") in MALFORMED:
            choice["finish_reason"] = "stop"
        extra: dict[str, Any] = message.pop("provider_specific_fields", None) or {}
        if message.get("refusal") is None and isinstance(extra.get("refusal"), str):
            message["refusal"] = extra["refusal"]
        given = {**extra, **message, "provider_specific_fields": extra}
        fields = {name: given[name] for name in _FIELDS_OF.get(model.provider, _FIELDS) if given.get(name)}
        # Groq and OpenRouter have a text under the name of our own field.
        for name in (*_FIELDS, REASONING):
            message.pop(name, None)
        calls = _take_extras(message.get("tool_calls") or [])
        if fields or calls:
            message[REASONING] = {"model": model.name, "fields": fields, "calls": calls}


def is_malformed(choice: Any) -> str:
    """Return why an answer that holds nothing, or a call of nothing, should be asked for again; "": it should not."""
    message = choice.message
    for call in getattr(message, "tool_calls", None) or []:
        # Such as a call of OpenAI's type custom, of a tool that nobody has offered.
        if not getattr(getattr(call, "function", None), "name", None):
            return "a call that names no function"
    if message.content or getattr(message, "tool_calls", None):
        return ""
    native = (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason")
    # Anthropic's own name of the reason is lost on the way.
    return next((str(reason) for reason in (native, choice.finish_reason) if reason in MALFORMED), "")


def parameters_for(model: Model, conversation: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the parameters of `model` that must be others for this conversation; thinking that must be off is None."""
    return {} if _may_think(model, conversation) else {"reasoning_effort": None}


def tools_for(model: Model, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools as `model` is to be offered them: arguments that are optional stay optional."""
    if model.provider not in _STRICT_BY_DEFAULT:
        return tools
    return [{**tool, "function": {"strict": False, **tool["function"]}} for tool in tools]


def messages_for(model: Model, conversation: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return `conversation` as `model` takes it: with its own reasoning, without that of others, with ids that fit."""
    ids: dict[str, str] = {}
    may_think = _may_think(model, conversation)
    messages: list[dict[str, Any]] = []
    for original in conversation:
        message = {name: value for name, value in original.items() if name != REASONING}
        if message["role"] == "assistant":
            own = _own(original.get(REASONING), model)
            message |= own["fields"] if may_think else {}
            if calls := message.get("tool_calls"):
                if _is_deepseek(model) and not message.get("reasoning_content"):
                    message |= _THOUGHTLESS
                message["tool_calls"] = [_call_for(call, own["calls"], model, ids) for call in calls]
        elif message["role"] == "tool":
            given = str(message.get("tool_call_id"))
            message["tool_call_id"] = ids.get(given, given)
        if model.mistral_format and message["role"] == "user" and messages and messages[-1]["role"] == "tool":
            messages.append({"role": "assistant", "content": BETWEEN})
        messages.append(message)
    return messages


def _is_deepseek(model: Model) -> bool:
    return model.provider == "deepseek" or DEEPSEEK_API.match(str(model.parameters.get("api_base"))) is not None


def _may_think(model: Model, conversation: list[dict[str, Any]]) -> bool:
    """Return whether a model that keeps its thoughts through a turn began the running turn with one.

    Claude refuses to think in a turn that another model began with calls (after a fallback), and thoughts while it does
    not think. A turn begins with a message of the user that shows no pictures of results.
    """
    if not model.thinks_in_turns:
        return True
    first, before = None, ""
    for message in conversation:
        role = message["role"]
        if role == "user" and before == "tool":
            continue
        if role == "user":
            first = None
        elif first is None and message.get("tool_calls"):
            first = message
        before = role
    return first is None or "thinking_blocks" in _own(first.get(REASONING), model)["fields"]


def _take_extras(calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Remove from `calls` what is not OpenAI's, make their ids fit everywhere, and return what was taken, by id."""
    taken: dict[str, Any] = {}
    for call in calls:
        function = call["function"]
        extra = {name: call.pop(name) for name in set(call) - {"id", "type", "function"}}
        extra.pop("index", None)
        within = {name: function.pop(name) for name in set(function) - {"name", "arguments"}}
        given = str(call.get("id") or "")
        if given and not _ANYWHERE.fullmatch(given):
            call["id"] = _fitting(given)
        if extra or within or call.get("id") != (given or call.get("id")):
            taken[str(call.get("id"))] = {"id": given, "call": extra, "function": within}
    return taken


def _own(reasoning: Any, model: Model) -> dict[str, dict[str, Any]]:
    """Return fields and calls of a message's reasoning that `model` made; empty ones for any other."""
    own: dict[str, dict[str, Any]] = {"fields": {}, "calls": {}}
    if not isinstance(reasoning, dict):
        return own
    given = cast("dict[str, Any]", reasoning)
    if given.get("model") == model.name:
        wanted = _FIELDS_OF.get(model.provider, _FIELDS)
        own["fields"] = {name: value for name, value in _dictionary(given.get("fields")).items() if name in wanted}
        own["calls"] = _dictionary(given.get("calls"))
    return own


def _call_for(call: dict[str, Any], own: dict[str, Any], model: Model, ids: dict[str, str]) -> dict[str, Any]:
    """Return `call` with the id that `model` accepts, which `ids` gets, and with what the model gave along with it."""
    given = str(call.get("id"))
    made = _dictionary(own.get(given))
    accepted = str(made.get("id") or given)
    if model.mistral_format and not _MISTRAL.fullmatch(accepted):
        accepted = hashlib.blake2b(given.encode(), digest_size=8).hexdigest()[:9]
    elif not made and not _ANYWHERE.fullmatch(accepted):
        accepted = _fitting(given)
    ids[given] = accepted
    function = {**call.get("function", {}), **_dictionary(made.get("function"))}
    # A model may call a tool that there is not by a name that no provider takes back.
    function["name"] = _NOT_IN_NAMES.sub("_", str(function.get("name") or ""))[:_NAME_LENGTH] or "unnamed"
    return {**call, **_dictionary(made.get("call")), "id": accepted, "function": function}


def _fitting(call_id: str) -> str:
    """Return an id that every provider but Mistral accepts, always the same one for `call_id`."""
    return f"call_{hashlib.blake2b(call_id.encode(), digest_size=12).hexdigest()}"


def _dictionary(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
