"""The outline of the picture of a box, against Qhull's."""

import numpy as np
from scipy.spatial import ConvexHull

from quartet_perception.held_object import _edges


def _within(edges: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    return (pixels @ edges[:, :2].T + edges[:, 2] < 1e-9).all(axis=1)


def test_the_outline_is_the_convex_hull() -> None:
    rng = np.random.default_rng(0)
    pixels = np.stack(np.meshgrid(np.arange(0, 640, 7), np.arange(0, 480, 7)), axis=-1).reshape(-1, 2)
    for _ in range(100):
        corners = rng.uniform((0, 0), (640, 480), (8, 2))
        np.testing.assert_array_equal(_within(_edges(corners), pixels), _within(ConvexHull(corners).equations, pixels))


def test_corners_that_meet_in_the_picture_or_lie_on_a_line() -> None:
    """As of a box that is seen straight from the front, or a thing edge on, of which Qhull makes an error."""
    front = np.array([[10.0, 10], [20, 10], [20, 30], [10, 30]] * 2)
    pixels = np.array([[15, 20], [10, 10], [9, 20], [15, 31]])
    assert _within(_edges(front), pixels).tolist() == [True, True, False, False]
    line = np.array([[10.0, 10], [20, 20], [15, 15]])
    on_it_or_not = np.array([[12, 12], [12, 13]])
    assert _within(_edges(line), on_it_or_not).tolist() == [True, False]
