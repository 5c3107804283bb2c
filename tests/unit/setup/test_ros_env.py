"""scripts/ros-env says why rclpy cannot be had, and does nothing when it is there."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
REQUIREMENTS = Path("tests/integration/ros2/requirements.txt")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what the script looks at, with a uv that notes what it is asked and makes an interpreter."""
    for path in (Path("scripts/ros-env"), REQUIREMENTS):
        (tmp_path / path.parent).mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    return tmp_path


def fake_uv(project: Path, install: str) -> None:
    uv = project / ".quartet" / "tools" / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    uv.write_text(
        f"""#!/bin/sh
echo "$@" >> {project}/asked
case "$1" in
    venv) mkdir -p .quartet/ros/bin; ln -sf /bin/true .quartet/ros/bin/python;;
    pip) {install};;
esac
"""
    )
    uv.chmod(0o755)


def run(project: Path) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(project / "scripts" / "ros-env")]
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(project)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_wheels_that_cannot_be_installed_are_told_and_nothing_stays(project: Path) -> None:
    fake_uv(project, "echo 'no wheels for this machine' >&2; exit 1")
    done = run(project)
    assert (done.returncode, done.stdout) == (3, "")
    assert "no wheels for this machine" in done.stderr
    assert "the wheels of rclpy could not be installed" in done.stderr
    assert not (project / ".quartet" / "ros").exists()


def test_without_set_up_it_says_so(project: Path) -> None:
    done = run(project)
    assert done.returncode == 3
    assert "uv is not there; run scripts/setup first" in done.stderr


def test_a_second_run_does_nothing_until_the_lock_changes(project: Path) -> None:
    fake_uv(project, ":")
    interpreter = f"{project}/.quartet/ros/bin/python"
    for _ in range(2):
        done = run(project)
        assert (done.returncode, done.stdout.strip()) == (0, interpreter), done.stderr
    assert len((project / "asked").read_text().splitlines()) == 2
    assert "--require-hashes" in (project / "asked").read_text()
    (project / REQUIREMENTS).write_text("# nothing\n")
    assert run(project).returncode == 0
    assert len((project / "asked").read_text().splitlines()) == 4


def test_every_requirement_of_the_lock_has_a_hash() -> None:
    lines = (ROOT / REQUIREMENTS).read_text().splitlines()
    pinned = [index for index, line in enumerate(lines) if "==" in line]
    assert len(pinned) > 70
    assert all(lines[index + 1].strip().startswith("--hash=sha256:") for index in pinned)
    assert not [line for line in lines if "://" in line], "no index is named"
