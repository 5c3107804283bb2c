"""A detection in the words of the contract: positions in base and map, distance, bearing, size."""

import numpy as np
from numpy.typing import NDArray

from quartet_contracts.tools.perception import CameraName, Detection
from quartet_perception.segmenter import Found
from quartet_perception.view import View

Point = tuple[float, float, float]
Floats = NDArray[np.float64]


def describe(view: View, found: Found) -> Detection:
    """The detection of a find; positions are left out where its depth is missing."""
    camera: CameraName = "arm" if view.camera == "arm" else "front"
    plain = Detection(
        object_id=found.object_id,
        label=found.label,
        score=round(found.score, 3),
        box_xyxy=found.box_xyxy,
        camera=camera,
        visible=round(found.visible, 2),
        in_gripper=found.in_gripper,
    )
    measured = extent(view, found)
    if measured is None:
        return plain
    points, centre, low, high = measured
    near = nearest(points)
    is_surface = found.kind == "surface"
    aim = np.array(near) if is_surface else centre
    return plain.model_copy(
        update={
            "distance_m": float(np.hypot(aim[0], aim[1])),
            "bearing_rad": float(np.arctan2(aim[1], aim[0])),
            "position_base": _point(centre),
            "position_map": None if view.map_from_base is None else _point(view.map_from_base @ [*centre, 1.0]),
            "near_point_base": near,
            "size_m": _point(high - low),
        }
    )


def extent(view: View, found: Found) -> tuple[NDArray[np.floating], Floats, Floats, Floats] | None:
    """Seen points (Nx3), middle, lowest and highest corner of a find [m, base frame]; None where depth is missing."""
    points = view.points[found.mask & view.valid]
    if len(points) < 8:
        return None
    if found.solid is not None:
        centre, (low, high) = found.solid.centre, found.solid.bounds
        return points, np.asarray(centre), low, high
    low, high = np.percentile(points, 1, axis=0).astype(float), np.percentile(points, 99, axis=0).astype(float)
    centre = (low + high) / 2
    if found.kind == "surface" and found.support_z is not None:
        centre[2] = found.support_z
    return points, centre, low, high


def nearest(points: NDArray[np.floating]) -> Point:
    """The point nearest to the robot, in the direction of the middle of the points (a table is met in front, not at
    the corner that happens to be nearer)."""
    middle = np.median(points[:, :2], axis=0)
    bearing = np.arctan2(points[:, 1], points[:, 0])
    aim = float(np.arctan2(middle[1], middle[0]))
    ahead = points[np.abs((bearing - aim + np.pi) % (2 * np.pi) - np.pi) < np.radians(6)]
    ahead = ahead if len(ahead) >= 8 else points
    radius = np.hypot(ahead[:, 0], ahead[:, 1])
    at = ahead[np.argsort(radius)[max(len(radius) // 200, 2) :][:9]]
    return _point(np.median(at, axis=0))


def _point(values: NDArray[np.floating]) -> Point:
    return float(values[0]), float(values[1]), float(values[2])
