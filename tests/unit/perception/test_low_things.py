"""Things that are hardly higher than what they lie on: a ring in the colour of its table, the floor of a tray."""

import itertools
import math

import numpy as np
import pytest

from quartet_perception.catalogue import Catalogue, CatalogueEntry
from quartet_perception.scene.fit_quality import lost_in_noise
from quartet_perception.scene.regions import blobs_of, prepare
from quartet_perception.segmenters.colour_shape import ColourShapeSegmenter
from quartet_site.site import Appearance, Part

TABLE = 0.45
WOOD, GREEN = (0.75, 0.66, 0.55), (0.1, 0.6, 0.1)
SIDE, BAR, RING_HEIGHT = 0.05, 0.01, 0.01
TRAY, WALL, FLOOR = (0.2, 0.12, 0.05), 0.004, 0.004
NEAR = {"eye": (0.75, 0.05, 1.0), "target": (0.9, 0.0, TABLE)}


def bars():
    """Return size and middle of the four bars of a square ring [m]."""
    at = (SIDE - BAR) / 2
    return [((BAR, SIDE, RING_HEIGHT), (s * at, 0.0)) for s in (1, -1)] + [
        ((SIDE, BAR, RING_HEIGHT), (0.0, s * at)) for s in (1, -1)
    ]


@pytest.fixture(scope="module")
def entries():
    table = Appearance(colours=["#bfa88c"], shape="surface", size_m=(0.6, 1.0, TABLE))
    parts = [Part(shape="box", size_m=size, offset_m=(x, y, 0.0)) for size, (x, y) in bars()]
    ring = Appearance(colours=["#808080"], shape="box", size_m=(SIDE, SIDE, RING_HEIGHT), parts=parts)
    tray = Appearance(colours=["green"], shape="container", size_m=TRAY)
    return [
        CatalogueEntry("table", "surface", table),
        CatalogueEntry("ring", "object", ring),
        CatalogueEntry("tray", "container", tray),
    ]


@pytest.fixture(scope="module")
def segmenter(entries):
    return ColourShapeSegmenter(Catalogue(entries), stacked=True)


def lay_ring(scene, x, y, yaw, rgb, on=TABLE):
    c, s = math.cos(yaw), math.sin(yaw)
    for size, (u, v) in bars():
        scene.box((x + c * u - s * v, y + s * u + c * v, on + RING_HEIGHT / 2), size, rgb, yaw)
    return scene


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("rgb", [(0.5, 0.5, 0.5), (0.62, 0.6, 0.55)], ids=["gray", "as the table"])
def test_a_ring_in_the_colour_of_its_table_is_found_by_its_relief(segmenter, new_scene, seed, rgb):
    rng = np.random.default_rng(seed)
    x, y, yaw = rng.uniform((0.8, -0.1, -0.7), (1.0, 0.1, 0.7))
    view = lay_ring(new_scene().table(0.6, TABLE, WOOD), x, y, yaw, rgb).view(**NEAR, noise=0.003, seed=seed)
    (found,) = segmenter.segment(view, ["ring"])
    assert found.solid.centre == pytest.approx((x, y, TABLE + RING_HEIGHT / 2), abs=0.004)
    assert abs(math.remainder(found.solid.yaw - yaw, math.pi / 2)) < 0.1


def test_steps_of_its_height_are_no_ring(segmenter, new_scene):
    scene = new_scene().table(0.6, TABLE, WOOD)
    scene.box((0.9, 0.15, TABLE + 0.01), (0.1, 0.3, 0.02), (0.9, 0.9, 0.9))
    scene.box((0.9, -0.1, TABLE + 0.005), (0.05, 0.16, 0.01), (0.5, 0.5, 0.5))
    lay_ring(scene, 0.8, -0.2, 0.3, (0.8, 0.1, 0.1))
    assert segmenter.segment(scene.view(**NEAR, noise=0.003), ["ring"]) == []


@pytest.mark.parametrize("yaw", [0.0, 0.4])
def test_a_tray_is_found_whose_floor_is_as_low_as_the_table(segmenter, new_scene, yaw):
    x, y, (a, b, height) = 0.9, 0.05, TRAY
    scene, c, s = new_scene().table(0.6, TABLE, WOOD), math.cos(yaw), math.sin(yaw)
    for (u, v), size in (
        ((a / 2, 0.0), (WALL, b, height)),
        ((-a / 2, 0.0), (WALL, b, height)),
        ((0.0, b / 2), (a, WALL, height)),
        ((0.0, -b / 2), (a, WALL, height)),
    ):
        scene.box((x + c * u - s * v, y + s * u + c * v, TABLE + height / 2), size, GREEN, yaw)
    scene.box((x, y, TABLE + FLOOR / 2), (a, b, FLOOR), GREEN, yaw)
    (found,) = segmenter.segment(scene.view(**NEAR), ["tray"])
    assert found.solid.centre == pytest.approx((x, y, TABLE + height / 2), abs=0.012)


@pytest.mark.slow
def test_a_ring_round_a_peg_on_a_board_is_found(new_scene, entries):
    board = Appearance(colours=["#ffffff"], shape="surface", size_m=(0.1, 0.4, TABLE + 0.02))
    known = [*entries, CatalogueEntry("board", "surface", board)]
    x, y, up = 0.9, 0.0, 0.02
    scene = new_scene().table(0.6, TABLE, WOOD).box((x, y, TABLE + up / 2), (0.1, 0.4, up), (0.9, 0.9, 0.9))
    scene.box((x, y, TABLE + 0.06), (0.025, 0.025, 0.12), (0.8, 0.1, 0.1), 0.2)
    lay_ring(scene, x, y, 0.2, (0.5, 0.5, 0.5), TABLE + up)
    view = scene.view(eye=(0.8, 0.1, 0.8), target=(0.9, 0.0, TABLE), noise=0.003)
    (found,) = ColourShapeSegmenter(Catalogue(known), stacked=True).segment(view, ["ring"])
    assert found.solid.centre == pytest.approx((x, y, TABLE + up + RING_HEIGHT / 2), abs=0.006)


WOODEN, BLUISH = (0.72, 0.52, 0.33), (0.55, 0.6, 0.68)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("away", "floor", "noise", "lost"),
    [
        (2.6, WOODEN, 0.003, True),
        (2.6, WOODEN, 0.0005, False),
        (1.0, WOODEN, 0.003, False),
        (2.6, BLUISH, 0.003, False),
    ],
    ids=["far", "little noise", "near", "on another colour"],
)
def test_a_low_block_is_lost_in_noise_on_a_floor_of_its_colour(new_scene, away, floor, noise, lost):
    """Patches of a wooden floor were found as small wooden cubes from more than 2 m away."""
    block = Appearance(colours=["#b88554"], shape="box", size_m=(0.05, 0.05, 0.025))
    segmenter = ColourShapeSegmenter(Catalogue([CatalogueEntry("block", "object", block)]))

    def seen(noise):
        scene = new_scene().box((away, 0.0, 0.09), (1.6, 1.6, 0.02), floor)
        scene.box((away, 0.0, 0.1125), (0.05, 0.05, 0.025), WOODEN)
        return scene.view(target=(away, 0.0, 0.1), noise=noise)

    (found,) = segmenter.segment(seen(0.0002), ["block"])
    view = seen(noise)
    assert lost_in_noise(view, found.solid, prepare(view, [], None).member(tuple(block.colours))) == lost


def test_what_is_high_is_not_lost_before_a_wall_on_a_narrow_table_of_its_colour(new_scene):
    """A wall behind it, a box beside it and the floor before it lie at all heights, which is no noise."""
    ball = Appearance(colours=["#b88554"], shape="sphere", size_m=(0.074, 0.074, 0.074))
    segmenter = ColourShapeSegmenter(Catalogue([CatalogueEntry("ball", "object", ball)]))
    scene = new_scene().box((1.3, 0.0, 0.70), (0.36, 1.2, 0.06), WOODEN).sphere((1.3, 0.0, 0.767), 0.074, WOODEN)
    scene.box((1.53, 0.0, 1.0), (0.1, 3.0, 2.0), BLUISH).box((1.3, 0.12, 0.83), (0.1, 0.1, 0.2), WOODEN)
    view = scene.view(target=(1.3, 0.0, 0.73), noise=0.003)
    found = segmenter.segment(view, ["ball"])
    assert [one.label for one in found] == ["ball"]


@pytest.mark.slow
@pytest.mark.parametrize("free", [True, False])
def test_what_is_lost_in_noise_is_not_seen(new_scene, monkeypatch, free):
    monkeypatch.setattr("quartet_perception.segmenters.colour_shape.lost_in_noise", lambda *_: not free)
    view = new_scene().box((0.9, 0.0, 0.025), (0.05, 0.05, 0.05), (0.1, 0.6, 0.1)).view()
    block = Appearance(colours=["green"], shape="box", size_m=(0.05, 0.05, 0.05))
    segmenter = ColourShapeSegmenter(Catalogue([CatalogueEntry("block", "object", block)]))
    assert bool(segmenter.segment(view, ["block"])) == free


@pytest.mark.parametrize("beside", [(0.05, 0.05), (0.4, 0.4)])
def test_a_mat_of_its_colour_is_no_part_of_a_low_thing(new_scene, beside):
    """The plane takes the foot of a block, and all of the mat that it stands beside or on."""
    scene = new_scene().box((0.9, 0.0, 0.0165), (0.033, 0.033, 0.033), GREEN)
    scene.box((0.9 + 0.0165 + beside[0] / 2, 0.0, 0.001), (*beside, 0.002), GREEN)
    block = max(blobs_of(prepare(scene.view(noise=0.003), [0.0]), ("green",)), key=lambda blob: blob.pixels)
    assert float((block.high - block.low)[:2].max()) < 0.06


def test_a_low_thing_on_a_floor_with_patches_of_its_colour_takes_none_of_them(new_scene):
    """Noise raises some of the patches by as much as the foot of the block rises."""
    scene = new_scene().box((0.9, 0.0, 0.0165), (0.033, 0.033, 0.033), GREEN)
    for x, y in itertools.product(np.arange(0.78, 1.03, 0.026), np.arange(-0.13, 0.14, 0.026)):
        scene.box((x, y, 0.0005), (0.017, 0.017, 0.001), GREEN)
    for seed in range(6):
        picture = prepare(scene.view(noise=0.005, patches=2.0, seed=seed), [0.0])
        for blob in blobs_of(picture, ("green",)):
            assert picture.solidity[blob.box][blob.inner].all()


def test_a_low_thing_takes_nothing_of_a_ledge_of_its_colour_that_goes_on(new_scene):
    """The plane takes a ledge of 1 cm, which rises as the foot of a thing does."""
    scene = new_scene().box((0.9, 0.0, 0.0165), (0.033, 0.033, 0.033), GREEN)
    scene.box((0.9, 0.0, 0.005), (0.012, 0.8, 0.01), GREEN)
    picture = prepare(scene.view(noise=0.001), [0.0])
    block = max(blobs_of(picture, ("green",)), key=lambda blob: blob.pixels)
    assert float((block.high - block.low)[:2].max()) < 0.06
