"""The two parallel fingers of a model, measured in the tool frame: along x they close, along z they reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quartet_simulation.described.shapes import collides
from quartet_simulation.described.structure import FINGER, Structure, local_pose
from quartet_site import Fault, RobotFile

ASIDE = 0.05
"""Fingers that close along x may do so with this error [rad]."""
OFF_AXIS_M = 0.006
"""The point between the pads may be this far beside the z axis of the tool frame [m]."""
SHUT_M = 0.004
"""Closed fingers may be this far apart [m]; a gripper command of the real thing ends so."""


@dataclass(frozen=True)
class Finger:
    """One finger. Its joint as it is used is 0 when the hand is closed, and positive motion opens it [m]."""

    joint: int
    sign: int
    """What its joint in the model is multiplied with."""
    closed: float
    """Position of the model's joint when the hand is closed [m]."""
    travel: float
    """From there until it is fully open [m]."""
    reference: float
    """Of the joint as it is used, in the model's reference configuration [m]."""
    pad: int
    """The geom that touches first."""


@dataclass(frozen=True)
class Hand:
    """Both fingers and their sizes [m]."""

    fingers: tuple[Finger, Finger]
    gap: float
    """Distance between the pads when closed."""
    reach: float
    """From the tool frame to the finger tips."""
    pad_half: float
    """Half of the length of the pads along z."""

    @property
    def travel(self) -> float:
        """How far each finger moves [m]."""
        return min(finger.travel for finger in self.fingers)

    @property
    def stroke(self) -> float:
        """Distance between the pads when fully open [m]."""
        return self.gap + 2 * self.travel

    @property
    def open_position(self) -> float:
        """Position of the first finger's joint in the model, fully open [m]."""
        return self.closed_position + self.fingers[0].sign * self.travel

    @property
    def closed_position(self) -> float:
        """Position of the first finger's joint in the model, fully closed [m]."""
        return self.fingers[0].closed


def hand_of(file: RobotFile, found: Structure) -> tuple[Hand | None, list[Fault]]:
    """Return the measured hand of a model, or None and why its fingers are no parallel gripper."""
    model, at = found.model, ("frames", "tool")
    tool = found.pose(found.links[-1]) @ found.tool
    faults: list[Fault] = []
    boxes: list[dict[int, np.ndarray]] = []
    axes: list[np.ndarray] = []
    for joint in found.fingers:
        name, body = model.joint(joint).name, int(model.jnt_bodyid[joint])
        axis = tool[:3, :3].T @ found.pose(body)[:3, :3] @ model.jnt_axis[joint]
        axes.append(axis)
        if abs(axis[0]) < np.cos(ASIDE):
            shown = ", ".join(f"{value + 0.0:.2f}" for value in np.round(axis, 2))
            faults.append(
                (at, f"the finger of '{name}' moves along ({shown}) of it; valid: along x, with the fingers along z")
            )
        boxes.append(_boxes(found, joint, np.linalg.inv(tool)))
        if not boxes[-1]:
            faults.append((FINGER, f"the finger of '{name}' has no geom that collides; give the model one"))
    if faults:
        return None, faults
    middles = [np.mean([box.mean(axis=0) for box in finger.values()], axis=0) for finger in boxes]
    # The first finger is that of `gripper.joint`, on either side.
    side = 1 if middles[0][0] > middles[1][0] else -1
    pads = [_innermost(boxes[0], side), _innermost(boxes[1], -side)]
    inner = [_inner(boxes[0][pads[0]], side), _inner(boxes[1][pads[1]], -side)]
    gap = side * (inner[0] - inner[1])
    both = np.array([boxes[0][pads[0]], boxes[1][pads[1]]])
    # The pads' middle across the closing direction, and along it where both have moved alike.
    middle = np.array([(inner[0] + inner[1]) / 2, both[:, :, 1].mean()])
    reach = max(float(box[1, 2]) for finger in boxes for box in finger.values())
    if np.abs(middle).max() > OFF_AXIS_M or reach <= 0:
        shown = ", ".join(f"{value:.3f}" for value in (*middle, reach))
        faults.append(
            (at, f"the tips of the fingers meet at ({shown}) of it; valid: on its z axis, ahead; move or turn it")
        )
        return None, faults
    signs = [int(np.sign(axes[0][0])) * side, int(np.sign(axes[1][0])) * -side]
    ends = [_ends(found, joint, sign) for joint, sign in zip(found.fingers, signs, strict=True)]
    shut = gap + ends[0][0] + ends[1][0]
    if shut > SHUT_M:
        faults.append((FINGER, f"closed fingers are {shut:.3f} m apart; valid: up to {SHUT_M:g}"))
        return None, faults
    # Fingers whose ranges would let them overlap are closed where the pads meet.
    inside = max(0.0, -shut / 2)
    first, second = (
        _finger(found, joint, sign, least + inside, most, pad)
        for joint, sign, (least, most), pad in zip(found.fingers, signs, ends, pads, strict=True)
    )
    length = float((both[:, 1, 2] - both[:, 0, 2]).mean())
    return Hand((first, second), max(shut, 0.0), reach, length / 2), []


def _boxes(found: Structure, joint: int, to_tool: np.ndarray) -> dict[int, np.ndarray]:
    """Return the extents of a finger's colliding geoms in the tool frame, least and greatest corner (2, 3) [m]."""
    model, body = found.model, int(found.model.jnt_bodyid[joint])
    boxes: dict[int, np.ndarray] = {}
    for geom in range(model.ngeom):
        within = int(model.geom_bodyid[geom])
        if within not in found.bodies or found.carrier(within) != body or not collides(model, geom):
            continue
        pose = to_tool @ found.pose(within) @ local_pose(model.geom_pos[geom], model.geom_quat[geom])
        centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
        middle, reach = pose[:3, :3] @ centre + pose[:3, 3], np.abs(pose[:3, :3]) @ half
        boxes[geom] = np.array([middle - reach, middle + reach])
    return boxes


def _inner(box: np.ndarray, side: int) -> float:
    return float(box[0, 0] if side > 0 else box[1, 0])


def _innermost(boxes: dict[int, np.ndarray], side: int) -> int:
    """Return the geom of a finger that is nearest to the other one, of equals the one that reaches farthest."""
    return min(boxes, key=lambda geom: (round(side * _inner(boxes[geom], side), 4), -float(boxes[geom][1, 2])))


def _ends(found: Structure, joint: int, sign: int) -> tuple[float, float]:
    """Return how far a finger opens from the model's reference configuration, at least and at most [m]."""
    model = found.model
    reference = float(model.qpos0[model.jnt_qposadr[joint]])
    least, most = sorted(sign * (float(end) - reference) for end in model.jnt_range[joint])
    return least, most


def _finger(found: Structure, joint: int, sign: int, least: float, most: float, pad: int) -> Finger:
    reference = float(found.model.qpos0[found.model.jnt_qposadr[joint]])
    return Finger(joint, sign, reference + sign * least, most - least, -least, pad)
