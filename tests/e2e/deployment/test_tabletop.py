"""The table with its Panda in a whole deployment: a team of models does a task there by programs."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from quartet_deployment import Stack


@pytest.mark.long
def test_a_team_picks_the_rubbish_up_by_programs(
    make_stack: Callable[..., Stack], truth: Callable[[Stack], dict[str, Any]], environment: dict[str, str]
) -> None:
    stack = make_stack(world="tabletop", seed=0, without=("approach", "pick", "place", "ros"))
    height = truth(stack)["objects"]["rubbish"]["position"][2]
    done = subprocess.run(
        [sys.executable, "-m", "quartet_cli", "run", "--team", "malmm", "pick the rubbish up"],
        env={**environment, "QUARTET_URL": stack.url, "QUARTET_API_TOKEN": stack.api_token},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    after = truth(stack)
    assert after["held"] == "rubbish", done.stdout
    assert after["objects"]["rubbish"]["position"][2] > height + 0.1
    assert done.stdout.index("close_gripper('rubbish')") < done.stdout.index("task_completed()")
