"""JPEGs for people and models, small enough to send."""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MAX_BYTES = 60_000


def encode_jpeg(rgb: NDArray[np.uint8], limit: int = MAX_BYTES) -> bytes:
    """Return a JPEG of at most `limit` bytes of an HxWx3 picture: quality is reduced first, then size."""
    image = Image.fromarray(rgb)
    while True:
        for quality in (82, 70, 55, 40):
            buffer = io.BytesIO()
            image.save(buffer, "JPEG", quality=quality)
            if buffer.tell() <= limit:
                return buffer.getvalue()
        image = image.resize((max(image.width * 3 // 4, 16), max(image.height * 3 // 4, 16)))
