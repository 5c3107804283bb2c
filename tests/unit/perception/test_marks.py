"""Squares that are drawn on a table: surfaces that only their colour tells from what they lie on."""

import numpy as np
import pytest

from quartet_perception.catalogue import Catalogue, CatalogueEntry
from quartet_perception.detection import describe
from quartet_perception.segmenters.colour_shape import ColourShapeSegmenter
from quartet_site.site import Appearance

TABLE = 0.45
GREEN, RED = (0.1, 0.6, 0.1), (0.8, 0.1, 0.1)


@pytest.fixture(scope="module")
def segmenter():
    look = {"table": ("wood", (0.6, 1.0, TABLE)), "target area": ("green", (0.1, 0.1, TABLE))}
    entries = [
        CatalogueEntry(name, "surface", Appearance(colours=[colour], shape="surface", size_m=size))
        for name, (colour, size) in look.items()
    ]
    return ColourShapeSegmenter(Catalogue(entries))


def mark(scene, x, y, yaw=0.0, size=0.1, rgb=GREEN):
    return scene.box((x, y, TABLE), (size, size, 0.001), rgb, yaw)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_mark_is_found_where_it_is(segmenter, new_scene, seed):
    rng = np.random.default_rng(seed)
    x, y, yaw = rng.uniform((0.75, -0.3, -0.7), (1.0, 0.3, 0.7))
    view = mark(new_scene().table(0.6, TABLE), x, y, yaw).view(seed=seed)
    (found,) = segmenter.segment(view, ["target area"])
    assert (found.kind, found.label) == ("surface", "target area")
    place = describe(view, found).position_base
    assert place == pytest.approx((x, y, TABLE), abs=0.008)
    assert [one.label for one in segmenter.segment(view, ["table"])] == ["table"]


def test_other_things_of_its_colour_are_no_mark(segmenter, new_scene):
    scene = new_scene().table(0.6, TABLE)
    mark(scene, 0.9, 0.2, size=0.25)
    mark(scene, 0.8, -0.3, size=0.03)
    mark(scene, 0.95, -0.1, rgb=RED)
    scene.box((0.75, 0.0, TABLE + 0.05), (0.1, 0.1, 0.1), GREEN)
    assert segmenter.segment(scene.view(), ["target area"]) == []
