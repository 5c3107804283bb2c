"""Uncertainty of a grasp: how far the hand may be off the object, and how much of its room that takes."""

from dataclasses import dataclass

import numpy as np

from quartet_perception.estimate import Estimate


@dataclass(frozen=True)
class GraspUncertainty:
    """Standard deviations of the object as the hand meets it.

    between, across: of its middle along the direction in which the fingers close, and across it [m]. yaw: [rad], None
    for something round. width: of the object between the fingers [m]. room: of the room beside the hand and inside of
    its fingers [m].
    """

    between: float
    across: float
    yaw: float | None
    width: float
    room: float


def grasp_uncertainty(seen: Estimate, yaw: float, tool_error_m: float) -> GraspUncertainty:
    """Return the uncertainty of a grasp whose fingers close along `yaw` [rad, base frame].

    tool_error_m: how far the arm misses its target, RMS on the floor plane. It moves the wrist camera alike, so that
    the hand comes to where that camera has seen the object from above.
    """
    arm = 0.0 if seen.from_above or seen.uncertainty.of_hand else tool_error_m / np.sqrt(2)
    between = float(np.hypot(seen.uncertainty.along(yaw), arm))
    across = float(np.hypot(seen.uncertainty.along(yaw + np.pi / 2), arm))
    solid = seen.solid
    if solid.solid.round:
        share, turned = np.array([0.5, 0.5]), 0.0
    else:
        share = np.abs([np.cos(yaw - solid.yaw), np.sin(yaw - solid.yaw)])
        # A turn moves the corners, the farthest of which are half of the length away.
        turned = seen.uncertainty.yaw_sd * float(np.ptp(solid.footprint @ [-np.sin(yaw), np.cos(yaw)])) / 2
    width = float(np.sqrt(share @ seen.uncertainty.size @ share))
    room = float(np.sqrt(max(between, across) ** 2 + (width / 2) ** 2 + turned**2))
    return GraspUncertainty(between, across, None if solid.solid.round else seen.uncertainty.yaw_sd, width, room)
