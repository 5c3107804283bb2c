"""Planes on which things stand, where the camera's depth has holes."""

from dataclasses import replace

import numpy as np
import pytest

from quartet_perception.scene.supports import find_support_planes

TABLE, TOP = 0.45, 0.6


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_a_dark_top_whose_depth_has_holes_is_a_plane(new_scene, lost):
    """A black surface gives a stereo camera no return for many a pixel, each by itself."""
    scene = new_scene().table(0.6, TABLE, (0.75, 0.66, 0.55))
    scene.box((0.9, 0.0, (TABLE + TOP) / 2), (0.2, 0.3, TOP - TABLE), (0.0, 0.0, 0.0), 0.2)
    view = scene.view(eye=(0.75, 0.05, 1.0), target=(0.9, 0.0, TABLE), noise=0.0015)
    depth, dark = view.depth.copy(), view.rgb.max(axis=-1) < 40
    depth[dark & (np.random.default_rng(1).random(depth.shape) < lost)] = 0.0
    planes = find_support_planes(replace(view, depth=depth), [TABLE, TOP]).planes
    (top,) = [plane for plane in planes if abs(plane.z - TOP) < 0.01]
    assert top.area == pytest.approx(0.2 * 0.3, rel=0.25)


def test_what_lies_beyond_an_edge_does_not_fill_a_hole(new_scene):
    """Between a top and the table below there is no plane at half their height."""
    scene = new_scene().table(0.6, TABLE, (0.75, 0.66, 0.55))
    scene.box((0.9, 0.0, (TABLE + TOP) / 2), (0.2, 0.3, TOP - TABLE), (0.9, 0.9, 0.9), 0.2)
    view = scene.view(eye=(0.75, 0.05, 1.0), target=(0.9, 0.0, TABLE), noise=0.0015)
    depth = np.where(np.random.default_rng(2).random(view.depth.shape) < 0.2, np.float32(0), view.depth)
    planes = find_support_planes(replace(view, depth=depth), [TABLE, TOP]).planes
    assert all(min(abs(plane.z - height) for height in (0.0, TABLE, TOP)) < 0.01 for plane in planes)
