"""The square picture that SAM 2 and SAM 3 see, and masks back in the picture's own size.

Their image processors in transformers need torchvision, which must fit PyTorch to the version; this is the same in a
few lines.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import interpolate

from quartet_perception.open_vocabulary.models.hub import Place
from quartet_perception.view import Mask


def square(
    rgb: NDArray[np.uint8],
    size: tuple[int, int],
    settings: Mapping[str, Any],
    default: tuple[Sequence[float], Sequence[float]],
    place: Place,
) -> torch.Tensor:
    """1x3xHxW of `size` (height, width), not keeping proportions, normalised with image_mean and image_std of
    `settings`, or with the mean and deviation of `default`, each by channel."""
    pixels = torch.tensor(rgb, device=place.device).permute(2, 0, 1)[None].float()
    pixels = interpolate(pixels, size, mode="bilinear", align_corners=False, antialias=True).clamp(0, 255) / 255
    mean = torch.tensor(settings.get("image_mean", default[0]), device=place.device).view(1, 3, 1, 1)
    std = torch.tensor(settings.get("image_std", default[1]), device=place.device).view(1, 3, 1, 1)
    return ((pixels - mean) / std).to(place.dtype)


def side_of(size: Any) -> tuple[int, int]:
    """Height and width of an image_size of a configuration: a number, or both."""
    return (int(size[0]), int(size[1])) if isinstance(size, list | tuple) else (int(size), int(size))


def masks_of(values: torch.Tensor, shape: tuple[int, int], threshold: float) -> list[Mask]:
    """NxhxW of the model -> N masks of the picture's `shape`, where the enlarged values exceed `threshold`."""
    if not len(values):
        return []
    full = interpolate(values.float()[None], shape, mode="bilinear", align_corners=False)[0]
    return list((full > threshold).cpu().numpy())
