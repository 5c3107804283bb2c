"""What is held: whether its sizes fit, and the outline of the picture of a box, against Qhull's."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from quartet_perception.catalogue import CatalogueEntry
from quartet_perception.held_object import _PLAUSIBLE, _agreement, _edges
from quartet_site.site import Appearance


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


@pytest.mark.parametrize(("size_error", "plausible"), [(0.02, False), (0.1, True)])
def test_a_size_that_was_guessed_may_be_off_by_as_much_as_the_site_says(size_error: float, plausible: bool) -> None:
    """A box that is told 9 % larger than it is, as the fingers and its front face measure it."""
    told = Appearance(shape="box", colours=["blue"], size_m=(0.12, 0.12, 0.09), size_error=size_error)
    agreement = _agreement(CatalogueEntry("tissue box", "object", told), 0.12 / 1.09, 0.12 / 1.09)
    assert (agreement > _PLAUSIBLE) == plausible
    # One of another size is not.
    assert _agreement(CatalogueEntry("tissue box", "object", told), 0.075, 0.075) < _PLAUSIBLE
