"""Settings of the gateway's process."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import SettingsConfigDict

from quartet_gateway.config import AGENTS
from quartet_process import LEAST, ProcessSettings, Secret


class Settings(ProcessSettings):
    """Environment of `python -m quartet_gateway`. Provider keys stay under the providers' own names."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", extra="ignore", env_ignore_empty=True)

    host: str = "127.0.0.1"
    port: int = Field(default=0, ge=0, le=65535)
    ready_file: Path | None = None
    """Where to write {"url": ...} as soon as the port listens."""
    log_format: Literal["json", "text"] = "text"
    state_dir: Path | None = None
    """Where spending is kept across restarts; None: in memory."""
    gateway_file: Path | None = None
    """None: deploy/gateway.yaml in the working directory or above it."""

    model: str | None = None
    """One model for all agents: provider/model, or a name from the file."""
    model_orchestrator: str | None = None
    model_approach: str | None = None
    model_pick: str | None = None
    model_place: str | None = None
    model_perception: str | None = None
    model_api_base: str | None = Field(default=None, pattern=r"^https?://")
    """Endpoint of the models that the variables above name."""

    gateway_key: SecretStr | None = None
    """One key for all agents, or a file of several."""
    gateway_key_file: Path | None = None
    gateway_key_orchestrator: SecretStr | None = None
    gateway_key_orchestrator_file: Path | None = None
    gateway_key_approach: SecretStr | None = None
    gateway_key_approach_file: Path | None = None
    gateway_key_pick: SecretStr | None = None
    gateway_key_pick_file: Path | None = None
    gateway_key_place: SecretStr | None = None
    gateway_key_place_file: Path | None = None
    gateway_key_perception: SecretStr | None = None
    gateway_key_perception_file: Path | None = None

    @field_validator("model", *(f"model_{agent}" for agent in AGENTS))
    @classmethod
    def _stripped(cls, value: str | None) -> str | None:
        return value.strip() if value else value

    def model_of(self, agent: str) -> tuple[str, str] | None:
        """The model that the environment gives to `agent`, with the variable that says so."""
        for field in (f"model_{agent}", "model"):
            value = getattr(self, field)
            if value:
                return value, f"QUARTET_{field.upper()}"
        return None

    def caller_keys(self) -> list[tuple[Secret, frozenset[str]]]:
        """The keys, each with the agents that it may ask for. Raises SecretProblem."""
        keys = [(self.secret("gateway_key", least=LEAST), frozenset(AGENTS))]
        keys += [(self.secret(f"gateway_key_{agent}", least=LEAST), frozenset({agent})) for agent in AGENTS]
        return [(secret, agents) for secret, agents in keys if secret is not None]
