"""Encoded masks of a remote segmenter: COCO run lengths or a PNG."""

import base64
import binascii
import io
from typing import Annotated

import numpy as np
from PIL import Image, UnidentifiedImageError
from pydantic import BaseModel, ConfigDict, Field, model_validator

from quartet_perception.scene.view import Mask

_TOO_LARGE = (Image.DecompressionBombError, Image.DecompressionBombWarning)


class RunLengths(BaseModel):
    """COCO's run-length encoding, column by column, beginning with the pixels that are off.

    counts: the lengths, or COCO's compressed text of them (pycocotools, maskApi.c rleFrString).
    """

    model_config = ConfigDict(extra="ignore")

    size: tuple[int, int]
    """Height, width."""
    counts: (
        Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=2_000_000)]
        | Annotated[str, Field(max_length=4_000_000)]
    )


class EncodedMask(BaseModel):
    """A mask of the whole picture: give `rle` or `png`."""

    model_config = ConfigDict(extra="ignore")

    rle: RunLengths | None = None
    png: str | None = None
    """Base64 of a PNG of the picture's size; pixels above half of the range are on."""

    @model_validator(mode="after")
    def _one(self) -> "EncodedMask":
        if (self.rle is None) == (self.png is None):
            raise ValueError("a mask has either rle or png")
        return self

    def decode(self, shape: tuple[int, int]) -> Mask:
        """Return the mask (HxW). Raises ValueError when it is broken or not of the picture's size."""
        return _from_rle(self.rle, shape) if self.rle is not None else _from_png(self.png or "", shape)


def _from_rle(rle: RunLengths, shape: tuple[int, int]) -> Mask:
    if rle.size != shape:
        raise ValueError(f"the mask's size is {list(rle.size)}, the picture's {list(shape)} (height, width)")
    counts = np.array(_expanded(rle.counts) if isinstance(rle.counts, str) else rle.counts, dtype=np.int64)
    total = shape[0] * shape[1]
    if (counts < 0).any() or (counts > total).any() or int(counts.sum()) != total:
        raise ValueError(f"the run lengths do not add up to the picture's {total} pixels")
    on = np.arange(len(counts)) % 2 == 1
    return np.repeat(on, counts).reshape((shape[1], shape[0])).T


def _expanded(text: str) -> list[int]:
    """Return the run lengths of COCO's text: 5 bits each, from the third on as difference to the last but one."""
    counts: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - 48
        if not 0 <= bits < 64 or shift > 35:
            raise ValueError("the text of the run lengths is not COCO's")
        value |= (bits & 0x1F) << shift
        shift += 5
        if bits & 0x20:
            continue
        if bits & 0x10:
            value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    if shift:
        raise ValueError("the text of the run lengths ends in the middle of a number")
    return counts


def _from_png(text: str, shape: tuple[int, int]) -> Mask:
    try:
        image = Image.open(io.BytesIO(base64.b64decode(text, validate=True)), formats=["PNG"])
        # The header alone says how large it is: nothing larger is unpacked.
        if image.size != (shape[1], shape[0]):
            raise ValueError(f"the mask is {image.size}, the picture {(shape[1], shape[0])} (width, height)")
        return np.asarray(image.convert("L")) > 127
    except (binascii.Error, UnidentifiedImageError, OSError, SyntaxError, *_TOO_LARGE) as error:
        raise ValueError(f"the mask is not a PNG in base64: {error}") from error
