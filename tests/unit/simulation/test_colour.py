"""Colour of the levels `typical` and `harsh`: light, lens, motion and codec, by the numbers of the table."""

import io
import math

import numpy as np
import pytest
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from quartet_simulation.ros.cameras import jpeg
from quartet_simulation.sensors.colour import MOST_BLUR, ColourCamera, blurred, channel_gains, image_velocity
from quartet_simulation.sensors.frames import camera_info, optical_pose
from quartet_simulation.sensors.levels import LEVELS
from quartet_simulation.simulation import Simulation

GREY = np.full((480, 640, 3), 120, dtype=np.uint8)
DEPTH = np.full((480, 640), 1.5, dtype=np.float32)
EDGE = np.where(np.arange(640) < 320, 0, 200).astype(np.uint8)[None, :, None].repeat(480, axis=0).repeat(3, axis=2)


@pytest.fixture(scope="module")
def typical():
    sim = Simulation("studio", 0, sensors="typical")
    yield sim
    sim.close()


@pytest.fixture(scope="module", params=["typical", "harsh"])
def level(request):
    return LEVELS[request.param].colour


def measure(sim, level, *, seed=0, at=1.0, rgb=GREY, warmth=(1.0, 1.0, 1.0)):
    camera = sim._physics.model.camera("front").id
    camera_of = ColourCamera(sim._physics.model, level)
    return camera_of.measure(rgb, DEPTH, camera, sim._physics.data, (seed, "front colour", at), warmth)


def test_the_corners_are_as_dark_as_the_cosine_law_leaves_them(typical, level):
    seen = measure(typical, level).astype(float).mean(axis=2)
    ends = (slice(0, 24), slice(-24, None)), (slice(0, 32), slice(-32, None))
    corners = np.array([seen[rows, columns].mean() for rows in ends[0] for columns in ends[1]])
    middle = seen[228:252, 304:336].mean()
    focal = camera_info(typical._physics, "front")["fx"]
    law = math.cos(math.atan(math.hypot(304, 228) / focal)) ** level.vignetting
    assert corners / middle == pytest.approx(law, abs=0.02)


def test_white_balance_and_exposure_are_off_by_their_rms(level):
    gains = np.array([channel_gains(level, (seed, "front", at)) for seed in range(300) for at in (0.0, 17.0)])
    angle = np.arccos(np.clip(gains.sum(axis=1) / np.sqrt(3) / np.linalg.norm(gains, axis=1), -1, 1))
    assert np.sqrt((angle**2).mean()) == pytest.approx(level.white_rad, rel=0.2)
    assert np.log2(gains[:, 1]).std() == pytest.approx(level.exposure_stops, rel=0.15)


def test_red_and_blue_are_off_each_for_itself(level):
    gains = np.array([channel_gains(level, (seed, "front", 0.0)) for seed in range(300)])
    red, blue = gains[:, 0] / gains[:, 1] - 1, gains[:, 2] / gains[:, 1] - 1
    assert abs(np.corrcoef(red, blue)[0, 1]) < 0.2
    assert abs(np.corrcoef(red, np.log2(gains[:, 1]))[0, 1]) < 0.2


def test_the_colour_of_the_light_tints_the_picture(typical, level):
    lights = (1.0, 1.0, 1.0), (1.2, 1.0, 0.8)
    plain, warm = (measure(typical, level, warmth=light).astype(float).mean(axis=(0, 1)) for light in lights)
    assert warm / plain == pytest.approx([1.2, 1.0, 0.8], rel=0.02)


def test_the_gains_of_the_moment_are_in_the_picture(typical, level):
    middle = measure(typical, level)[228:252, 304:336].astype(float).mean(axis=(0, 1))
    assert middle == pytest.approx(120 * channel_gains(level, (0, "front colour", 1.0)), rel=0.02)


def test_what_is_too_bright_is_white(typical, level):
    white = measure(typical, level, rgb=np.full_like(GREY, 250), warmth=(2.0, 2.0, 2.0))
    assert white[200:280, 280:360].min() == 255


def test_exposure_changes_slowly_within_an_episode(level):
    times = np.linspace(0, 60, 601)
    brightness = np.log2([channel_gains(level, (4, "front", at))[1] for at in times])
    assert np.abs(np.diff(brightness)).max() < 0.2 * level.exposure_stops
    assert np.ptp(brightness) > level.exposure_stops


def test_the_picture_of_a_robot_that_turns_moves_as_its_points_do(typical):
    typical.reset("studio", 0)
    typical.spin(2.0)
    typical.step(0.8)
    physics = typical._physics
    focal = camera_info(physics, "front")["fx"]
    camera = physics.model.camera("front").id
    ahead = optical_pose(physics, "front") @ [0.0, 0.0, 1.5, 1.0]
    velocity = image_velocity(physics.model, physics.data, camera, focal, DEPTH)
    typical.step(0.02)
    x, y, z = (np.linalg.inv(optical_pose(physics, "front")) @ ahead)[:3]
    assert focal * np.array([x, y]) / z / 0.02 == pytest.approx(velocity, rel=0.1, abs=20)
    assert abs(velocity[0]) > 300


def test_the_velocity_of_the_picture_is_that_of_the_pixels_that_have_a_depth(typical):
    typical.reset("studio", 0)
    typical.spin(2.0)
    typical.step(0.8)
    physics = typical._physics
    depth = np.where(np.arange(640) < 400, 0.0, DEPTH).astype(np.float32)
    camera, focal = physics.model.camera("front").id, camera_info(physics, "front")["fx"]
    pictures = DEPTH, depth, np.zeros_like(DEPTH)
    whole, holed, empty = (image_velocity(physics.model, physics.data, camera, focal, seen) for seen in pictures)
    assert holed == pytest.approx(whole)
    # Without any depth only the rotation counts.
    assert empty == pytest.approx(image_velocity(physics.model, physics.data, camera, focal, DEPTH * 1e6), rel=1e-3)


def test_only_a_camera_that_moves_blurs(typical, level):
    typical.reset("studio", 0)
    typical.step(0.5)
    at_rest = _width_of_an_edge(measure(typical, level, rgb=EDGE))
    typical.spin(2.0)
    typical.step(0.8)
    assert at_rest <= 1
    assert _width_of_an_edge(measure(typical, level, rgb=EDGE)) > 3


def _width_of_an_edge(seen):
    """Return how many columns lie between dark and bright, where noise is averaged away."""
    row = seen[200:280, 280:360].astype(float).mean(axis=(0, 2))
    dark, bright = row[0], row[-1]
    return int(((row > dark + 0.15 * (bright - dark)) & (row < dark + 0.85 * (bright - dark))).sum())


def test_motion_beyond_what_is_modelled_blurs_as_far_as_that():
    for length in (MOST_BLUR, 3 * MOST_BLUR):
        row = blurred(EDGE, np.array([length, 0.0]))[240, :, 0]
        assert int(((row > 1) & (row < 199)).sum()) == pytest.approx(MOST_BLUR, abs=1)


def test_motion_blurs_over_its_own_length():
    picture = EDGE
    row = blurred(picture, np.array([12.0, 0.0]))[240, :, 0]
    assert 11 <= int(((row > 1) & (row < 199)).sum()) <= 13
    assert row[300] == 0
    assert row[340] == 200
    assert blurred(picture, np.array([0.0, 12.0]))[240, :, 0].tolist() == picture[240, :, 0].tolist()


def test_things_cast_shadows_on_what_they_stand_on(typical):
    typical.reset("studio", 0)
    clean = Simulation("studio", 0, sensors="clean")
    try:
        clean.render("front")
        typical.render("front")
        data, lit = typical._physics.data, clean._cameras._draw("front", typical._physics.data, 640, 480)[0]
        shaded = typical._cameras._draw("front", data, 640, 480)[0]
    finally:
        clean.close()
    ratio = (shaded.astype(float).sum(axis=2) + 1) / (lit.astype(float).sum(axis=2) + 1)
    assert 0.005 < (ratio < 0.8).mean() < 0.5
    # What is not in a shadow is as it was, but for the edges of round parts.
    assert np.median(ratio) == pytest.approx(1.0, abs=0.01)


def test_a_picture_from_above_leaves_those_of_the_robot_as_they_are(typical):
    """They are drawn by different renderers, for a person who watches at work."""
    typical.reset("studio", 0)
    before = [*typical.render("front"), *typical.render("arm")]
    above, _ = typical.render("overhead")
    after = [*typical.render("front"), *typical.render("arm")]
    assert all((one == other).all() for one, other in zip(before, after, strict=True))
    clean = Simulation("studio", 0, sensors="clean")
    try:
        assert (above == clean.render("overhead")[0]).mean() > 0.99
    finally:
        clean.close()


def test_the_compressed_topic_has_the_quality_of_its_level(typical):
    sizes = {}
    for name in ("clean", "typical", "harsh"):
        sim = typical if name == "typical" else Simulation("studio", 0, sensors=name)
        picture = Image.open(io.BytesIO(jpeg(GREY, sim.jpeg_quality)))
        assert isinstance(picture, JpegImageFile)
        sizes[name] = sum(picture.quantization[0])
    assert sizes["clean"] < sizes["typical"] < sizes["harsh"]


def test_a_picture_depends_on_seed_and_time_alone(typical, level):
    first = measure(typical, level)
    assert (first == measure(typical, level)).all()
    assert (first != measure(typical, level, seed=1)).any()
    assert (first != measure(typical, level, at=2.0)).any()
