"""Images of a lens with distortion become those of a pinhole camera; a calibration that cannot be used is refused."""

import math

import numpy as np
import pytest

from quartet_robot_link import BadFrameError
from quartet_robot_link._lens import Pinhole, distorted, read_lens, without_distortion

INFO = {
    "width": 640,
    "height": 480,
    "distortion_model": "plumb_bob",
    "d": [0.12, -0.25, 0.0, 0.0, 0.05],
    "k": [600.0, 0.0, 320.0, 0.0, 600.0, 240.0, 0.0, 0.0, 1.0],
    "p": [560.0, 0.0, 318.0, 0.0, 0.0, 560.0, 239.0, 0.0, 0.0, 0.0, 1.0, 0.0],
}


def brown_conrady(d, x, y):
    """As Brown, Close-range camera calibration, 1971, writes it, and as the pages of OpenCV do."""
    k1, k2, p1, p2, k3 = d
    r = math.hypot(x, y)
    radial = 1 + k1 * r**2 + k2 * r**4 + k3 * r**6
    return x * radial + 2 * p1 * x * y + p2 * (r**2 + 2 * x**2), y * radial + p1 * (r**2 + 2 * y**2) + 2 * p2 * x * y


@pytest.mark.parametrize("d", [INFO["d"], [-0.055, 0.065, 0.001, -0.002, 0.0]])
@pytest.mark.parametrize("point", [(0.0, 0.0), (0.4, 0.3), (-0.5, 0.35), (0.1, -0.38)])
@pytest.mark.parametrize("target", ["raw", "rectified"])
def test_a_point_is_seen_where_a_pinhole_has_it(d, point, target):
    lens = read_lens(INFO | {"d": d})
    x, y = brown_conrady(d, *point)
    image = np.zeros((480, 640), np.float32)
    at = round(600 * x + 320), round(600 * y + 240)
    image[at[1] - 2 : at[1] + 3, at[0] - 2 : at[0] + 3] = 1.5
    camera: Pinhole = getattr(lens, target)
    straight = without_distortion(image, lens, camera)
    rows, columns = np.nonzero(straight)
    assert columns.mean() == pytest.approx(camera.fx * point[0] + camera.cx, abs=0.8)
    assert rows.mean() == pytest.approx(camera.fy * point[1] + camera.cy, abs=0.8)
    assert set(np.unique(straight)) == {np.float32(0), np.float32(1.5)}, "no depth is made up"


def test_the_error_of_a_pinhole_is_one_that_matters():
    """15 mm at 1 m, near the edge: more than the gap between an open finger and what it grasps."""
    x, _ = brown_conrady(INFO["d"], 0.5, 0.0)
    assert abs(x - 0.5) > 0.006


def test_a_fisheye_and_a_rational_polynomial():
    fisheye = read_lens(INFO | {"distortion_model": "equidistant", "d": [0.1, 0, 0, 0]})
    x, y = distorted(fisheye, np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    angle = math.pi / 4
    assert x.tolist() == pytest.approx([0.0, angle * (1 + 0.1 * angle**2)])
    assert y.tolist() == [0.0, 0.0]
    kinect = read_lens(INFO | {"distortion_model": "rational_polynomial", "d": [0.5, 0, 0, 0, 0, 0.5, 0, 0]})
    assert distorted(kinect, np.array([0.7]), np.array([0.2]))[0].tolist() == pytest.approx([0.7])


def test_an_image_of_another_size_and_one_of_colours():
    lens = read_lens(INFO)
    assert without_distortion(np.ones((480, 640, 3), np.uint8), lens, lens.raw)[240, 320].tolist() == [1, 1, 1]
    assert without_distortion(np.ones((48, 64), np.float32), lens, lens.raw).shape == (48, 64)


NAN = float("nan")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": [0] * 9}, "no usable matrix k"),
        ({"k": [None, "NaN"]}, "no usable matrix k"),
        ({"k": [600, 0, 320, 0, 0, 240, 0, 0, 1]}, "no usable matrix k"),
        ({"k": [NAN] * 9}, "no usable matrix k"),
        ({"k": np.array([NAN] * 9)}, "no usable matrix k"),
        ({"k": np.array([600, 0, math.inf, 0, 600, 240, 0, 0, 1])}, "no usable matrix k"),
        ({"d": [0.1, None, 0, 0, 0]}, "no usable coefficients d"),
        ({"d": np.array([0.1, NAN])}, "no usable coefficients d"),
        ({"distortion_model": "omnidirectional"}, r"'omnidirectional'.*valid: plumb_bob.*image_rect"),
        ({"d": [0.1, 0, 0, 0, 0, 0.2]}, "'plumb_bob' with 6 coefficients"),
    ],
)
def test_a_calibration_that_cannot_be_used_is_refused(change, words):
    with pytest.raises(BadFrameError, match=words):
        read_lens(INFO | change)


def test_what_says_nothing_of_a_distortion():
    for change in ({"d": []}, {"d": [0.0] * 5, "distortion_model": "none"}, {"d": np.zeros(14)}):
        assert read_lens(INFO | change).coefficients == ()
    ros1 = {name.upper() if name in "kdp" else name: value for name, value in INFO.items()}
    assert read_lens(ros1) == read_lens(INFO)
    assert read_lens(INFO | {"p": [0.0] * 12}).rectified == read_lens(INFO).raw
