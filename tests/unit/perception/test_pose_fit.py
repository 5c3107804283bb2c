"""Poses that are found from the points of one side."""

from pathlib import Path

import numpy as np

from quartet_perception.scene.pose_fit import fit_pose
from quartet_perception.scene.solids import solids_of
from quartet_site import load_site

SITES = Path(__file__).parents[3] / "deploy" / "sites"
CAMERA = np.array([0.05, 0.24, 1.38])


def test_an_open_container_of_which_only_the_inside_of_the_far_walls_is_seen_stands_before_them():
    """The arm and the picture's edge hide its near walls; no pose behind the far ones may be all that is offered."""
    site = load_site(SITES / "home" / "site.yaml")
    basket = next(one for one in site.containers if one.name == "waste basket")
    x, y, yaw, half = 0.7, 0.03, 0.2, 0.17
    along, up = np.meshgrid(np.linspace(-half, half, 24), np.linspace(0.05, 0.33, 12))
    far = np.column_stack([np.full(along.size, half - 0.012), along.ravel(), up.ravel()])
    side = np.column_stack([along.ravel(), np.full(along.size, -half + 0.012), up.ravel()])
    local = np.vstack([far, side[side[:, 0] > 0]])
    c, s = np.cos(yaw), np.sin(yaw)
    points = np.column_stack(
        [x + c * local[:, 0] - s * local[:, 1], y + s * local[:, 0] + c * local[:, 1], local[:, 2]]
    )
    box = next(solid for solid in solids_of(basket.appearance) if solid.primitive == "box")
    found = fit_pose(box, points, 0.0, CAMERA)
    assert min(np.hypot(one.x - x, one.y - y) for one in found) < 0.04, [(one.x, one.y) for one in found]
