"""Depth of the levels `typical` and `harsh`: as a stereo camera makes it, by the numbers of the table."""

import time

import mujoco
import numpy as np
import pytest
from scipy import ndimage

from quartet_simulation.errors import UnknownNameError
from quartet_simulation.sensors.frames import optical_pose
from quartet_simulation.sensors.levels import LEVELS, STEREO
from quartet_simulation.sensors.stereo import StereoDepth, edges
from quartet_simulation.simulation import Simulation
from quartet_simulation.worlds.compile import make_spec
from quartet_simulation.worlds.objects import CATALOGUE

FRONT = STEREO["front"]
GREY = np.full((480, 640, 3), 120, dtype=np.uint8)


@pytest.fixture(scope="module")
def parked(studio):
    """A model, its state with every object far from the cameras, and the id of the front camera."""
    model = make_spec(studio.world).compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data, model.camera("front").id


@pytest.fixture(scope="module", params=["typical", "harsh"])
def level(request):
    return LEVELS[request.param].depth


@pytest.fixture(scope="module")
def stereo(parked, level):
    return StereoDepth(parked[0], level, {})


def measure(stereo, parked, depth, rgb=GREY, *, seed=0, at=0.0, camera=FRONT):
    _, data, front = parked
    return stereo.measure(depth.astype(np.float32), rgb, camera, front, data, (seed, "front depth", at))


def wall(distance):
    return np.full((480, 640), distance)


@pytest.mark.parametrize("distance", [0.5, 1.0, 2.0, 4.0])
def test_the_error_grows_with_the_square_of_the_distance(stereo, parked, level, distance):
    expected = distance**2 * level.subpixel_px / (FRONT.focal_px * FRONT.baseline_m)
    # A little askew, so that steps of disparity and of whole millimetres add their part without a pattern.
    askew = wall(distance) + np.linspace(0, 0.02, 640)
    errors = np.concatenate([measure(stereo, parked, askew, seed=s) - askew for s in range(4)])
    steps = np.hypot(distance**2 * level.step_px / 32, 0.001) / np.sqrt(12)
    assert errors.std() == pytest.approx(np.hypot(expected, steps), rel=0.06)
    assert abs(errors.mean()) < 0.1 * expected + 0.0005


def test_the_law_gives_ten_millimetres_at_two_metres(parked):
    error = measure(StereoDepth(parked[0], LEVELS["typical"].depth, {}), parked, wall(2.0)) - 2.0
    assert 0.009 < error.std() < 0.011


def test_errors_of_neighbours_are_alike_over_the_matching_window(stereo, parked, level):
    error = measure(stereo, parked, wall(3.0)) - 3.0
    error -= error.mean()

    def correlation(shift):
        return (error[:, :-shift] * error[:, shift:]).mean() / error.var()

    # 7 pixels of the infrared picture are 4.4 of this one, 1/e is at 0.63 of that.
    assert correlation(1) > 0.8
    assert correlation(2) > np.exp(-1) > correlation(4)
    assert abs(correlation(12)) < 0.1


def test_disparities_are_quantised(stereo, parked, level):
    measured = measure(stereo, parked, wall(4.0))
    steps = FRONT.focal_px * FRONT.baseline_m / measured / level.step_px
    # Rounding to millimetres leaves a twentieth of a step.
    assert np.abs(steps - np.round(steps)).max() < 0.07
    assert len(np.unique(measured)) > 3


def test_the_shadow_is_to_the_left_of_what_is_near(stereo, parked):
    depth = wall(2.0)
    depth[200:280, 300:340] = 1.0
    lost = measure(stereo, parked, depth) == 0
    focal = 240 / np.tan(np.radians(31))
    width = focal * (FRONT.colour_offset_m + FRONT.baseline_m) * (1 / 1.0 - 1 / 2.0)
    row = lost[205:275]
    shadow = np.s_[300 - int(width) + 1 : 300]
    assert width == pytest.approx(13, abs=0.5)
    assert row[:, shadow].all()
    assert row[:, 342:360].mean() == 0.0
    assert row[:, 260 : 300 - int(width) - 2].mean() == 0.0
    assert row[:, 302:338].mean() == 0.0
    assert lost[290:].mean() == 0.0


def test_edges_lose_their_share_of_pixels(stereo, parked, level):
    depth = wall(2.0)
    depth[200:, :] = 1.0
    lost = np.array([measure(stereo, parked, depth, seed=s)[199:201] == 0 for s in range(20)])
    assert edges(depth.astype(np.float32))[199:201].all()
    assert lost.mean() == pytest.approx(level.edge_loss, abs=0.08)


def test_what_is_dark_has_holes_and_the_rest_has_none(stereo, parked, level):
    rgb = GREY.copy()
    rgb[:, 320:] = (20, 12, 22)
    lost = np.array([measure(stereo, parked, wall(1.5), rgb, seed=s) == 0 for s in range(4)])
    assert lost[..., 320:].mean() == pytest.approx(level.dark_loss, abs=0.05)
    assert lost[..., :320].mean() == 0.0


def test_nothing_is_nearer_than_the_least_distance(stereo, parked):
    for camera in STEREO.values():
        assert not measure(stereo, parked, wall(camera.nearest_m - 0.005), camera=camera).any()
        assert (measure(stereo, parked, wall(camera.nearest_m + 0.01), camera=camera) > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "share"), [("green bottle", "clear_loss"), ("red coke can", "glossy_loss")])
def test_glass_and_metal_have_holes(home, level, name, share):
    home.reset("home", 0)
    physics = home._physics
    x, y, yaw = physics.base_pose()
    home.place_object(name, x + 0.9 * np.cos(yaw), y + 0.9 * np.sin(yaw), 0.0)
    stereo = StereoDepth(physics.model, level, {name: home.world.kinds[name].finish})
    camera = physics.model.camera("front").id
    chance = np.zeros((480, 640))
    truth = truly(home)
    for seed in range(8):
        key = (seed, "front depth", 0.0)
        chance += stereo.measure(truth, GREY, FRONT, camera, physics.data, key) == 0
    on = near(home, truth, name) & ~grown(edges(truth), 14)
    off = ~near(home, truth, name, 0.05) & ~grown(edges(truth), 14) & (truth > 0.2)
    assert on.sum() > 100
    assert chance[on].mean() / 8 == pytest.approx(getattr(level, share), abs=0.12)
    assert chance[off].mean() / 8 < 0.01


def truly(sim):
    """The depth of the front camera without any sensor."""
    sim.render("front")
    return sim._cameras._draw("front", sim._physics.data, 640, 480)[1]


def near(sim, depth, name, margin=0.0):
    """HxW: points within the ball around an object."""
    info, pose = sim.camera_info("front"), optical_pose(sim._physics, "front")
    v, u = np.mgrid[0:480, 0:640]
    rays = np.stack([(u - info["cx"]) / info["fx"], (v - info["cy"]) / info["fy"], np.ones(u.shape)], axis=-1)
    points = (rays * depth[..., None]) @ pose[:3, :3].T + pose[:3, 3]
    centre = np.array(sim.truth()["objects"][name]["position"])
    away = points - centre
    return (np.hypot(away[..., 0], away[..., 1]) < CATALOGUE[name].radius + 0.002 + margin) & (
        np.abs(away[..., 2]) < CATALOGUE[name].half_height - 0.004 + margin
    )


def grown(mask, pixels):
    return ndimage.binary_dilation(mask, iterations=pixels)


def test_a_picture_depends_on_seed_and_time_alone(stereo, parked):
    first = measure(stereo, parked, wall(2.0), seed=3, at=1.0)
    assert np.array_equal(first, measure(stereo, parked, wall(2.0), seed=3, at=1.0))
    assert not np.array_equal(first, measure(stereo, parked, wall(2.0), seed=4, at=1.0))
    assert not np.array_equal(first, measure(stereo, parked, wall(2.0), seed=3, at=1.01))


def test_the_simulation_has_the_level_that_it_is_told():
    sim = Simulation("studio", 5, sensors="typical")
    try:
        first = [sim.render(camera) for camera in ("front", "arm")]
        sim.reset("studio", 5)
        again = [sim.render(camera) for camera in ("front", "arm")]
        assert all(np.array_equal(a, b) for x, y in zip(first, again, strict=True) for a, b in zip(x, y, strict=True))
        assert (first[0][1] == 0).mean() > 0.005
        began = time.process_time()
        for _ in range(5):
            sim._cameras._stereo.measure(first[0][1], first[0][0], FRONT, 0, sim._physics.data, (0, "front", 0.0))
        # A frame may take 25 ms with all effects, and rendering takes up to 20 of them.
        assert (time.process_time() - began) / 5 < 0.02
    finally:
        sim.close()


def test_a_level_that_there_is_not_is_refused():
    with pytest.raises(UnknownNameError, match="unknown level of sensors 'foggy'; valid: clean, harsh, typical"):
        Simulation("studio", sensors="foggy")
