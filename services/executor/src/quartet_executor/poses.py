"""Poses of the hand of a program, and of the tool flange that moves it. Base frame, metres, radians."""

import math
from dataclasses import dataclass
from typing import Any

from quartet_contracts.tools import Pose3D
from quartet_site import RobotFile

Point = tuple[float, float, float]
POINTS_DOWN = 0.98
"""Least cosine between the fingers' direction and straight down of a hand that points down."""


@dataclass(frozen=True)
class Hand:
    """Where the hand is."""

    position: Point
    """Middle between the finger tips."""
    yaw: float
    """Direction in which the fingers close."""
    points_down: bool


def tool_at(position: Point, yaw: float, robot: RobotFile) -> dict[str, Any]:
    """Return the pose of the flange, as the moveit server takes it, that brings the finger tips of a hand to a pose."""
    x, y, z = position
    return {
        "position": [x, y, z + robot.gripper.finger_offset_m],
        # Half a turn about an axis in the plane: z down, x at the yaw.
        "orientation": [math.cos(yaw / 2), math.sin(yaw / 2), 0.0, 0.0],
        "frame_id": robot.frames.base,
    }


def hand_at(pose: Pose3D, robot: RobotFile) -> Hand:
    """Return the hand for a pose of the flange."""
    x, y, z, w = pose.orientation
    along = (2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y))
    closes = (1 - 2 * (y * y + z * z), 2 * (x * y + z * w))
    offset = robot.gripper.finger_offset_m
    tips = tuple(place + offset * share for place, share in zip(pose.position, along, strict=True))
    return Hand((tips[0], tips[1], tips[2]), math.atan2(closes[1], closes[0]), -along[2] >= POINTS_DOWN)
