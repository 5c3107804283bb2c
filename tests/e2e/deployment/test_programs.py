"""A team of models picks an object up by programs, from the command line to the physics."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from quartet_deployment import Stack

CAN = "red coke can"


@pytest.mark.long
def test_a_team_picks_the_can_up_by_programs_that_are_shown(
    make_stack: Callable[..., Stack], truth: Callable[[Stack], dict[str, Any]], environment: dict[str, str]
) -> None:
    stack = make_stack(world="studio", seed=0, without=("place", "ros"))
    addresses = {"QUARTET_URL": stack.url, "QUARTET_API_TOKEN": stack.api_token}

    def command(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "quartet_cli", *words],
            env={**environment, **addresses},
            capture_output=True,
            text=True,
            timeout=250,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    command("approach", "studio", CAN, "pick")
    before = truth(stack)["robot"]["pose"]
    told = command("run", "--team", "malmm", f"pick the {CAN} up")
    assert truth(stack)["held"] == CAN, told
    assert truth(stack)["robot"]["pose"] == pytest.approx(before, abs=0.02), "the base stands"
    assert told.index("run this program") < told.index(f"close_gripper('{CAN}')") < told.index("task_completed()")
    assert "lets the planner speak" in told
