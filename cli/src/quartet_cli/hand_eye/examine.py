"""The check itself: look at the board from several poses of the arm, while the base stands still."""

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from quartet_cli.hand_eye.chessboard import Chessboard, depth_at, find_corners
from quartet_cli.hand_eye.errors import ArmRefusedError, BaseMovedError, BoardNotSeenError
from quartet_cli.hand_eye.estimate import FrontPicture, Look, Mounting, WristMounting, estimate_front, estimate_wrist
from quartet_cli.hand_eye.poses import board_pose
from quartet_cli.hand_eye.views import camera_poses
from quartet_robot_link import CameraSnapshot, Robot

Array = NDArray[np.float64]

UNREACHED = {"PLANNING_FAILED", "OUT_OF_REACH", "GOAL_IN_COLLISION"}
"""Codes with which the arm could not go to a pose and did not move: the next one is tried."""
FRONT_PICTURES = 5
ENOUGH_LOOKS = 12
STILL_M, STILL_RAD = 0.005, math.radians(0.3)
"""The base stood still when its odometry differs by less."""

MoveArm = Callable[[dict[str, Any]], Awaitable[Mapping[str, Any]]]
"""Calls plan_and_execute of the moveit server with a target and returns its result."""


@dataclass(frozen=True)
class Measured:
    """What the check found; `front` is None when the front camera does not see the board."""

    wrist: WristMounting
    front: Mounting | None
    looks: int


async def measure(
    robot: Robot, move: MoveArm, board: Chessboard, tell: Callable[[str], None], *, patience_s: float = 10.0
) -> Measured:
    """Look at the board with both cameras and return what is wrong with their mountings.

    The arm ends where it began, unless a motion was refused. Raises HandEyeError, RobotLinkError.
    """
    session = _Session(robot, board, patience_s)
    began = await robot.base_pose(robot.file.frames.odom)
    joints = await robot.joint_positions()
    at = [joints[name] for name in robot.file.arm.joints]
    pictures, shot = await session.front_pictures()
    if shot is not None:
        where = shot.base_from_camera @ np.append(board_pose(board, pictures[0].corners, shot.intrinsics)[:3, 3], 1.0)
    else:
        look = await session.look()
        if look is None:
            raise BoardNotSeenError(
                f"no camera sees the whole board of {board.columns} x {board.rows} squares: lay it flat ahead of the "
                "robot, with its white margin, in good light and without glare, where the front camera sees all of it, "
                "and give the counts of its squares with --squares"
            )
        where = (look.base_from_camera @ look.camera_from_board)[:, 3]
    tell(f"the board lies at ({where[0]:.2f}, {where[1]:.2f}, {where[2]:.2f}) in {robot.file.frames.base}")
    looks: list[Look] = []
    tool_from_camera = await session.tool_from_camera()
    poses = camera_poses(where[:3])
    for number, pose in enumerate(poses, 1):
        reached = await _go(move, _target(pose @ np.linalg.inv(tool_from_camera)))
        look = await session.look() if reached else None
        if look is not None:
            looks.append(look)
        what = "out of the arm's reach" if not reached else "not in view" if look is None else "seen"
        tell(f"pose {number} of {len(poses)}: the board is {what}")
        if len(looks) == ENOUGH_LOOKS:
            break
    await _go(move, {"joint_positions": at})
    ended = await robot.base_pose(robot.file.frames.odom)
    off, turned = (
        math.dist((began.x, began.y), (ended.x, ended.y)),
        abs(math.remainder(began.yaw - ended.yaw, math.tau)),
    )
    if off > STILL_M or turned > STILL_RAD:
        raise BaseMovedError(
            f"the base moved by {off * 1000:.0f} mm and {math.degrees(turned):.1f} degrees meanwhile: "
            "let it stand still"
        )
    wrist = estimate_wrist(looks)
    front = None
    if shot is not None:
        front = estimate_front(board, pictures, shot.intrinsics, session.uncorrected(shot), wrist)
    return Measured(wrist, front, len(looks))


class _Session:
    """Pictures of one board by both cameras of a robot."""

    def __init__(self, robot: Robot, board: Chessboard, patience_s: float) -> None:
        self._robot, self._board, self._patience_s = robot, board, patience_s

    def uncorrected(self, shot: CameraSnapshot) -> Array:
        """Return the camera in the base frame as /tf alone has it, 4x4."""
        known = self._robot.correction("front" if shot.camera == "front" else "arm")
        return shot.base_from_camera @ np.linalg.inv(known.matrix)

    async def _snapshot(self, camera: Literal["front", "arm"]) -> CameraSnapshot:
        return await self._robot.snapshot(camera, timeout_s=self._patience_s)

    async def front_pictures(self) -> tuple[list[FrontPicture], CameraSnapshot | None]:
        """Return the corners in several pictures of the front camera, and one of the pictures."""
        found: list[FrontPicture] = []
        shot: CameraSnapshot | None = None
        for _ in range(FRONT_PICTURES):
            taken = await self._snapshot("front")
            corners = find_corners(self._board, taken.colour)
            if corners is not None:
                found.append(FrontPicture(corners, depth_at(taken.depth, corners)))
                shot = taken
        return found, shot

    async def look(self) -> Look | None:
        """Return what the wrist camera sees once the arm is at rest, None when it does not see the whole board."""
        await self._robot.wait_arm_at_rest(timeout_s=self._patience_s)
        shot = await self._snapshot("arm")
        corners = find_corners(self._board, shot.colour)
        if corners is None:
            return None
        return Look(self.uncorrected(shot), board_pose(self._board, corners, shot.intrinsics))

    async def tool_from_camera(self) -> Array:
        """Return the wrist camera in the tool frame, corrected as far as it is by now, 4x4."""
        file = self._robot.file
        mounted = await self._robot.transform(file.frames.tool, file.cameras.arm.frame)
        return mounted.matrix @ self._robot.correction("arm").matrix


def _target(pose: Array) -> dict[str, Any]:
    return {
        "position": [float(v) for v in pose[:3, 3]],
        "orientation": [float(v) for v in Rotation.from_matrix(pose[:3, :3]).as_quat()],
    }


async def _go(move: MoveArm, target: dict[str, Any]) -> bool:
    """Return whether the arm went there; False when it cannot. Raises ArmRefusedError for any other end."""
    result = await move(target)
    code = str(result.get("error_code", "UNKNOWN"))
    if code == "NONE" or code in UNREACHED:
        return code == "NONE"
    raise ArmRefusedError(
        f"the arm was not moved on: {code}: {result.get('message', '')}. Nothing was estimated and nothing was "
        "written, and the arm stays where it is"
    )
