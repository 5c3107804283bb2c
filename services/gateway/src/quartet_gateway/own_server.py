"""Asks a model on one's own server by the step of LiteLLM's acompletion that does the work, without what is around it.

For a model hosted_vllm/... that step is one function of LiteLLM, whose provider class reads and writes the messages.
Around it are a thread, logs, caches, hooks and prices that nothing here uses, which take as long as all else of a
request to the gateway. What is sent, what comes back and what fails are the same, which
tests/integration/gateway/test_own_server.py compares.
"""

from functools import cache
from typing import Any

from quartet_gateway import litellm_settings as _litellm
from quartet_gateway.models import Model

PROVIDER = "hosted_vllm"


def is_asked_alone(model: Model) -> bool:
    """Return whether a model needs nothing of what is around that step: no price of LiteLLM's list, no cache marks."""
    marks = "cache_control_injection_points" in model.parameters
    return model.provider == PROVIDER and not model.may_be_listed and not marks


async def ask(messages: list[dict[str, Any]], timeout_s: float, parameters: dict[str, Any]) -> Any:
    """Return what acompletion returns for these `parameters` of it; raises what it raises."""
    litellm = _litellm.load()
    parts = _parts()
    rest = dict(parameters)
    name, base, key = rest.pop("model"), rest.pop("api_base"), rest.pop("api_key")
    model = name.partition("/")[2]
    try:
        messages = parts.translate(parts.checked(messages))
        options = litellm.get_optional_params(
            model=model, custom_llm_provider=PROVIDER, messages=messages, stream=None, **rest
        )
        return await parts.handler.completion(
            model=model,
            messages=messages,
            api_base=base,
            custom_llm_provider=PROVIDER,
            model_response=litellm.ModelResponse(),
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
        raise litellm.exception_type(model=name, original_exception=error, custom_llm_provider=PROVIDER) from error


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
        litellm = _litellm.load()
        from litellm.main import base_llm_http_handler
        from litellm.utils import validate_and_fix_openai_messages

        self.handler: Any = base_llm_http_handler
        self.config: Any = litellm.HostedVLLMChatConfig()
        self.checked: Any = validate_and_fix_openai_messages
        self.translate: Any = self.config.translate_developer_role_to_system_role


@cache
def _parts() -> _Parts:
    return _Parts()
