"""Grids, variations, waypoints and planning of RoCo's experiment."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from quartet_benchmarks.errors import OptionError
from quartet_research.harness.study import Case, Record
from quartet_research.roco import planning_part
from quartet_research.roco.grid3d import Grid3D
from quartet_research.roco.options import read_experiment
from quartet_research.roco.part import PATHS, PLANNERS, Trial
from quartet_research.roco.properties import properties, shared_reach
from quartet_research.roco.report import make_report
from quartet_research.roco.speakers.grid import move, move_wrongly
from quartet_research.roco.speakers.prompt import Prompt
from quartet_research.roco.study import STUDY
from quartet_research.roco.table_part import play
from quartet_research.roco.waypoint_part import WAYS
from quartet_simulation.table_tasks import MakeSandwich
from quartet_teams import Answer
from quartet_teams.roco import MOST_ATTEMPTS, Action, Mode, Roco

MODEL = "mockllm/model"


async def played(task: str, seed: int, rate: float = 0.0, **setting: str) -> Trial:
    case = Case({"task": task, **setting}, {"seed": seed})
    return await STUDY.play(case, STUDY.speakers(rate, case), len)


@pytest.mark.parametrize("mode", Mode)
async def test_speakers_find_paths_in_both_grids(mode: Mode) -> None:
    for task in ("grid5", "grid10"):
        trial = await played(task, 3, framework=mode, feedback="on")
        assert (trial.succeeded, trial.attempts, trial.reason) == (True, 1, "")
        assert trial.calls == (3 if mode is Mode.DIALOGUE else 1)


async def test_feedback_makes_up_for_faults_in_a_grid() -> None:
    def trials(feedback: str) -> list[Trial]:
        setting = {"framework": "central", "feedback": feedback}
        return [asyncio.run(played("grid5", seed, 0.2, **setting)) for seed in range(8)]

    with_feedback, without = await asyncio.to_thread(trials, "on"), await asyncio.to_thread(trials, "off")
    assert 1 < max(trial.attempts for trial in with_feedback) <= MOST_ATTEMPTS
    assert {trial.attempts for trial in without} == {1}
    failed = [trial for trial in without if not trial.succeeded]
    assert len(failed) > 2 > sum(not trial.succeeded for trial in with_feedback)
    assert all(trial.reason.startswith("no plan: planner gave no valid plan in 1 answer") for trial in failed)


GRID = Grid3D(3, frozenset({(1, 0, 0)}), {"Alice": (0, 0, 0)}, {"Alice": (2, 0, 0)})
DETOUR = "MOVE PATH [(0, 0, 0), (0, 1, 0), (1, 1, 0), (2, 1, 0), (2, 0, 0)]"


def prompt(*refused: dict[str, str]) -> Prompt:
    return Prompt("", GRID.describe_robot("Alice"), ("Alice", "Bob"), refused)


def test_an_agent_avoids_obstacles_and_the_paths_of_the_others() -> None:
    there = {"Bob": "MOVE PATH [(0, 2, 0), (0, 1, 0)]"}
    free = move(prompt(), "Alice", {})
    assert free.count("(") == 5
    assert "(1, 0, 0)" not in free
    for action in (move(prompt(), "Alice", there), move(prompt(there | {"Alice": DETOUR}), "Alice", {})):
        assert action.startswith("MOVE PATH [(0, 0, 0), (0, 0, 1)"), "Bob is at (0, 1, 0) at step 1"


def test_an_agent_that_errs_goes_straight_through_obstacles() -> None:
    assert move_wrongly(prompt(), np.random.default_rng(0)) == "MOVE PATH [(0, 0, 0), (1, 0, 0), (2, 0, 0)]"


def test_a_temperature_is_a_setting_of_the_grids_for_language_models_alone() -> None:
    experiment = read_experiment(
        {"tasks": ["grid5,sort"], "model": [MODEL], "temperature": ["0,0.6"], "trials": 1, "framework": ["central"]}
    )
    found = [cases[0].setting.get("temperature") for _, cases in experiment.parts]
    assert found == [0.0, 0.6, None]
    options = experiment.parts[1][0]
    assert options["temperature"] == [0.6]
    assert read_experiment(options).parts[0][1] == experiment.parts[1][1], "as Inspect reads it again"
    for given, said in (
        ({"temperature": [0.6]}, "the reference-speakers have no temperature"),
        (
            {"temperature": [0.6], "tasks": ["sort"], "model": [MODEL]},
            "no task of sort has a temperature",
        ),
        ({"temperature": [3], "tasks": ["grid"], "model": [MODEL]}, r"temperature \(3.0,\): use at least one value"),
        ({"temperature": ["hot"]}, "temperature .* is no number"),
    ):
        with pytest.raises(OptionError, match=said):
            read_experiment(given)


def test_a_grid_stands_beside_the_published_figure() -> None:
    records = []
    for warm, tries in ((0.0, 2), (0.6, 1)):
        setting = {"task": "grid5", "framework": "central", "feedback": "on", "temperature": warm}
        records.append(Record(MODEL, Case(setting, {"seed": 0}), Trial(True, steps=1, attempts=tries)))
    rows = make_report(read_experiment({"tasks": ["grid"]}), records).result.rows
    assert [(row["team"], row["attempts"], row["in the paper"]) for row in rows] == [
        ("central", 2.0, "0.87; attempts 2.73"),
        ("central, temperature 0.6", 1.0, ""),
    ]


@pytest.mark.parametrize("task", ["planning2", "planning3"])
async def test_both_planners_solve_the_same_problem_on_processor_time(task: str) -> None:
    trials = [await played(task, 1, planner=planner) for planner in PLANNERS]
    assert [trial.succeeded for trial in trials] == [True] * 2
    assert all(len(trial.plan_cpu_s) == 1 and 0 < trial.plan_cpu_s[0] < trial.wall_s for trial in trials)


async def test_published_limits_leave_a_problem_unsolved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning_part, "SAMPLES", 0)
    assert (await played("planning2", 5, planner="rrt_connect")).reason == "no_path: none in 0 samples"
    assert (await played("planning2", 5, planner="quartet")).succeeded


async def test_a_team_that_only_waits_is_counted_as_idle() -> None:
    async def model(participant: str, prompt: str) -> Answer:
        return Answer("The task is complete. EXECUTE\nNAME Chad ACTION WAIT\nNAME Dave ACTION WAIT")

    trial = await play(MakeSandwich(0), Roco(), model, most_steps=2)
    assert (trial.succeeded, trial.steps, trial.idle, trial.no_plan) == (False, 2, 2, 0)


def test_properties_of_tasks_stand_beside_the_published_ones() -> None:
    setting = {"task": "sandwich", "framework": "dialogue", "history": "all", "feedback": "on"}
    trial = Trial(False, steps=20, idle=3, reason="not done in 20 steps", plan_cpu_s=(0.1, 0.3))
    report = make_report(read_experiment({}), [Record(MODEL, Case(setting, {"seed": 0}), trial)])
    (row,) = report.sections["Properties of the tasks"]
    assert (row["asymmetric observation"], row["asymmetric observation (paper)"]) == ("yes", "yes")
    assert row["reach shared by two or more robots"] == "2%"
    assert report.result.rows[0]["CPU p50, p95 [s]"] == "0.20, 0.29"
    assert report.result.rows[0]["idle"] == 3
    assert properties("pack")["asymmetric observation"] == "own gripper only"


def test_reach_is_shared_where_boxes_overlap() -> None:
    unit, half = ((0.0, 1.0),) * 3, ((0.5, 1.5), (0.0, 1.0), (0.0, 1.0))
    assert shared_reach([unit, half]) == pytest.approx(1 / 3, abs=0.02)
    assert shared_reach([unit, ((2.0, 3.0), (0.0, 1.0), (0.0, 1.0))]) == 0
    assert shared_reach([unit, unit, half]) == pytest.approx(2 / 3, abs=0.02)


@pytest.mark.parametrize(("task", "path"), [("pack_place", "hover"), *(("rope_pick", path) for path in PATHS)])
async def test_waypoints_of_every_kind_lead_to_a_motion(task: str, path: str) -> None:
    trial = await played(task, 1, framework="central", path=path)
    assert (trial.succeeded, trial.reason, trial.no_plan, trial.steps) == (True, "", 0, 1)
    assert [spent > 0 for spent in trial.plan_cpu_s] == [True]


async def test_a_team_without_a_plan_has_no_motion() -> None:
    async def model(participant: str, prompt: str) -> Answer:
        return Answer("I ponder.")

    trial = await STUDY.play(
        Case({"task": "pack_pick", "framework": "central", "path": "hover"}, {"seed": 0}), model, len
    )
    assert (trial.succeeded, trial.no_plan, trial.attempts, trial.plan_cpu_s) == (False, 1, MOST_ATTEMPTS, ())
    assert trial.reason.startswith("no plan: planner gave no valid plan")


def test_replaced_waypoints_lie_on_the_line_or_above_its_ends() -> None:
    assert list(WAYS) == list(PATHS)
    pick = Action("Bob", "PICK", "apple", path=((0.0, 0.0, 0.9),) * 4)
    put = replace(pick, verb="PUT")
    start, goal = (0.0, 0.0, 0.5), (0.5, 1.0, 0.0)
    assert WAYS["proposed"](pick, start, goal) == pick.path
    linear = WAYS["linear"](pick, start, goal)
    assert np.allclose(linear, [(0.1, 0.2, 0.4), (0.2, 0.4, 0.3), (0.3, 0.6, 0.2), (0.4, 0.8, 0.1)])
    assert WAYS["hover"](pick, start, goal) == ((0.5, 1.0, 0.2),)
    assert WAYS["hover"](put, start, goal) == ((0.0, 0.0, 0.7), (0.5, 1.0, 0.2))
