"""`quartet doctor --hand-eye` moves nothing and writes nothing unless a person wants it."""

from pathlib import Path

import numpy as np
import pytest
import typer

from quartet_cli.commands import hand_eye
from quartet_cli.commands.hand_eye import check_hand_eye, offer_corrections
from quartet_cli.errors import UsageError
from quartet_cli.hand_eye.chessboard import Chessboard
from quartet_cli.hand_eye.estimate import WristMounting
from quartet_cli.hand_eye.examine import Measured
from quartet_cli.hand_eye.poses import from_vector
from quartet_cli.main import main
from quartet_cli.terminal import open_terminal
from quartet_site import load_robot

TEMPLATE = Path(__file__).parents[3] / "deploy" / "sites" / "template" / "robot.yaml"


def measured(shift_m: float = 0.005, sure_m: float = 0.0005) -> Measured:
    """A check in which the wrist camera is off by so much, and the front camera sees no board."""
    covariance = np.diag([sure_m**2] * 3 + [1e-12] * 3)
    shift = from_vector(np.array([shift_m, 0, 0, 0, 0.01, 0]))
    at = np.array([0.0, 0.0, 0.4])
    wrist = WristMounting(shift, covariance, at, np.eye(4), covariance, 0.001, 0.001, np.ones(8, dtype=bool))
    return Measured(wrist, None, 8)


@pytest.fixture
def robot_path(tmp_path: Path) -> Path:
    path = tmp_path / "robot.yaml"
    path.write_text(TEMPLATE.read_text())
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--write"], "give them with --hand-eye"),
        (["--yes"], "give them with --hand-eye"),
        (["--hand-eye", "--squares", "9x9"], "one of them odd"),
        (["--hand-eye", "--json"], "give --yes as well"),
    ],
)
def test_options_that_make_no_sense(options, message, robot_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--robot-file", str(robot_path), *options])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_without_the_servers_of_the_robot_nothing_moves(robot_path, monkeypatch):
    monkeypatch.setattr(hand_eye, "running_stack", dict)
    with pytest.raises(UsageError, match="start `quartet up --robot-dir DIR`, then run this in another terminal"):
        check_hand_eye(load_robot(robot_path), Chessboard(), yes=True, console=None, patience_s=1.0)


@pytest.mark.parametrize("agreed", [True, False])
def test_the_change_is_shown_and_written_only_when_it_is_wanted(agreed, robot_path, monkeypatch, capsys):
    monkeypatch.setattr(typer, "confirm", lambda _: agreed)
    before = robot_path.read_text()
    robot = load_robot(robot_path)
    assert offer_corrections(robot_path, robot, measured(), yes=False, console=open_terminal(soft_wrap=True)) is agreed
    out = capsys.readouterr().out
    assert "+    correction: {position_m: [0.00500, 0.00000, 0.00000], rpy_rad: [0.00000, 0.01000, 0.00000]}" in out
    assert "not corrected: front camera: it was not measured" in out
    assert (robot_path.read_text() != before) is agreed
    if agreed:
        assert load_robot(robot_path).cameras.arm.correction.position_m == (0.005, 0.0, 0.0)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (measured(sure_m=0.004), "is sure to 8.0 mm only"),
        (measured(shift_m=0.2), "mounted 200 mm from where /tf has it"),
    ],
)
def test_what_is_not_sure_or_too_far_is_not_written(found, why, robot_path, capsys):
    before = robot_path.read_text()
    assert not offer_corrections(
        robot_path, load_robot(robot_path), found, yes=True, console=open_terminal(soft_wrap=True)
    )
    assert why in " ".join(capsys.readouterr().out.split())
    assert robot_path.read_text() == before
