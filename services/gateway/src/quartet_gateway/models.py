"""Which model each agent gets, made from file and environment, and what is missing to reach it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quartet_gateway import _litellm
from quartet_gateway.config import AGENTS, AgentModels, GatewayFile, ModelEntry
from quartet_gateway.errors import ConfigurationProblem
from quartet_gateway.settings import Settings

NEEDS_ENDPOINT = frozenset({"hosted_vllm", "lm_studio", "llamafile", "openai_like", "custom_openai", "xinference"})
"""Providers that are a server of one's own: there is no public address to fall back to."""
HAS_LOCAL_DEFAULT = frozenset({"ollama", "ollama_chat"})
"""Reached at LiteLLM's default, http://localhost:11434, when no endpoint is given."""
CACHE_BY_MARKER = frozenset({"anthropic", "bedrock", "bedrock_converse", "vertex_ai", "openrouter", "databricks"})
"""Providers of Claude, which caches a prompt only up to the markers that are set in it."""


@dataclass(frozen=True)
class Model:
    """One model as LiteLLM is to be called for it."""

    name: str
    """provider/model."""
    provider: str
    parameters: dict[str, Any] = field(repr=False)
    takes_images: bool = False
    missing: str = ""
    """What must be set before it can be used, in words; "" when nothing is missing."""


def choose_models(
    file: GatewayFile, settings: Settings, environment: Mapping[str, str] | None = None
) -> dict[str, list[Model]]:
    """For each agent its model and then its fallbacks. Raises ConfigurationProblem for a name that cannot be."""
    env = os.environ if environment is None else environment
    chosen: dict[str, list[Model]] = {}
    for agent in AGENTS:
        uses: AgentModels = getattr(file.agents, agent)
        given = settings.model_of(agent)
        names = [(uses.model, f"agents.{agent}.model"), *((n, f"agents.{agent}.fallbacks") for n in uses.fallbacks)]
        if given is not None:
            names[0] = given
        chosen[agent] = [
            _model(_entry(file, settings, name, where, from_environment=given is not None and i == 0), where, env)
            for i, (name, where) in enumerate(names)
        ]
    return chosen


def _entry(file: GatewayFile, settings: Settings, name: str, where: str, *, from_environment: bool) -> ModelEntry:
    entry = file.models.get(name)
    if entry is None and "/" not in name:
        known = ", ".join(sorted(file.models)) or "none"
        raise ConfigurationProblem(
            f"{where}='{name}' is neither a name under models in the gateway's file ({known}) nor provider/model; "
            "write it like anthropic/claude-sonnet-4-5, openai/gpt-4.1, hosted_vllm/<model> or ollama_chat/<model>"
        )
    if entry is None:
        entry = ModelEntry(model=name)
    if from_environment and settings.model_api_base:
        entry = entry.model_copy(update={"api_base": settings.model_api_base, "api_base_env": None})
    return entry


def _model(entry: ModelEntry, where: str, env: Mapping[str, str]) -> Model:
    litellm = _litellm.load()
    provider = _provider(litellm, entry.model, where)
    base, missing = _endpoint(entry, provider, env)
    if entry.api_key_env and not env.get(entry.api_key_env):
        missing = missing or f"set {entry.api_key_env} to the key of {entry.model}"
    if not missing:
        missing = _missing_keys(litellm, entry, provider, env)
    parameters: dict[str, Any] = {
        "model": entry.model,
        # The SDK behind LiteLLM would retry on its own and stretch every time-out; the Router retries.
        "max_retries": 0,
        "api_base": base,
        "api_key": env.get(entry.api_key_env) if entry.api_key_env else _keyless(provider, env),
        "max_tokens": entry.max_tokens,
        "temperature": entry.temperature,
    }
    if entry.price:
        parameters["input_cost_per_token"] = entry.price.prompt / 1e6
        parameters["output_cost_per_token"] = entry.price.completion / 1e6
    if _marks_cache(entry, provider):
        # The system prompt with the tools before it, and the conversation so far.
        parameters["cache_control_injection_points"] = [
            {"location": "message", "role": "system"},
            {"location": "message", "index": -1},
        ]
    takes = entry.takes_images
    return Model(
        name=entry.model,
        provider=provider,
        parameters={k: v for k, v in parameters.items() if v is not None},
        takes_images=bool(litellm.supports_vision(model=entry.model)) if takes is None else takes,
        missing=missing,
    )


def _provider(litellm: Any, model: str, where: str) -> str:
    try:
        return str(litellm.get_llm_provider(model=model)[1])
    except Exception as error:
        raise ConfigurationProblem(
            f"{where}='{model}': LiteLLM knows no provider '{model.partition('/')[0]}'; write provider/model such as "
            "anthropic/claude-sonnet-4-5, openai/gpt-4.1, gemini/gemini-2.5-pro, hosted_vllm/<model> or "
            "ollama_chat/<model> (https://docs.litellm.ai/docs/providers)"
        ) from error


def _endpoint(entry: ModelEntry, provider: str, env: Mapping[str, str]) -> tuple[str | None, str]:
    """The endpoint, and what to set when it is missing."""
    base = entry.api_base
    if entry.api_base_env:
        base = env.get(entry.api_base_env)
        if not base:
            return None, f"set {entry.api_base_env} to the address of the endpoint of {entry.model}"
    if not base and provider in NEEDS_ENDPOINT:
        base = env.get(f"{provider.upper()}_API_BASE")
        if not base:
            return (
                None,
                f"set QUARTET_MODEL_API_BASE to the address of the server of {entry.model}, http://host:port/v1",
            )
    if base and provider in NEEDS_ENDPOINT and base.count("/") < 3:
        base += "/v1"
    return base, ""


def _missing_keys(litellm: Any, entry: ModelEntry, provider: str, env: Mapping[str, str]) -> str:
    if entry.api_key_env or provider in NEEDS_ENDPOINT or provider in HAS_LOCAL_DEFAULT:
        return ""
    missing = [k for k in litellm.validate_environment(model=entry.model)["missing_keys"] if not env.get(k)]
    if provider == "gemini" and any(env.get(k) for k in ("GOOGLE_API_KEY", "GEMINI_API_KEY")):
        missing = []
    if not missing or (provider in {"bedrock", "vertex_ai"} and _has_ambient_login(env)):
        return ""
    either = " or " if provider == "gemini" else " and "
    return f"set {either.join(missing)} in .env to use {entry.model}"


def _has_ambient_login(env: Mapping[str, str]) -> bool:
    return any(env.get(k) for k in ("AWS_PROFILE", "AWS_ROLE_ARN", "GOOGLE_APPLICATION_CREDENTIALS"))


def _keyless(provider: str, env: Mapping[str, str]) -> str | None:
    """A server of one's own needs no key, but the client behind LiteLLM insists on a text."""
    if provider not in NEEDS_ENDPOINT:
        return None
    return env.get(f"{provider.upper()}_API_KEY") or "none"


def _marks_cache(entry: ModelEntry, provider: str) -> bool:
    if entry.prompt_caching != "auto":
        return entry.prompt_caching == "on"
    return provider in CACHE_BY_MARKER and "claude" in entry.model
