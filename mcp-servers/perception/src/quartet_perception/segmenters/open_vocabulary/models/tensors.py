"""Pictures to tensors, and tensors to boxes and masks in the picture's own pixels.

The image processors of SAM 2 and SAM 3 in transformers need torchvision, which must fit PyTorch to the version;
`square` and `masks_of` do the same in a few lines.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import interpolate

from quartet_perception.scene.view import Box, Mask
from quartet_perception.segmenters.open_vocabulary.models.hub import Place


def square(
    rgb: NDArray[np.uint8],
    size: tuple[int, int],
    settings: Mapping[str, Any],
    default: tuple[Sequence[float], Sequence[float]],
    place: Place,
) -> torch.Tensor:
    """Return the picture (HxWx3) as a tensor 1x3xhxw of `size` (h, w), without keeping proportions.

    Normalised by channel with image_mean and image_std of `settings`, else with mean and deviation of `default`.
    """
    pixels = torch.tensor(rgb, device=place.device).permute(2, 0, 1)[None].float()
    pixels = interpolate(pixels, size, mode="bilinear", align_corners=False, antialias=True).clamp(0, 255) / 255
    mean = torch.tensor(settings.get("image_mean", default[0]), device=place.device).view(1, 3, 1, 1)
    std = torch.tensor(settings.get("image_std", default[1]), device=place.device).view(1, 3, 1, 1)
    return ((pixels - mean) / std).to(place.dtype)


def side_of(size: Any) -> tuple[int, int]:
    """Return height and width of an image_size of a configuration: one number, or both."""
    return (int(size[0]), int(size[1])) if isinstance(size, list | tuple) else (int(size), int(size))


def masks_of(values: torch.Tensor, shape: tuple[int, int], threshold: float) -> list[Mask]:
    """Return N masks of the picture's `shape` (H, W): where the enlarged values (Nxhxw) exceed `threshold`."""
    if not len(values):
        return []
    full = interpolate(values.float()[None], shape, mode="bilinear", align_corners=False)[0]
    return list((full > threshold).cpu().numpy())


def corners(boxes: torch.Tensor, width: float, height: float) -> list[Box]:
    """Return boxes in pixels from Nx4 centre x, centre y, width and height as parts of `width` and `height`."""
    x, y, w, h = boxes.cpu().unbind(-1)
    scaled = [(x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width, (y + h / 2) * height]
    return [(a, b, c, d) for a, b, c, d in torch.stack(scaled, dim=-1).tolist()]
