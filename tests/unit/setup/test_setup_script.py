"""Set-up says exactly what is missing, and installs only where it may."""

import fcntl
import os
import shutil
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
USED = "bash env id cat cut grep tail flock mktemp rm dirname mkdir sha256sum head"


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A copy of the project's set-up and a PATH with nothing but what every Debian has; a stranger's, not root's."""
    (tmp_path / "project" / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "setup", tmp_path / "project" / "scripts" / "setup")
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    for name in USED.split():
        found = shutil.which(name)
        assert found, name
        (bin_dir / name).symlink_to(found)
    (bin_dir / "id").unlink()
    program(bin_dir, "id", "echo 1000")
    program(bin_dir, "ldconfig", "echo 'libEGL.so.1 libGL.so.1'")
    program(bin_dir, "redis-server", "exit 0")
    return tmp_path


def run_setup(machine: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(machine / "project" / "scripts" / "setup")],
        env={"PATH": str(machine / "bin"), "TMPDIR": str(machine), "HOME": str(machine), **env},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_missing_packages_are_named_exactly_where_nothing_may_be_installed(machine: Path) -> None:
    (machine / "bin" / "redis-server").unlink()
    program(machine / "bin", "ldconfig", "echo libGL.so.1")
    done = run_setup(machine)
    assert done.returncode == 1
    assert "are missing and may not be installed from here: redis-server libegl1\n" in done.stderr
    assert "sudo apt-get update && sudo apt-get install redis-server libegl1\n" in done.stderr


def test_a_set_up_that_waits_for_another_checkout_says_for_which(machine: Path) -> None:
    (machine / "bin" / "redis-server").unlink()
    held = machine / "quartet-setup-1000.lock"
    held.write_text("/home/me/other (process 7)\n")
    env = {"PATH": str(machine / "bin"), "TMPDIR": str(machine), "HOME": str(machine), "QUARTET_NO_APT": "1"}
    with held.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["bash", str(machine / "project" / "scripts" / "setup")]
        waiting = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
        assert waiting.stderr is not None
        said = waiting.stderr.readline()
    _, rest = waiting.communicate(timeout=120)
    assert said == "setup: waiting for the set-up of another checkout: /home/me/other (process 7)\n"
    assert "may not be installed from here: redis-server" in rest
    assert f"{machine / 'project'} (process " in held.read_text()


def test_osmesa_serves_in_the_place_of_egl(machine: Path) -> None:
    program(machine / "bin", "ldconfig", "echo libOSMesa.so.8")
    assert "are missing" not in run_setup(machine).stderr


def test_root_installs_what_is_missing_after_refreshing_the_lists(machine: Path) -> None:
    (machine / "bin" / "redis-server").unlink()
    program(machine / "bin", "id", "echo 0")
    program(
        machine / "bin",
        "apt-get",
        f'echo "$@" >> {machine}/apt.log\n[ "$1" = update ] && : > {machine}/lists && exit 0\n[ -e {machine}/lists ]',
    )
    done = run_setup(machine)
    calls = (machine / "apt.log").read_text().splitlines()
    install = "install -y --no-install-recommends redis-server"
    assert calls == [install, "update", install]
    # What follows fails for want of a Python on this PATH.
    assert "no Python of version 3.11, 3.12 or 3.13 found" in done.stderr


def test_a_failed_installation_is_told(machine: Path) -> None:
    (machine / "bin" / "redis-server").unlink()
    program(machine / "bin", "id", "echo 0")
    program(machine / "bin", "apt-get", "echo 'E: no network'; exit 100")
    done = run_setup(machine)
    assert done.returncode == 1
    assert "E: no network" in done.stderr
    assert "sudo apt-get install redis-server" in done.stderr


def test_passwordless_sudo_is_used(machine: Path) -> None:
    (machine / "bin" / "redis-server").unlink()
    program(machine / "bin", "sudo", f'shift; echo "$@" >> {machine}/sudo.log; exit 0')
    program(machine / "bin", "apt-get", "exit 0")
    run_setup(machine)
    assert "apt-get install -y --no-install-recommends redis-server" in (machine / "sudo.log").read_text()


def test_installing_can_be_forbidden(machine: Path) -> None:
    (machine / "bin" / "redis-server").unlink()
    program(machine / "bin", "id", "echo 0")
    program(machine / "bin", "apt-get", f": > {machine}/touched")
    done = run_setup(machine, QUARTET_NO_APT="1")
    assert done.returncode == 1
    assert not (machine / "touched").exists()


def test_a_python_of_another_version_is_refused_by_name(machine: Path) -> None:
    program(machine / "bin", "python3", '[ "$1" = -V ] && echo "Python 3.10.12" || exit 1')
    done = run_setup(machine)
    assert "no Python of version 3.11, 3.12 or 3.13 found (python3 is Python 3.10.12)" in done.stderr
    done = run_setup(machine, QUARTET_PYTHON="/opt/python2")
    assert "QUARTET_PYTHON=/opt/python2 is not a Python of version 3.11 to 3.13" in done.stderr


def test_a_missing_venv_module_is_told_with_its_package(machine: Path) -> None:
    program(
        machine / "bin",
        "python3",
        'case "$1 $2" in "-m venv") exit 1;; esac\ncase "$2" in *print*) echo python3.11-venv;; esac\nexit 0',
    )
    done = run_setup(machine)
    assert done.returncode == 1
    assert "the Debian package python3.11-venv is missing" in done.stderr


@pytest.fixture
def with_uv(machine: Path) -> Path:
    """A machine on which set-up works: its uv only notes how it was called, and fails while `broken` is there."""
    project = machine / "project"
    for folder in ("libs/a", "services/a", "mcp-servers/a", "simulation/a", "cli", "benchmarks", "research"):
        (project / folder).mkdir(parents=True)
        (project / folder / "pyproject.toml").touch()
    (project / "pyproject.toml").touch()
    (project / "uv.lock").write_text("1")
    program(
        machine / "bin",
        "python3",
        # The virtual environment that it "makes" has a pip that makes uv, which makes the project's environment.
        f"""case "$1 $2" in "-m venv") mkdir -p $3/bin; cp {machine}/fake-python $3/bin/python;; esac; exit 0""",
    )
    program(
        machine,
        "fake-python",
        f"cp {machine}/fake-uv .quartet/tools/bin/uv",
    )
    program(
        machine,
        "fake-uv",
        f'echo "$@" >> {machine}/uv.log; [ ! -e {machine}/broken ] || exit 1; mkdir -p .venv/bin; '
        "echo exit 0 > .venv/bin/python; cp .venv/bin/python .venv/bin/quartet; chmod +x .venv/bin/*",
    )
    for name in ("cp", "touch", "chmod", "sort"):
        os.symlink(shutil.which(name) or "", machine / "bin" / name)
    return machine


def uv_calls(machine: Path) -> list[str]:
    return (machine / "uv.log").read_text().splitlines()


def test_a_second_run_does_nothing(with_uv: Path) -> None:
    first = run_setup(with_uv)
    assert first.returncode == 0, first.stderr
    second = run_setup(with_uv)
    assert (second.returncode, second.stderr) == (0, "")
    assert len(uv_calls(with_uv)) == 1
    (with_uv / "project" / "uv.lock").write_text("2")
    assert run_setup(with_uv).returncode == 0
    assert len(uv_calls(with_uv)) == 2


def robot_models(machine: Path, *names: str, script: str = "robot-models") -> subprocess.CompletedProcess[str]:
    for file in ("robot-models", "inspect-env", "cache-home"):
        shutil.copy(ROOT / "scripts" / file, machine / "project" / "scripts" / file)
    return subprocess.run(
        ["bash", str(machine / "project" / "scripts" / script), *names],
        env={"PATH": str(machine / "bin"), "TMPDIR": str(machine), "HOME": str(machine)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_models_of_robots_are_installed_once_and_kept_by_later_set_ups(with_uv: Path) -> None:
    assert run_setup(with_uv).returncode == 0
    assert "--group" not in uv_calls(with_uv)[0]
    first = robot_models(with_uv, "fetch")
    assert first.returncode == 0, first.stderr
    assert "--group fetch" in uv_calls(with_uv)[1]
    assert robot_models(with_uv, "fetch").stderr == ""
    assert len(uv_calls(with_uv)) == 2
    assert robot_models(with_uv, "tiago").returncode == 0
    (with_uv / "project" / "uv.lock").write_text("2")
    assert run_setup(with_uv).returncode == 0
    assert ["--group fetch --group tiago" in call for call in uv_calls(with_uv)[2:]] == [True, True]


def test_environment_with_inspect_has_the_models_of_robots(with_uv: Path) -> None:
    assert robot_models(with_uv, "fetch").returncode == 0
    (with_uv / "project" / ".quartet" / "inspect").mkdir()
    made = robot_models(with_uv, script="inspect-env")
    assert made.returncode == 0, made.stderr
    sync, pip = uv_calls(with_uv)[-2:]
    assert "--extra inspect --extra pettingzoo --group fetch --quiet" in sync
    assert pip.startswith("pip install")
    # A model that is installed later is installed in both environments.
    assert robot_models(with_uv, "spot").returncode == 0
    plain, sync, _ = uv_calls(with_uv)[3:]
    assert "--group fetch --group spot" in plain
    assert "--extra inspect --extra pettingzoo --group fetch --group spot --quiet" in sync
    assert robot_models(with_uv, "spot").returncode == robot_models(with_uv, script="inspect-env").returncode == 0
    assert len(uv_calls(with_uv)) == 6


def test_models_that_cannot_be_installed_do_not_break_later_set_ups(with_uv: Path) -> None:
    (with_uv / "broken").touch()
    done = robot_models(with_uv, "fetch")
    assert done.returncode == 3
    assert "the models of fetch cannot be installed here" in done.stderr
    (with_uv / "broken").unlink()
    assert run_setup(with_uv).returncode == 0
    assert "--group" not in uv_calls(with_uv)[-1]


@pytest.mark.parametrize(("names", "words"), [((), "no robot is named"), (("hal",), "no models of 'hal'")])
def test_models_that_there_are_not_are_told_with_those_that_there_are(
    with_uv: Path, names: tuple[str, ...], words: str
) -> None:
    done = robot_models(with_uv, *names)
    assert done.returncode == 2
    assert words in done.stderr
    with (ROOT / "pyproject.toml").open("rb") as file:
        groups = sorted(set(tomllib.load(file)["dependency-groups"]) - {"dev"})
    assert done.stderr.endswith(f"valid: {' '.join(groups)}\n")
    assert not (with_uv / "uv.log").exists()


@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME"])
def test_caches_are_the_users_or_the_projects_where_those_cannot_be_written(tmp_path: Path, variable: str) -> None:
    def cache(value: str) -> Path:
        environment = {"PATH": os.environ["PATH"], variable: value}
        script = [ROOT / "scripts" / "cache-home"]
        done = subprocess.run(script, env=environment, capture_output=True, text=True, check=True, timeout=120)
        assert done.stderr == ""
        return Path(done.stdout.removesuffix("\n"))

    assert cache(str(tmp_path)) == (tmp_path / ".cache" if variable == "HOME" else tmp_path)
    (tmp_path / "file").touch()
    for nowhere in (str(tmp_path / "file"), "/proc/nohome"):
        assert cache(nowhere) == ROOT / ".quartet" / "cache"


def test_ci_names_a_set_up_that_failed_and_goes_no_further(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    program(tmp_path, "make", f'echo "$@" >> {tmp_path}/calls; echo "setup: no network" >&2; exit 2')
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = [tmp_path / ".ci" / "run"]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "FAILED: set-up"
    assert "setup: no network" in done.stderr
    assert (tmp_path / "calls").read_text() == "--no-print-directory setup\n"
