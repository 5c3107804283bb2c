"""An environment of its own for each client: the versions of benchmarks/clients/requirements, Quartet's lock file."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from quartet_benchmarks.errors import MeasurementError, MissingExtraError
from quartet_deployment import project_root

CLIENTS = project_root() / "benchmarks" / "clients"
MAKING_S = 900
KEPT = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR")
"""Variables of a person's environment that the processes get. Others hold keys of providers, which packages of others
must not have, or choose a model that costs money."""


def python_of(name: str) -> Path:
    """Return the Python of the client `name`, whose environment is made at the first call and when its file changes.

    Raises:
        MissingExtraError: There is no uv.
        MeasurementError: The packages cannot be installed, as without a network.
    """
    return _made(name, (CLIENTS / "requirements" / f"{name}.txt").read_text())


def python_of_agent() -> Path:
    """Return a Python with what an agent's image has and nothing else, from the lock file. Raises as `python_of`."""
    wanted = ("--frozen", "--no-dev", "--no-header", "--no-annotate", "--no-hashes", "--package", "quartet-approach")
    return _made("quartet", _uv("export", "--quiet", *wanted))


def _made(name: str, requirements: str) -> Path:
    """Return the Python of an environment with `requirements`, in the format of pip."""
    folder = project_root() / ".quartet" / "clients" / name
    python, stamp = folder / "bin" / "python", folder / ".made"
    wanted = hashlib.sha256(f"{sys.version} {folder} {requirements}".encode()).hexdigest()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.is_file() or stamp.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            _uv("venv", "--quiet", "--python", sys.executable, str(folder))
            # Compiled, as in Quartet's own environment: start-up is one of the figures.
            installing = ("pip", "install", "--quiet", "--compile-bytecode", "--python", str(python))
            _uv(*installing, "--requirement", "-", given=requirements)
            stamp.write_text(wanted)
    return python


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process: KEPT and `more`."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | more


def _uv(*arguments: str, given: str = "") -> str:
    """Run uv in the project's folder with `given` as its input, and return what it prints."""
    own = project_root() / ".quartet" / "tools" / "bin" / "uv"
    uv = str(own) if own.exists() else shutil.which("uv")
    if uv is None:
        raise MissingExtraError(
            "uv is not installed, which makes the environments of the other clients; run make setup"
        )
    try:
        done = subprocess.run(
            [uv, *arguments], input=given, capture_output=True, text=True, timeout=MAKING_S, cwd=project_root()
        )
    except subprocess.TimeoutExpired as error:
        raise MeasurementError(f"uv {arguments[0]} did not end within {MAKING_S} s") from error
    if done.returncode:
        raise MeasurementError(f"uv {' '.join(arguments[:2])}: {done.stderr.strip()[-500:]}")
    return done.stdout
