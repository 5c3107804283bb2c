"""The escapes suite: every program is held, and the bait notices one that is not."""

import subprocess
import sys

import pytest

from quartet_benchmarks.escapes import run
from quartet_benchmarks.escapes.bait import Bait
from quartet_benchmarks.escapes.programs import FILES, INTERPRETER, NETWORK, PROCESSES, PROGRAMS
from quartet_benchmarks.escapes.suite import try_program
from quartet_benchmarks.result import BenchParameters, Rate

ONE_OF_EACH = (
    FILES["read a file of the user"],
    FILES["change a file's mode"],
    NETWORK["connect to a Unix socket"],
    NETWORK["look at the network's interfaces"],
    PROCESSES["fork"],
    INTERPRETER["read the environment"],
    PROCESSES["kill another process"],
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
        constants = "".join(f"{name} = {value!r}\n" for name, value in bait.names.items())
        done = subprocess.run([sys.executable, "-c", constants + code], capture_output=True, text=True, check=True)
        assert any(noticed in one for one in bait.reached(done.stdout))


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
    assert tried >= 60
