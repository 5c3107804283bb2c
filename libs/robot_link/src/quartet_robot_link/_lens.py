"""Lens distortion of a calibrated camera, and its removal from images.

Source of the models: OpenCV, calib3d (plumb_bob and rational_polynomial) and calib3d::fisheye (equidistant), which are
those of sensor_msgs/msg/CameraInfo.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quartet_robot_link.errors import BadFrameError
from quartet_robot_link.link import number

Pixels = NDArray[np.float64]
MODELS = {"plumb_bob": 5, "rational_polynomial": 8, "equidistant": 4}
"""Coefficients that each model has here. A rational_polynomial of OpenCV may have more, for a tilted sensor."""


@dataclass(frozen=True)
class Pinhole:
    """Focal lengths and principal point [pixels]."""

    fx: float
    fy: float
    cx: float
    cy: float


@dataclass(frozen=True)
class Lens:
    """Calibration of a camera, as its CameraInfo has it.

    raw: matrix K of the image as the sensor takes it. rectified: that of the image without distortion (P).
    coefficients: of the distortion, none where there is no distortion.
    """

    width: int
    height: int
    raw: Pinhole
    rectified: Pinhole
    model: str
    coefficients: tuple[float, ...]


def read_lens(info: dict[str, Any]) -> Lens:
    """Return the calibration of a sensor_msgs/msg/CameraInfo. Raises BadFrameError."""
    k = _numbers(info, "k")
    if len(k) != 9 or k[0] <= 0 or k[4] <= 0:
        given = _field(info, "k")[:9]
        raise BadFrameError(f"CameraInfo has no usable matrix k: {given}; check the camera's calibration")
    raw = Pinhole(k[0], k[4], k[2], k[5])
    p = _numbers(info, "p")
    rectified = Pinhole(p[0], p[5], p[2], p[6]) if len(p) == 12 and p[0] > 0 and p[5] > 0 else raw
    d, model = _numbers(info, "d"), str(info.get("distortion_model") or "plumb_bob")
    if len(d) != len(_field(info, "d")):
        raise BadFrameError(f"CameraInfo has no usable coefficients d: {_field(info, 'd')}; check the calibration")
    while d and d[-1] == 0:
        d.pop()
    if d and (model not in MODELS or len(d) > MODELS[model]):
        raise BadFrameError(
            f"CameraInfo has the distortion_model '{model}' with {len(d)} coefficients; valid: "
            f"{', '.join(f'{name} with at most {most}' for name, most in MODELS.items())}. Rectify the images on the "
            "robot (image_proc), and set the topics of the camera in robot.yaml to the rectified ones (image_rect)"
        )
    return Lens(int(info["width"]), int(info["height"]), raw, rectified, model, tuple(d))


def without_distortion(image: np.ndarray, lens: Lens, target: Pinhole) -> np.ndarray:
    """Return a raw image (H, W, ...) as a pinhole camera `target` takes it; pixels that the raw image lacks are 0.

    Each pixel is the nearest one of the raw image, so that no depth is made up between near and far.
    """
    height, width = image.shape[:2]
    rows, columns = _sources(lens, target, height, width)
    seen = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    found = np.zeros_like(image)
    found[seen] = image[rows[seen], columns[seen]]
    return found


@lru_cache(maxsize=4)
def _sources(lens: Lens, target: Pinhole, height: int, width: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return row and column in the raw image of each pixel."""
    v, u = np.mgrid[:height, :width].astype(np.float64)
    x, y = distorted(lens, (u - target.cx) / target.fx, (v - target.cy) / target.fy)
    # What is beyond any image stays so: a far point of a polynomial has no place in an integer.
    columns = np.clip(np.nan_to_num(lens.raw.fx * x + lens.raw.cx, nan=-1.0), -1, width)
    rows = np.clip(np.nan_to_num(lens.raw.fy * y + lens.raw.cy, nan=-1.0), -1, height)
    return np.rint(rows).astype(np.intp), np.rint(columns).astype(np.intp)


def distorted(lens: Lens, x: Pixels, y: Pixels) -> tuple[Pixels, Pixels]:
    """Return where the lens takes points (x, y) of the plane at distance 1."""
    r2 = x * x + y * y
    if lens.model == "equidistant":
        k1, k2, k3, k4 = (*lens.coefficients, *[0.0] * 4)[:4]
        r = np.sqrt(r2)
        angle = np.arctan(r)
        a2 = angle * angle
        scale = np.where(r > 0, angle * (1 + a2 * (k1 + a2 * (k2 + a2 * (k3 + a2 * k4)))) / np.maximum(r, 1e-12), 1.0)
        return x * scale, y * scale
    k1, k2, p1, p2, k3, k4, k5, k6 = (*lens.coefficients, *[0.0] * 8)[:8]
    radial = (1 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1 + r2 * (k4 + r2 * (k5 + r2 * k6)))
    return (
        x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x),
        y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y,
    )


def _field(info: dict[str, Any], name: str) -> list[Any]:
    # A numpy array in CBOR, which has no truth value. ROS 1 has the names in capitals.
    given = info.get(name, info.get(name.upper()))
    return [] if given is None else list(given)


def _numbers(info: dict[str, Any], name: str) -> list[float]:
    return [value for value in map(number, _field(info, name)) if value is not None]
