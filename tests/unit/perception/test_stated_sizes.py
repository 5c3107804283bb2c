"""Sizes stated within a tenth hide nothing, and a lookalike of another size stays another thing."""

import numpy as np
import pytest

from quartet_perception.catalogue import Catalogue, CatalogueEntry
from quartet_perception.segmenters.colour_shape import ColourShapeSegmenter
from quartet_site.site import Appearance

TABLE, NOISE, SPECKLE_PX = 0.45, 0.0025, 2.0
YELLOW = (0.95, 0.75, 0.05)
KINDS = {
    "packet": ("box", (0.15, 0.06, 0.20)),
    "carton": ("box", (0.12, 0.08, 0.18)),
    "cereal": ("box", (0.19, 0.065, 0.26)),
    "can": ("cylinder", (0.066, 0.066, 0.118)),
}


def seen(new_scene, name, factor, seed):
    """Return a picture of a thing on a table that is `factor` times as large as it is."""
    shape, size = KINDS[name]
    size = factor * np.array(size)
    x, y, yaw = np.random.default_rng(seed).uniform((0.7, -0.3, 0.0), (1.1, 0.3, np.pi))
    scene, centre = new_scene().table(0.6, TABLE), (x, y, TABLE + size[2] / 2)
    if shape == "cylinder":
        scene.cylinder(centre, size[0], size[2], YELLOW)
    else:
        scene.box(centre, size, YELLOW, yaw)
    return scene.view(noise=NOISE, patches=SPECKLE_PX, seed=seed, target=(x, y, 0.5))


def score(view, name, factors):
    """Return the score of a thing whose stated sizes are off by `factors`; 0 if it is not found."""
    shape, size = KINDS[name]
    stated = tuple(float(value) for value in np.multiply(size, factors))
    look = Appearance(colours=["yellow"], shape=shape, size_m=stated, size_error=0.1)
    found = ColourShapeSegmenter(Catalogue([CatalogueEntry(name, "object", look)])).segment(view, [name])
    return max((one.score for one in found), default=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("off", [(1.09, 1.09, 1.09), (0.92, 0.92, 0.92), (1.08, 1.08, 0.92)])
def test_a_size_within_a_tenth_scores_as_the_exact_one_does(new_scene, name, off):
    for seed in range(2):
        view = seen(new_scene, name, 1.0, seed)
        exact = score(view, name, (1.0, 1.0, 1.0))
        assert exact > 0.9
        assert score(view, name, off) == pytest.approx(exact, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("factor", [1.3, 1 / 1.3])
def test_a_lookalike_of_another_size_is_nothing(new_scene, name, factor):
    for seed in (*range(2), 4):
        assert score(seen(new_scene, name, factor, seed), name, (1.0, 1.0, 1.0)) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("off", [1.08, 0.93])
def test_what_is_stated_wrongly_has_the_size_that_is_seen(new_scene, off):
    shape, size = KINDS["carton"]
    stated = tuple(off * value for value in size)
    look = Appearance(colours=["yellow"], shape=shape, size_m=stated, size_error=0.1)
    segmenter = ColourShapeSegmenter(Catalogue([CatalogueEntry("carton", "object", look)]))
    (found,) = segmenter.segment(seen(new_scene, "carton", 1.0, 1), ["carton"])
    assert found.refined
    assert found.solid.solid.size == pytest.approx(size, rel=0.06)
