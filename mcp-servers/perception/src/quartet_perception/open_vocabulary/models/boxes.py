"""Boxes as models give them, in pixels."""

import torch

from quartet_perception.lift import Box


def corners(boxes: torch.Tensor, width: float, height: float) -> list[Box]:
    """Nx4 centre x, centre y, width, height as parts of `width` and `height` -> x_min, y_min, x_max, y_max [pixels]."""
    x, y, w, h = boxes.cpu().unbind(-1)
    scaled = [(x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width, (y + h / 2) * height]
    return [(a, b, c, d) for a, b, c, d in torch.stack(scaled, dim=-1).tolist()]
