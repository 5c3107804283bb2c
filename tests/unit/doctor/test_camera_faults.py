"""What the doctor says about pictures that came."""

import numpy as np

from quartet_cli.doctor.cameras import faults_of
from quartet_robot_link import Intrinsics
from quartet_robot_link.camera import Frames
from quartet_site import Camera

CAMERA = Camera(colour_topic="/c", depth_topic="/d", info_topic="/i", frame="optical")


def frames(
    *,
    depth: tuple[int, int] = (48, 64),
    metres: float = 1.0,
    calibrated: tuple[int, int] = (64, 48),
    colour_frame: str = "optical",
) -> Frames:
    return Frames(
        stamp=1.0,
        frame="optical",
        colour_frame=colour_frame,
        colour=np.zeros((48, 64, 3), np.uint8),
        depth=np.full(depth, metres, np.float32),
        intrinsics=Intrinsics(*calibrated, 50.0, 50.0, 32.0, 24.0),
        jpeg=None,
    )


def test_good_pictures() -> None:
    assert faults_of("front", CAMERA, frames(), "/optical") == []


def test_depth_of_another_size() -> None:
    [(what, remedy)] = faults_of("front", CAMERA, frames(depth=(40, 60)), "optical")
    assert "depth is 60x40, colour 64x48" in what
    assert "align_depth" in remedy
    assert "cameras.front.depth_topic" in remedy


def test_depth_without_returns() -> None:
    [(what, remedy)] = faults_of("arm", CAMERA, frames(metres=0.0), "optical")
    assert "only 0 %" in what
    assert "lens" in remedy


def test_calibration_of_another_size() -> None:
    [(what, remedy)] = faults_of("arm", CAMERA, frames(calibrated=(640, 480)), "optical")
    assert "640x480" in what
    assert "cameras.arm.info_topic" in remedy


def test_another_frame() -> None:
    [(_, remedy)] = faults_of("arm", CAMERA, frames(colour_frame="wrist_optical"), "wrist_optical")
    assert remedy == "set cameras.arm.frame in robot.yaml to 'wrist_optical'"


def test_the_calibration_of_another_camera() -> None:
    [(what, remedy)] = faults_of("arm", CAMERA, frames(), "front_optical")
    assert "/i belongs to another camera" in what
    assert remedy == "set cameras.arm.info_topic in robot.yaml to the one beside /c"
