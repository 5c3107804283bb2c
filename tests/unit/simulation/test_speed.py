"""The measure of the simulation's speed measures; how fast it must be is for the benchmarks."""

import json
import subprocess
import sys

import pytest


def speed(*options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "quartet_simulation.speed", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_every_activity_is_measured():
    answer = speed("--world", "studio", "--seconds", "0.5", "--json")
    assert answer.returncode == 0, answer.stderr
    figures = json.loads(answer.stdout)
    factors = [figures[name] for name in ("standing", "driving", "arm")]
    assert min(factors) > 0
    assert min(factors) <= figures["overall"] <= max(factors), "the whole lies between its parts"
    assert figures["rss_mb"] > 10


def test_an_unknown_world_is_named_with_the_valid_ones():
    answer = speed("--world", "castle")
    assert answer.returncode == 2
    assert "unknown world 'castle'; valid: a folder with world.yaml, flat, home, studio" in answer.stderr
