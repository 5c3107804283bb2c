"""Things whose size nobody has written down: known by colour and shape, and as large as they are seen."""

import numpy as np
import pytest
from scipy import ndimage

from quartet_perception.catalogue import Catalogue, CatalogueEntry
from quartet_perception.held_object import _as_held
from quartet_perception.scene.fit_quality import cut_off
from quartet_perception.scene.measured_shapes import Measured, MeasuredShapes, can_be_picked
from quartet_perception.scene.regions import prepare
from quartet_perception.scene.solids import Solid
from quartet_perception.segmenters.colour_shape import ColourShapeSegmenter
from quartet_site.site import Appearance

TABLE = 0.45
RED, BLUE = (0.80, 0.05, 0.06), (0.07, 0.20, 0.60)


def entry_of(name: str, shape: str, size: tuple[float, float, float] | None = None, error: float = 0.02):
    told = {} if size is None else {"size_m": size, "size_error": error}
    return CatalogueEntry(name, "object", Appearance(colours=["red"], shape=shape, **told))


TIN, BALL, BRICK, DISH, TOY = (
    entry_of(f"red {name}", shape)
    for name, shape in (
        ("tin", "cylinder"), ("ball", "sphere"), ("brick", "box"), ("dish", "bowl"), ("toy", "irregular")
    )
)  # fmt: skip


def segmenter_of(*entries):
    return ColourShapeSegmenter(Catalogue(list(entries)))


def put(scene, shape, x, y):
    """Put a red thing of some shape down, and return its true size [m]."""
    match shape:
        case "tin":
            scene.cylinder((x, y, TABLE + 0.055), 0.07, 0.11, RED)
            return 0.07, 0.07, 0.11
        case "ball":
            scene.sphere((x, y, TABLE + 0.04), 0.08, RED)
            return 0.08, 0.08, 0.08
        case "brick":
            scene.box((x, y, TABLE + 0.035), (0.12, 0.06, 0.07), RED, 0.5)
            return 0.12, 0.06, 0.07
        case "dish":
            for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False):
                spot = (x + 0.06 * np.cos(angle), y + 0.06 * np.sin(angle), TABLE + 0.025)
                scene.box(spot, (0.006, 0.018, 0.05), RED, angle)
            scene.cylinder((x, y, TABLE + 0.003), 0.12, 0.006, RED)
            return 0.126, 0.126, 0.05
    scene.box((x, y, TABLE + 0.02), (0.13, 0.05, 0.04), RED, 0.9)
    scene.sphere((x + 0.03 * np.cos(0.9), y + 0.03 * np.sin(0.9), TABLE + 0.065), 0.05, RED)
    return 0.13, 0.05, 0.09


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["tin", "ball", "brick", "dish", "toy"])
def test_of_things_of_one_colour_the_shape_tells_and_the_picture_measures(new_scene, shape):
    segmenter = segmenter_of(TIN, BALL, BRICK, DISH, TOY)
    for seed, spot in enumerate([(0.8, -0.15), (0.9, 0.1), (1.05, 0.0)]):
        scene = new_scene().table(0.6, TABLE)
        size = put(scene, shape, *spot)
        (found,) = segmenter.segment(scene.view(seed=seed), ["red tin", "red ball", "red brick", "red dish", "red toy"])
        assert found.label == f"red {shape}"
        # Of a bowl the pose alone is searched for, and a toy has the box around what is seen of it.
        near = 0.2 if shape in ("dish", "toy") else 0.06
        assert sorted(found.solid.solid.size) == pytest.approx(sorted(size), rel=near)
        assert np.hypot(found.solid.x - spot[0], found.solid.y - spot[1]) < (0.015 if shape == "toy" else 0.006)
        assert found.entry.as_seen
        assert found.entry.size_m == found.solid.solid.size


def test_what_has_another_shape_is_nothing(new_scene):
    for shape, others in (("tin", (BALL, BRICK, DISH, TOY)), ("brick", (TIN, BALL, DISH, TOY)), ("toy", (TIN, BRICK))):
        scene = new_scene().table(0.6, TABLE)
        put(scene, shape, 0.9, 0.05)
        assert segmenter_of(*others).segment(scene.view(), [one.name for one in others]) == []


def test_a_tall_can_is_no_bowl(new_scene):
    scene = new_scene().table(0.6, TABLE).cylinder((0.9, 0.0, TABLE + 0.09), 0.06, 0.18, RED)
    found = segmenter_of(TIN, DISH).segment(scene.view(), ["red tin", "red dish"])
    assert [one.label for one in found] == ["red tin"]


def test_what_fits_a_measured_thing_is_that_and_what_does_not_is_the_other(new_scene):
    can = entry_of("red can", "cylinder", (0.066, 0.066, 0.118))
    for diameter, height, label in ((0.066, 0.118, "red can"), (0.09, 0.08, "red tin")):
        scene = new_scene().table(0.6, TABLE).cylinder((0.85, 0.05, TABLE + height / 2), diameter, height, RED)
        found = segmenter_of(can, TIN).segment(scene.view(), ["red can", "red tin"])
        assert [one.label for one in found] == [label]


def test_of_what_is_half_hidden_the_size_is_not_seen(new_scene):
    scene = new_scene().table(0.6, TABLE)
    scene.box((0.95, 0.0, TABLE + 0.04), (0.08, 0.16, 0.08), RED)
    alone = scene.view()
    assert [one.label for one in segmenter_of(BRICK).segment(alone, ["red brick"])] == ["red brick"]
    behind = scene.box((0.8, 0.05, TABLE + 0.07), (0.03, 0.12, 0.14), BLUE).view()
    assert segmenter_of(BRICK).segment(behind, ["red brick"]) == []


def test_an_outline_that_the_picture_or_something_near_cuts_off_is_told(new_scene):
    def shares(scene, **view):
        picture = scene.view(**view)
        prepared = prepare(picture, [TABLE])
        labels, _ = ndimage.label((prepared.member(("red",)) > 100) & prepared.solidity)
        region = labels == np.argmax(np.bincount(labels.ravel())[1:]) + 1
        return cut_off(picture, region, prepared.supports.mask)

    box = new_scene().table(0.6, TABLE).box((0.95, 0.0, TABLE + 0.04), (0.08, 0.16, 0.08), RED)
    assert max(shares(box)) < 0.05
    assert shares(box, target=(0.9, 0.75, 0.4)) == (1.0, 1.0)
    can = new_scene().table(0.6, TABLE).cylinder((0.9, 0.0, TABLE + 0.08), 0.09, 0.16, BLUE)
    assert shares(can.cylinder((0.9, 0.0, TABLE + 0.08), 0.094, 0.05, RED))[1] > 0.5, "a band goes on above and below"
    hidden, _ = shares(box.box((0.8, 0.05, TABLE + 0.07), (0.03, 0.12, 0.14), BLUE))
    assert hidden > 0.25


@pytest.mark.parametrize(
    ("size", "picked"),
    [
        ((0.07, 0.07, 0.12), True),
        ((0.17, 0.11, 0.03), True),
        ((0.03, 0.03, 0.34), False),
        ((0.5, 0.1, 0.1), False),
        ((0.2, 0.2, 0.2), False),
        ((0.1, 0.1, 0.008), False),
    ],
)
def test_a_leg_a_board_and_furniture_are_no_things_to_pick(size, picked):
    assert can_be_picked(Solid("box", size)) == picked


def test_a_can_that_lies_has_the_size_with_which_it_stands(new_scene):
    scene = new_scene().table(0.6, TABLE).cylinder((0.85, 0.0, TABLE + 0.035), 0.07, 0.14, RED, yaw=0.4, lying=True)
    (found,) = segmenter_of(TIN, BRICK).segment(scene.view(), ["red tin", "red brick"])
    assert found.label == "red tin"
    assert found.solid.solid.lying
    assert found.entry.size_m == pytest.approx((0.07, 0.07, 0.14), rel=0.08)


def test_what_is_held_is_as_large_as_the_hand_measures_it():
    assert _as_held(BALL, 0.06, 0.05, 0.04).size_m == (0.06, 0.06, 0.06)
    assert _as_held(TIN, 0.06, 0.05, 0.1).size_m == (0.06, 0.06, 0.1)
    assert _as_held(BRICK, 0.06, 0.05, 0.1).size_m == (0.06, 0.05, 0.1)


def test_a_size_that_is_not_known_is_not_read():
    with pytest.raises(ValueError, match="its size is not known"):
        _ = BRICK.size_m


@pytest.mark.parametrize(("other", "likeness"), [(0.054, 0.0), (0.0625, 0.5), (0.08, 1.0), (None, 1.0)])
def test_a_shape_is_not_told_where_another_one_explains_the_region_as_well(new_scene, monkeypatch, other, likeness):
    """Costs of the box and of one other shape; those that do not fit at all have none."""
    view = new_scene().view()
    shapes = MeasuredShapes(view, view.valid, view.points[view.valid], 0.0)
    posed = Solid("box", (0.1, 0.1, 0.1)).place(0.8, 0.0, 0.0, 0.0)
    costs = {"box": 0.05, "cylinder": other, "lying cylinder": None, "sphere": None}
    measured = {shape: None if cost is None else Measured(posed, cost) for shape, cost in costs.items()}
    monkeypatch.setattr(shapes, "_measured", measured)
    assert shapes.likeness("box") == pytest.approx(likeness)
