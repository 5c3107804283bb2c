"""The only importer of LiteLLM, which it keeps quiet and off the network."""

import contextlib
import contextvars
import functools
import gc
import logging
import os
import ssl
import warnings
from collections.abc import Generator, Iterable
from types import ModuleType
from typing import Any

from quartet_gateway.connections import ProviderTransport, open_session

_QUIET = {
    # Without it the import fetches the price list from GitHub.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "LITELLM_MODE": "PRODUCTION",
}
"""LITELLM_MODE other than DEV keeps LiteLLM from loading a .env file of its own choice."""
_REASONS: Any = {
    "model_context_window_exceeded": "length",
    "model_length": "length",
    "pause_turn": "error",
    "malformed_tool_use": "error",
    "malformed_model_output": "error",
}
"""Reasons to stop that LiteLLM does not know and would report as a usual end. "error" is mapped once more and kept."""


@functools.cache
def known_models() -> frozenset[str]:
    """Return the names in LiteLLM's model list as it comes."""
    import litellm

    return frozenset(litellm.model_cost)


def load() -> ModuleType:
    """Return LiteLLM, imported at the first call (takes seconds and some 170 MB)."""
    os.environ.update(_QUIET)
    with warnings.catch_warnings(), _no_collection():
        # LiteLLM's own types make pydantic warn at import.
        warnings.simplefilter("ignore")
        import litellm
        from litellm.completion_extras.litellm_responses_transformation.transformation import (
            LiteLLMResponsesTransformationHandler,
        )
        from litellm.litellm_core_utils import core_helpers
        from litellm.litellm_core_utils.litellm_logging import Logging
        from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
        from litellm.llms.ollama.chat.transformation import OllamaChatConfig

    litellm.telemetry = False  # pyright: ignore[reportAttributeAccessIssue]  # such attributes too
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    litellm.turn_off_message_logging = True
    known_models()
    core_helpers._FINISH_REASON_MAP.update(_REASONS)  # noqa: SLF001 - LiteLLM has no other way
    # It walks through all prices at each free answer, to write a warning of a level that is off.
    Logging._record_zero_cost_diagnostic = _pass_over  # noqa: SLF001 - LiteLLM has no other way
    _price_on_request(Logging)
    _keep_refusals(LiteLLMResponsesTransformationHandler)
    _name_results(OllamaChatConfig)
    handler: Any = AsyncHTTPHandler
    handler.create_async_transport = staticmethod(provider_transport)
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return litellm


def list_own_models(names: Iterable[str]) -> None:
    """Put models that LiteLLM's list does not have into it, as chat models of no price.

    Else it looks each of them up again at every call, and asks Ollama for it, in the midst of all requests.
    """
    litellm = load()
    for name in set(names) - known_models():
        told = {"litellm_provider": name.partition("/")[0], "mode": "chat"}
        litellm.register_model({name: told}, persist_across_reloads=False)


_priced: contextvars.ContextVar[bool] = contextvars.ContextVar("priced", default=True)


@contextlib.contextmanager
def without_logging(*, priced: bool) -> Generator[None]:
    """Call LiteLLM without its log of each answer, a deep copy of all messages and results, which nothing reads.

    It is LiteLLM's own switch for calls that it makes itself. The cost of an answer is worked out where it is `priced`.
    """
    from litellm._internal_context import is_internal_call

    internal, pricing = is_internal_call.set(True), _priced.set(priced)
    try:
        yield
    finally:
        is_internal_call.reset(internal)
        _priced.reset(pricing)


def provider_transport(
    ssl_context: ssl.SSLContext | None = None, ssl_verify: bool | None = None, shared_session: Any = None
) -> ProviderTransport:
    """Return the transport of one of LiteLLM's clients, with the certificates that LiteLLM would use for it."""
    import litellm
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

    verify: ssl.SSLContext | bool = ssl_context if ssl_context is not None else ssl_verify is not False
    cert = os.getenv("SSL_CERTIFICATE", litellm.ssl_certificate)
    if cert and verify:
        verify = ssl.create_default_context() if verify is True else verify
        verify.load_cert_chain(cert)
    return ProviderTransport(LiteLLMAiohttpTransport(lambda: open_session(verify)))


def _pass_over(*_: Any, **__: Any) -> None:
    """Do nothing."""


@contextlib.contextmanager
def _no_collection() -> Generator[None]:
    """Keep the garbage collector out of an import, which makes hardly any garbage: a quarter of its time goes there."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _price_on_request(logging_of_call: Any) -> None:
    """Make LiteLLM search its price list for an answer only where it may be there: a tenth of a call goes there."""
    price = logging_of_call.response_cost_calculator
    if hasattr(price, "__wrapped__"):
        return

    @functools.wraps(price)
    def price_if_listed(self: Any, *more: Any, **named: Any) -> float | None:
        return price(self, *more, **named) if _priced.get() else None

    logging_of_call.response_cost_calculator = price_if_listed


def _keep_refusals(bridge: Any) -> None:
    """Make the bridge to OpenAI's Responses keep refusals, which it turns into an empty text."""
    convert = bridge._convert_response_output_to_choices  # noqa: SLF001 - LiteLLM has no other way
    if hasattr(convert, "__wrapped__"):
        return

    @functools.wraps(convert)
    def convert_with_refusal(output_items: Any, **more: Any) -> Any:
        choices = convert(output_items, **more)
        parts = [part for item in output_items for part in getattr(item, "content", None) or []]
        refusals = [part.refusal for part in parts if getattr(part, "type", "") == "refusal"]
        if choices and refusals:
            choices[0].message.provider_specific_fields = {"refusal": "".join(refusals)}
        return choices

    bridge._convert_response_output_to_choices = staticmethod(convert_with_refusal)  # noqa: SLF001


def _name_results(ollama: Any) -> None:
    """Make requests to Ollama name the tool of each result: it knows no ids of calls, which LiteLLM sends alone."""
    transform = ollama.transform_request
    if hasattr(transform, "__wrapped__"):
        return

    @functools.wraps(transform)
    def transform_with_names(self: Any, model: str, messages: list[Any], *more: Any, **named: Any) -> Any:
        body = transform(self, model, messages, *more, **named)
        calls = [call for message in messages for call in message.get("tool_calls") or []]
        names = {call["id"]: call["function"]["name"] for call in calls}
        for message in body["messages"]:
            if message["role"] == "tool":
                message["tool_name"] = names.get(message.pop("tool_call_id", ""), "")
        return body

    ollama.transform_request = transform_with_names
