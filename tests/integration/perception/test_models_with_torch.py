"""The tests of tests/unit/perception/with_torch, in an environment with torch, which the one of the suite has not."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDER = "tests/unit/perception/with_torch"


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of the environment with torch."""
    made = subprocess.run([ROOT / "scripts" / "segmenter-env"], capture_output=True, text=True, timeout=840)
    if made.returncode == 3 and not os.environ.get("QUARTET_TEST_ALL"):
        pytest.skip(made.stderr.strip()[-500:])
    assert made.returncode == 0, made.stderr[-3000:]
    return ROOT / ".quartet" / "segmenter" / "bin" / "python"


# Downloading torch may take minutes on a slow line.
@pytest.mark.timeout(900)
def test_the_models_load_and_find(python: Path) -> None:
    environment = {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST_", "QUARTET_SEGMENTER", "HF_"))}
    ended = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", FOLDER],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]
    # That they ran: without torch none of them is collected.
    passed = re.search(r"(\d+) passed", ended.stdout)
    assert passed is not None, ended.stdout[-2000:]
    assert int(passed[1]) >= 40
