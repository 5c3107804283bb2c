"""The contact sheet: one row per step, with the pictures from above and of both cameras."""

import io
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, UnidentifiedImageError

CELL = (320, 240)
CAPTION_HEIGHT = 26
HEADER_HEIGHT = 78
GAP = 6
VIEWS = ("overhead", "front", "arm")
TITLES = {"overhead": "from above", "front": "front camera", "arm": "wrist camera"}
MAX_PIXELS = 40_000_000
"""Largest picture that is shown; one of a camera has far fewer."""
MAX_STEPS = 30
PAPER, INK, FAINT, EMPTY = "#ffffff", "#1b1b1b", "#6b6b6b", "#ececec"


@dataclass
class Step:
    """One row of the sheet."""

    caption: str
    images: dict[str, bytes] = field(default_factory=dict)
    """JPEG or PNG by view: overhead, front, arm."""


def draw_contact_sheet(path: Path, title: str, subtitle: str, steps: list[Step]) -> None:
    """Write the sheet to `path` as a PNG; a view that no step has a picture of gets no column."""
    shown = _thin_out(steps)
    views = [view for view in VIEWS if any(view in step.images for step in shown)] or ["front"]
    width = max(GAP + len(views) * (CELL[0] + GAP), 700)
    height = HEADER_HEIGHT + len(shown) * (CAPTION_HEIGHT + CELL[1] + GAP) + GAP
    sheet = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(sheet)
    big, small = ImageFont.load_default(18), ImageFont.load_default(14)
    draw.text((GAP, 8), _fit(draw, title, big, width - 2 * GAP), INK, big)
    draw.text((GAP, 34), _fit(draw, subtitle, small, width - 2 * GAP), FAINT, small)
    for column, view in enumerate(views):
        draw.text((GAP + column * (CELL[0] + GAP), 56), TITLES[view], FAINT, small)
    for row, step in enumerate(shown):
        top = HEADER_HEIGHT + row * (CAPTION_HEIGHT + CELL[1] + GAP)
        draw.text((GAP, top + 5), _fit(draw, step.caption, small, width - 2 * GAP), INK, small)
        for column, view in enumerate(views):
            corner = (GAP + column * (CELL[0] + GAP), top + CAPTION_HEIGHT)
            picture = _picture(step.images.get(view))
            if picture is None:
                draw.rectangle((*corner, corner[0] + CELL[0], corner[1] + CELL[1]), EMPTY)
                draw.text((corner[0] + 110, corner[1] + 110), "no picture", FAINT, small)
            else:
                sheet.paste(picture, corner)
    sheet.save(path, optimize=True)


def _thin_out(steps: list[Step]) -> list[Step]:
    """Return at most MAX_STEPS of them, evenly spread, with the first and the last."""
    if len(steps) <= MAX_STEPS:
        return steps
    last = len(steps) - 1
    return [steps[round(i * last / (MAX_STEPS - 1))] for i in range(MAX_STEPS)]


def _picture(data: bytes | None) -> Image.Image | None:
    """Return the picture inside a cell, its proportions kept; None when it is missing or cannot be read."""
    if data is None:
        return None
    try:
        with Image.open(io.BytesIO(data)) as opened:
            # Only the header is read by now: a small file can unpack to gigabytes.
            if opened.width * opened.height > MAX_PIXELS:
                return None
            picture = opened.convert("RGB")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    picture.thumbnail(CELL)
    cell = Image.new("RGB", CELL, EMPTY)
    cell.paste(picture, ((CELL[0] - picture.width) // 2, (CELL[1] - picture.height) // 2))
    return cell


def _fit(draw: ImageDraw.ImageDraw, text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width: int) -> str:
    flat = " ".join(text.split())
    if draw.textlength(flat, font) <= width:
        return flat
    # By halves: a text can be as long as a program, and measuring it takes as long as it is.
    fits, too_long = 0, len(flat)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if draw.textlength(f"{flat[:middle]}…", font) > width:
            too_long = middle
        else:
            fits = middle
    return f"{flat[:fits].rstrip()}…"
