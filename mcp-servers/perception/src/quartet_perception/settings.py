"""Settings of the perception server beside those of every tool server."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

HttpUrl = Annotated[str, Field(pattern=r"^https?://[^/\s]")]
DEFAULT_SEGMENTER = "colour_shape"


class PerceptionSettings(BaseSettings):
    """QUARTET_SEGMENTER and its companions."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", env_ignore_empty=True, extra="ignore")

    segmenter: str | None = None
    """Name of a registered segmenter, or several with commas: the next is asked when one fails. None: as the site file
    says, else colour_shape."""
    segmenter_url: HttpUrl | None = None
    """Endpoint of the `http` segmenter."""
    segmenter_key: SecretStr | None = None
    """Sent to that endpoint as bearer token."""
    segmenter_timeout_s: Annotated[float, Field(gt=0, le=120, allow_inf_nan=False)] = 25.0
    """For one picture, with all its tries; below the 30 s that segment_objects takes by default."""
    segmenter_boxes: Literal["thousandths", "pixels"] = "thousandths"
    """The coordinates in which `vision_llm` asks for boxes."""

    gateway_url: HttpUrl | None = None
    """The model gateway, for `vision_llm`."""
    gateway_key: SecretStr | None = None
