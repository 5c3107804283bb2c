"""A team of models picks an object up by programs, from the command line to the physics."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from quartet_deployment import Stack

CAN = "red coke can"


def run_command(stack: Stack, environment: dict[str, str], *words: str, expect: int = 0) -> str:
    """Run `quartet`; what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "quartet_cli", *words],
        env={**environment, "QUARTET_URL": stack.url, "QUARTET_API_TOKEN": stack.api_token},
        capture_output=True,
        text=True,
        timeout=270,
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.timeout(900)
def test_in_the_home_a_team_works_where_the_robot_stands_and_says_what_is_elsewhere(
    make_own_stack: Callable[..., Stack], truth: Callable[[Stack], dict[str, Any]], environment: dict[str, str]
) -> None:
    stack = make_own_stack(world="home", seed=0, without=("place", "ros"))
    told = run_command(stack, environment, "run", "--team", "malmm", f"pick the {CAN} up", expect=1)
    assert "no camera has shown near the arm's reach: red coke can" in told
    assert "PICK_SEG_MISSED" in told
    assert "supervisor" not in told, "no model is asked"
    run_command(stack, environment, "approach", "kitchen", CAN, "pick")
    before = truth(stack)
    told = run_command(stack, environment, "run", "--team", "malmm", f"pick the {CAN} up")
    assert truth(stack)["held"] == CAN, told
    told = run_command(stack, environment, "run", "--team", "sa", f"put the {CAN} on the kitchen counter")
    after = truth(stack)
    can = after["objects"][CAN]
    assert (after["held"], can["on"], can["upright"]) == (None, "kitchen counter", True), told
    assert after["robot"]["pose"] == pytest.approx(before["robot"]["pose"], abs=0.02), "the base stands"
    others = {name: one["on"] for name, one in after["objects"].items() if name != CAN}
    assert others == {name: one["on"] for name, one in before["objects"].items() if name != CAN}


@pytest.mark.long
def test_a_team_picks_the_can_up_by_programs_that_are_shown(
    make_own_stack: Callable[..., Stack], truth: Callable[[Stack], dict[str, Any]], environment: dict[str, str]
) -> None:
    stack = make_own_stack(world="studio", seed=0, without=("place", "ros"))
    run_command(stack, environment, "approach", "studio", CAN, "pick")
    before = truth(stack)["robot"]["pose"]
    told = run_command(stack, environment, "run", "--team", "malmm", f"pick the {CAN} up")
    assert truth(stack)["held"] == CAN, told
    assert truth(stack)["robot"]["pose"] == pytest.approx(before, abs=0.02), "the base stands"
    assert told.index("run this program") < told.index(f"close_gripper('{CAN}')") < told.index("task_completed()")
    assert "lets the planner speak" in told
