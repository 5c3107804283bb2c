"""What a check found, as findings of the doctor, and the corrections that follow."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from quartet_cli.doctor import Finding, Verdict
from quartet_cli.hand_eye.estimate import Mounting
from quartet_cli.hand_eye.examine import Measured
from quartet_robot_link import Robot
from quartet_site import Correction, Gripper

Array = NDArray[np.float64]
CameraName = Literal["front", "arm"]
SURE = 2.0
"""Standard deviations that count as how sure a figure is."""


def findings(measured: Measured, robot: Robot) -> list[Finding]:
    """Return what is wrong with both mountings, how sure that is, and what to do."""
    gripper = robot.file.gripper
    found = [_finding("arm", measured.wrist, robot.correction("arm").matrix, gripper)]
    if measured.front is None:
        found.append(
            Finding(
                step="hand-eye",
                verdict=Verdict.SKIPPED,
                what="front camera: it does not see the whole board",
                remedy="lay the board where both the front camera and the arm's camera see it, and run this again",
            )
        )
    else:
        found.append(_finding("front", measured.front, robot.correction("front").matrix, gripper))
    spread, turned = measured.wrist.spread_m * 1000, math.degrees(measured.wrist.spread_rad)
    found.append(
        Finding(
            step="hand-eye",
            verdict=Verdict.OK,
            what=f"{int(measured.wrist.used.sum())} of {measured.looks} looks of the arm camera agree to "
            f"{spread:.1f} mm and {turned:.2f} degrees: that much the arm itself and the corners err",
        )
    )
    return found


def _finding(camera: CameraName, mounting: Mounting, known: Array, gripper: Gripper) -> Finding:
    tolerance, off, sure = gripper.side_clearance_m, mounting.moves(known), SURE * mounting.sure_m
    left = np.linalg.inv(known) @ mounting.correction
    shift = float(np.linalg.norm(left[:3, 3])) * 1000
    turn = math.degrees(float(Rotation.from_matrix(left[:3, :3]).magnitude()))
    sd = SURE * np.sqrt(np.diag(mounting.covariance))
    shift_sd, turn_sd = float(np.linalg.norm(sd[:3])) * 1000, math.degrees(float(np.linalg.norm(sd[3:])))
    away = float(np.linalg.norm(mounting.board_at))
    text = (
        f"{camera} camera: the board, {away:.2f} m away, is {off * 1000:.1f} mm (± {sure * 1000:.1f}) from where it "
        f"seems; the mounting is off by {shift:.1f} mm (± {shift_sd:.1f}) and {turn:.2f} degrees "
        f"(± {turn_sd:.2f})"
    )
    clearance = f"gripper.side_clearance_m ({tolerance * 1000:.0f} mm)"
    write = f"write the correction (--write: cameras.{camera}.correction), or mend the mounting in the URDF"
    if off > tolerance:
        return Finding(
            step="hand-eye", verdict=Verdict.WRONG, what=f"{text}; a grasp tolerates {clearance}", remedy=write
        )
    if off > tolerance / 2 and off > sure:
        text = f"{text}; that is more than half of {clearance}, which a grasp tolerates"
        return Finding(step="hand-eye", verdict=Verdict.WARNING, what=text, remedy=write)
    return Finding(step="hand-eye", verdict=Verdict.OK, what=f"{text}; a grasp tolerates {clearance}")


def corrections(measured: Measured, gripper: Gripper) -> tuple[dict[CameraName, Correction], list[str]]:
    """Return the correction of each camera for which it can be written, and why it cannot for the others."""
    made: dict[CameraName, Correction] = {}
    kept: list[str] = []
    mountings: dict[CameraName, Mounting | None] = {"front": measured.front, "arm": measured.wrist}
    for camera, mounting in mountings.items():
        if mounting is None:
            kept.append(f"{camera} camera: it was not measured")
        elif SURE * mounting.sure_m > gripper.side_clearance_m:
            kept.append(
                f"{camera} camera: the estimate is sure to {SURE * mounting.sure_m * 1000:.1f} mm only, which a grasp "
                f"does not tolerate (gripper.side_clearance_m is {gripper.side_clearance_m * 1000:.0f} mm)"
            )
        else:
            x, y, z = (round(float(v), 5) for v in mounting.correction[:3, 3])
            roll, pitch, yaw = (
                round(float(v), 5) for v in Rotation.from_matrix(mounting.correction[:3, :3]).as_euler("xyz")
            )
            try:
                made[camera] = Correction(position_m=(x, y, z), rpy_rad=(roll, pitch, yaw))
            except ValueError:
                kept.append(
                    f"{camera} camera: it is mounted {np.linalg.norm([x, y, z]) * 1000:.0f} mm from where /tf has it, "
                    "too far for a correction: mend its mounting in the URDF"
                )
    return made, kept
