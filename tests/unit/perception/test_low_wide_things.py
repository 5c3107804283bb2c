"""Books, plates, phones and envelopes on a floor, a rug and a desk: hardly higher than depth errs per pixel."""

import itertools
import math

import numpy as np
import pytest

from quartet_perception.catalogue import Catalogue, CatalogueEntry
from quartet_perception.segmenters.colour_shape import ColourShapeSegmenter
from quartet_site.site import Appearance

TYPICAL, HARSH = 0.0025, 0.005
"""Standard deviation of depth at 1 m [m], as the simulated stereo cameras have it."""
SPECKLE_PX = 2.0
DESK, RUG = 0.74, 0.004
HEIGHTS = {"floor": 0.0, "rug": RUG, "desk": DESK}
RGB = {"blue": (0.07, 0.20, 0.60), "red": (0.8, 0.1, 0.1), "green": (0.1, 0.55, 0.15), "black": (0.05, 0.05, 0.06)}
RGB["white"] = (0.93, 0.93, 0.92)
THINGS = {
    "book": ("blue", "box", (0.19, 0.12, 0.020)),
    "folder": ("red", "box", (0.24, 0.12, 0.012)),
    "plate": ("green", "cylinder", (0.12, 0.12, 0.020)),
    "phone": ("black", "box", (0.15, 0.075, 0.009)),
    "envelope": ("white", "box", (0.22, 0.11, 0.008)),
    "game": ("blue", "box", (0.16, 0.11, 0.030)),
}


def segmenter_of(*names, error=0.02):
    entries = [
        CatalogueEntry("desk", "surface", Appearance(colours=["wood"], shape="surface", size_m=(0.6, 1.0, DESK)))
    ]
    for name in names:
        colour, shape, size = THINGS[name]
        look = Appearance(colours=[colour], shape=shape, size_m=size, size_error=error)
        entries.append(CatalogueEntry(name, "object", look))
    return ColourShapeSegmenter(Catalogue(entries))


def ground(new_scene, where):
    scene = new_scene()
    if where == "desk":
        return scene.table(0.55, DESK)
    return scene.box((1.4, 0.0, RUG / 2), (1.8, 1.6, RUG), (0.54, 0.44, 0.42)) if where == "rug" else scene


def lay(scene, name, x, y, on, yaw=0.0, height=None):
    """Put a thing down; of another `height`, it is as wide as the thing and has its colour."""
    colour, shape, (a, b, own) = THINGS[name]
    high = own if height is None else height
    if shape == "cylinder":
        return scene.cylinder((x, y, on + high / 2), a, high, RGB[colour])
    return scene.box((x, y, on + high / 2), (a, b, high), RGB[colour], yaw)


def seen_from(scene, x, y, on, noise, seed):
    return scene.view(target=(x, y, on), noise=noise, patches=SPECKLE_PX, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("where", HEIGHTS)
@pytest.mark.parametrize("name", THINGS)
def test_a_low_thing_is_found_where_it_lies(new_scene, name, where):
    for seed in range(2):
        x, y, yaw = np.random.default_rng([seed, len(name)]).uniform((0.75, -0.2, 0), (1.0, 0.2, math.pi))
        scene = lay(ground(new_scene, where), name, x, y, HEIGHTS[where], yaw)
        view = seen_from(scene, x, y, HEIGHTS[where], TYPICAL, seed)
        (found,) = segmenter_of(name).segment(view, [name])
        assert found.solid.centre[:2] == pytest.approx((x, y), abs=0.012)
        assert found.support_z == pytest.approx(HEIGHTS[where], abs=0.008)
        if THINGS[name][1] == "box":
            assert abs(math.remainder(found.solid.yaw - yaw, math.pi)) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "away", "noise"),
    [("book", 2.2, TYPICAL), ("plate", 2.0, TYPICAL), ("book", 1.4, HARSH), ("game", 1.6, HARSH)],
)
def test_a_book_is_found_from_afar_and_with_harsh_noise(new_scene, name, away, noise):
    for seed in range(3):
        scene = lay(new_scene(), name, away, 0.1, 0.0, 0.6 + seed)
        (found,) = segmenter_of(name).segment(seen_from(scene, away, 0.1, 0.0, noise, seed), [name])
        assert found.solid.centre[:2] == pytest.approx((away, 0.1), abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [TYPICAL, HARSH])
@pytest.mark.parametrize("where", HEIGHTS)
def test_what_is_painted_on_the_ground_is_no_thing(new_scene, where, noise):
    """A patch of the colours and the outline of each thing, and nothing of its height."""
    for seed, name in enumerate(THINGS):
        scene = lay(ground(new_scene, where), name, 0.85, 0.05, HEIGHTS[where], 0.4 * seed, height=0.001)
        assert segmenter_of(name).segment(seen_from(scene, 0.85, 0.05, HEIGHTS[where], noise, seed), [name]) == []


@pytest.mark.slow
def test_tiles_a_threshold_and_a_shadow_are_no_things(new_scene):
    """Tiles as large as a book, a threshold as high as one, and a shadow as dark as a phone."""
    scene = new_scene()
    for row, column in itertools.product(range(8), range(6)):
        if (row + column) % 2:
            scene.box((0.6 + 0.12 * row, 0.19 * (column - 2.5), 0.0005), (0.119, 0.189, 0.001), RGB["blue"])
    scene.box((1.7, 0.0, 0.01), (0.1, 1.6, 0.02), RGB["red"])
    scene.box((1.3, 0.75, 0.0005), (0.15, 0.075, 0.001), RGB["black"])
    for seed in range(3):
        view = seen_from(scene, 1.1, 0.1, 0.0, TYPICAL, seed)
        assert segmenter_of("book", "folder", "phone", "game").segment(view, ["book", "folder", "phone", "game"]) == []


@pytest.mark.slow
def test_a_thing_that_is_as_low_but_larger_is_another_one(new_scene):
    scene = new_scene().box((0.85, 0.05, 0.01), (0.19 * 1.3, 0.12 * 1.3, 0.02), RGB["blue"], 0.7)
    view = seen_from(scene, 0.85, 0.05, 0.0, TYPICAL, 0)
    assert segmenter_of("book", error=0.1).segment(view, ["book"]) == []


@pytest.mark.slow
def test_a_low_thing_whose_size_is_a_guess_has_the_size_that_is_seen(new_scene):
    scene = new_scene().box((0.85, 0.05, 0.01), (0.19 * 1.08, 0.12 * 0.92, 0.02), RGB["blue"], 0.7)
    (found,) = segmenter_of("book", error=0.1).segment(seen_from(scene, 0.85, 0.05, 0.0, TYPICAL, 0), ["book"])
    assert found.score > 0.95
    assert found.solid.solid.size[:2] == pytest.approx((0.205, 0.11), abs=0.006)
    assert found.refined


@pytest.mark.slow
def test_what_stands_as_a_rule_is_found_lying(new_scene):
    """A carton, 20 cm high as it stands, lies on its broad side."""
    look = Appearance(colours=["blue"], shape="box", size_m=(0.14, 0.03, 0.2), size_error=0.02)
    segmenter = ColourShapeSegmenter(Catalogue([CatalogueEntry("carton", "object", look)]))
    scene = new_scene().box((1.6, 0.05, 0.015), (0.2, 0.14, 0.03), RGB["blue"], 0.7)
    (found,) = segmenter.segment(seen_from(scene, 1.6, 0.05, 0.0, TYPICAL, 0), ["carton"])
    assert found.solid.centre == pytest.approx((1.6, 0.05, 0.015), abs=0.02)
    assert sorted(found.solid.solid.size) == pytest.approx([0.03, 0.14, 0.2], rel=0.03)
