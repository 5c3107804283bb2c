"""Settings of the perception server beside those of every tool server."""

from pydantic_settings import BaseSettings, SettingsConfigDict


class PerceptionSettings(BaseSettings):
    """QUARTET_SEGMENTER."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", env_ignore_empty=True, extra="ignore")

    segmenter: str = "colour_shape"
    """Name of a registered segmenter."""
