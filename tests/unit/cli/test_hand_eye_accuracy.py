"""What the hand-eye estimate leaves of the mountings that the simulation draws; the truth is its draw."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from quartet_cli.hand_eye.chessboard import Chessboard, depth_at, find_corners
from quartet_cli.hand_eye.estimate import FrontPicture, Look, estimate_front, estimate_wrist
from quartet_cli.hand_eye.poses import board_pose, from_vector
from quartet_cli.hand_eye.views import camera_poses
from quartet_robot_link import Intrinsics
from quartet_simulation.sensors.calibration import draw_calibration
from quartet_simulation.sensors.levels import find_level
from quartet_simulation.simulation import Simulation

STUDIO = Path(__file__).parents[3] / "deploy" / "sites" / "studio" / "world.yaml"
BOARD_AT = (0.8, -0.12, 0.0032)
PIECE = f"- {{name: board, kind: chessboard, centre: [{BOARD_AT[0]}, {BOARD_AT[1]}]}}\nthings:"
BOARD = Chessboard()
OPTICAL = {"front": "front_camera_color_optical_frame", "arm": "arm_camera_color_optical_frame"}


class Stage:
    """One episode: what a robot sees of the board, and what it knows of itself."""

    def __init__(self, sim: Simulation, sensors: str, seed: int) -> None:
        self.sim, self.level, self.seed = sim, find_level(sensors), seed
        sim.reset(None, seed)
        sim.step(0.3)

    def known(self, child: str, root: str = "base_footprint") -> np.ndarray:
        """A frame by /tf, 4x4."""
        frames = {c: (p, t, q) for p, c, t, q in [*self.sim.transforms(), *self.sim.static_transforms()]}
        pose = np.eye(4)
        while child != root:
            child, position, turn = frames[child]
            step = np.eye(4)
            step[:3, :3], step[:3, 3] = Rotation.from_quat(turn).as_matrix(), position
            pose = step @ pose
        return pose

    def picture(self, camera: str) -> tuple[np.ndarray, np.ndarray]:
        """Colour through the JPEG codec, and depth."""
        colour, depth = self.sim.render(camera)
        buffer = io.BytesIO()
        Image.fromarray(colour).save(buffer, "JPEG", quality=self.sim.jpeg_quality)
        return np.asarray(Image.open(buffer)), depth

    def intrinsics(self, camera: str) -> Intrinsics:
        info = self.sim.camera_info(camera)
        return Intrinsics(*(info[name] for name in ("width", "height", "fx", "fy", "cx", "cy")))

    def go(self, tool: np.ndarray) -> bool:
        """Drive the arm there by its measured joints; False when it does not reach so far."""
        scene = self.sim.snapshot()
        joints = scene.ik(tool)
        if joints is None:
            return False
        names = list(self.sim.arm.joints)
        goal = self.sim.execute_trajectory(names, [(0.0, list(scene.positions)), (6.0, list(joints))])
        while not goal.done:
            self.sim.step(0.1)
        self.sim.step(0.3)
        return True

    def truth(self, camera: str) -> np.ndarray:
        """How the camera is mounted in its optical frame as /tf has it, 4x4."""
        assert self.level.calibration is not None
        moved, turned = draw_calibration(self.level.calibration, self.seed).cameras[camera]
        flip = np.diag([1.0, -1.0, -1.0])
        return from_vector(np.concatenate([flip @ moved, flip @ turned]))


def examine(stage: Stage) -> dict[str, tuple[float, float]]:
    """How far the board is from where each camera has it, before and after the correction [mm]."""
    k, base_from_front = stage.intrinsics("front"), stage.known(OPTICAL["front"])
    pictures: list[FrontPicture] = []
    for _ in range(5):
        colour, depth = stage.picture("front")
        if (corners := find_corners(BOARD, colour)) is not None:
            pictures.append(FrontPicture(corners, depth_at(depth, corners)))
        stage.sim.step(0.1)
    assert pictures, "the board is seen now and then"
    where = (base_from_front @ board_pose(BOARD, pictures[0].corners, k))[:3, 3]
    tool_from_camera = stage.known(OPTICAL["arm"], "arm_tool0")
    looks: list[Look] = []
    for pose in camera_poses(where):
        if stage.go(pose @ np.linalg.inv(tool_from_camera)):
            corners = find_corners(BOARD, stage.picture("arm")[0])
            if corners is not None:
                looks.append(Look(stage.known(OPTICAL["arm"]), board_pose(BOARD, corners, stage.intrinsics("arm"))))
    wrist = estimate_wrist(looks)
    front = estimate_front(BOARD, pictures, k, base_from_front, wrist)
    found: dict[str, tuple[float, float]] = {}
    for camera, mounting in (("arm", wrist), ("front", front)):
        point = np.append(mounting.board_at, 1.0)
        off = [(stage.truth(camera) - known) @ point for known in (np.eye(4), mounting.correction)]
        found[camera] = float(np.linalg.norm(off[0])) * 1000, float(np.linalg.norm(off[1])) * 1000
    return found


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("sensors", ["typical", "harsh"])
def test_most_of_the_error_is_gone_after_the_correction(sensors: str, tmp_path: Path) -> None:
    (tmp_path / "world.yaml").write_text(STUDIO.read_text().replace("things:", PIECE, 1))
    sim = Simulation(str(tmp_path), 1, sensors=sensors)
    try:
        found = [examine(Stage(sim, sensors, seed)) for seed in range(1, 6)]
    finally:
        sim.close()
    print(sensors, found)
    for camera in ("arm", "front"):
        before, after = np.array([one[camera] for one in found]).T
        assert after.mean() < 0.5 * before.mean(), (camera, found)
        assert after.max() < before.max(), (camera, found)
    assert max(one["arm"][1] for one in found) < {"typical": 2.5, "harsh": 5.0}[sensors]
