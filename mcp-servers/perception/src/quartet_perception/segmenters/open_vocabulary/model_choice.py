"""The choice of models, of their device and licence: all that can be checked without loading them."""

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from quartet_perception.settings import PerceptionSettings

EXTRA = "open-vocabulary"
"""The package's extra that brings what the models need."""
_NEEDED = ("torch", "transformers")
LICENCES = {"sam3": "the SAM License, https://github.com/facebookresearch/sam3/blob/main/LICENSE"}
"""Licences that somebody must have accepted: the beginning of the model type, and where the licence is. The others are
under Apache-2.0."""


@dataclass(frozen=True)
class ModelChoice:
    """The chosen models. `masks` None: depth outlines the boxes. `threshold` None: the model's usual one."""

    model: str
    masks: str | None
    device: str = "auto"
    dtype: str = "float32"
    threshold: float | None = None
    download: bool = False
    accepted: frozenset[str] = frozenset()


def choice_of(settings: PerceptionSettings) -> ModelChoice:
    """Return the choice of the settings.

    Raises ValueError with the remedy: no extra, an unknown or missing licence, no folder.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ValueError(
            f"segmenter 'open_vocabulary' needs {' and '.join(missing)}, which the extra '{EXTRA}' of the perception "
            f"server brings: uv sync --frozen --all-packages --extra {EXTRA} (some GB), or use its container file "
            "deploy/images/perception-open-vocabulary.Dockerfile"
        )
    accepted = frozenset(name.strip() for name in settings.segmenter_accept_licence.split(",") if name.strip())
    unknown = sorted(accepted - LICENCES.keys())
    if unknown:
        raise ValueError(
            f"QUARTET_SEGMENTER_ACCEPT_LICENCE names '{unknown[0]}', which is none of: {', '.join(LICENCES)}"
        )
    named, masks = _expanded(settings.segmenter_model), _expanded(settings.segmenter_mask_model)
    masks = None if masks.lower() == "none" else masks
    for model in (named, *([masks] if masks is not None else [])):
        check_licence(model, _type_of(model) or Path(model).name, accepted)
    return ModelChoice(
        named,
        masks,
        settings.segmenter_device,
        settings.segmenter_dtype,
        settings.segmenter_threshold,
        settings.segmenter_download,
        accepted,
    )


def check_licence(model: str, model_type: str, accepted: frozenset[str]) -> None:
    """Raise ValueError for a model whose licence was not accepted. `model_type` is that of its config.json."""
    kind = model_type.lower().replace("-", "").replace("_", "").replace(".", "")
    for licence, where in LICENCES.items():
        if kind.startswith(licence) and licence not in accepted:
            raise ValueError(
                f"the weights of '{model}' are under {where}. Read it; if you accept it, set "
                f"QUARTET_SEGMENTER_ACCEPT_LICENCE={licence}, else choose another model with QUARTET_SEGMENTER_MODEL"
            )


def _expanded(model: str) -> str:
    return str(Path(model).expanduser()) if model.startswith("~") else model


def _type_of(model: str) -> str | None:
    """Return the model type of a local folder; None for an id of the hub, which the loader checks.

    Raises ValueError for a folder without a model.
    """
    folder = Path(model)
    if folder.is_dir():
        try:
            return str(json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"the folder '{model}' holds no model: its config.json with a model_type cannot be read ({error}); it "
                "must be what `hf download <model> --local-dir <folder>` makes"
            ) from error
    if model.startswith(("/", ".")):
        raise ValueError(f"there is no folder '{model}'; name one with a model in it, or an id of the Hugging Face hub")
    return None
