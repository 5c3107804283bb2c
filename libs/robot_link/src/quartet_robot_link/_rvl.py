"""RVL, the run-length coding of 16-bit depth images that compressed_depth_image_transport offers next to PNG.

Source: Wilson, Fast Lossless Depth Image Compression, ISS 2017; ros-perception/image_transport_plugins,
compressed_depth_image_transport/rvl_codec.cpp. Numbers are written in nibbles, most significant nibble of each 32-bit
word first: three bits of the number, least significant first, and one that says whether more follow.
"""

import numpy as np
from numpy.typing import NDArray

MOST_NIBBLES = 11
"""Of one number: 32 bits."""


def decode_rvl(data: bytes, most_pixels: int) -> NDArray[np.uint16]:
    """Return (H, W) uint16 of an image with its width and height before the words.

    Raises ValueError for more than `most_pixels`, and for data that ends too early.
    """
    width, height = np.frombuffer(data[:8], "<u4").tolist()
    if width * height > most_pixels:
        raise ValueError(f"{width} x {height} pixels are too many, at most {most_pixels}")
    numbers = _numbers(np.frombuffer(data[8 : len(data) // 4 * 4], "<u4"))
    deltas = (numbers >> 1) ^ -(numbers & 1)
    image = np.zeros(width * height, np.int64)
    at, pixel, depth = 0, 0, 0
    while pixel < image.size:
        if at >= numbers.size:
            raise ValueError(f"the RVL data ends after {pixel} of {image.size} pixels")
        # A run of pixels without return, then one of differences from the pixel before.
        zeros, others = numbers[at : at + 2].tolist() if at + 1 < numbers.size else (int(numbers[at]), 0)
        pixel, at = pixel + zeros, at + 2
        run = depth + np.cumsum(deltas[at : at + others])
        if run.size < others or pixel + others > image.size:
            raise ValueError(f"a run of the RVL data does not fit into {width} x {height} pixels")
        image[pixel : pixel + others] = run
        pixel, at = pixel + others, at + others
        depth = int(run[-1]) if others else depth
    return image.astype(np.uint16).reshape(height, width)


def _numbers(words: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the numbers that the words hold."""
    nibbles = (words[:, None] >> np.arange(28, -4, -4, dtype=np.uint32) & 15).astype(np.int64).ravel()
    ends = np.flatnonzero(nibbles < 8)
    nibbles = nibbles[: ends[-1] + 1] if ends.size else nibbles[:0]
    starts = np.concatenate([[0], ends[:-1] + 1])[: ends.size]
    place = np.arange(nibbles.size) - np.repeat(starts, ends - starts + 1)
    if place.size and place.max() >= MOST_NIBBLES:
        raise ValueError("a number of the RVL data is too long")
    return np.add.reduceat((nibbles & 7) << (3 * place), starts) if starts.size else nibbles
