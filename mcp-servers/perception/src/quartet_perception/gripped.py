"""How well each thing that might be in the hand explains what the wrist camera sees of it: placed as it would hang.

Tells a ball from a box of the same colour and width, which the width between the fingers and the front face do not.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from quartet_perception import fit
from quartet_perception.catalogue import Thing
from quartet_perception.grasp import grip_depth
from quartet_perception.solids import Solid
from quartet_perception.view import Mask, View
from quartet_site import RobotFile

_DOWN = np.diag([1.0, -1.0, -1.0, 1.0])
_SLIPS_M = (-0.012, 0.0, 0.012)
_MIN_POINTS = 30


def explains(
    view: View, thing: Thing, solids: list[Solid], region: Mask, member: NDArray[np.uint8], file: RobotFile
) -> float:
    """Agreement (0 to 1) of the best pose of `thing` between the fingers with the picture.

    region: HxW pixels that may be it; member: HxW, how much each has its colour. The hand's own frame, turned so that
    up is up, takes the place of the base's: however the hand is tilted, the thing hangs upright in it.
    """
    if view.tool_in_base is None:
        return 0.0
    hand = replace(view, base_from_camera=_DOWN @ np.linalg.inv(view.tool_in_base) @ view.base_from_camera)
    points = hand.points[region & hand.valid]
    if len(points) < _MIN_POINTS:
        return 0.0
    best = 0.0
    for solid in solids:
        height = solid.size[2]
        bottom = -(file.gripper.finger_offset_m + height - grip_depth(height))
        for slip in _SLIPS_M:
            for placed in fit.fit_pose(solid, points, bottom + slip, hand.origin):
                best = max(best, fit.judge(hand, placed, region, member).score)
    return best
