"""Where the cameras of a body look, and what of the space before them is in their pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from quartet_simulation.arm.model import standing
from quartet_simulation.bodies.body import Body
from quartet_simulation.buildings.building import Position, Stand
from quartet_simulation.buildings.extent import moved_by_arm
from quartet_simulation.described.reading import data_of
from quartet_simulation.described.structure import pose_of

PIXELS = 256
"""Width and height of all pictures."""
NEAREST_M = 0.01
"""What is nearer to a camera is not in its picture."""
INNER = 0.9
"""Share of the picture's width and height in which a robot keeps a thing that it faces."""


@dataclass(frozen=True)
class Camera:
    """A camera: its pose in the base frame (4x4; x right, y down, z ahead), and its focal length [pixels]."""

    pose: np.ndarray
    focal: float


@lru_cache(maxsize=32)
def cameras_of(body: Body) -> dict[str, Camera]:
    """Return the cameras of a body in its posture: those that its arm carries look along the arm's bearing."""
    data, moved, found = data_of(body.model, body.posture), moved_by_arm(body), dict[str, Camera]()
    for name, link in body.cameras.items():
        camera = body.file.cameras[name]
        heading = math.radians(body.arm.bearing) if body.arm is not None and moved[link] else 0.0
        c, s = math.cos(camera.tilt_rad), math.sin(camera.tilt_rad)
        # Columns: to the right, down and ahead of the camera.
        turn = np.array([[0.0, -s, c], [-1.0, 0.0, 0.0], [0.0, -c, -s]])
        pose = standing((0.0, 0.0, 0.0), heading)
        pose[:3, :3] = pose[:3, :3] @ turn
        pose[:3, 3] = (np.linalg.inv(body.base) @ pose_of(data, link) @ np.array([*camera.position_m, 1.0]))[:3]
        found[name] = Camera(pose, PIXELS / 2 / math.tan(math.radians(camera.hfov_deg) / 2))
    return found


def placed(camera: Camera, stand: Stand) -> np.ndarray:
    """Return the pose of a camera in the map of a storey (4x4) of a robot that stands there."""
    return standing((stand.x, stand.y, stand.height), stand.yaw) @ camera.pose


def projected(camera: Camera, pose: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels (N, 2), right and down from the picture's corner, and depths (N,) of points (N, 3) [m]."""
    local = (points - pose[:3, 3]) @ pose[:3, :3]
    depths = local[:, 2]
    return local[:, :2] / np.maximum(depths, NEAREST_M)[:, None] * camera.focal + PIXELS / 2, depths


def in_view(body: Body, stand: Stand, point: Position) -> bool:
    """Return whether a point of the storey is well within the picture of a camera in the body's posture."""
    for camera in cameras_of(body).values():
        pixels, depths = projected(camera, placed(camera, stand), np.array([point]))
        if depths[0] > NEAREST_M and np.abs(pixels[0] / PIXELS - 0.5).max() <= INNER / 2:
            return True
    return False
