"""Which cells of the floor static geometry covers, whatever its shape."""

from __future__ import annotations

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

from quartet_simulation.described.shapes import vertices_of
from quartet_simulation.names import OBJECT_GROUP
from quartet_simulation.robot.parts import GROUP as ROBOT_GROUP

SLICES = 12
"""Heights at which a shape that is no upright box is looked at."""


def covered(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    origin: tuple[float, float],
    shape: tuple[int, int],
    resolution: float,
    heights: tuple[float, float],
) -> np.ndarray:
    """Return the cells (row along y, column along x) over which a solid shape is between two heights [m].

    Robots and objects do not count. Cell (row, column) is centred at origin + (column, row) * resolution.
    """
    cells = np.zeros(shape, dtype=bool)
    for geom in range(model.ngeom):
        if model.geom_group[geom] in (ROBOT_GROUP, OBJECT_GROUP) or model.geom_contype[geom] == 0:
            continue
        if model.geom_type[geom] == int(mujoco.mjtGeom.mjGEOM_PLANE):
            continue
        _cover(cells, model, data, geom, origin, resolution, heights)
    return cells


def _cover(
    cells: np.ndarray,
    model: mujoco.MjModel,
    data: mujoco.MjData,
    geom: int,
    origin: tuple[float, float],
    resolution: float,
    heights: tuple[float, float],
) -> None:
    rotation, box = data.geom_xmat[geom].reshape(3, 3), model.geom_aabb[geom]
    centre = data.geom_xpos[geom] + rotation @ box[:3]
    half = np.abs(rotation) @ box[3:]
    if centre[2] - half[2] > heights[1] or centre[2] + half[2] < heights[0]:
        return
    low = [round((centre[axis] - half[axis] - origin[axis]) / resolution) for axis in (0, 1)]
    high = [round((centre[axis] + half[axis] - origin[axis]) / resolution) for axis in (0, 1)]
    c0, r0, c1, r1 = max(low[0], 0), max(low[1], 0), min(high[0] + 1, cells.shape[1]), min(high[1] + 1, cells.shape[0])
    if r0 >= r1 or c0 >= c1:
        return
    upright = np.abs(rotation).max(axis=1).min() > 1 - 1e-9
    if model.geom_type[geom] == int(mujoco.mjtGeom.mjGEOM_BOX) and upright:
        cells[r0:r1, c0:c1] = True
        return
    rows, columns = np.mgrid[r0:r1, c0:c1]
    x, y = origin[0] + columns.ravel() * resolution, origin[1] + rows.ravel() * resolution
    inside = np.zeros(x.shape, dtype=bool)
    hull = hull_of(model, geom)
    for z in np.linspace(max(heights[0], centre[2] - half[2]), min(heights[1], centre[2] + half[2]), SLICES):
        points = (np.column_stack([x, y, np.full_like(x, z)]) - data.geom_xpos[geom]) @ rotation
        # A cell counts as covered when the shape comes within half a cell of its middle.
        inside |= outside_of(model, geom, hull, points) <= resolution / 2
    cells[r0:r1, c0:c1] |= inside.reshape(rows.shape)


def hull_of(model: mujoco.MjModel, geom: int) -> np.ndarray | None:
    """Return the planes (N, 4) of a mesh's convex hull, normals out of it and offsets; None for other shapes."""
    if model.geom_type[geom] != int(mujoco.mjtGeom.mjGEOM_MESH):
        return None
    # Physics, too, takes a mesh for its convex hull.
    return ConvexHull(vertices_of(model, int(model.geom_dataid[geom]))).equations


def outside_of(model: mujoco.MjModel, geom: int, hull: np.ndarray | None, points: np.ndarray) -> np.ndarray:
    """Return about how far points (N, 3) of the geom's frame are outside of it, 0 or less inside [m].

    `hull` is that of `hull_of`. At corners it is less than the true distance, never more.
    """
    if hull is not None:
        return (points @ hull[:, :3].T + hull[:, 3]).max(axis=1)
    kind, size = mujoco.mjtGeom(int(model.geom_type[geom])), model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return np.linalg.norm(points, axis=1) - size[0]
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        along = np.clip(points[:, 2], -size[1], size[1])
        return np.linalg.norm(points - np.column_stack([0 * along, 0 * along, along]), axis=1) - size[0]
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return np.maximum(np.hypot(points[:, 0], points[:, 1]) - size[0], np.abs(points[:, 2]) - size[1])
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return (np.linalg.norm(points / size, axis=1) - 1) * size.min()
    box = model.geom_aabb[geom]
    return (np.abs(points - box[:3]) - box[3:]).max(axis=1)
