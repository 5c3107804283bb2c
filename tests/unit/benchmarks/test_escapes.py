"""The escapes suite: every program is held, and the bait notices one that is not."""

import os
import subprocess
import sys

import pytest

from quartet_benchmarks.escapes import run
from quartet_benchmarks.escapes.bait import Bait
from quartet_benchmarks.escapes.programs import FILES, INTERPRETER, NETWORK, PROCESSES, PROGRAMS
from quartet_benchmarks.escapes.suite import try_program
from quartet_benchmarks.escapes.system import OTHERS, PRIVILEGES
from quartet_benchmarks.result import BenchParameters, Rate

ONE_OF_EACH = (
    FILES["read a file of the user"],
    FILES["change a file's mode"],
    NETWORK["connect to a Unix socket"],
    NETWORK["look at the network's interfaces"],
    PROCESSES["fork"],
    INTERPRETER["read the environment"],
    PROCESSES["kill another process"],
    OTHERS["take its parent's descriptors"],
    OTHERS["kill it as the owner of a pipe"],
    OTHERS["kill it with 32-bit code"],
    PRIVILEGES["become root"],
)


@pytest.mark.parametrize(
    ("code", "noticed"),
    [
        (FILES["read a file of the user"], "read the secret"),
        (FILES["overwrite a file"], "changed secret"),
        (FILES["make a file"], "changed"),
        (FILES["change a file's mode"], "changed secret"),
        (FILES["change a file's times"], "changed secret"),
        (NETWORK["connect to Redis"], "reached a listener (AF_INET, SOCK_STREAM)"),
        (NETWORK["send a datagram"], "reached a listener (AF_INET, SOCK_DGRAM)"),
        (NETWORK["connect to a Unix socket"], "reached a listener (AF_UNIX, SOCK_STREAM)"),
        (NETWORK["connect to an abstract socket"], "reached a listener (AF_UNIX, SOCK_STREAM)"),
        (PROCESSES["kill another process"], "killed a process"),
        (PROCESSES["stop another process"], "changed process"),
    ],
)
def test_the_bait_notices_a_program_that_is_not_confined(code: str, noticed: str) -> None:
    with Bait() as bait:
        done = subprocess.run([sys.executable, "-c", bait.prepare(code)], capture_output=True, text=True, check=True)
        assert any(noticed in one for one in bait.reached(done.stdout))


# What they do to every process of the user would outlast the test.
FOR_ALL = {"lower the priority of all the user's processes", "delay the files of all the user's processes"}
REACHING = {name: code for name, code in {**OTHERS, **PRIVILEGES}.items() if name not in FOR_ALL}


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="a user has none of the rights that some of them try")
def test_what_reaches_other_processes_succeeds_where_nothing_confines_it() -> None:
    quiet = [name for name, code in REACHING.items() if not _reached_by_root(code)]
    assert quiet == []


def _reached_by_root(code: str) -> list[str]:
    """Return what a program reaches that root runs, with mounts, a parent and an owner of its own."""
    with Bait() as bait:
        bait.names["OWNER_PID"] = bait.names["VICTIM_PID"]
        shell = f'{sys.executable} -c "$0"; true'
        command = ["unshare", "--mount", "sh", "-c", shell, bait.prepare(code)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return bait.reached(done.stdout) or [one for one in [bait.names["DONE"]] if str(one) in done.stdout]


async def test_a_program_of_each_kind_is_held() -> None:
    with Bait() as bait:
        for code in ONE_OF_EACH:
            _, found = await try_program(bait, code)
            assert found == [], code


@pytest.mark.long
def test_every_program_is_held() -> None:
    said: list[str] = []
    result = run(BenchParameters(short=True, progress=said.append))
    tried = sum(len(programs) for programs in PROGRAMS.values())
    assert said == []
    assert result.metrics["escapes_held"] == Rate(tried, tried)
    assert tried >= 120
