"""Detections drawn into images."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage

from quartet_perception.segmenters.base import SegmentedObject

_COLOURS = ((255, 60, 200), (60, 220, 255), (160, 255, 60), (255, 190, 40), (190, 130, 255))


def draw_detections(rgb: NDArray[np.uint8], found: Sequence[SegmentedObject]) -> NDArray[np.uint8]:
    """Return a copy of the picture (HxWx3) with the outline, box and name of every object."""
    picture = rgb.copy()
    for index, item in enumerate(found):
        colour = np.array(_COLOURS[index % len(_COLOURS)], dtype=np.uint8)
        rim = item.mask & ~ndimage.binary_erosion(item.mask, iterations=2)
        picture[item.mask] = picture[item.mask] // 4 * 3 + colour // 4
        picture[rim] = colour
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    for index, item in enumerate(found):
        colour = _COLOURS[index % len(_COLOURS)]
        x0, y0, x1, y1 = item.box_xyxy
        draw.rectangle((x0, y0, x1, y1), outline=colour)
        draw.text((x0 + 2, max(y0 - 12, 0)), f"{item.label} {item.score:.2f}", fill=colour)
    return np.asarray(image)
