"""What the sensors of the arm at its table measure in one episode: two cameras, joints and gripper."""

from __future__ import annotations

import numpy as np

from quartet_simulation.robot import panda
from quartet_simulation.sensors import frames
from quartet_simulation.sensors.calibration import CameraMounts, draw_calibration, exact, measured_joints
from quartet_simulation.sensors.cameras import Cameras
from quartet_simulation.sensors.levels import find_level
from quartet_simulation.tabletop.body import TableBody
from quartet_simulation.tabletop.world import Tabletop


class _TimedBody(TableBody):
    """The arm's body by the clock of its episode, so that no two readings of a sensor have the same noise."""

    @property
    def time(self) -> float:
        """World time [s]."""
        return float(self.data.time)


class TableSensors:
    """The sensors of an episode; from here on the arm goes where its encoders have it.

    All poses are in base_footprint: on the floor under the arm's foot, x forward, z up. To be used in one thread.

    Args:
        table: the episode.
        level: clean, typical or harsh.
        seed: of calibration and noise.

    Raises:
        UnknownNameError: there is no such level.
    """

    def __init__(self, table: Tabletop, level: str, seed: int) -> None:
        self._level, self._seed = find_level(level), seed
        self._body, self.foot = _TimedBody(table), table.foot
        joints = len(panda.JOINTS)
        drawn = self._level.calibration
        self._calibration = exact(joints) if drawn is None else draw_calibration(drawn, seed, joints)
        front, arm = (frames.optical_pose(self._body, camera) for camera in ("front", "arm"))
        front[:2, 3] -= self.foot[:2]
        arm[:2, 3] -= self.foot[:2]
        self._front_in_base = front
        self._arm_in_tool = np.linalg.inv(self._body.arm.forward(self._body.arm_positions())) @ arm
        CameraMounts(self._body).shift(self._calibration)
        table.encoder_errors = self._calibration.joints
        self._cameras: Cameras | None = None

    @property
    def time(self) -> float:
        """World time [s]."""
        return self._body.time

    @property
    def jpeg_quality(self) -> int:
        """Of the pictures as the robot sends them, 1 to 95."""
        return self._level.jpeg_quality

    def picture(self, camera: str) -> tuple[np.ndarray, np.ndarray]:
        """Return colour, uint8 HxWx3, and depth, float32 HxW [m] with 0 for no return, of the camera front or arm."""
        if self._cameras is None:
            self._cameras = Cameras(self._body.model, self._level, {})
        return self._cameras.render(camera, self._body.data, self._seed, self.time, (1.0, 1.0, 1.0))

    def camera_info(self, camera: str) -> dict[str, float]:
        """Return fx, fy, cx and cy of a camera [pixels]."""
        info = frames.camera_info(self._body, camera)
        return {name: float(info[name]) for name in ("fx", "fy", "cx", "cy")}

    def camera_pose(self, camera: str) -> np.ndarray:
        """Return a camera's optical frame (x right, y down, z forward) as the robot knows it, 4x4."""
        return self._front_in_base if camera == "front" else self.tool() @ self._arm_in_tool

    def tool(self) -> np.ndarray:
        """Return panda_tool0 by the measured joints, 4x4."""
        return self._body.arm.forward(measured_joints(self._body, self._calibration))

    def gripper(self) -> tuple[float, float]:
        """Return the measured distance between the fingers [m] and their force [N]."""
        state = frames.gripper_state(self._body, 0.0, self._seed, self._calibration)
        return state["width"], state["effort"]

    def close(self) -> None:
        """Free the renderer."""
        if self._cameras is not None:
            self._cameras.close()
            self._cameras = None
