"""The default segmenter on pictures whose geometry is known to the tenth of a millimetre."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from quartet_perception.catalogue import Catalogue, CatalogueEntry
from quartet_perception.errors import BadImageError, UnknownObjectError
from quartet_perception.scene.regions import MEMBER, blobs_of, prepare
from quartet_perception.scene.solids import solids_of
from quartet_perception.scene.view import Intrinsics, View
from quartet_perception.segmenters.base import create_segmenter, segmenter_names
from quartet_perception.segmenters.colour_shape import ColourShapeSegmenter
from quartet_site.site import Appearance, Part

TABLE = 0.45
LIGHTS = {"normal": (1.0, 1.0, 1.0), "dim": (0.45, 0.45, 0.45), "warm": (1.0, 0.88, 0.68), "cool": (0.8, 0.9, 1.0)}


@pytest.fixture(scope="module")
def segmenter(catalogue):
    return ColourShapeSegmenter(catalogue)


def stand(scene, colours, name, x, y, yaw=0.0, on=TABLE):
    """Put a thing of the catalogue down."""
    match name:
        case "red coke can":
            scene.cylinder((x, y, on + 0.059), 0.066, 0.118, colours["red"])
        case "red cup":
            scene.cylinder((x, y, on + 0.046), 0.078, 0.092, colours["red"])
        case "red apple":
            scene.sphere((x, y, on + 0.037), 0.074, colours["red"])
        case "yellow cereal box":
            scene.box((x, y, on + 0.1), (0.15, 0.06, 0.2), colours["yellow"], yaw)
        case "blue book":
            scene.box((x, y, on + 0.0175), (0.17, 0.11, 0.035), colours["blue"], yaw)
        case "green toy block":
            scene.box((x, y, on + 0.0275), (0.055, 0.055, 0.055), colours["green"], yaw)
    return scene


def table_set(new_scene, colours, seed):
    """All six objects somewhere on the table, and where."""
    rng = np.random.default_rng(seed)
    scene, where = new_scene().table(0.6, TABLE), {}
    for name in ("red coke can", "red cup", "red apple", "yellow cereal box", "blue book", "green toy block"):
        for _ in range(500):
            spot = rng.uniform((0.68, -0.40), (1.10, 0.40))
            # Apart, and not one right behind the other.
            if all(np.hypot(*(spot - o)) > 0.16 and abs(spot[1] - o[1]) > 0.1 for o in where.values()):
                break
        where[name] = spot
        stand(scene, colours, name, *spot, yaw=rng.uniform(0, np.pi))
    return scene, where


@pytest.mark.slow
@pytest.mark.parametrize("light", LIGHTS)
@pytest.mark.parametrize("seed", [0, 1])
def test_everything_is_found_once_and_in_its_place(segmenter, new_scene, colours, light, seed):
    scene, where = table_set(new_scene, colours, seed)
    found = segmenter.segment(scene.view(light=LIGHTS[light], seed=seed), list(where))
    assert sorted(f.label for f in found) == sorted(where)
    for item in found:
        error = np.hypot(item.solid.x - where[item.label][0], item.solid.y - where[item.label][1])
        assert error < 0.008, (item.label, error)
        assert item.support_z == pytest.approx(TABLE, abs=0.003)
        assert item.score > 0.7
        assert item.mask.sum() > 50


@pytest.mark.parametrize("missing", ["red coke can", "red cup", "red apple"])
def test_things_of_its_colour_do_not_stand_in_for_a_missing_one(segmenter, new_scene, colours, missing):
    scene = new_scene().table(0.6, TABLE)
    for name, y in (("red coke can", -0.25), ("red cup", 0.0), ("red apple", 0.25)):
        if name != missing:
            stand(scene, colours, name, 0.85, y)
    view = scene.view()
    assert segmenter.segment(view, [missing]) == []
    assert len(segmenter.segment(view, ["red coke can", "red cup", "red apple"])) == 2


def test_a_half_hidden_thing_is_found(segmenter, new_scene, colours):
    scene = stand(new_scene().table(0.6, TABLE), colours, "red coke can", 0.95, 0.0)
    eye = np.array([0.05, 0.24])
    before = np.array([0.95, 0.0]) + (eye - [0.95, 0.0]) / np.linalg.norm(eye - [0.95, 0.0]) * 0.11
    scene.box((before[0], before[1] + 0.03, TABLE + 0.05), (0.05, 0.06, 0.10), colours["green"])
    found = segmenter.segment(scene.view(), ["coke can"])
    assert [f.label for f in found] == ["red coke can"]
    assert found[0].visible < 0.9
    assert np.hypot(found[0].solid.x - 0.95, found[0].solid.y) < 0.006


def test_a_hidden_thing_is_not_found(segmenter, new_scene, colours):
    scene = stand(new_scene().table(0.6, TABLE), colours, "red apple", 1.05, 0.0)
    scene.box((0.85, 0.05, TABLE + 0.15), (0.04, 0.4, 0.3), colours["green"])
    assert segmenter.segment(scene.view(), ["red apple"]) == []


def test_a_fallen_can_is_still_a_can(segmenter, new_scene, colours):
    scene = (
        new_scene()
        .table(0.6, TABLE)
        .cylinder((0.85, 0.1, TABLE + 0.033), 0.066, 0.118, colours["red"], yaw=0.6, lying=True)
    )
    found = segmenter.segment(scene.view(), ["red coke can"])
    assert len(found) == 1
    assert found[0].solid.solid.lying
    assert np.hypot(found[0].solid.x - 0.85, found[0].solid.y - 0.1) < 0.008


def test_a_red_wall_and_a_red_crate_are_no_red_can(segmenter, new_scene, colours):
    scene = (
        new_scene()
        .box((1.6, 0.0, 0.8), (0.05, 2.0, 1.6), colours["red"])
        .box((0.9, 0.2, 0.2), (0.4, 0.4, 0.4), colours["red"])
    )
    assert segmenter.segment(scene.view(), ["red coke can", "red cup", "red apple"]) == []


@pytest.mark.parametrize("shape", ["box", "cylinder"])
@pytest.mark.parametrize("under_a_top", [True, False])
def test_the_lower_end_of_a_red_leg_is_no_red_can(segmenter, new_scene, colours, shape, under_a_top):
    scene = new_scene()
    if shape == "box":
        scene.box((0.95, 0.1, 0.35), (0.06, 0.06, 0.7), colours["red"], 0.3)
    else:
        scene.cylinder((0.95, 0.1, 0.35), 0.06, 0.7, colours["red"])
    if under_a_top:
        scene.box((0.95, 0.1, 0.72), (0.3, 0.5, 0.04), colours["wood"])
    assert segmenter.segment(scene.view(noise=0.004), ["red coke can", "red cup"]) == []


def test_touching_things_of_one_colour_are_told_apart(segmenter, new_scene, colours):
    scene = new_scene().table(0.6, TABLE)
    stand(scene, colours, "red coke can", 0.85, 0.04)
    stand(scene, colours, "red cup", 0.85, -0.035)
    found = {f.label: f for f in segmenter.segment(scene.view(), ["red coke can", "red cup"])}
    assert set(found) == {"red coke can", "red cup"}
    assert abs(found["red coke can"].solid.y - 0.04) < 0.01
    assert abs(found["red cup"].solid.y + 0.035) < 0.01


LOOK_ALIKES = {
    "a wider jar": ("red coke can", lambda scene, red: scene.cylinder((0.85, 0.1, TABLE + 0.06), 0.078, 0.12, red)),
    "a ball": ("red cup", lambda scene, red: scene.sphere((0.85, 0.1, TABLE + 0.05), 0.1, red)),
    "a carton": ("red coke can", lambda scene, red: scene.box((0.85, 0.1, TABLE + 0.06), (0.07, 0.07, 0.12), red, 0.3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("alike", LOOK_ALIKES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_is_in_no_catalogue_and_much_like_a_thing_is_told_from_it_from_near(
    catalogue, new_scene, colours, alike, seed
):
    """From afar, and by a catalogue whose sizes are only guessed, each of them could be the thing."""
    name, put = LOOK_ALIKES[alike]
    scene = put(new_scene().table(0.6, TABLE), colours["red"])
    measured, guessed = (ColourShapeSegmenter(with_size_error(catalogue, error)) for error in (0.02, 0.4))
    assert measured.segment(scene.view(seed=seed, noise=0.003), [name]) == []
    if alike == "a wider jar":
        assert [f.label for f in guessed.segment(scene.view(seed=seed, noise=0.003), [name])] == [name]
        afar = scene.view(seed=seed, noise=0.003, eye=(-0.9, 0.24, 1.38))
        assert [f.label for f in measured.segment(afar, [name])] == [name]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bowl", [True, False])
def test_a_bowl_is_not_two_blocks_and_two_blocks_are(segmenter, new_scene, colours, bowl, seed):
    rng = np.random.default_rng(seed)
    x, y, yaw = *rng.uniform((0.8, -0.2), (0.95, 0.2)), rng.uniform(0, 3)
    scene, middle, green = new_scene().table(0.6, TABLE), TABLE + 0.0275, colours["green"]
    if bowl:
        scene.cylinder((x, y, middle), 0.118, 0.055, green)
    else:
        dx, dy = 0.029 * np.cos(yaw), 0.029 * np.sin(yaw)
        for side in (1, -1):
            scene.box((x + side * dx, y + side * dy, middle), (0.055, 0.055, 0.055), green, yaw)
    found = segmenter.segment(scene.view(noise=0.003, seed=seed), ["green toy block"])
    assert [f.label for f in found] == ([] if bowl else ["green toy block"] * 2)


def test_what_lies_in_a_bin_is_not_compared_with_other_shapes(catalogue, new_scene, colours):
    """It may lean on a wall or on another thing, so that no pose of it explains the picture well."""
    above = {"eye": (0.5, 0.1, 1.2), "target": (0.86, 0.1, 0.0), "noise": 0.003}
    jar = new_scene().cylinder((0.85, 0.1, 0.06), 0.078, 0.12, colours["red"])
    measured = ColourShapeSegmenter(with_size_error(catalogue, 0.02))
    assert measured.segment(jar.view(**above), ["red coke can"]) == []
    for x, y, sx, sy in ((-0.16, 0, 0.01, 0.32), (0.16, 0, 0.01, 0.32), (0, 0.16, 0.32, 0.01), (0, -0.16, 0.32, 0.01)):
        jar.box((0.85 + x, 0.1 + y, 0.12), (sx, sy, 0.24), colours["wood"])
    assert [f.label for f in measured.segment(jar.view(**above), ["red coke can"])] == ["red coke can"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_thing_of_which_the_catalogue_has_the_size_is_not_taken_for_another_one(catalogue, new_scene, colours, seed):
    scene, where = table_set(new_scene, colours, seed)
    measured = ColourShapeSegmenter(with_size_error(catalogue, 0.02))
    found = measured.segment(scene.view(seed=seed, noise=0.003), list(where))
    assert sorted(f.label for f in found) == sorted(where)


DUCK = CatalogueEntry(
    "yellow duck", "object", Appearance(colours=["yellow"], shape="irregular", size_m=(0.106, 0.055, 0.085))
)
"""Its sizes are a person's guesses, each off by up to a tenth."""


@pytest.fixture(scope="module")
def with_duck(catalogue):
    return ColourShapeSegmenter(Catalogue([*catalogue.entries, DUCK]))


def put_duck(scene, yellow, x, y, yaw):
    scene.box((x, y, TABLE + 0.025), (0.085, 0.06, 0.05), yellow, yaw)
    return scene.sphere((x + 0.022 * np.cos(yaw), y + 0.022 * np.sin(yaw), TABLE + 0.065), 0.048, yellow)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_something_irregular_is_known_by_the_box_around_it(with_duck, new_scene, colours, seed):
    x, y, yaw = np.random.default_rng(seed).uniform((0.75, -0.2, -3), (1.0, 0.2, 3))
    scene = put_duck(new_scene().table(0.6, TABLE), colours["yellow"], x, y, yaw)
    found = with_duck.segment(scene.view(seed=seed, noise=0.003), ["yellow duck", "yellow cereal box"])
    assert [f.label for f in found] == ["yellow duck"]
    assert np.hypot(found[0].solid.x - x, found[0].solid.y - y) < 0.02


def test_something_irregular_whose_parts_are_known_has_their_shape():
    (whole,) = solids_of(DUCK.appearance)
    body = Part(shape="box", size_m=(0.085, 0.06, 0.05), offset_m=(0.0, 0.0, 0.0))
    compound = solids_of(DUCK.appearance.model_copy(update={"parts": [body]}))[0]
    assert (whole.irregular, len(whole.parts)) == (True, 0)
    assert (compound.irregular, len(compound.parts)) == (False, 1)


NO_DUCKS = {
    "a can": lambda scene, yellow: scene.cylinder((0.85, 0.1, TABLE + 0.043), 0.08, 0.086, yellow),
    "a carton": lambda scene, yellow: scene.box((0.85, 0.1, TABLE + 0.043), (0.105, 0.055, 0.086), yellow, 0.4),
    "a ball": lambda scene, yellow: scene.sphere((0.85, 0.1, TABLE + 0.045), 0.09, yellow),
    "a larger animal": lambda scene, yellow: scene.box((0.85, 0.1, TABLE + 0.04), (0.15, 0.09, 0.08), yellow).sphere(
        (0.9, 0.1, TABLE + 0.1), 0.08, yellow
    ),
    "a flat one": lambda scene, yellow: scene.box((0.85, 0.1, TABLE + 0.015), (0.1, 0.055, 0.03), yellow).sphere(
        (0.87, 0.1, TABLE + 0.035), 0.03, yellow
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("other", NO_DUCKS)
@pytest.mark.parametrize("seed", range(3))
def test_something_regular_or_of_another_size_is_nothing_irregular(with_duck, new_scene, colours, other, seed):
    scene = NO_DUCKS[other](new_scene().table(0.6, TABLE), colours["yellow"])
    assert with_duck.segment(scene.view(seed=seed, noise=0.003), ["yellow duck"]) == []


def with_size_error(catalogue, error):
    entries = [
        replace(entry, appearance=entry.appearance.model_copy(update={"size_error": error}))
        for entry in catalogue.entries
    ]
    return Catalogue(entries)


def test_surfaces_are_told_by_height_and_colour(segmenter, new_scene, colours):
    view = new_scene().table(0.6, TABLE).view()
    assert [f.label for f in segmenter.segment(view, ["table", "counter"])] == ["wooden table"]
    low = new_scene().table(0.6, 0.30).view()
    assert segmenter.segment(low, ["table"]) == []
    green = new_scene().table(0.6, TABLE, colours["green"]).view()
    assert segmenter.segment(green, ["table"]) == []


def test_a_surface_whose_depth_has_holes_has_its_own_size(segmenter, new_scene):
    """A stereo camera loses many a pixel of a dark or shiny top; where those are is not known."""
    view = new_scene().table(0.6, TABLE).view()
    depth = np.where(np.random.default_rng(3).random(view.depth.shape) < 0.05, np.float32(0), view.depth)
    found = segmenter.segment(replace(view, depth=depth), ["table"])
    assert [f.label for f in found] == ["wooden table"]
    assert (found[0].mask & (depth == 0)).sum() == 0


def bin_scene(scene, colour, *, closed=False):
    if closed:
        return scene.box((0.9, 0.0, 0.15), (0.3, 0.3, 0.3), colour)
    for centre, size in (
        ((0.9, 0.0, 0.005), (0.3, 0.3, 0.01)),
        ((0.755, 0.0, 0.15), (0.01, 0.3, 0.3)), ((1.045, 0.0, 0.15), (0.01, 0.3, 0.3)),
        ((0.9, 0.145, 0.15), (0.3, 0.01, 0.3)), ((0.9, -0.145, 0.15), (0.3, 0.01, 0.3)),
    ):  # fmt: skip
        scene.box(centre, size, colour)
    return scene


def test_a_bin_is_open_and_a_block_is_not(segmenter, new_scene, colours):
    view = bin_scene(new_scene(), colours["blue"]).view(target=(0.9, 0.0, 0.2))
    found = segmenter.segment(view, ["trash can"])
    assert [f.label for f in found] == ["blue bin"]
    assert np.hypot(found[0].solid.x - 0.9, found[0].solid.y) < 0.02
    closed = bin_scene(new_scene(), colours["blue"], closed=True).view(target=(0.9, 0.0, 0.2))
    assert segmenter.segment(closed, ["trash can"]) == []


def test_one_instance_of_a_catalogue_name_is_reported_per_thing_seen(segmenter, new_scene, colours):
    scene = new_scene().table(0.6, TABLE)
    stand(scene, colours, "red apple", 0.8, -0.2)
    stand(scene, colours, "red apple", 0.8, 0.2)
    assert [f.label for f in segmenter.segment(scene.view(), ["apple"])] == ["red apple", "red apple"]


def test_an_unknown_name_is_an_error(segmenter, new_scene):
    with pytest.raises(UnknownObjectError, match="banana"):
        segmenter.segment(new_scene().view(stride=4), ["banana"])


def test_a_picture_without_depth_shows_nothing(segmenter, new_scene, colours):
    seen = stand(new_scene().table(0.6, TABLE), colours, "red apple", 0.85, 0.0).view()
    blind = View(seen.rgb, np.zeros_like(seen.depth), seen.intrinsics, seen.base_from_camera)
    assert segmenter.segment(blind, ["red apple", "table", "bin"]) == []


def test_pictures_that_cannot_be_used_say_why():
    k, pose = Intrinsics(500, 500, 320, 240), np.eye(4)
    with pytest.raises(BadImageError, match="aligned to colour"):
        View(np.zeros((48, 64, 3), np.uint8), np.zeros((24, 32), np.float32), k, pose)
    with pytest.raises(BadImageError, match="uint8"):
        View(np.zeros((48, 64), np.uint8), np.zeros((48, 64), np.float32), k, pose)
    with pytest.raises(BadImageError, match="focal length"):
        View(np.zeros((48, 64, 3), np.uint8), np.zeros((48, 64), np.float32), Intrinsics(0, 0, 0, 0), pose)


def test_segmenters_are_made_by_name(catalogue):
    assert "colour_shape" in segmenter_names()
    assert isinstance(create_segmenter("colour_shape", catalogue), ColourShapeSegmenter)
    with pytest.raises(ValueError, match="'magic' is not known; valid: colour_shape"):
        create_segmenter("magic", catalogue)


def test_a_can_under_the_camera_is_known_by_a_crescent_of_its_wall(segmenter, new_scene, colours):
    """Its lid is pale; a pale cylinder without that crescent, or with another one, is no such can."""
    pale = (0.85, 0.85, 0.83)

    def seen(wall):
        scene = new_scene().table(0.6, 0.45)
        scene.cylinder((0.85, 0.0, 0.45 + 0.056), 0.066, 0.112, wall)
        scene.cylinder((0.85, 0.0, 0.45 + 0.115), 0.064, 0.006, pale)
        return [
            one.label
            for one in segmenter.segment(scene.view(eye=(0.79, 0.0, 0.90), target=(0.83, 0, 0.5)), ["coke can"])
        ]

    assert seen(colours["red"]) == ["red coke can"]
    assert seen(pale) == []
    assert seen(colours["green"]) == []


@pytest.mark.parametrize("lost", [0.5, 0.85])
def test_a_thing_whose_depth_is_full_of_holes_is_one_thing(segmenter, new_scene, colours, lost):
    """Dark and glossy things return depth in a part of their pixels, in patches: half, or a sixth in a dim room."""
    scene = new_scene().table(0.6, 0.45).cylinder((1.2, 0.0, 0.45 + 0.059), 0.066, 0.118, colours["red"])
    whole = scene.view()
    (found,) = segmenter.segment(whole, ["coke can"])
    patches = ndimage.gaussian_filter(np.random.default_rng(3).normal(size=whole.shape), 1.2)
    least = np.quantile(patches[found.mask], lost)
    depth = np.where(found.mask & (patches < least), 0, whole.depth).astype(np.float32)
    assert float((depth[found.mask] == 0).mean()) == pytest.approx(lost, abs=0.1)
    (again,) = segmenter.segment(replace(whole, depth=depth), ["coke can"])
    assert again.label == "red coke can"
    assert again.in_view > 0.8, "what has its colour is seen, with or without depth"
    assert again.visible < 0.6
    assert np.hypot(again.solid.x - 1.2, again.solid.y) < 0.01


def test_depth_that_is_lost_between_two_things_joins_neither_to_the_other(new_scene, colours):
    """Two cans side by side in the picture, one behind the other; no pixel along their border has depth."""
    scene = new_scene().table(0.6, TABLE)
    for x, y in ((1.0, 0.028), (1.13, -0.036)):
        scene.cylinder((x, y, TABLE + 0.059), 0.066, 0.118, colours["red"])
    view = scene.view()
    red = prepare(view, [TABLE]).member(("red",)) > MEMBER
    beyond = view.points[..., 0] > 1.065
    near, far = (ndimage.binary_dilation(red & one, iterations=3) for one in (~beyond, beyond))
    assert (near & far).any(), "they touch in the picture"
    depth = np.where(near & far, 0, view.depth).astype(np.float32)
    blobs = list(blobs_of(prepare(replace(view, depth=depth), [TABLE]), ("red",)))
    assert [round(float(blob.low[0]), 1) for blob in blobs] == [1.0, 1.1]


@pytest.mark.parametrize(("gap_m", "there"), [(None, True), (0.066, True), (0.139, False), (0.001, False)])
def test_nothing_hangs_in_an_empty_hand(segmenter, new_scene, colours, gap_m, there):
    """The fingers themselves look like something now and then; how far they are apart tells whether they hold it."""
    scene = new_scene().table(0.6, TABLE).cylinder((0.9, 0.0, 0.9), 0.066, 0.118, colours["red"])
    down = np.diag([1.0, -1.0, -1.0, 1.0])
    down[:3, 3] = (0.9, 0.0, 0.9 + 0.14)
    found = segmenter.segment(replace(scene.view(), tool_in_base=down, finger_gap_m=gap_m), ["coke can"])
    assert [one.in_gripper for one in found] == [True] * there


def test_what_is_beyond_the_edge_of_the_picture_is_not_in_view(segmenter, new_scene, colours):
    scene = new_scene().table(0.6, 0.45).cylinder((1.2, 0.0, 0.45 + 0.059), 0.066, 0.118, colours["red"])
    whole = scene.view()
    (found,) = segmenter.segment(whole, ["coke can"])
    middle = round((found.box_xyxy[0] + found.box_xyxy[2]) / 2)
    k = whole.intrinsics
    cut = replace(
        whole,
        rgb=whole.rgb[:, middle:],
        depth=whole.depth[:, middle:],
        intrinsics=Intrinsics(k.fx, k.fy, k.cx - middle, k.cy),
    )
    (half,) = segmenter.segment(cut, ["coke can"])
    assert half.in_view < 0.7


def test_pixels_without_depth_do_not_join_things_of_which_one_is_behind_the_other(segmenter, new_scene, colours):
    """There is hardly any depth at the edges of things."""
    scene = new_scene().table(0.6, 0.45)
    scene.cylinder((1.1, 0.0, 0.45 + 0.059), 0.066, 0.118, colours["red"])
    scene.cylinder((1.3, 0.05, 0.45 + 0.059), 0.066, 0.118, colours["red"])
    whole = scene.view()
    step = np.abs(ndimage.maximum_filter(whole.depth, 3) - ndimage.minimum_filter(whole.depth, 3)) > 0.03
    holed = replace(whole, depth=np.where(ndimage.binary_dilation(step), 0, whole.depth).astype(np.float32))
    found = segmenter.segment(holed, ["coke can"])
    assert sorted(round(one.solid.x, 1) for one in found) == [1.1, 1.3]
