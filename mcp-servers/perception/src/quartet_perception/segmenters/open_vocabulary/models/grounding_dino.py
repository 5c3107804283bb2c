"""Boxes by Grounding DINO (Liu et al. 2023, arXiv:2303.05499) or MM Grounding DINO, which has the same form."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from transformers import GroundingDinoForObjectDetection, MMGroundingDinoForObjectDetection
from transformers.models.grounding_dino.image_processing_pil_grounding_dino import GroundingDinoImageProcessorPil

from quartet_perception.segmenters.open_vocabulary.models.hub import Source
from quartet_perception.segmenters.open_vocabulary.models.tensors import corners
from quartet_perception.segmenters.open_vocabulary.queries import QueryDetection

THRESHOLD = 0.25
"""As the authors' demo has it for text."""
_MAX_QUERY_TOKENS = 32


class GroundingDino:
    """Finds many queries with one caption, such as "red mug . wooden table ."."""

    def __init__(self, source: Source, threshold: float | None) -> None:
        kind = GroundingDinoForObjectDetection
        if source.model_type == "mm-grounding-dino":
            kind = MMGroundingDinoForObjectDetection
        self._model = source.model(kind)
        self._tokenizer = source.tokenizer(self._model.config.text_config.vocab_size)
        self._images = source.images(GroundingDinoImageProcessorPil)
        self._place = source.place
        self._threshold = THRESHOLD if threshold is None else threshold
        self._longest = int(self._model.config.max_text_len)
        # The model itself knows the end of a phrase by the number of this token.
        self._dot = self._tokenizer.convert_tokens_to_ids(".")

    def find(self, rgb: NDArray[np.uint8], queries: Sequence[str]) -> list[QueryDetection]:
        """Return boxes above the threshold; the model sees the picture once for each caption."""
        height, width = rgb.shape[:2]
        picture = self._images(Image.fromarray(rgb), return_tensors="pt")
        pixels = picture["pixel_values"].to(self._place.device, self._place.dtype)
        pixel_mask = picture["pixel_mask"].to(self._place.device)
        seen: list[QueryDetection] = []
        for ids, spans in self._captions(queries):
            text = torch.tensor([ids], device=self._place.device)
            output = self._model(
                pixel_values=pixels,
                pixel_mask=pixel_mask,
                input_ids=text,
                token_type_ids=torch.zeros_like(text),
                attention_mask=torch.ones_like(text),
            )
            tokens = output.logits[0].float().sigmoid()
            # A query's score is the mean over its words, as in the authors' evaluation (PostProcessCocoGrounding):
            # with the best word alone, any can would be the "red coke can".
            each = torch.stack([tokens[:, start:stop].mean(dim=1) for _, start, stop in spans], dim=1)
            scores, best = each.max(dim=1)
            keep = scores >= self._threshold
            boxes = corners(output.pred_boxes[0][keep].float(), width, height)
            for score, index, box in zip(scores[keep].tolist(), best[keep].tolist(), boxes, strict=True):
                seen.append(QueryDetection(spans[index][0], score, box))
        return seen

    def _captions(self, queries: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int, int]]]]:
        """Return the token ids of few captions with all queries, each with (query, first token, end) of its queries."""
        begin, end = self._tokenizer.cls_token_id, self._tokenizer.sep_token_id
        captions: list[tuple[list[int], list[tuple[int, int, int]]]] = []
        for number, query in enumerate(queries):
            words = self._tokenizer(query, add_special_tokens=False)["input_ids"][:_MAX_QUERY_TOKENS]
            if not captions or len(captions[-1][0]) + len(words) + 2 > self._longest:
                captions.append(([begin], []))
            ids, spans = captions[-1]
            spans.append((number, len(ids), len(ids) + len(words)))
            ids += [*words, self._dot]
        return [([*ids, end], spans) for ids, spans in captions]
