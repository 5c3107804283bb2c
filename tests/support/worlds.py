"""Folders of worlds for tests."""

import shutil
from pathlib import Path

HOME = Path(__file__).resolve().parents[2] / "deploy" / "sites" / "home"


def with_robot(folder: Path) -> Path:
    """Add the robot of the home, with its resume, to a folder; return the folder."""
    for name in ("robot.yaml", "resume.json"):
        shutil.copy(HOME / name, folder)
    return folder
