"""Points all over the surfaces of a robot's parts, to find the voxels in which they are."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

SPACING = 0.02
"""Neighbouring points are about so far apart [m]: less than a voxel's edge."""
ROW = 48
"""Points that are moved by one multiplication."""


class BodyPoints:
    """Points on the surfaces of some geoms of a model."""

    def __init__(self, model: mujoco.MjModel, geoms: Sequence[int]) -> None:
        rows = [(geom, part) for geom in geoms for part in _rows(_surface(model, geom))]
        self.geoms = np.array([geom for geom, _ in rows], dtype=int)
        """Of which geom the points of each row are."""
        self._local = np.zeros((len(rows), ROW, 3))
        """A row that is not full repeats its last point, so that all are moved at once."""
        for row, (_, part) in zip(self._local, rows, strict=True):
            row[: len(part)], row[len(part) :] = part, part[-1]

    def at(self, data: mujoco.MjData) -> np.ndarray:
        """Return where the points are after the kinematics of `data`, (rows, ROW, 3) [m]."""
        turns = data.geom_xmat[self.geoms].reshape(-1, 3, 3)
        return np.matmul(self._local, turns.transpose(0, 2, 1)) + data.geom_xpos[self.geoms][:, None]


def _rows(points: np.ndarray) -> list[np.ndarray]:
    return [points[first : first + ROW] for first in range(0, len(points), ROW)]


def _surface(model: mujoco.MjModel, geom: int) -> np.ndarray:
    """Points on the surface of a geom in its own frame, (N, 3) [m]."""
    kind, size = mujoco.mjtGeom(int(model.geom_type[geom])), model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return _box(size)
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        return _mesh(model, int(model.geom_dataid[geom]))
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return np.vstack([_tube(size[0], size[1]), *(_disc(size[0], end) for end in (-size[1], size[1]))])
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        ball = _ball(np.full(3, size[0]))
        ends = ball + np.sign(ball[:, 2:]) * [[0.0, 0.0, size[1]]]
        return np.vstack([_tube(size[0], size[1]), ends])
    if kind in (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_ELLIPSOID):
        return _ball(size if size[1] > 0 else np.full(3, size[0]))
    raise ValueError(f"geom {model.geom(geom).name!r} is a {kind.name}, which has no surface to put points on")


def _steps(half: float) -> np.ndarray:
    return np.linspace(-half, half, max(2, int(np.ceil(2 * half / SPACING)) + 1))


def _box(half: np.ndarray) -> np.ndarray:
    faces: list[np.ndarray] = []
    for axis in range(3):
        others = [other for other in range(3) if other != axis]
        first, second = np.meshgrid(*(_steps(float(half[other])) for other in others))
        for side in (-half[axis], half[axis]):
            face = np.full((first.size, 3), side)
            face[:, others[0]], face[:, others[1]] = first.ravel(), second.ravel()
            faces.append(face)
    return np.unique(np.vstack(faces), axis=0)


def _circle(radius: float) -> np.ndarray:
    count = max(6, int(np.ceil(2 * np.pi * radius / SPACING)))
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _tube(radius: float, half: float) -> np.ndarray:
    ring = _circle(radius)
    return np.vstack([np.column_stack([ring, np.full(len(ring), z)]) for z in _steps(half)])


def _disc(radius: float, z: float) -> np.ndarray:
    rings = [_circle(r) for r in np.arange(SPACING, radius, SPACING)]
    flat = np.vstack([np.zeros((1, 2)), *rings])
    return np.column_stack([flat, np.full(len(flat), z)])


def _ball(radii: np.ndarray) -> np.ndarray:
    count = max(12, int(np.ceil(4 * np.pi * float(radii.max()) ** 2 / SPACING**2)))
    # The golden angle puts points evenly on a sphere.
    index = np.arange(count) + 0.5
    z, turn = 1 - 2 * index / count, np.pi * (1 + np.sqrt(5)) * index
    flat = np.sqrt(1 - z**2)
    return radii * np.stack([flat * np.cos(turn), flat * np.sin(turn), z], axis=1)


def _mesh(model: mujoco.MjModel, mesh: int) -> np.ndarray:
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    vertices = model.mesh_vert[first : first + count].astype(float)
    face, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    corners = vertices[model.mesh_face[face : face + faces]]
    found: list[np.ndarray] = [vertices]
    for a, b, c in corners:
        parts = int(np.ceil(max(np.linalg.norm(b - a), np.linalg.norm(c - a), np.linalg.norm(c - b)) / SPACING))
        shares = np.array([(i, j) for i in range(parts + 1) for j in range(parts + 1 - i)]) / max(parts, 1)
        found.append(a + shares[:, :1] * (b - a) + shares[:, 1:] * (c - a))
    points = np.vstack(found)
    # One point of each small cube is enough, however fine the mesh is.
    _, kept = np.unique(np.floor(points / (SPACING / 2)), axis=0, return_index=True)
    return points[np.sort(kept)]
