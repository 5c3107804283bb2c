"""Settings of the scripted model's process."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from quartet_process import HttpSettings
from quartet_scripted_model.misbehaviour import Kind


class Settings(HttpSettings):
    """Environment of `python -m quartet_scripted_model`."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", extra="ignore", env_ignore_empty=True)

    misbehave: dict[Kind, float] = {}
    """Share of answers that go wrong, by kind, as JSON: {"malformed_json": 0.1, "rate_limit": 0.05}."""
    misbehave_seed: int = 0
    misbehave_slow_s: float = Field(default=5.0, ge=0, le=600)
    """How long a `slow` answer takes."""
    misbehave_drip_s: float = Field(default=0.1, gt=0, le=600)
    """Between two bytes of a `drip`."""
    misbehave_huge_bytes: int = Field(default=16 * 1024 * 1024, ge=1)
    """Length of a `huge` answer."""
