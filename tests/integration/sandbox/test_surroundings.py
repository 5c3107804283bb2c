"""Programs are confined as root and as a user, with and without namespaces, and refused where nothing holds them."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from quartet_benchmarks.escapes.programs import PROGRAMS

ROOT = Path(__file__).parents[3]
USER = ("setpriv", "--reuid=12345", "--regid=12345", "--clear-groups")
NO_ADMIN = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change user, mounts and capabilities")

LOOK = """
import asyncio, json, psutil
from quartet_sandbox import run_program
async def look():
    *_, program = psutil.Process().children(recursive=True)
    status = dict(line.split(":", 1) for line in open(f"/proc/{program.pid}/status"))
    told = {name: status[name].split() for name in ("Uid", "Gid", "Groups", "NSpid", "NoNewPrivs", "Seccomp")}
    print(json.dumps(told | {name: int(status[name], 16) for name in status if name.startswith("Cap")}))
print(asyncio.run(run_program("import numpy\\nlook()\\nprint('ran')", {"look": look})).output)
"""
SUITE = """
import json
from quartet_benchmarks.escapes import run
from quartet_benchmarks.result import BenchParameters
held = run(BenchParameters(short=True, progress=lambda text: print(text, flush=True))).metrics["escapes_held"]
print(held.n - held.successes, "of", held.n)
"""


def surround(*drop: str, readable: bool = True, namespaces: bool = True) -> list[str]:
    """Return the beginning of a command that runs another in these surroundings, which end with it.

    Args:
        drop: Command that takes rights away.
        readable: Whether every user can read the interpreter and the repository.
        namespaces: Whether a process without CAP_SYS_ADMIN may make namespaces; in a chroot it may not.
    """
    lines = ["mount --make-rprivate /", "mount -t tmpfs tmpfs /mnt", "mkdir /mnt/kept /mnt/root"]
    for kept in dict.fromkeys([Path(sys.base_prefix).resolve(), ROOT]):
        closed = [one for one in reversed(kept.parents) if not one.stat().st_mode & 0o001]
        if readable and closed:
            lines += [
                f"mount --bind {kept} /mnt/kept && mount -t tmpfs -o mode=755 tmpfs {closed[0]}",
                f"mkdir -p {kept} && mount --move /mnt/kept {kept}",
            ]
    if not namespaces:
        lines.append("mount --rbind / /mnt/root")
        drop = ("chroot", "/mnt/root", *drop)
    lines.append(f'exec {shlex.join(drop)} "$@"')
    return ["unshare", "--mount", "sh", "-ec", "\n".join(lines), "sh"]


def run(code: str, before: list[str]) -> str:
    """Run code of Python in surroundings; return what it printed and its error."""
    environment = {"PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*before, sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd="/", env=environment, check=False)
    return done.stdout + done.stderr


SURROUNDINGS = {
    "root": surround(readable=False),
    "root, readable": surround(),
    "root, no namespaces": surround(*NO_ADMIN, namespaces=False),
    "user": surround(*USER),
    "user, no namespaces": surround(*USER, namespaces=False),
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_a_program_has_no_rights_in_any_surroundings(name: str) -> None:
    printed = run(LOOK, SURROUNDINGS[name])
    assert "ran\n" in printed, printed
    status = json.loads(printed.partition("\n")[0])
    assert [status[one] for one in ("CapInh", "CapPrm", "CapEff", "CapAmb")] == [0] * 4
    assert (status["NoNewPrivs"], status["Seccomp"], status["Groups"]) == (["1"], ["2"], [])
    # A user's bounding set is for programs that it starts, and a confined one starts none.
    assert status["CapBnd"] == 0 or name == "user, no namespaces"
    own_processes = status["NSpid"][-1] == "1" and len(status["NSpid"]) > 1
    assert own_processes == ("no namespaces" not in name)
    others = {str(user) for user in range(65_520, 65_534)}
    if name in ("root, readable", "root, no namespaces"):
        assert set(status["Uid"] + status["Gid"]) <= others


def test_root_runs_no_program_where_it_can_change_neither_user_nor_namespaces() -> None:
    no_rights = ("setpriv", "--bounding-set=-sys_admin,-setuid,-setgid", "--inh-caps=-all")
    printed = run(LOOK, surround(*no_rights, namespaces=False))
    assert "root may change neither its user id nor its namespaces here; use another user" in printed
    assert "ran\n" not in printed


@pytest.mark.long
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_no_escape_succeeds_in_any_surroundings(name: str) -> None:
    tried = sum(len(programs) for programs in PROGRAMS.values())
    assert run(SUITE, SURROUNDINGS[name]) == f"0 of {tried}\n"
