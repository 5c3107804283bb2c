"""Settings of the gateway's process, and the keys of the model providers."""

import re
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import SettingsConfigDict

from quartet_gateway.config import AGENTS
from quartet_process import MIN_TOKEN_LENGTH, HttpSettings, PatientSettings, Secret

KEY_FILE = re.compile(r"^(?!QUARTET_)[A-Z0-9_]+_API_KEY_FILE$")
"""Variables that name the file of a provider's key."""


class Settings(PatientSettings, HttpSettings):
    """Environment of `python -m quartet_gateway`. Provider keys stay under the providers' own names."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", extra="ignore", env_ignore_empty=True)

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
    model_takes_images: bool | None = None
    """Whether the models that the variables above name read images; None: as LiteLLM's model list says."""

    grant_public_key: str | None = None
    """Key that checks grants, which say for which task a model is asked."""
    grant_public_key_file: Path | None = None
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
        """Return the model that the environment gives to `agent`, and the variable that says so; None: none does."""
        for field in (f"model_{agent}", "model"):
            value = getattr(self, field)
            if value:
                return value, f"QUARTET_{field.upper()}"
        return None

    def caller_keys(self) -> list[tuple[Secret, frozenset[str]]]:
        """Return the callers' keys, each with the agents whose models it opens. Raises SecretError."""
        keys = [(self.secret("gateway_key", least=MIN_TOKEN_LENGTH), frozenset(AGENTS))]
        keys += [(self.secret(f"gateway_key_{agent}", least=MIN_TOKEN_LENGTH), frozenset({agent})) for agent in AGENTS]
        return [(secret, agents) for secret, agents in keys if secret is not None]


class ProviderKeys:
    """Provider keys that lie in files, which may change while the gateway runs.

    A key comes from the file that <NAME>_API_KEY_FILE names, else from the file <name>_api_key in the folder of
    secrets; a variable <NAME>_API_KEY that is set already goes before both. Raises SecretError for a bad file.
    """

    def __init__(self, environment: Mapping[str, str], folder: Path | None) -> None:
        files = {name.removesuffix("_FILE"): Path(file) for name, file in environment.items() if KEY_FILE.match(name)}
        if folder is not None:
            files = {file.name.upper(): file for file in folder.glob("*_api_key")} | files
        self._keys = {
            name: Secret(f"{name}_FILE ({file})", file) for name, file in files.items() if not environment.get(name)
        }

    def put_into(self, environment: MutableMapping[str, str]) -> bool:
        """Set the variables, where LiteLLM looks for them, to the newest keys; return whether one has changed."""
        newest = {name: key.first for name, key in self._keys.items()}
        changed = any(environment.get(name) != key for name, key in newest.items())
        environment.update(newest)
        return changed
