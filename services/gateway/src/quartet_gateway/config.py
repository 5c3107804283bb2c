"""The gateway's file: which model each agent uses, what it falls back to and what it may spend."""

from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Agent = Literal["orchestrator", "approach", "pick", "place", "perception"]
AGENTS: tuple[Agent, ...] = get_args(Agent)
OPTIONAL: frozenset[Agent] = frozenset({"perception"})
"""The perception server asks a model only where a vision LLM segments; the gateway is ready without one for it."""
SCRIPTED = "scripted"

Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@+-]*(/[A-Za-z0-9._:@+-]+)*$")]


class Section(BaseModel):
    """A part of the file: unknown fields are errors, so that a typing mistake is seen at start."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Price(Section):
    """For models that LiteLLM's price list does not have [USD per million tokens]."""

    prompt: Money
    completion: Money


class ModelEntry(Section):
    """A model and how it is reached."""

    model: ModelName
    """provider/model as LiteLLM writes it: anthropic/..., openai/..., hosted_vllm/..., ollama_chat/..."""
    api_base: Annotated[str, Field(pattern=r"^https?://")] | None = None
    api_base_env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = None
    """Variable that holds the endpoint, instead of `api_base`."""
    api_key_env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = None
    """Variable that holds the key; None: the provider's own, such as ANTHROPIC_API_KEY."""
    takes_images: bool | None = None
    """None: as LiteLLM's model list says."""
    prompt_caching: Literal["auto", "on", "off"] = "auto"
    """auto: markers for providers that need them (Claude); the others cache by themselves."""
    price: Price | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """Most tokens of one answer."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None

    @model_validator(mode="after")
    def _one_endpoint(self) -> Self:
        if self.api_base and self.api_base_env:
            raise ValueError("give api_base or api_base_env, not both")
        return self


class AgentModels(Section):
    """What one agent uses. A model is a name under `models`, or provider/model itself."""

    model: ModelName = SCRIPTED
    fallbacks: list[ModelName] = []
    """Tried in this order when the model fails after its retries."""
    budget_usd: Money | None = None
    """Most that this agent may cost within `budget_period`; None: no limit."""
    budget_tokens: Annotated[int, Field(ge=0)] | None = None
    budget_period: Literal["day", "month", "total"] = "total"


class Agents(Section):
    orchestrator: AgentModels = AgentModels()
    approach: AgentModels = AgentModels()
    pick: AgentModels = AgentModels()
    place: AgentModels = AgentModels()
    perception: AgentModels = AgentModels()


class Retries(Section):
    """How long a provider is waited for."""

    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    """Tries per model after 429, 5xx and lost connections, the first included."""
    timeout_attempts: Annotated[int, Field(ge=1, le=10)] = 2
    """Tries per model after a time-out, the first included."""
    timeout_s: Seconds = 45.0
    """For one try."""
    total_s: Seconds = 115.0
    """For a request with all its tries and fallbacks; below the 120 s that an agent waits."""
    rest_s: Annotated[float, Field(ge=0, le=3600)] = 30.0
    """How long a model that failed is passed over when there is a fallback."""


EntryName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
DEFAULT_MODELS = {
    SCRIPTED: ModelEntry(model="hosted_vllm/scripted", api_base_env="QUARTET_SCRIPTED_MODEL_URL", takes_images=False)
}


def _with_scripted(models: dict[str, ModelEntry]) -> dict[str, ModelEntry]:
    return {**DEFAULT_MODELS, **models}


class GatewayFile(Section):
    """gateway.yaml, whole."""

    models: Annotated[dict[EntryName, ModelEntry], AfterValidator(_with_scripted)] = DEFAULT_MODELS
    """The scripted model is always there, unless an entry of that name says otherwise."""
    agents: Agents = Agents()
    retries: Retries = Retries()

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        for agent in AGENTS:
            uses: AgentModels = getattr(self.agents, agent)
            for name in (uses.model, *uses.fallbacks):
                if "/" not in name and name not in self.models:
                    known = ", ".join(sorted(self.models)) or "none"
                    raise ValueError(
                        f"agents.{agent} uses model '{name}', which is not under models ({known}); "
                        "name one of them, or write provider/model such as anthropic/claude-sonnet-4-5"
                    )
        return self
