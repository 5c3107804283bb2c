"""How many pixels of a thing the cameras of a robot see, by rays in place of rendered pictures."""

from __future__ import annotations

from itertools import product

import mujoco
import numpy as np

from quartet_simulation.buildings.cameras import NEAREST_M, PIXELS, Camera, cameras_of, placed, projected
from quartet_simulation.buildings.scene import Scene
from quartet_simulation.worlds.free_floor import FURNITURE

MORE_THAN = 10
"""A thing is detected by more pixels than this, as in EMOS."""
_CORNERS = np.array(list(product((-0.5, 0.5), repeat=3)))


def detected(scene: Scene, robot: str, thing: str) -> bool:
    """Return whether a camera of a robot sees more than MORE_THAN pixels of a thing. Raises UnknownNameError."""
    return any(count > MORE_THAN for count in pixels(scene, robot, thing).values())


def pixels(scene: Scene, robot: str, thing: str) -> dict[str, int]:
    """Return for each camera of a robot how many of its 256 x 256 pixels show a thing now.

    Furniture and other objects hide a thing, robots do not. Spots cannot be seen. Raises UnknownNameError.
    """
    stand, place = scene.where(robot), scene.position(thing)
    cameras = cameras_of(scene.robot(robot).body)
    if scene.things[thing].kind != "object" or place.storey != stand.storey:
        return dict.fromkeys(cameras, 0)
    boxes: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for name, other in scene.things.items():
        if other.kind == "object" and (at := scene.position(name)).storey == place.storey:
            boxes[name] = np.array(at.position), np.array(other.size)
    storey = scene.building.storey(place.storey)
    return {
        name: _seen(storey.model, storey.data, camera, placed(camera, stand), thing, boxes)
        for name, camera in cameras.items()
    }


def _seen(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    camera: Camera,
    pose: np.ndarray,
    thing: str,
    boxes: dict[str, tuple[np.ndarray, np.ndarray]],
) -> int:
    """Return how many pixels of a camera at a pose show a thing; `boxes` has middle and size of each object."""
    middle, size = boxes[thing]
    corners, depths = projected(camera, pose, middle + _CORNERS * size)
    if depths.max() <= NEAREST_M:
        return 0
    low, high = np.floor(corners.min(axis=0)), np.ceil(corners.max(axis=0))
    if depths.min() <= NEAREST_M:
        # The camera is beside the thing, whose corners behind it have no pixels.
        low, high = np.zeros(2), np.full(2, float(PIXELS))
    columns, rows = (np.arange(max(a, 0), min(b, PIXELS)) for a, b in zip(low, high, strict=True))
    across, down = np.meshgrid(columns + 0.5 - PIXELS / 2, rows + 0.5 - PIXELS / 2)
    rays = np.column_stack([across.ravel(), down.ravel(), np.full(across.size, camera.focal)]) @ pose[:3, :3].T
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    start = pose[:3, 3].copy()
    distances = _entries(start, rays, middle, size)
    others = [_entries(start, rays, *box) for name, box in boxes.items() if name != thing]
    shown = np.isfinite(distances) & (distances <= np.min(others, axis=0, initial=np.inf))
    rays, distances = rays[shown], distances[shown]
    if not len(rays):
        return 0
    count = len(rays)
    geoms, walls = np.full(count, -1, dtype=np.int32), np.full(count, -1.0)
    farthest = float(distances.max())
    mujoco.mj_multiRay(model, data, start, rays.flatten(), FURNITURE, 1, -1, geoms, walls, None, count, farthest)
    return int(((geoms < 0) | (walls >= distances)).sum())


def _entries(start: np.ndarray, rays: np.ndarray, middle: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return how far rays (N, 3) of length 1 from a point travel until they enter an upright box; inf: they do not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (middle - size / 2 - start) / rays, (middle + size / 2 - start) / rays
    first, last = np.fmin(one, other).max(axis=1), np.fmax(one, other).min(axis=1)
    return np.where((first <= last) & (last > 0), np.maximum(first, 0.0), np.inf)
