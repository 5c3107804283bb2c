"""JPEGs for people and models: small, with detections drawn in."""

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage

from quartet_perception.segmenter import Found

MAX_BYTES = 60_000
_COLOURS = ((255, 60, 200), (60, 220, 255), (160, 255, 60), (255, 190, 40), (190, 130, 255))


def jpeg(rgb: NDArray[np.uint8], limit: int = MAX_BYTES) -> bytes:
    """A JPEG of at most `limit` bytes: quality goes first, then size."""
    image = Image.fromarray(rgb)
    while True:
        for quality in (82, 70, 55, 40):
            buffer = io.BytesIO()
            image.save(buffer, "JPEG", quality=quality)
            if buffer.tell() <= limit:
                return buffer.getvalue()
        image = image.resize((max(image.width * 3 // 4, 16), max(image.height * 3 // 4, 16)))


def drawn(rgb: NDArray[np.uint8], found: Sequence[Found]) -> NDArray[np.uint8]:
    """The picture with the outline, box and name of every find."""
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
