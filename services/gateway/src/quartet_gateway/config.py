"""Data model of gateway.yaml: the model of each agent, its fallbacks and its budget."""

from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from quartet_process import AnswerSeconds, scaled_times

Agent = Literal["orchestrator", "approach", "pick", "place", "perception"]
AGENTS: tuple[Agent, ...] = get_args(Agent)
OPTIONAL: frozenset[Agent] = frozenset({"perception"})
"""The perception server asks a model only where a vision LLM segments; the gateway is ready without one for it."""
SCRIPTED = "scripted"

Seconds = Annotated[AnswerSeconds, Field(le=3600)]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@+-]*(/[A-Za-z0-9._:@+-]+)*$")]


class Section(BaseModel):
    """A part of the file; an unknown field is an error, so that a typing mistake is found at the start."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Price(Section):
    """Price of a model that is not in LiteLLM's price list [USD per million tokens]."""

    prompt: Money
    completion: Money


class ModelEntry(Section):
    """A model, and its endpoint, key and parameters."""

    model: ModelName
    """provider/model as LiteLLM writes it: anthropic/..., openai/..., hosted_vllm/..., ollama_chat/..."""
    api_base: Annotated[str, Field(pattern=r"^https?://")] | None = None
    api_base_env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = None
    """Variable that holds the endpoint, instead of `api_base`."""
    api_key_env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = None
    """Variable that holds the key; None: the provider's own, such as ANTHROPIC_API_KEY."""
    takes_images: bool | None = None
    """Whether the model reads images; None: as LiteLLM's model list says."""
    mistral_format: Literal["auto", "on", "off"] = "auto"
    """Mistral's rules for ids of calls and the order of messages; auto: by the model's name."""
    ambient_login: bool = False
    """The machine itself logs in at Bedrock or Vertex AI: instance role, service account, pod identity."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] | None = None
    """How much the model thinks before it answers; None: the provider's default (off for Claude)."""
    num_ctx: Annotated[int, Field(ge=2048)] | None = None
    """Context window of an Ollama model [tokens]; None: 16384."""
    prompt_caching: Literal["auto", "on", "off"] = "auto"
    """auto: markers for providers that need them (Claude); the others cache by themselves."""
    price: Price | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """Upper limit of one answer [tokens]."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None

    @model_validator(mode="after")
    def _one_endpoint(self) -> Self:
        if self.api_base and self.api_base_env:
            raise ValueError("give api_base or api_base_env, not both")
        return self


class AgentModels(Section):
    """Model, fallbacks and budget of one agent. A model is a name under `models`, or provider/model itself."""

    model: ModelName = SCRIPTED
    fallbacks: list[ModelName] = []
    """Models that are tried in this order when `model` has failed after its retries."""
    budget_usd: Money | None = None
    """Upper limit of the agent's cost within `budget_period` [USD]; None: none."""
    budget_tokens: Annotated[int, Field(ge=0)] | None = None
    budget_period: Literal["day", "month", "total"] = "total"


class TaskBudget(Section):
    """What all agents together may use for one task."""

    budget_usd: Money | None = 20.0
    """Upper limit of the cost of one task [USD]; None: none."""
    budget_tokens: Annotated[int, Field(ge=0)] | None = 10_000_000
    """Upper limit of prompt and completion tokens of one task; None: none."""


class Agents(Section):
    """The models of each agent."""

    orchestrator: AgentModels = AgentModels()
    approach: AgentModels = AgentModels()
    pick: AgentModels = AgentModels()
    place: AgentModels = AgentModels()
    perception: AgentModels = AgentModels()


class Retries(Section):
    """Retries and time-outs of requests to providers."""

    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    """Tries per model in case of 429, 5xx and lost connections, the first one included."""
    timeout_attempts: Annotated[int, Field(ge=1, le=10)] = 2
    """Tries per model in case of a time-out, the first one included."""
    timeout_s: Seconds = 45.0
    """Time-out of one try [s]."""
    total_s: Seconds = 115.0
    """Time-out of a request with all its tries and fallbacks [s]; below the 120 s that an agent waits."""
    rest_s: Annotated[float, Field(ge=0, le=3600)] = 30.0
    """For how long a model that failed is tried after its fallbacks [s]."""


EntryName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
DEFAULT_MODELS = {
    SCRIPTED: ModelEntry(model="hosted_vllm/scripted", api_base_env="QUARTET_SCRIPTED_MODEL_URL", takes_images=False)
}


def _with_scripted(models: dict[str, ModelEntry]) -> dict[str, ModelEntry]:
    return {**DEFAULT_MODELS, **models}


class GatewayFile(Section):
    """Content of gateway.yaml."""

    models: Annotated[dict[EntryName, ModelEntry], AfterValidator(_with_scripted)] = DEFAULT_MODELS
    """Includes the scripted model, unless an entry of that name replaces it."""
    agents: Agents = Agents()
    tasks: TaskBudget = TaskBudget()
    retries: Retries = Retries()

    def with_patience(self, patience: float) -> Self:
        """Return the file with the times for a model's answer multiplied by QUARTET_PATIENCE."""
        retries = self.retries.model_copy(update=scaled_times(self.retries, patience))
        return self.model_copy(update={"retries": retries})

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
