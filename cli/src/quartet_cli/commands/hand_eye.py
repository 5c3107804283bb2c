"""`quartet doctor --hand-eye`: the only check of the doctor for which the arm moves."""

import asyncio
import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from quartet_agent_runtime import Toolbox, ignore_progress
from quartet_cli.doctor import Report
from quartet_cli.errors import UsageError
from quartet_cli.fences import newest_fence
from quartet_cli.hand_eye.chessboard import Chessboard
from quartet_cli.hand_eye.errors import HandEyeError
from quartet_cli.hand_eye.examine import Measured, measure
from quartet_cli.hand_eye.report import corrections, findings
from quartet_cli.settings import CliSettings, load_settings, running_stack
from quartet_deployment import ClientError, OrchestratorClient, sign_grant
from quartet_process import without_password
from quartet_robot_link import Robot, RobotLinkError
from quartet_site import RobotFile, SiteFileError, write_correction

TOOL = "moveit__plan_and_execute"
MOTION_S = 120.0
GRANT_S = 1800


def parse_board(squares: str, square_mm: float) -> Chessboard:
    """Return the board of the options. Raises UsageError."""
    match = re.fullmatch(r"(\d{1,2})x(\d{1,2})", squares)
    columns, rows = sorted((int(match[1]), int(match[2])), reverse=True) if match else (0, 0)
    if not (rows >= 4 and columns <= 30 and (columns + rows) % 2):
        raise UsageError(
            f"--squares {squares} is not a board that can be used; valid: two counts of squares from 4 to 30, one "
            "of them odd and the other even, such as 10x7 for docs/hand-eye-board.svg"
        )
    return Chessboard(columns, rows, square_mm / 1000)


def check_hand_eye(
    robot: RobotFile, board: Chessboard, *, yes: bool, console: Console | None, patience_s: float
) -> Any:
    """Ask for consent, let the arm look at the board and return a Report with what was measured.

    Raises UsageError, HandEyeError.
    """
    settings = load_settings()
    moveit = settings.servers_of(robot.name).get("moveit")
    key = running_stack().get("private_key")
    if not moveit or not key:
        raise UsageError(
            f"the arm of '{robot.name}' moves through its servers, and no `quartet up` of this robot runs here: start "
            "`quartet up --robot-dir DIR`, then run this in another terminal"
        )
    _require_free(robot.name, settings)
    if not yes:
        question = (
            "The arm will move to up to 16 poses, its hand 0.2 m and more above the board, and back. The base stands "
            "still. Is the arm's surrounding free, and somebody at the emergency stop?"
        )
        if not typer.confirm(question):
            raise UsageError("the arm was not moved")
    fence = newest_fence(robot.name, {"moveit"}, settings.servers_of(robot.name)) + 1
    grant = sign_grant(
        Path(key).read_text(), robot.name, [TOOL], name="doctor", fence=fence, seconds=GRANT_S, beats=True
    )
    measured, found = asyncio.run(_run(robot, board, moveit, grant, settings.token_for_bridge(), console, patience_s))
    return measured, Report(robot=robot.name, bridge_url=without_password(robot.bridge.url), findings=found)


async def _run(
    file: RobotFile,
    board: Chessboard,
    moveit: str,
    grant: str,
    token: str | None,
    console: Console | None,
    patience_s: float,
) -> tuple[Measured, list[Any]]:
    robot = await Robot.open(file, token=lambda: token, wait_s=patience_s)
    try:
        async with Toolbox({"moveit": moveit}, grant, [TOOL], MOTION_S) as tools:

            async def move(target: dict[str, Any]) -> Mapping[str, Any]:
                outcome = await tools.call(TOOL, {"target": target}, ignore_progress)
                return {**outcome.content, "error_code": outcome.error_code}

            def tell(line: str) -> None:
                if console is not None:
                    console.print(f"  {line}")

            measured = await measure(robot, move, board, tell, patience_s=max(10.0, patience_s))
        return measured, findings(measured, robot)
    except RobotLinkError as error:
        raise HandEyeError(f"the check was interrupted: {error}. Nothing was written") from error
    finally:
        await robot.close()


def _require_free(name: str, settings: CliSettings) -> None:
    """Check that no task has the robot, which a grant of a higher fence would take away. Raises UsageError."""
    try:
        with OrchestratorClient(settings.url, settings.token()) as api:
            robots = api.robots()["robots"]
    except ClientError as error:
        raise UsageError(f"whether a task has the robot cannot be asked: {error}") from error
    for one in robots:
        if one.get("name") == name and one.get("task"):
            raise UsageError(f"'{name}' works on task {one['task']}: wait until it ends, or cancel it")


def offer_corrections(path: Path, robot: RobotFile, measured: Measured, *, yes: bool, console: Console) -> bool:
    """Show what would change in the robot file and write it after a confirmation; return whether it was written.

    Raises UsageError when the file cannot be written.
    """
    made, kept = corrections(measured, robot.gripper)
    for why in kept:
        console.print(f"not corrected: {why}")
    if not made:
        return False
    try:
        before = path.read_text(encoding="utf-8")
        after = before
        for camera, correction in made.items():
            after = write_correction(after, camera, correction)
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(path), str(path), lineterm="", n=1)
        console.print("\n".join(lines))
        if not yes and not typer.confirm(f"Write this into {path}?"):
            return False
        path.write_text(after, encoding="utf-8")
    except SiteFileError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    console.print(f"{path} is written; start `quartet up` again, so that the servers read it")
    return True
