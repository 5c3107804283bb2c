"""Outlines of boxes by SAM 2 (Ravi et al. 2024, arXiv:2408.00714)."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import Sam2Model
from transformers.image_utils import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD

from quartet_perception.scene.view import Box, Mask
from quartet_perception.segmenters.open_vocabulary.models.hub import Source
from quartet_perception.segmenters.open_vocabulary.models.tensors import masks_of, side_of, square

_USUAL = (IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD)
"""Of a checkpoint without preprocessor_config.json."""
_AT_ONCE = 16
"""Boxes: each takes some 20 MB while it is outlined."""


class Sam2:
    """Makes one mask for each box. The checkpoints are those of the video model; its memory is left out."""

    def __init__(self, source: Source) -> None:
        self._model = source.model(Sam2Model)
        self._settings, self._place = source.picture_settings(), source.place
        self._size = side_of(self._model.config.prompt_encoder_config.image_size)

    def outline(self, rgb: NDArray[np.uint8], boxes: Sequence[Box]) -> list[Mask]:
        """Return one mask (HxW) for each box."""
        if not boxes:
            return []
        height, width = rgb.shape[:2]
        scale = [self._size[1] / width, self._size[0] / height] * 2
        scaled = torch.tensor([boxes], device=self._place.device) * torch.tensor(scale, device=self._place.device)
        pixels = square(rgb, self._size, self._settings, _USUAL, self._place)
        seen_once = self._model.get_image_embeddings(pixels)
        masks: list[Mask] = []
        for some in scaled.to(self._place.dtype).split(_AT_ONCE, dim=1):
            output = self._model(image_embeddings=seen_once, input_boxes=some, multimask_output=False)
            masks += masks_of(output.pred_masks[0, :, 0], (height, width), 0.0)
        return masks
