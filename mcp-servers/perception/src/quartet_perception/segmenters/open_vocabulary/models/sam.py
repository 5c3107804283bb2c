"""Segment Anything: masks of boxes by SAM 2, boxes and masks at once by SAM 3.

SAM 2: Ravi et al. 2024, arXiv:2408.00714. SAM 3: Carion et al. 2025, arXiv:2511.16719.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import Sam2Model, Sam3Model
from transformers.image_utils import (
    IMAGENET_DEFAULT_MEAN,
    IMAGENET_DEFAULT_STD,
    IMAGENET_STANDARD_MEAN,
    IMAGENET_STANDARD_STD,
)

from quartet_perception.scene.view import Box, Mask
from quartet_perception.segmenters.open_vocabulary.models.hub import Source
from quartet_perception.segmenters.open_vocabulary.models.tensors import masks_of, side_of, square
from quartet_perception.segmenters.open_vocabulary.queries import QueryDetection, one_per_place

_USUAL_2, _USUAL_3 = (IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD), (IMAGENET_STANDARD_MEAN, IMAGENET_STANDARD_STD)
"""Mean and standard deviation for a checkpoint without preprocessor_config.json."""
THRESHOLD = 0.5
"""Least score of a SAM 3 detection."""
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
        pixels = square(rgb, self._size, self._settings, _USUAL_2, self._place)
        seen_once = self._model.get_image_embeddings(pixels)
        masks: list[Mask] = []
        for some in scaled.to(self._place.dtype).split(_AT_ONCE, dim=1):
            output = self._model(image_embeddings=seen_once, input_boxes=some, multimask_output=False)
            masks += masks_of(output.pred_masks[0, :, 0], (height, width), 0.0)
        return masks


class Sam3:
    """Takes one query at a time and sees the picture once. The video model's tracker is left out."""

    def __init__(self, source: Source, threshold: float | None) -> None:
        self._model = source.model(Sam3Model)
        self._tokenizer = source.tokenizer(self._model.config.text_config.vocab_size)
        self._settings, self._place = source.picture_settings(), source.place
        self._threshold = THRESHOLD if threshold is None else threshold
        self._size = side_of(self._model.config.vision_config.image_size)
        self._longest = int(self._model.config.text_config.max_position_embeddings)

    def find(self, rgb: NDArray[np.uint8], queries: Sequence[str]) -> list[QueryDetection]:
        """Return detections above the threshold, with masks."""
        height, width = rgb.shape[:2]
        pixels = square(rgb, self._size, self._settings, _USUAL_3, self._place)
        seen_once = self._model.get_vision_features(pixel_values=pixels)
        size = torch.tensor([width, height, width, height])
        seen: list[QueryDetection] = []
        for number, query in enumerate(queries):
            text = self._tokenizer(
                query, padding="max_length", truncation=True, max_length=self._longest, return_tensors="pt"
            ).to(self._place.device)
            output = self._model(
                vision_embeds=seen_once, input_ids=text["input_ids"], attention_mask=text["attention_mask"]
            )
            # Whether the query is there at all, and which of the candidates it is.
            scores = (output.pred_logits[0].float().sigmoid() * output.presence_logits[0].float().sigmoid()).cpu()
            keep = torch.nonzero(scores >= self._threshold)[:, 0]
            boxes = (output.pred_boxes[0].float().cpu()[keep] * size).tolist()
            found = [
                QueryDetection(index, score, (a, b, c, d))
                for index, score, (a, b, c, d) in zip(keep.tolist(), scores[keep].tolist(), boxes, strict=True)
            ]
            # Before the masks are enlarged, which takes memory for each.
            found = one_per_place(found)
            small = output.pred_masks[0][[one.query for one in found]].float().sigmoid()
            masks = masks_of(small, (height, width), 0.5)
            seen += [QueryDetection(number, one.score, one.box, mask) for one, mask in zip(found, masks, strict=True)]
        return seen
