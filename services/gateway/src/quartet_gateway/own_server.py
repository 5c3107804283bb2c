"""Calls LiteLLM's HTTP handler for a model on one's own server, instead of its acompletion.

For a model hosted_vllm/... acompletion ends in this handler, whose provider class reads and writes the messages. Around
it acompletion has a thread, logs, caches, hooks and prices that nothing here uses, and they take half of the time of a
call. What is sent, what comes back and what is raised are the same for the requests that `uses_handler` accepts;
tests/integration/gateway/test_own_server.py compares the two.
"""

from functools import cache
from typing import Any

from quartet_gateway import litellm_settings as _litellm
from quartet_gateway.models import Model

PROVIDER = "hosted_vllm"
_NEEDED = frozenset({"model", "api_base", "api_key"})
_SUPPORTED = _NEEDED | {
    "max_completion_tokens",
    "max_retries",
    "max_tokens",
    "parallel_tool_calls",
    "reasoning_effort",
    "response_format",
    "seed",
    "temperature",
    "tool_choice",
    "tools",
    "top_p",
    "user",
}
"""Parameters that acompletion passes on as they are. Others it corrects first, such as more than four stop texts."""
_OF_FUNCTIONS = frozenset({"name", "description", "parameters", "strict"})
"""Fields of a tool's function that it does not remove."""


def uses_handler(model: Model, parameters: dict[str, Any]) -> bool:
    """Return whether a request needs nothing of acompletion: no price of LiteLLM's list, no correction of parameters.

    `parameters` are those of acompletion beside the messages.
    """
    if model.provider != PROVIDER or model.may_be_listed or not _NEEDED <= parameters.keys() <= _SUPPORTED:
        return False
    chosen = parameters.get("tool_choice")
    functions = [tool["function"] for tool in parameters.get("tools") or []]
    return not isinstance(chosen, dict) and all(function.keys() <= _OF_FUNCTIONS for function in functions)


async def ask(messages: list[dict[str, Any]], timeout_s: float, parameters: dict[str, Any]) -> Any:
    """Return what acompletion returns for these `parameters` of it; raises what it raises."""
    parts = _parts()
    rest = dict(parameters)
    name, base, key = rest.pop("model"), rest.pop("api_base"), rest.pop("api_key")
    model = name.partition("/")[2]
    answer = parts.litellm.ModelResponse()
    # For an answer that tells none.
    answer.usage = parts.litellm.Usage()
    try:
        messages = parts.translate(parts.checked(messages))
        options = parts.litellm.get_optional_params(
            model=model, custom_llm_provider=PROVIDER, messages=messages, stream=None, **rest
        )
        return await parts.handler.completion(
            model=model,
            messages=messages,
            api_base=base,
            custom_llm_provider=PROVIDER,
            model_response=answer,
            encoding=None,
            logging_obj=_NoLog(),
            optional_params=options,
            timeout=timeout_s,
            litellm_params={},
            acompletion=True,
            api_key=key,
            provider_config=parts.config,
        )
    except Exception as error:
        mapped = parts.litellm.exception_type(model=name, original_exception=error, custom_llm_provider=PROVIDER)
        if mapped is error:
            raise
        raise mapped from error


class _NoLog:
    """Log of one request in LiteLLM, which keeps nothing."""

    def __init__(self) -> None:
        self.model_call_details: dict[str, Any] = {}
        self.dynamic_success_callbacks: list[Any] = []

    def pre_call(self, *_: Any, **__: Any) -> None:
        """Do nothing."""

    def post_call(self, *_: Any, **__: Any) -> None:
        """Do nothing."""


class _Parts:
    """What is used of LiteLLM, imported with it."""

    def __init__(self) -> None:
        self.litellm: Any = _litellm.load()
        from litellm.main import base_llm_http_handler
        from litellm.utils import validate_and_fix_openai_messages

        self.handler: Any = base_llm_http_handler
        self.config: Any = self.litellm.HostedVLLMChatConfig()
        self.checked: Any = validate_and_fix_openai_messages
        self.translate: Any = self.config.translate_developer_role_to_system_role


@cache
def _parts() -> _Parts:
    return _Parts()
