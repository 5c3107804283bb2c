"""A catalogue as a person would write it: sizes off by up to a tenth, and no parts."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from quartet_site.site import Appearance

SIZE_ERROR = 0.1
"""By how much each size of a rough catalogue may be off, relative."""
BOX_FILLED = 2 / 3
"""Share of the box around an object that it fills where a person calls it a box."""


def roughly(appearance: Appearance, rng: np.random.Generator) -> Appearance:
    """Return how a person would describe an object: one shape, each size off by up to a tenth. Colours stay words.

    Of an object that is put together from parts a person says that it is a box where it nearly fills one.
    """
    factors = rng.uniform(1 - SIZE_ERROR, 1 + SIZE_ERROR, 3)
    shape = "irregular" if appearance.shape == "box" and _filled(appearance) < BOX_FILLED else appearance.shape
    if appearance.shape != "box":
        # Who writes the size of something round writes its width once.
        factors[1] = factors[0]
    if appearance.shape == "sphere":
        factors[:] = factors[0]
    sizes = appearance.size_m
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
    return parts / float(np.prod(appearance.size_m))


def write_roughly(site_file: Path, seed: int) -> None:
    """Describe the objects of a site file roughly; everything else in it stays, but for comments."""
    rng = np.random.default_rng([seed, 78])
    fields: dict[str, Any] = yaml.safe_load(site_file.read_text(encoding="utf-8"))
    for thing in fields["objects"]:
        told = roughly(Appearance.model_validate(thing["appearance"]), rng)
        thing["appearance"] = told.model_dump(mode="json", exclude_defaults=True)
    # It may be a link to the file of the project.
    site_file.unlink()
    site_file.write_text(yaml.safe_dump(fields, sort_keys=False), encoding="utf-8")
