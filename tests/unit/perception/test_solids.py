"""Distances and ray hits of the solids, against MuJoCo's own ray caster and closed forms."""

import mujoco
import numpy as np
import pytest

from quartet_perception.scene.solids import Part, Solid

BOX, CYLINDER, SPHERE = (
    Solid("box", (0.15, 0.06, 0.2)),
    Solid("cylinder", (0.07, 0.07, 0.12)),
    Solid("sphere", (0.08,) * 3),
)
LYING = Solid("cylinder", (0.12, 0.07, 0.07), lying=True)
TYPES = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
}


def mujoco_hits(solid: Solid, yaw: float, origin, rays) -> np.ndarray:
    x, y, z = (s / 2 for s in solid.size)
    size = {"box": [x, y, z], "cylinder": [x, z, 0], "sphere": [z, 0, 0]}[solid.primitive]
    quat = np.array([np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)])
    if solid.lying:
        size, turned = [z, x, 0], np.zeros(4)
        mujoco.mju_mulQuat(turned, quat, np.array([np.sqrt(0.5), 0, np.sqrt(0.5), 0]))
        quat = turned
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=TYPES[solid.primitive], size=size, pos=[0.8, 0.1, 0.4 + z], quat=quat)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    geom = np.zeros(1, np.int32)
    hits = []
    for ray in rays:
        length = np.linalg.norm(ray)
        distance = mujoco.mj_ray(model, data, origin, ray / length, None, 1, -1, geom, None)
        hits.append(distance / length if distance >= 0 else np.inf)
    return np.array(hits)


@pytest.mark.parametrize("solid", [BOX, CYLINDER, SPHERE, LYING], ids=["box", "cylinder", "sphere", "lying"])
def test_rays_hit_where_mujoco_says(solid):
    rng = np.random.default_rng(1)
    origin = np.array([0.0, 0.2, 1.3])
    aims = rng.uniform((0.70, 0.0, 0.38), (0.90, 0.20, 0.62), (300, 3))
    placed = solid.place(0.8, 0.1, 0.4, 0.7)
    enter, leave = placed.intersect(origin, aims - origin)
    wanted = mujoco_hits(solid, 0.7, origin, aims - origin)
    assert np.isfinite(wanted).sum() > 30
    np.testing.assert_array_equal(np.isfinite(enter), np.isfinite(wanted))
    hit = np.isfinite(wanted)
    np.testing.assert_allclose(enter[hit], wanted[hit], atol=1e-6)
    assert (leave[hit] >= enter[hit]).all()


@pytest.mark.parametrize("solid", [BOX, CYLINDER, SPHERE, LYING], ids=["box", "cylinder", "sphere", "lying"])
def test_points_of_the_surface_are_at_no_distance(solid):
    origin = np.array([0.0, 0.2, 1.3])
    aims = np.random.default_rng(2).uniform((0.70, 0.0, 0.38), (0.90, 0.20, 0.62), (300, 3))
    placed = solid.place(0.8, 0.1, 0.4, 0.7)
    enter, _ = placed.intersect(origin, aims - origin)
    hit = np.isfinite(enter)
    points = origin + enter[hit, None] * (aims - origin)[hit]
    assert np.abs(placed.distances(points)).max() < 1e-9
    assert placed.distances(placed.centre[None])[0] == pytest.approx(-min(solid.size) / 2)
    assert (placed.distances(points + 0.05 * (points - placed.centre) / 0.1) > 0).all()


def test_a_compound_is_met_at_its_nearest_part():
    bottle = Solid("cylinder", (0.07, 0.07, 0.2), parts=(
        Part("cylinder", (0.07, 0.07, 0.16), (0, 0, 0)), Part("cylinder", (0.03, 0.03, 0.04), (0, 0, 0.16)),
    ))  # fmt: skip
    placed = bottle.place(1.0, 0.0, 0.0)
    rays = np.array([[1.0, 0, 0], [1.0, 0, 0]])
    assert placed.intersect(np.array([0, 0, 0.18]), rays)[0][0] == pytest.approx(0.985)
    assert placed.intersect(np.array([0, 0, 0.10]), rays)[0][0] == pytest.approx(0.965)
    assert np.isinf(placed.intersect(np.array([0, 0.03, 0.18]), rays)[0][0])
    assert placed.distances(np.array([[0.985, 0, 0.18], [0.965, 0, 0.1]])) == pytest.approx([0, 0], abs=1e-9)


def test_bounds_and_footprint_follow_the_yaw():
    low, high = BOX.place(1.0, 0.0, 0.4, np.pi / 2).bounds
    np.testing.assert_allclose(high - low, (0.06, 0.15, 0.2), atol=1e-9)
    assert low[2] == 0.4
