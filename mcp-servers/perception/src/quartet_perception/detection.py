"""The detection that a tool reports of a segmented object: positions in base and map, distance, bearing, size."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from quartet_contracts.tools.perception import CameraName, Detection
from quartet_perception.scene.view import View
from quartet_perception.segmenters.base import SegmentedObject
from quartet_perception.uncertainty import PoseUncertainty, in_map, pose_uncertainty

Point = tuple[float, float, float]
Floats = NDArray[np.float64]

UNKNOWN_LOCALISATION = np.diag([0.05**2, 0.05**2, 0.03**2])
"""Covariance of the base in the map (x, y [m], yaw [rad]) where localisation does not tell it: an assumption."""


def describe(view: View, found: SegmentedObject) -> Detection:
    """Return the detection; positions are left out where the object's depth is missing."""
    camera: CameraName = "arm" if view.camera == "arm" else "front"
    plain = Detection(
        object_id=found.object_id,
        label=found.label,
        score=round(found.score, 3),
        box_xyxy=found.box_xyxy,
        camera=camera,
        visible=round(found.visible if found.in_view is None else found.in_view, 2),
        in_gripper=found.in_gripper,
        doubtful=found.doubtful,
    )
    measured = extent(view, found)
    if measured is None:
        return plain
    points, centre, low, high = measured
    near = nearest_point(points)
    uncertainty = detection_uncertainty(view, found)
    base_sd = map_sd = None
    if uncertainty is not None:
        base_sd = _rounded(uncertainty.position_sd)
        if view.map_from_base is not None:
            localisation = UNKNOWN_LOCALISATION if view.localisation is None else view.localisation
            map_sd = _rounded(np.sqrt(np.diag(in_map(uncertainty, centre, view.map_from_base, localisation))))
    aim = np.array(near) if found.kind == "surface" else centre
    return plain.model_copy(
        update={
            "distance_m": float(np.hypot(aim[0], aim[1])),
            "bearing_rad": float(np.arctan2(aim[1], aim[0])),
            "position_base": to_point(centre),
            "position_map": None if view.map_from_base is None else to_point(view.map_from_base @ [*centre, 1.0]),
            "position_base_sd": base_sd,
            "position_map_sd": map_sd,
            "near_point_base": near,
            "size_m": None if found.in_gripper else to_point(high - low),
        }
    )


def detection_uncertainty(view: View, found: SegmentedObject) -> PoseUncertainty | None:
    """Return the uncertainty of the middle that a detection tells; None where it is that of a part in view.

    That is so of surfaces, and of what no segmenter knows the shape of.
    """
    if found.solid is None or found.kind == "surface":
        return None
    return pose_uncertainty(view, found, found.solid, measured=found.refined)


def extent(view: View, found: SegmentedObject) -> tuple[NDArray[np.floating], Floats, Floats, Floats] | None:
    """Return seen points (Nx3), middle, lowest and highest corner [m, base frame]; None where depth is missing."""
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


def nearest_point(points: NDArray[np.floating]) -> Point:
    """Return the point of Nx3 that is nearest to the robot, in the direction of the middle of the points.

    A table is approached from the front, not at the corner that happens to be nearer.
    """
    middle = np.median(points[:, :2], axis=0)
    bearing = np.arctan2(points[:, 1], points[:, 0])
    aim = float(np.arctan2(middle[1], middle[0]))
    ahead = points[np.abs((bearing - aim + np.pi) % (2 * np.pi) - np.pi) < np.radians(6)]
    ahead = ahead if len(ahead) >= 8 else points
    radius = np.hypot(ahead[:, 0], ahead[:, 1])
    at = ahead[np.argsort(radius)[max(len(radius) // 200, 2) :][:9]]
    return to_point(np.median(at, axis=0))


def to_point(values: NDArray[np.floating]) -> Point:
    """Return the first three values as plain floats."""
    return float(values[0]), float(values[1]), float(values[2])


def _rounded(deviations: Iterable[float]) -> Point:
    """Return standard deviations of x, y and z to a tenth of a millimetre."""
    x, y, z = (round(float(one), 4) for one in deviations)
    return x, y, z
