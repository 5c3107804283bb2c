"""The models of each agent, from file and environment, and what is missing to use them."""

import importlib.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quartet_gateway import litellm_settings as _litellm
from quartet_gateway.config import AGENTS, AgentModels, GatewayFile, ModelEntry, Price
from quartet_gateway.errors import ConfigurationError
from quartet_gateway.settings import Settings

NEEDS_ENDPOINT = frozenset({"hosted_vllm", "lm_studio", "llamafile", "openai_like", "custom_openai", "xinference"})
"""Providers that run on one's own server: they have no public default address."""
HAS_LOCAL_DEFAULT = frozenset({"ollama", "ollama_chat"})
"""Providers with the default address http://localhost:11434 in LiteLLM."""
OLLAMA_CONTEXT = 16_384
"""Context window of Ollama's models [tokens]; its own default of 2 to 4 thousand cuts an agent's prompt silently."""
MISTRAL = re.compile(r"mi[sx]tral|ministral|magistral|devstral|codestral|pixtral", re.IGNORECASE)
"""Names of models with Mistral's rules, which its API and the tokenizer in vLLM enforce."""
CACHE_BY_MARKER = frozenset({"anthropic", "bedrock", "bedrock_converse", "vertex_ai", "openrouter", "databricks"})
"""Providers of Claude, which caches a prompt only up to explicit markers."""


@dataclass(frozen=True)
class Model:
    """One model with its parameters for LiteLLM."""

    name: str
    """provider/model."""
    provider: str
    parameters: dict[str, Any] = field(repr=False)
    takes_images: bool = False
    images_unknown: bool = False
    """Neither file, environment nor LiteLLM says whether it reads images, so it is sent none."""
    mistral_format: bool = False
    """Whether it wants Mistral's ids of calls, and an assistant's message between tool and user."""
    thinks_in_turns: bool = False
    """Whether it is Claude with thinking on, which must then begin each turn with a thought."""
    price: Price | None = None
    """Its price by the gateway's file."""
    may_be_listed: bool = True
    """Whether LiteLLM's price list may have it; a model on one's own server whose name is not in it has no price."""
    missing: str = ""
    """What must be set before the model can be used, as text; "": nothing is missing."""


def choose_models(
    file: GatewayFile, settings: Settings, environment: Mapping[str, str] | None = None
) -> dict[str, list[Model]]:
    """Return the model and then the fallbacks of each agent. Raises ConfigurationError for an unknown name."""
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
        raise ConfigurationError(
            f"{where}='{name}' is neither a name under models in the gateway's file ({known}) nor provider/model; "
            "write it like anthropic/claude-sonnet-4-5, openai/gpt-4.1, hosted_vllm/<model> or ollama_chat/<model>"
        )
    if entry is None:
        entry = ModelEntry(model=name)
    if entry.model.startswith("ollama/"):
        # Ollama's other endpoint has no tool calls.
        entry = entry.model_copy(update={"model": f"ollama_chat/{entry.model.removeprefix('ollama/')}"})
    if from_environment and settings.model_api_base and not (entry.api_base or entry.api_base_env):
        entry = entry.model_copy(update={"api_base": settings.model_api_base})
    if from_environment and entry.takes_images is None:
        entry = entry.model_copy(update={"takes_images": settings.model_takes_images})
    return entry


def _model(entry: ModelEntry, where: str, env: Mapping[str, str]) -> Model:
    litellm = _litellm.load()
    provider = _provider(litellm, entry.model, where)
    base, missing = _endpoint(entry, provider, env)
    if entry.api_key_env and not env.get(entry.api_key_env):
        missing = missing or f"set {entry.api_key_env} to the key of {entry.model}"
    if not missing:
        missing = _missing_keys(litellm, entry, provider, base, env)
    parameters: dict[str, Any] = {
        "model": entry.model,
        # The SDK behind LiteLLM would retry on its own and stretch every time-out; the gateway retries.
        "max_retries": 0,
        "api_base": base,
        "api_key": env.get(entry.api_key_env) if entry.api_key_env else _keyless(provider, env),
        "max_tokens": entry.max_tokens,
        "temperature": entry.temperature,
        "reasoning_effort": entry.reasoning_effort,
        "num_ctx": entry.num_ctx or OLLAMA_CONTEXT if provider in HAS_LOCAL_DEFAULT else None,
    }
    if _marks_cache(entry, provider):
        # The system prompt with the tools before it, and the conversation so far.
        parameters["cache_control_injection_points"] = [
            {"location": "message", "role": "system"},
            {"location": "message", "index": -1},
        ]
    own_server = provider in NEEDS_ENDPOINT or provider in HAS_LOCAL_DEFAULT
    known = not _litellm.known_models().isdisjoint({entry.model, entry.model.partition("/")[2]})
    takes = known and bool(litellm.supports_vision(model=entry.model))
    return Model(
        name=entry.model,
        provider=provider,
        parameters={k: v for k, v in parameters.items() if v is not None},
        takes_images=takes if entry.takes_images is None else entry.takes_images,
        images_unknown=entry.takes_images is None and not known,
        mistral_format=_is_mistral(entry, provider) if entry.mistral_format == "auto" else entry.mistral_format == "on",
        thinks_in_turns=entry.reasoning_effort not in {None, "none"} and _is_claude(entry, provider),
        price=entry.price,
        may_be_listed=entry.price is None and (known or not own_server),
        missing=missing,
    )


def _provider(litellm: Any, model: str, where: str) -> str:
    try:
        return str(litellm.get_llm_provider(model=model)[1])
    except Exception as error:
        raise ConfigurationError(
            f"{where}='{model}': LiteLLM knows no provider '{model.partition('/')[0]}'; write provider/model such as "
            "anthropic/claude-sonnet-4-5, openai/gpt-4.1, gemini/gemini-2.5-pro, hosted_vllm/<model> or "
            "ollama_chat/<model> (https://docs.litellm.ai/docs/providers)"
        ) from error


def _endpoint(entry: ModelEntry, provider: str, env: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the endpoint, or None and what to set."""
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


def _missing_keys(litellm: Any, entry: ModelEntry, provider: str, base: str | None, env: Mapping[str, str]) -> str:
    if entry.api_key_env or provider in NEEDS_ENDPOINT or provider in HAS_LOCAL_DEFAULT:
        return ""
    missing = [k for k in litellm.validate_environment(model=entry.model)["missing_keys"] if not env.get(k)]
    if base:
        # Azure's and others': the file may have the endpoint.
        missing = [name for name in missing if not name.endswith("_API_BASE")]
    if provider == "gemini" and any(env.get(k) for k in ("GOOGLE_API_KEY", "GEMINI_API_KEY")):
        missing = []
    if provider in {"bedrock", "bedrock_converse"}:
        return "" if entry.ambient_login or _has_aws_login(env) or not missing else _AWS_REMEDY.format(entry.model)
    if provider in {"vertex_ai", "vertex_ai_beta"}:
        return _missing_of_vertex(entry, missing, env)
    if not missing:
        return ""
    either = " or " if provider == "gemini" else " and "
    return f"set {either.join(missing)} in .env to use {entry.model}"


_AWS_LOGINS = (
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
)
"""Variables of logins other than a key: bearer token, profile, roles of pods and containers."""
_AWS_REMEDY = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK, in .env to use {}; on a machine "
    "with an instance role, set ambient_login: true for it in the gateway's file"
)


def _has_aws_login(env: Mapping[str, str]) -> bool:
    if any(env.get(name) for name in _AWS_LOGINS):
        return True
    return _is_file(env.get("AWS_SHARED_CREDENTIALS_FILE") or "~/.aws/credentials")


def _missing_of_vertex(entry: ModelEntry, missing: list[str], env: Mapping[str, str]) -> str:
    """Return what Vertex AI lacks: the library that logs in, project and region, or a login; "": nothing."""
    if importlib.util.find_spec("google") is None or importlib.util.find_spec("google.auth") is None:
        return f"install google-auth beside the gateway to use {entry.model}: pip install google-auth"
    if missing:
        return f"set {' and '.join(missing)} in .env to use {entry.model}"
    named = env.get("GOOGLE_APPLICATION_CREDENTIALS") or env.get("VERTEXAI_CREDENTIALS")
    if named or entry.ambient_login or _is_file("~/.config/gcloud/application_default_credentials.json"):
        return ""
    return (
        f"set GOOGLE_APPLICATION_CREDENTIALS to a key file to use {entry.model}; on a machine "
        "with a service account, set ambient_login: true for it in the gateway's file"
    )


def _is_file(path: str) -> bool:
    try:
        return Path(path).expanduser().is_file()
    except (OSError, RuntimeError):
        return False


def _is_mistral(entry: ModelEntry, provider: str) -> bool:
    return provider in {"mistral", "codestral"} or MISTRAL.search(entry.model) is not None


def _keyless(provider: str, env: Mapping[str, str]) -> str | None:
    """Return a placeholder for one's own server, which needs no key; the client behind LiteLLM insists on a text."""
    if provider not in NEEDS_ENDPOINT:
        return None
    return env.get(f"{provider.upper()}_API_KEY") or "none"


def _marks_cache(entry: ModelEntry, provider: str) -> bool:
    if entry.prompt_caching != "auto":
        return entry.prompt_caching == "on"
    return provider in CACHE_BY_MARKER and "claude" in entry.model


def _is_claude(entry: ModelEntry, provider: str) -> bool:
    """Return whether it is a Claude that is spoken to in Anthropic's or Bedrock's format."""
    return provider in {"anthropic", "bedrock", "bedrock_converse", "vertex_ai"} and "claude" in entry.model
