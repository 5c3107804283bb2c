"""The world runs many times faster than real time, in little memory, while nothing renders."""

import json
import subprocess
import sys


def test_the_home_runs_at_least_20_times_faster_than_real_time():
    command = [sys.executable, "-m", "quartet_simulation.speed", "--seconds", "4", "--json"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    figures = json.loads(answer.stdout)
    assert figures["overall"] > 20, figures
    assert figures["driving"] > 15, figures
    assert figures["rss_mb"] < 200, figures


def test_an_unknown_world_is_named_with_the_valid_ones():
    command = [sys.executable, "-m", "quartet_simulation.speed", "--world", "castle"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert answer.returncode == 2
    assert "unknown world 'castle'; valid: home, studio" in answer.stderr
