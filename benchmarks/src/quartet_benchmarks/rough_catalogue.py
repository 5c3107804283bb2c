"""A catalogue as a person would write it: sizes off by up to a tenth or none at all, with or without parts."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from quartet_site.site import Appearance

STATED = "stated"
"""Name of the catalogue with sizes as a person reads them off a tape: parts and shapes are right."""
WRITTEN_M = 0.005
"""Step of a stated size [m]; smaller where that would be off by more than SIZE_ERROR."""
SIZE_ERROR = 0.1
"""By how much each size of a rough catalogue may be off, relative."""
BOX_FILLED, ONLY_A_BOX = 2 / 3, 0.9
"""Share of the box around an object that it fills where a person calls it a box, with and without the size of it."""


def roughly(appearance: Appearance, rng: np.random.Generator, filled: float = BOX_FILLED) -> Appearance:
    """Return how a person would describe an object: one shape, each size off by up to a tenth. Colours stay words.

    Of an object that is put together from parts a person says that it is a box where it fills so much of one.
    """
    factors = _factors(appearance, rng)
    shape = "irregular" if appearance.shape == "box" and _filled(appearance) < filled else appearance.shape
    sizes = appearance.known_size_m
    if appearance.shape == "cylinder":
        # A mug is as wide as its body, whatever its handle.
        sizes = (min(sizes[:2]), min(sizes[:2]), sizes[2])
    x, y, height = (round(float(s * f), 3) for s, f in zip(sizes, factors, strict=True))
    return appearance.model_copy(
        update={"shape": shape, "size_m": (x, y, height), "size_error": SIZE_ERROR, "parts": []}
    )


def stated(appearance: Appearance, rng: np.random.Generator) -> Appearance:
    """Return an object with each size off by up to a tenth and rounded to WRITTEN_M; its parts are off as much."""
    sizes = appearance.known_size_m
    written = tuple(_written(size, float(by)) for size, by in zip(sizes, _factors(appearance, rng), strict=True))
    off = [now / size for now, size in zip(written, sizes, strict=True)]
    parts = [
        part.model_copy(update={"size_m": _scaled(part.size_m, off), "offset_m": _scaled(part.offset_m, off)})
        for part in appearance.parts
    ]
    return appearance.model_copy(update={"size_m": written, "size_error": SIZE_ERROR, "parts": parts})


def _factors(appearance: Appearance, rng: np.random.Generator) -> np.ndarray:
    """Return by how much each size is off; who writes the size of something round writes its width once."""
    factors = rng.uniform(1 - SIZE_ERROR, 1 + SIZE_ERROR, 3)
    if appearance.shape != "box":
        factors[1] = factors[0]
    if appearance.shape == "sphere":
        factors[:] = factors[0]
    return factors


def _written(size: float, factor: float) -> float:
    rounded = round(size * factor / WRITTEN_M) * WRITTEN_M
    return round(rounded if abs(rounded / size - 1) <= SIZE_ERROR else size * factor, 3)


def _scaled(lengths: Sequence[float], by: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(length * factor, 4) for length, factor in zip(lengths, by, strict=True))


def _filled(appearance: Appearance) -> float:
    """Return which share of the box around an object its parts fill; 1 for one without parts."""
    if not appearance.parts:
        return 1.0
    share_of_box = {"box": 1.0, "cylinder": np.pi / 4, "sphere": np.pi / 6}
    parts = sum(share_of_box[part.shape] * float(np.prod(part.size_m)) for part in appearance.parts)
    return parts / float(np.prod(appearance.known_size_m))


def told(appearances: Sequence[Appearance], catalogue: str, rng: np.random.Generator) -> list[Appearance]:
    """Return the appearances of all objects as a catalogue of that name has them.

    exact: as they are, with measured sizes. stated: each size off by up to a tenth, and rounded. rough: as a person
    would describe them. unsized: the same, but without the size of each that is alone in having its shape in its
    colours; where the shape has to tell all, what is only nearly a box is called irregular.
    """
    if catalogue == "exact":
        return list(appearances)
    if catalogue == STATED:
        return [stated(one, rng) for one in appearances]
    filled = BOX_FILLED if catalogue == "rough" else ONLY_A_BOX
    described = [roughly(one, rng, filled) for one in appearances]
    if catalogue == "rough":
        return described
    words = Counter((one.shape, colour) for one in described for colour in one.colours)
    return [
        Appearance(colours=one.colours, shape=one.shape)
        if all(words[one.shape, colour] == 1 for colour in one.colours)
        else one
        for one in described
    ]


def write_as_told(site_file: Path, catalogue: str, seed: int) -> None:
    """Describe the objects of a site file as `told` does; everything else in it stays, but for comments."""
    rng = np.random.default_rng([seed, 78])
    fields: dict[str, Any] = yaml.safe_load(site_file.read_text(encoding="utf-8"))
    things = fields["objects"]
    appearances = told([Appearance.model_validate(one["appearance"]) for one in things], catalogue, rng)
    for thing, appearance in zip(things, appearances, strict=True):
        thing["appearance"] = appearance.model_dump(mode="json", exclude_defaults=True)
    # It may be a link to the file of the project.
    site_file.unlink()
    site_file.write_text(yaml.safe_dump(fields, sort_keys=False), encoding="utf-8")
