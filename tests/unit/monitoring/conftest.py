"""Where the monitoring's files are, and Prometheus' own tools."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def deploy() -> Path:
    return ROOT / "deploy"


@pytest.fixture(scope="session")
def promtool() -> str:
    made = subprocess.run([ROOT / "scripts/prometheus-tools"], capture_output=True, text=True, timeout=280, check=False)
    if made.returncode == 3 and not os.environ.get("QUARTET_TEST_ALL"):
        pytest.skip(made.stderr.strip())
    assert made.returncode == 0, made.stderr
    return str(Path(made.stdout.strip()) / "promtool")
