"""A person in the loop: rule-based persons, the robot's speaker, a person who types, and whole trials."""

import asyncio
import io
import os
import signal
import time
from typing import Any

import pytest

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.result import BenchParameters
from quartet_research.harness.study import Case
from quartet_research.roco.options import read_experiment
from quartet_research.roco.person import part
from quartet_research.roco.person.part import Correcting, Imperfect, PersonPart
from quartet_research.roco.person.robot import RobotSpeaker
from quartet_research.roco.person.typed import LONGEST, InputEndedError
from quartet_research.roco.suite import run
from quartet_simulation.table_tasks.blocks import BLOCKS, MoveBlocks
from quartet_teams import Answer, Discussion, Model
from quartet_teams.roco import Action, JointPlan, Past, Roco

BLUE, RED, TOY = BLOCKS
PLACES = {BLUE: "table", RED: "green_cup", TOY: "wooden_bin"}
WRONG = 5
"""Seed of an episode in which the camera errs at once."""


def plan(robot: str, block: str) -> JointPlan:
    target = "wooden_bin" if robot == "Bob" else "table"
    return {robot: Action(robot, "PICK PLACE", block, target), "other": Action("other", "WAIT")}


def first_round(person: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Discussion, JointPlan, MoveBlocks]:
    """Return discussion, plan and task of a first round in which the camera errs."""
    found: list[Any] = []

    async def play_round(task: MoveBlocks, team: Roco, model: Model, **_: int) -> None:
        discussion = Discussion(model)
        found.extend([discussion, (await team.decide(task, Past(), discussion)).plan, task])

    monkeypatch.setattr(part, "play", play_round)
    monkeypatch.setattr(part, "ERRORS", 0.5)
    case = Case({"task": "blocks_start", "person": person}, {"seed": WRONG})
    asyncio.run(PersonPart().play(case, RobotSpeaker(0.0, 0)))
    assert found[2].describe_robot("Bob") != found[2].describe()
    return found[0], found[1], found[2]


def typing(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_correcting_person_says_where_blocks_are_unless_it_was_said() -> None:
    said = {"Talk now": "Bob: blue_triangular_block is on the table."}
    correction = Correcting().say(PLACES, said)
    assert correction.splitlines() == [
        f"{BLUE} is on the table.", f"{RED} is in green_cup.", f"{TOY} is in wooden_bin."
    ]  # fmt: skip
    assert Correcting().say(PLACES, {"Talk now": f"Bob: {correction}"}) == "I agree."
    assert correction != Imperfect().say(PLACES, said)


def test_correcting_person_refuses_what_does_not_fit() -> None:
    assert Correcting().refuses(PLACES, plan("Bob", RED)) == f"{RED} is in green_cup."
    assert Correcting().refuses(PLACES, plan("Alice", BLUE)) == f"{BLUE} is on the table."
    assert Correcting().refuses(PLACES, plan("Bob", BLUE)) == Correcting().refuses(PLACES, plan("Alice", RED)) == ""
    assert Imperfect().refuses(PLACES, plan("Bob", RED)) == ""


def test_only_a_corrected_robot_plans_what_the_person_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    discussion, corrected, task = first_round("correcting", monkeypatch)
    assert [turn.participant for turn in discussion.turns] == ["Bob", "Alice", "Bob"]
    assert Correcting().refuses(task.places, corrected) == ""
    discussion, believed, task = first_round("imperfect", monkeypatch)
    assert Correcting().refuses(task.places, believed) != ""
    unseen = [line for line in task.describe().splitlines() if line not in task.describe_robot("Bob")]
    assert not any(line in turn.prompt for turn in discussion.turns if turn.participant == "Bob" for line in unseen)


def test_person_types_a_correction_and_refuses_a_plan(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typing(monkeypatch, "x" * (LONGEST + 1), "\x1b[2J", "Good day!", "perhaps", "yes, but", "no, not that", "", "YES")
    discussion, _, task = first_round("typed", monkeypatch)
    shown = capsys.readouterr().out
    assert f"at most {LONGEST} are sent" in shown
    assert "'\\x1b[2J' has characters that cannot be printed" in shown
    assert "'perhaps' is neither yes nor no" in shown
    assert "'yes, but' is neither yes nor no" in shown
    assert [turn.answer.text for turn in discussion.turns if turn.participant == "Alice"] == [
        "Good day!\nPROCEED", "I have nothing to add.\nPROCEED"
    ]  # fmt: skip
    assert "Alice: Good day!" in discussion.turns[2].prompt
    assert "Alice refused to execute it: not that" in discussion.turns[-1].prompt
    first, second = (turn.answer.text for turn in discussion.turns if "EXECUTE" in turn.answer.text)
    assert first != second
    assert all(line in shown for line in [task.rules, *f"{task.describe()}\n{task.describe_robot('Bob')}".splitlines()])


def test_end_of_the_input_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    typing(monkeypatch, "Good day!")
    options = {"tasks": ["blocks_start"], "person": ["typed"], "trials": 2}
    with pytest.raises(InputEndedError, match="the input has ended; type in a terminal, or choose"):
        run(BenchParameters(progress=lambda line: None, options=options))


def test_ctrl_c_interrupts_a_person_who_types(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(question: str) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
        return ""

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("builtins.input", interrupted)
    with pytest.raises(KeyboardInterrupt):
        first_round("typed", monkeypatch)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("person", ["correcting", "typed"])
async def test_person_and_robot_bring_all_blocks_into_the_bin(person: str, monkeypatch: pytest.MonkeyPatch) -> None:
    typing(monkeypatch, *[""] * 40)
    case = Case({"task": "blocks_order", "person": person}, {"seed": 7})
    trial = await PersonPart().play(case, PersonPart().speakers(0.0, case))
    assert (trial.succeeded, trial.reason) == (True, "")
    assert trial.steps == 6 if person == "correcting" else trial.steps > 6


def test_faulty_robot_is_refused() -> None:
    refusals = 0
    for seed in range(6):
        task = MoveBlocks(seed, ordered=True)
        robot = RobotSpeaker(0.4, seed)

        async def answer(participant: str, prompt: str, task: MoveBlocks = task, robot: Model = robot) -> Answer:
            if participant == "Bob":
                return await robot(participant, prompt)
            return Answer(f"{Correcting().say(task.places, {})}\nPROCEED")

        discussion = Discussion(answer)
        asyncio.run(Roco(most_calls=5).decide(task, Past(), discussion))
        refusals += len(discussion.refusals)
    assert refusals > 2


def test_unknown_person_is_refused() -> None:
    with pytest.raises(OptionError, match="no person 'shy'; valid: correcting, imperfect, typed"):
        read_experiment({"tasks": ["person"], "person": ["shy"]})
