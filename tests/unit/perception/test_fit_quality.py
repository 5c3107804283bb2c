"""The cost of a pose, as a search asks for it."""

import numpy as np
import pytest
from scipy import ndimage

from quartet_perception.scene.fit_quality import _dilate, _erode, evaluate_fit, fit_cost
from quartet_perception.scene.solids import Part, Solid
from quartet_perception.scene.view import Intrinsics, View

DOWN = np.array([[0.0, -1.0, 0.0, 0.5], [-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
SOLIDS = {
    "box": Solid("box", (0.08, 0.06, 0.1)),
    "cylinder": Solid("cylinder", (0.07, 0.07, 0.1)),
    "lying": Solid("cylinder", (0.12, 0.1, 0.1), lying=True),
    "sphere": Solid("sphere", (0.1, 0.1, 0.1)),
    "bowl": Solid("cylinder", (0.14, 0.14, 0.06), hollow=True),
    "irregular": Solid("box", (0.1, 0.08, 0.1), irregular=True),
    "parts": Solid("box", (0.1, 0.1, 0.1), parts=(Part("box", (0.08, 0.08, 0.1), (0.0, 0.0, 0.0)),)),
}


@pytest.fixture(scope="module")
def picture():
    """A view from above of a box on the floor, with noise and holes, and which pixels are thought to be the box."""
    rng = np.random.default_rng(0)
    depth = np.full((120, 160), 1.0, dtype=np.float32)
    depth[40:75, 60:100] = 0.9
    depth += rng.normal(0, 0.001, depth.shape).astype(np.float32)
    depth[rng.random(depth.shape) < 0.05] = 0.0
    view = View(np.zeros((120, 160, 3), dtype=np.uint8), depth, Intrinsics(400.0, 400.0, 80.0, 60.0), DOWN)
    region = np.zeros(depth.shape, dtype=bool)
    region[42:77, 61:98] = True
    return view, region


@pytest.mark.parametrize("kind", SOLIDS)
def test_the_cost_alone_is_that_of_the_whole_quality(picture, kind):
    view, region = picture
    member = np.where(region, 255, 40).astype(np.uint8)
    costs = []
    # Where it is seen, at the picture's edge, and out of the picture.
    for x, y, yaw in ((0.5, 0.0, 0.0), (0.51, 0.01, 0.4), (0.63, 0.18, 0.2), (0.5, 0.22, 0.0), (0.5, 3.0, 0.0)):
        posed = SOLIDS[kind].place(x, y, 0.0, yaw)
        costs.append(fit_cost(view, posed, region))
        assert costs[-1] == evaluate_fit(view, posed, region, member).cost
    assert np.isfinite(costs[0])
    assert np.isinf(costs[-1])


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 2), (2, 7), (3, 3), (40, 25)])
def test_masks_grow_and_shrink_as_scipy_has_it(shape):
    mask = np.random.default_rng(0).random(shape) < 0.7
    assert np.array_equal(_dilate(mask), ndimage.binary_dilation(mask))
    assert np.array_equal(_erode(mask), ndimage.binary_erosion(mask))
