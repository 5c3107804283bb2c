"""The octomap of the arm's planner: what depth pictures put into voxels, and the points that are looked up there."""

import math

import mujoco
import numpy as np
import pytest

from quartet_simulation.arm.body_points import ROW, SPACING, BodyPoints
from quartet_simulation.arm.octomap import MOVED, RANGE, REACH, RESOLUTION, DepthView, Octomap
from quartet_simulation.arm_simulation import OCTOMAP_PERIOD_S

FOCAL, SHAPE = 460.0, (480, 640)
AHEAD = np.array([[0.0, 0.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
"""Optical frame of a camera 1 m above the base that looks along x."""
NOTHING = np.empty((0, 3))


def wall(distance: float, **patches: float) -> np.ndarray:
    """Depth of a wall across the view; `left` and `middle` are nearer or farther patches, 0 for no return."""
    depth = np.full(SHAPE, distance, dtype=np.float32)
    if "middle" in patches:
        depth[200:280, 280:360] = patches["middle"]
    if "left" in patches:
        depth[:, :320] = patches["left"]
    return depth


def seen(depth: np.ndarray, pose: np.ndarray = AHEAD) -> DepthView:
    return DepthView(depth, FOCAL, pose)


@pytest.fixture
def octomap():
    octomap = Octomap()
    octomap.centre_on(np.zeros(3))
    return octomap


def there(octomap, *points) -> list[bool]:
    return octomap.voxels().at(np.array(points, dtype=float)).tolist()


def test_a_wall_is_where_the_picture_has_it(octomap):
    octomap.integrate(seen(wall(1.01)), NOTHING)
    sides = [(1.01, y, z) for y in (-0.6, -0.3, 0.0, 0.3, 0.6) for z in (0.6, 1.0, 1.4)]
    assert all(there(octomap, *sides))
    assert not any(there(octomap, (0.97, 0.0, 1.0), (1.04, 0.0, 1.0), (1.01, 0.9, 1.0), (1.01, 0.0, 1.8)))
    # Without gaps, though only each third row and column is looked at.
    y, z = np.meshgrid(np.arange(-0.6, 0.6, RESOLUTION), np.arange(0.6, 1.4, RESOLUTION))
    assert all(there(octomap, *np.stack([np.full(y.size, 1.01), y.ravel(), z.ravel()], axis=1)))


def test_what_is_too_far_or_returns_nothing_enters_no_voxel(octomap):
    behind = AHEAD.copy()
    behind[0, 3] = -0.6
    octomap.integrate(seen(wall(RANGE + 0.01), behind), NOTHING)
    octomap.integrate(seen(wall(0.0)), NOTHING)
    assert not octomap.voxels().occupied.any()
    octomap.integrate(seen(wall(RANGE - 0.02), behind), NOTHING)
    assert there(octomap, (RANGE - 0.62, 0.0, 1.0)) == [True]


def test_what_has_gone_is_seen_through_and_what_is_hidden_stays(octomap):
    near, behind = (0.61, 0.0, 1.0), (1.01, 0.0, 1.0)
    octomap.integrate(seen(wall(1.01)), NOTHING)
    octomap.integrate(seen(wall(1.01, middle=0.61)), NOTHING)
    assert there(octomap, near, behind) == [True, True]
    # Pixels without depth say nothing.
    octomap.integrate(seen(wall(1.01, middle=0.0)), NOTHING)
    assert there(octomap, near, behind) == [True, True]
    octomap.integrate(seen(wall(1.01)), NOTHING)
    assert there(octomap, near, behind) == [False, True]


def test_what_is_out_of_the_picture_is_remembered(octomap):
    octomap.integrate(seen(wall(1.01)), NOTHING)
    back = AHEAD.copy()
    back[:3, :3] = np.diag([-1.0, -1.0, 1.0]) @ AHEAD[:3, :3]
    octomap.integrate(seen(wall(1.51), back), NOTHING)
    assert there(octomap, (1.01, 0.0, 1.0), (-1.51, 0.0, 1.0)) == [True, True]


def test_the_robot_is_no_obstacle_to_itself_padding_included(octomap):
    arm = np.array([[0.61, y, 1.0] for y in np.arange(-0.05, 0.05, SPACING)])
    octomap.integrate(seen(wall(1.01, middle=0.61)), arm)
    near, aside = (0.61, 0.0, 1.0), (0.61, 0.0, 1.0 + RESOLUTION)
    assert there(octomap, near, aside, (1.01, 0.5, 1.0)) == [False, False, True]
    assert there(octomap, (0.61, 0.0, 1.0 + 2 * RESOLUTION)) == [True]
    octomap.integrate(seen(wall(1.01, middle=0.61)), NOTHING)
    assert there(octomap, near, aside) == [True, True]


@pytest.mark.parametrize("step", [(0.7, 0.0, 0.0), (-0.6, 0.55, 0.0), (0.0, -1.3, 0.1)])
def test_voxels_stay_where_they_are_when_the_base_drives(octomap, step):
    octomap.integrate(seen(wall(1.01)), NOTHING)
    points = [(1.01, y, z) for y in (-0.5, 0.0, 0.5) for z in (0.7, 1.3)]
    octomap.centre_on(np.array(step))
    assert all(there(octomap, *points))
    assert not any(there(octomap, *(np.array(points) + step)))


def test_a_short_drive_moves_nothing_and_what_is_left_behind_is_forgotten(octomap):
    octomap.integrate(seen(wall(1.01)), NOTHING)
    before = octomap.voxels()
    octomap.centre_on(np.array([MOVED - RESOLUTION, 0.0, 0.0]))
    assert (octomap.voxels().corner == before.corner).all()
    octomap.centre_on(np.array([REACH + 1.2, 0.0, 0.0]))
    assert there(octomap, (1.01, 0.0, 1.0)) == [False]
    octomap.centre_on(np.array([100.0, 0.0, 0.0]))
    octomap.centre_on(np.zeros(3))
    assert not octomap.voxels().occupied.any()


def test_outside_of_the_voxels_everything_is_free(octomap):
    octomap.integrate(seen(wall(1.9)), NOTHING)
    assert not any(there(octomap, (5, 0, 1), (-5, 0, 1), (0, 50, 1), (0, 0, 99), (0, 0, -9)))


def test_a_copy_does_not_change_with_the_map(octomap):
    octomap.integrate(seen(wall(1.01)), NOTHING)
    copy = octomap.voxels()
    octomap.clear()
    assert copy.at(np.array([[1.01, 0.0, 1.0]])).all()
    assert there(octomap, (1.01, 0.0, 1.0)) == [False]


TETRAHEDRON = "<mesh name='m' vertex='0 0 0  0.2 0 0  0 0.15 0  0 0 0.3'/>"
TINY_M = 0.0005
SHAPES = {
    "box": "type='box' size='0.055 0.032 0.1'",
    "cylinder": "type='cylinder' size='0.07 0.12'",
    "capsule": "type='capsule' size='0.05 0.2'",
    "sphere": "type='sphere' size='0.06'",
    "ellipsoid": "type='ellipsoid' size='0.05 0.08 0.12'",
    "mesh": "type='mesh' mesh='m'",
}


def from_surface(model, data, points) -> np.ndarray:
    """How far points are from the surface of the first geom [m], negative inside, by a tiny ball at each."""
    away, between = [], np.zeros(6)
    for point in points:
        data.geom_xpos[1] = point
        away.append(mujoco.mj_geomDistance(model, data, 0, 1, 1.0, between) + TINY_M)
    return np.array(away)


@pytest.mark.parametrize("shape", SHAPES)
def test_points_cover_the_surface_of_every_shape(shape):
    geom = f"<geom {SHAPES[shape]} pos='0.3 -0.2 0.5' euler='20 50 80'/>"
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{TETRAHEDRON}</asset><worldbody><body>{geom}</body>"
        f"<body pos='9 9 9'><geom type='sphere' size='{TINY_M}'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    body = BodyPoints(model, [0])
    points = body.at(data).reshape(-1, 3)
    assert (body.geoms == 0).all()
    assert len(points) == ROW * len(body.geoms)
    # Any point of the surface, found by rays from all around, has one of them beside it.
    rng = np.random.default_rng(0)
    middle, found = data.geom_xpos[0], []
    for towards in rng.normal(size=(400, 3)):
        ray = -towards / np.linalg.norm(towards)
        hit = np.zeros(1, dtype=np.int32)
        distance = mujoco.mj_ray(model, data, middle - ray, ray, None, 1, -1, hit, None)
        assert distance > 0
        found.append(middle - ray + distance * ray)
    nearest = np.array([np.linalg.norm(points - one, axis=1).min() for one in found])
    assert nearest.max() < SPACING
    # And all of them are on it.
    assert np.abs(from_surface(model, data, points[:: max(1, len(points) // 200)])).max() < 0.002


def test_a_plane_has_no_surface_to_put_points_on():
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/></worldbody></mujoco>"
    )
    with pytest.raises(ValueError, match="'floor' is a mjGEOM_PLANE"):
        BodyPoints(model, [0])


def test_a_drive_is_watched_every_other_second(studio):
    """What it drove past is known when the arm plans, also where no camera looks then."""
    studio.reset("studio", 0)
    studio.put_robot(0.85, 0.0, 0.0)
    studio.watch()
    counter = studio.snapshot(look=False)
    ahead = counter.ik_all(down(0.75, 0.0, 0.85))[0]
    assert counter.in_collision(ahead)
    studio.put_robot(-1.0, 0.0, math.pi)
    assert not studio.snapshot(look=False).in_collision(ahead)
    studio.watch()
    first = studio._mapped["front"]
    studio.step(OCTOMAP_PERIOD_S - 0.1)
    studio.watch()
    assert studio._mapped["front"] is first
    studio.step(0.2)
    studio.watch()
    assert studio._mapped["front"] is not first


def down(x: float, y: float, z: float) -> np.ndarray:
    """A tool that points down, in the base frame."""
    pose = np.diag([1.0, -1.0, -1.0, 1.0])
    pose[:3, 3] = x, y, z
    return pose
