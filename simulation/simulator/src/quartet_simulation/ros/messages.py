"""ROS messages from the readings of the simulated sensors; one function per topic."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from quartet_simulation.ros.types import Message

Transform = tuple[str, str, list[float], list[float]]
"""parent, child, translation [m], quaternion xyzw"""

HOLDING_FORCE_N = 5.0
HOLDING_WIDTH_M = 0.008
BATTERY_LIFE_S = 4 * 3600.0


def stamp(time_s: float) -> Message:
    """Return builtin_interfaces/Time or Duration of seconds."""
    seconds, nanoseconds = divmod(round(time_s * 1e9), 1_000_000_000)
    return {"sec": seconds, "nanosec": nanoseconds}


def seconds(message: Message) -> float:
    """Return the seconds of builtin_interfaces/Time or Duration."""
    return float(message["sec"]) + message["nanosec"] * 1e-9


def header(time_s: float, frame: str) -> Message:
    """Return std_msgs/Header."""
    return {"stamp": stamp(time_s), "frame_id": frame}


def vector(values: Iterable[float]) -> Message:
    """Return geometry_msgs/Vector3."""
    x, y, z = values
    return {"x": float(x), "y": float(y), "z": float(z)}


def quaternion(values: Iterable[float]) -> Message:
    """Return geometry_msgs/Quaternion of x, y, z, w."""
    x, y, z, w = values
    return {"x": float(x), "y": float(y), "z": float(z), "w": float(w)}


def yaw_quaternion(yaw: float) -> Message:
    """Return geometry_msgs/Quaternion of a turn about z [rad]."""
    return {"x": 0.0, "y": 0.0, "z": math.sin(yaw / 2), "w": math.cos(yaw / 2)}


def yaw_of(message: Message) -> float:
    """Heading of a quaternion about z [rad]."""
    x, y, z, w = (message[axis] for axis in "xyzw")
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def planar_pose(x: float, y: float, yaw: float) -> Message:
    """Return geometry_msgs/Pose of x, y [m] and yaw [rad]."""
    return {"position": vector((x, y, 0.0)), "orientation": yaw_quaternion(yaw)}


def tf(time_s: float, transforms: Iterable[Transform]) -> Message:
    """Return tf2_msgs/TFMessage."""
    return {
        "transforms": [
            {
                "header": header(time_s, parent),
                "child_frame_id": child,
                "transform": {"translation": vector(translation), "rotation": quaternion(rotation)},
            }
            for parent, child, translation, rotation in transforms
        ]
    }


def odometry(time_s: float, odom: dict[str, Any]) -> Message:
    """Return nav_msgs/Odometry."""
    vx, vy, wz = odom["twist"]
    return {
        "header": header(time_s, "odom"),
        "child_frame_id": "base_footprint",
        "pose": {"pose": planar_pose(*odom["pose"]), "covariance": _planar_covariance(0.01, 0.01)},
        "twist": {
            "twist": {"linear": vector((vx, vy, 0.0)), "angular": vector((0.0, 0.0, wz))},
            "covariance": _planar_covariance(0.005, 0.005),
        },
    }


def localisation(time_s: float, pose: tuple[float, float, float], error: tuple[float, float]) -> Message:
    """Return /amcl_pose: base_footprint in map as localisation estimates it.

    pose: x, y [m], yaw [rad]. error: RMS error of x and of y [m], and of yaw [rad].
    """
    return {
        "header": header(time_s, "map"),
        "pose": {"pose": planar_pose(*pose), "covariance": _planar_covariance(*error)},
    }


def _planar_covariance(position_m: float, yaw_rad: float) -> list[float]:
    covariance = [0.0] * 36
    covariance[0] = covariance[7] = position_m**2
    covariance[35] = yaw_rad**2
    return covariance


def scan(time_s: float, values: dict[str, Any]) -> Message:
    """Return sensor_msgs/LaserScan."""
    return {
        "header": header(time_s, values["frame"]),
        "angle_min": float(values["angle_min"]),
        "angle_max": float(values["angle_max"]),
        "angle_increment": float(values["angle_increment"]),
        "time_increment": 0.0,
        "scan_time": 0.1,
        "range_min": float(values["range_min"]),
        "range_max": float(values["range_max"]),
        "ranges": np.ascontiguousarray(values["ranges"], dtype=np.float32),
        "intensities": [],
    }


def joint_states(time_s: float, values: dict[str, list[Any]]) -> Message:
    """Return sensor_msgs/JointState."""
    return {
        "header": header(time_s, ""),
        "name": list(values["name"]),
        **{key: [float(value) for value in values[key]] for key in ("position", "velocity", "effort")},
    }


def occupancy_grid(time_s: float, grid: dict[str, Any]) -> Message:
    """Return nav_msgs/OccupancyGrid."""
    height, width = grid["data"].shape
    x, y = grid["origin"]
    return {
        "header": header(time_s, "map"),
        "info": {
            "map_load_time": stamp(time_s),
            "resolution": float(grid["resolution"]),
            "width": int(width),
            "height": int(height),
            "origin": planar_pose(float(x), float(y), 0.0),
        },
        "data": np.ascontiguousarray(grid["data"], dtype=np.int8).ravel(),
    }


def gripper_status(state: dict[str, float]) -> Message:
    """Return moving, holding, empty or open, derived from width and force alone, as a driver does."""
    if state["moving"]:
        status = "moving"
    elif state["width"] <= HOLDING_WIDTH_M:
        status = "empty"
    elif abs(state["effort"]) >= HOLDING_FORCE_N and state["wanted"] < state["width"]:
        status = "holding"
    else:
        status = "open"
    return {"data": status}


def path(time_s: float, points: np.ndarray) -> Message:
    """Return nav_msgs/Path through `points`, N x 2 [m] in the map."""
    head = header(time_s, "map")
    return {
        "header": head,
        "poses": [{"header": head, "pose": planar_pose(float(x), float(y), 0.0)} for x, y in points],
    }


def battery(time_s: float) -> Message:
    """Return sensor_msgs/BatteryState."""
    left = max(0.0, 1.0 - time_s / BATTERY_LIFE_S)
    return {
        "header": header(time_s, ""),
        "voltage": 44.0 + 8.0 * left,
        "temperature": 25.0,
        "current": -6.0,
        "charge": 15.0 * left,
        "capacity": 15.0,
        "design_capacity": 15.0,
        "percentage": left,
        "power_supply_status": 2,
        "power_supply_health": 1,
        "power_supply_technology": 2,
        "present": True,
        "cell_voltage": [],
        "cell_temperature": [],
        "location": "base",
        "serial_number": "",
    }


def camera_info(time_s: float, info: dict[str, Any]) -> Message:
    """Return sensor_msgs/CameraInfo."""
    fx, fy, cx, cy = (float(info[key]) for key in ("fx", "fy", "cx", "cy"))
    return {
        "header": header(time_s, info["frame"]),
        "height": int(info["height"]),
        "width": int(info["width"]),
        "distortion_model": "plumb_bob",
        "d": [0.0] * 5,
        "k": [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        "r": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        "p": [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
        "binning_x": 0,
        "binning_y": 0,
        "roi": {"x_offset": 0, "y_offset": 0, "height": 0, "width": 0, "do_rectify": False},
    }


def compressed_image(time_s: float, frame: str, jpeg: bytes) -> Message:
    """Return sensor_msgs/CompressedImage."""
    return {"header": header(time_s, frame), "format": "rgb8; jpeg compressed bgr8", "data": jpeg}


def colour_image(time_s: float, frame: str, rgb: np.ndarray) -> Message:
    """Return sensor_msgs/Image of RGB pixels (uint8, HxWx3)."""
    return _image(time_s, frame, "rgb8", rgb)


def depth_image(time_s: float, frame: str, depth_m: np.ndarray) -> Message:
    """16UC1 [mm]; 0 where there is no return."""
    millimetres = np.nan_to_num(depth_m * 1000.0 + 0.5, nan=0.0, posinf=0.0, neginf=0.0)
    return _image(time_s, frame, "16UC1", np.where(millimetres < 65535.0, millimetres, 0.0).astype("<u2"))


def _image(time_s: float, frame: str, encoding: str, pixels: np.ndarray) -> Message:
    height, width = pixels.shape[:2]
    data = pixels.tobytes()
    return {
        "header": header(time_s, frame),
        "height": height,
        "width": width,
        "encoding": encoding,
        "is_bigendian": 0,
        "step": len(data) // height,
        "data": data,
    }
