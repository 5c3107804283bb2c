"""Robots of deploy/robots, some of which need a Python package for their model."""

import importlib
import importlib.util
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from quartet_simulation.described.reading import INSTALLED_BY

ROOT = Path(__file__).resolve().parents[2]
ROBOTS = ROOT / "deploy" / "robots"
LARGE = "robosuite"
"""Half a gigabyte: a robot with it is tested where somebody has installed it."""


def package_of(robot: str) -> str | None:
    """Return the package that the model of a robot is in, None for a robot without one."""
    text = (ROBOTS / robot / "robot.yaml").read_text()
    return next((package for package in INSTALLED_BY if f"package:{package}/" in text), None)


def robots() -> list[Any]:
    """Return each robot's name as a parameter of a test; `make test-long` tests those that need a package."""
    names = sorted(path.parent.name for path in ROBOTS.glob("*/robot.yaml"))
    return [pytest.param(name, marks=[pytest.mark.long] if package_of(name) else []) for name in names]


def have_model(robot: str) -> None:
    """Install the model of a robot as a user does, or skip the test where that cannot be.

    `make test-long` has done so before its tests run side by side, since nothing can run in .venv meanwhile.
    """
    package = package_of(robot)
    if package is None:
        return
    command = ROOT / "scripts" / "robot-models"
    if package == LARGE and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is large and not installed: {command.relative_to(ROOT)} {robot}")
    made = subprocess.run([command, robot], capture_output=True, text=True, timeout=280, check=False)
    if made.returncode == 3 and not os.environ.get("QUARTET_TEST_ALL"):
        pytest.skip(made.stderr.strip()[-500:])
    assert made.returncode == 0, made.stderr[-3000:]
    importlib.invalidate_caches()
