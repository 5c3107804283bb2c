"""The table with its Panda in a whole deployment: a team of models does a task there by programs."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quartet_contracts import State, TaskSubmission
from quartet_contracts.journal import Asked, SkillFinished
from quartet_deployment import Stack, project_root

Truth = Callable[[Stack], dict[str, Any]]


@pytest.fixture
def run_team(environment: dict[str, str]) -> Callable[..., str]:
    """Have a team do what a sentence says; what the command prints."""

    def run(stack: Stack, sentence: str, team: str = "malmm") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "quartet_cli", "run", "--team", team, sentence],
            env={**environment, "QUARTET_URL": stack.url, "QUARTET_API_TOKEN": stack.api_token},
            capture_output=True,
            text=True,
            timeout=270,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.long
def test_a_team_picks_the_rubbish_up_and_puts_it_in_the_bin_by_programs(
    make_own_stack: Callable[..., Stack], truth: Truth, run_team: Callable[[Stack, str], str]
) -> None:
    stack = make_own_stack(world="tabletop", seed=0, without=("approach", "pick", "place", "ros"))
    height = truth(stack)["objects"]["rubbish"]["position"][2]
    told = run_team(stack, "pick the rubbish up")
    after = truth(stack)
    assert after["held"] == "rubbish", told
    assert after["objects"]["rubbish"]["position"][2] > height + 0.1
    assert told.index("close_gripper('rubbish')") < told.index("task_completed()")
    # Another task: what is in the gripper is known from the camera on the wrist. Over the rim no camera sees the
    # rubbish; the gripper's sensors tell that it was let go there, until the wrist camera looks into the bin.
    told = run_team(stack, "put the rubbish in the bin")
    after = truth(stack)
    assert after["task"]["succeeded"], told
    assert after["held"] is None
    assert "Moved, by the cameras: rubbish" in told


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_team_works_with_the_errors_of_typical_sensors(
    make_own_stack: Callable[..., Stack], truth: Truth, run_team: Callable[..., str]
) -> None:
    stack = make_own_stack(world="tabletop", sensors="typical", seed=0, without=("approach", "pick", "place", "ros"))
    told = run_team(stack, "put the rubbish in the bin", "sa")
    after = truth(stack)
    assert after["task"]["succeeded"], told
    assert after["held"] is None


@pytest.mark.long
def test_a_team_stacks_blocks_on_a_square_that_is_drawn_on_the_table(
    make_own_stack: Callable[..., Stack], truth: Truth, run_team: Callable[[Stack, str], str]
) -> None:
    stack = make_own_stack(
        world="tabletop", scenario="stack-blocks:0", seed=0, without=("approach", "pick", "place", "ros")
    )
    assert stack.options.example == "stack 2 red blocks on the target square"
    told = run_team(stack, stack.options.example)
    after = truth(stack)
    assert after["task"]["succeeded"], told
    assert after["held"] is None


@pytest.mark.long
def test_a_person_reads_each_program_before_it_runs_and_a_no_ends_the_task(
    make_own_stack: Callable[..., Stack], truth: Truth, tmp_path: Path
) -> None:
    """The first program runs with a person's yes; the second one, refused, moves nothing, and is not asked again."""
    site = shutil.copytree(project_root() / "deploy" / "sites" / "tabletop", tmp_path / "site")
    with (site / "policy.yaml").open("a") as policy:
        policy.write("programs: ask\n")
    stack = make_own_stack(world="tabletop", site_dir=site, seed=0, without=("approach", "pick", "place", "ros"))
    before = truth(stack)["objects"]["rubbish"]["position"]
    asked: list[str] = []
    programs: list[SkillFinished] = []
    with stack.api() as api:
        submission = TaskSubmission(sentence="put the rubbish in the bin", team="sa", timeout_s=300)
        task_id = api.submit(submission).task.task_id
        for one in api.events(task_id):
            if isinstance(one.event, SkillFinished):
                programs.append(one.event)
            if isinstance(one.event, Asked):
                api.answer(task_id, "no" if asked else "yes", one.event.question_id)
                asked.append(one.event.text)
        status = api.task(task_id)
    refused = asked[1:]
    assert len(refused) == len(set(refused)) > 0, "nobody is asked again about a program that was refused"
    assert all("\n" in text and "(" in text for text in asked), "each question shows its program"
    assert {one.error_code for one in programs} == {"NONE", "PROGRAM_REFUSED"}
    assert status.state is State.FAILED
    assert status.report is not None
    assert f"Refused by a person or the policy: {len(refused)}." in status.report.summary
    assert truth(stack)["objects"]["rubbish"]["position"] == pytest.approx(before, abs=0.005)
    assert truth(stack)["held"] is None
