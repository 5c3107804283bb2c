"""Settings of the perception server, in addition to those of every tool server."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from quartet_process import AnswerSeconds, PatientSettings

HttpUrl = Annotated[str, Field(pattern=r"^https?://[^/\s]")]
DEFAULT_SEGMENTER = "colour_shape"


class PerceptionSettings(PatientSettings):
    """QUARTET_SEGMENTER and its companions."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", env_ignore_empty=True, extra="ignore")

    segmenter: str | None = None
    """Name of a registered segmenter, or several with commas: the next is asked when one fails. None: as the site file
    says, else colour_shape."""
    segmenter_url: HttpUrl | None = None
    """Endpoint of the `http` segmenter."""
    segmenter_key: SecretStr | None = None
    """Sent to that endpoint as bearer token."""
    segmenter_timeout_s: Annotated[AnswerSeconds, Field(le=120)] = 25.0
    """For one picture, with all its tries; below the 30 s that segment_objects takes by default."""
    segmenter_boxes: Literal["thousandths", "pixels"] = "thousandths"
    """The coordinates in which `vision_llm` asks for boxes."""

    segmenter_model: Annotated[str, Field(min_length=1)] = "IDEA-Research/grounding-dino-tiny"
    """`open_vocabulary`: what finds boxes, an id of the Hugging Face hub or a folder: Grounding DINO, OWLv2, SAM 3."""
    segmenter_mask_model: Annotated[str, Field(min_length=1)] = "facebook/sam2.1-hiera-small"
    """What outlines the boxes: a SAM 2 model, or `none`: depth does it. SAM 3 needs none."""
    segmenter_device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d{1,2})?)$")] = "auto"
    """`auto`: the GPU where there is one."""
    segmenter_dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    segmenter_threshold: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None
    """Score from which a find counts. None: as is usual for the model."""
    segmenter_download: bool = False
    """Whether missing weights are fetched from the Hugging Face hub. False: they must be there, nothing is fetched."""
    segmenter_accept_licence: str = ""
    """Licences of weights that are accepted, with commas: `sam3`."""

    gateway_url: HttpUrl | None = None
    """The model gateway, for `vision_llm`."""
    gateway_key: SecretStr | None = None
    gateway_key_file: Path | None = None
    secrets_dir: Path | None = None
    """Folder with the file gateway_key."""
