"""The hand-eye check over a real simulation whose cameras are mounted otherwise than /tf says, drawn by the seed."""

import asyncio
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import quartet_moveit
from quartet_cli.doctor import Verdict
from quartet_cli.hand_eye.chessboard import Chessboard
from quartet_cli.hand_eye.errors import ArmRefusedError, BoardNotSeenError
from quartet_cli.hand_eye.examine import measure
from quartet_cli.hand_eye.poses import from_vector
from quartet_cli.hand_eye.report import corrections, findings
from quartet_robot_link import Robot
from quartet_simulation.sensors.calibration import draw_calibration
from quartet_simulation.sensors.levels import find_level
from quartet_site import Correction, RobotFile

STUDIO = Path(__file__).parents[3] / "deploy" / "sites" / "studio"
BOARD = "- {name: board, kind: chessboard, centre: [0.8, -0.12]}\nthings:"


@pytest.fixture(scope="module")
def studios(tmp_path_factory: pytest.TempPathFactory, start_studio: Any) -> Iterator[Callable[[str], Any]]:
    """`studios("typical")`: a studio with a board on its floor, with the sensors of that level."""
    running: dict[str, Any] = {}

    def start(sensors: str) -> Any:
        if sensors not in running:
            folder = tmp_path_factory.mktemp(sensors)
            (folder / "world.yaml").write_text((STUDIO / "world.yaml").read_text().replace("things:", BOARD, 1))
            running[sensors] = start_studio(folder / "ready", "--world", str(folder), "--sensors", sensors)
        return running[sensors]

    yield start
    for studio in running.values():
        studio.end()


class Unmoved:
    """An arm that is refused each motion with a code."""

    def __init__(self, code: str) -> None:
        self.code, self.asked = code, 0

    async def __call__(self, target: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        return {"ok": False, "error_code": self.code, "message": "not now"}


async def open_robot(studio: Any, robot_file: RobotFile, seed: int) -> Robot:
    await asyncio.to_thread(studio.post, "/reset", seed=seed)
    return await Robot.open(robot_file, url=studio.url, wait_s=60)


def by(moveit: Any) -> Any:
    """Move the arm through this server, as the command does."""
    return lambda target: moveit.call("plan_and_execute", target=target)


def true_mounting(sensors: str, seed: int, camera: str) -> np.ndarray:
    """What the simulation drew, in the optical frame."""
    level = find_level(sensors).calibration
    assert level is not None
    moved, turned = draw_calibration(level, seed).cameras[camera]
    flip = np.diag([1.0, -1.0, -1.0])
    return from_vector(np.concatenate([flip @ moved, flip @ turned]))


def matrix(correction: Correction) -> np.ndarray:
    found = np.eye(4)
    found[:3, :3] = Rotation.from_euler("xyz", correction.rpy_rad).as_matrix()
    found[:3, 3] = correction.position_m
    return found


def off_mm(truth: np.ndarray, known: np.ndarray, at: np.ndarray) -> float:
    """How far a point that the camera sees at `at` is from where it is thought to be."""
    return float(np.linalg.norm(((truth - known) @ np.append(at, 1.0))[:3])) * 1000


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_the_correction_takes_most_of_the_error_away(studios: Any, robot_file: RobotFile, open_over: Any) -> None:
    """Through the moveit server, as a person runs it; test_hand_eye_accuracy has more seeds."""
    sensors, seed = "harsh", 1
    robot = await open_robot(studios(sensors), robot_file, seed)
    try:
        moveit = await open_over(robot, quartet_moveit)
        joints = await robot.joint_positions()
        found = await measure(robot, by(moveit), Chessboard(), print)
        back = await robot.joint_positions()
    finally:
        await robot.close()
    assert [back[name] for name in robot_file.arm.joints] == pytest.approx(
        [joints[name] for name in robot_file.arm.joints], abs=0.02
    )
    made, kept = corrections(found, robot_file.gripper)
    assert not kept
    assert found.front is not None
    for camera, mounting in (("arm", found.wrist), ("front", found.front)):
        truth = true_mounting(sensors, seed, camera)
        before, after = (off_mm(truth, known, mounting.board_at) for known in (np.eye(4), matrix(made[camera])))
        assert after < 0.5 * before, (camera, before, after)
    verdicts = [finding.verdict for finding in findings(found, robot)]
    assert Verdict.OK not in verdicts[:2], "the person is told about both cameras"


@pytest.mark.parametrize("code", ["STOPPED", "DENIED", "FENCED", "CANCELED"])
async def test_a_refused_motion_ends_the_check_at_once(studios: Any, robot_file: RobotFile, code: str) -> None:
    robot, arm = await open_robot(studios("clean"), robot_file, 1), Unmoved(code)
    try:
        with pytest.raises(ArmRefusedError, match=f"{code}: not now. Nothing was estimated and nothing was written"):
            await measure(robot, arm, Chessboard(), print)
    finally:
        await robot.close()
    assert arm.asked == 1


async def test_a_board_that_nobody_sees_moves_nothing(studios: Any, robot_file: RobotFile) -> None:
    robot, arm = await open_robot(studios("clean"), robot_file, 1), Unmoved("NONE")
    try:
        with pytest.raises(BoardNotSeenError, match="no camera sees the whole board of 12 x 9 squares: lay it flat"):
            await measure(robot, arm, Chessboard(12, 9), print)
    finally:
        await robot.close()
    assert arm.asked == 0


async def test_a_snapshot_is_corrected_as_the_robot_file_says(robot: Robot, sim: Any) -> None:
    known = (await robot.snapshot("front")).base_from_camera
    front = robot.file.cameras.front.model_copy(
        update={"correction": Correction(position_m=(0.01, 0.02, -0.03), rpy_rad=(0.1, -0.05, 0.2))}
    )
    robot.file = robot.file.model_copy(update={"cameras": robot.file.cameras.model_copy(update={"front": front})})
    shot = await robot.snapshot("front")
    assert shot.base_from_camera == pytest.approx(known @ matrix(front.correction), abs=1e-3)
    assert math.dist(shot.base_from_camera[:3, 3], known[:3, 3]) > 0.03
