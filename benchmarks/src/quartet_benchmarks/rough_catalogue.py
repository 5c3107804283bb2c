"""A catalogue as a person would write it: sizes off by up to a tenth or none at all, and no parts."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from quartet_site.site import Appearance

SIZE_ERROR = 0.1
"""By how much each size of a rough catalogue may be off, relative."""
BOX_FILLED, ONLY_A_BOX = 2 / 3, 0.9
"""Share of the box around an object that it fills where a person calls it a box, with and without the size of it."""


def roughly(appearance: Appearance, rng: np.random.Generator, filled: float = BOX_FILLED) -> Appearance:
    """Return how a person would describe an object: one shape, each size off by up to a tenth. Colours stay words.

    Of an object that is put together from parts a person says that it is a box where it fills so much of one.
    """
    factors = rng.uniform(1 - SIZE_ERROR, 1 + SIZE_ERROR, 3)
    shape = "irregular" if appearance.shape == "box" and _filled(appearance) < filled else appearance.shape
    if appearance.shape != "box":
        # Who writes the size of something round writes its width once.
        factors[1] = factors[0]
    if appearance.shape == "sphere":
        factors[:] = factors[0]
    sizes = appearance.known_size_m
    if appearance.shape == "cylinder":
        # A mug is as wide as its body, whatever its handle.
        sizes = (min(sizes[:2]), min(sizes[:2]), sizes[2])
    x, y, height = (round(float(s * f), 3) for s, f in zip(sizes, factors, strict=True))
    return appearance.model_copy(
        update={"shape": shape, "size_m": (x, y, height), "size_error": SIZE_ERROR, "parts": []}
    )


def _filled(appearance: Appearance) -> float:
    """Return which share of the box around an object its parts fill; 1 for one without parts."""
    if not appearance.parts:
        return 1.0
    share_of_box = {"box": 1.0, "cylinder": np.pi / 4, "sphere": np.pi / 6}
    parts = sum(share_of_box[part.shape] * float(np.prod(part.size_m)) for part in appearance.parts)
    return parts / float(np.prod(appearance.known_size_m))


def told(appearances: Sequence[Appearance], catalogue: str, rng: np.random.Generator) -> list[Appearance]:
    """Return the appearances of all objects as a catalogue of that name has them.

    exact: as they are, with measured sizes. rough: as a person would describe them. unsized: the same, but without the
    size of each that is alone in having its shape in its colours; where the shape has to tell all, what is only nearly
    a box is called irregular.
    """
    if catalogue == "exact":
        return list(appearances)
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
