"""The study of EMOS: options, failures that are counted, and tables."""

import pytest

from quartet_benchmarks.command import SUITES_WITH, bench, load_suite
from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import SPEAKERS
from quartet_benchmarks.result import BenchParameters, Rate
from quartet_research.emos import trial as trials
from quartet_research.emos.goals import AnyAt, At, IsDetected, NotHolding
from quartet_research.emos.options import ALL_TO_ONE, BASELINES, FRAMEWORKS, read_experiment
from quartet_research.emos.report import make_report
from quartet_research.emos.study import STUDY
from quartet_research.emos.trial import AT_OBJECT, AT_RECEPTACLE, DETECTED, PLACED, Trial, subgoals_of
from quartet_research.harness.study import Case, Record, names_of
from quartet_teams.emos import Call, Outcome

MODEL = f"{SPEAKERS}/0"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"framework": ["emoss"]}, "no framework 'emoss'; valid: emos, no-numbers, no-resume, no-discussion"),
        ({"tasks": ["juggling"]}, "no task 'juggling'; valid: mobility, perception, distance, height, multi_floor"),
        ({"tasks": [","]}, "task is empty"),
        ({"p_fault": [1.5]}, "a rate is from 0 to 1"),
        ({"model": ["openai/gpt-4o"], "p_fault": [0.1]}, "p-fault is of the reference speakers"),
        ({"feedback": ["on"]}, "'emos' has no such option; malmm, roco have"),
        ({"shard": "3/2"}, "shard '3/2': give it as i/n"),
        ({"budget_usd": 5.0}, "budget_usd: the reference speakers need no such option"),
    ],
)
def test_options_that_there_are_not_are_refused(options, words):
    with pytest.raises(OptionError, match=words):
        bench("emos", options=options, episodes=1)


def test_episodes_are_as_published_and_sizes_change_in_turn():
    experiment = read_experiment({"framework": "emos"})
    tasks = [case.instance["task"] for _, cases in experiment.parts for case in cases]
    assert [tasks.count(task) for task in ("mobility", "perception", "distance", "height", "multi_floor")] == [
        *(99, 113, 89, 166, 52),
    ]
    cases = read_experiment({"framework": "emos", "tasks": "scale_robots", "episodes": 5, "seed": 4}).parts[0][1]
    assert [case.instance["robots"] for case in cases] == [2, 4, 6, 10, 2]


def test_all_to_one_has_a_trial_for_each_body():
    experiment = read_experiment({"framework": ALL_TO_ONE, "tasks": "multi_floor,height", "episodes": 2})
    (_, cases) = experiment.parts[0]
    assert len(cases) == 2 * 3 + 2 * 2
    assert len({name for _, name in names_of(experiment, "1/1")}) == len(cases)


def test_the_short_form_has_few_episodes():
    with pytest.raises(OptionError, match="juggling"):
        load_suite("emos")(BenchParameters(short=True, options={"tasks": ["juggling"]}))
    assert "emos" in SUITES_WITH["framework"]


async def test_a_baseline_asks_no_model_and_a_missing_body_ends_the_run(monkeypatch):
    def missing(_task, _seed):
        raise OptionError("there is no package with the model of 'spot'")

    async def model(_participant, _prompt):
        raise AssertionError("asked")

    monkeypatch.setattr(trials, "made_of", missing)
    for name in (*BASELINES, "emos"):
        with pytest.raises(OptionError, match="no package"):
            await STUDY.play(Case({"framework": name}, {"task": "height", "seed": 0, "robot": "fetch"}), model, len)


def test_a_delivery_has_three_subgoals_and_a_free_hand_none():
    goals = [
        At(thing="cup", place="mat"),
        AnyAt(thing="jar", within_m=1),
        IsDetected(thing="jar"),
        NotHolding(robot="a"),
    ]
    outcomes = [
        Outcome("a", Call("nav_to_obj", {"target_obj": "cup"})),
        Outcome("a", Call("nav_to_obj", {"target_obj": "mat"}), "no route"),
    ]
    asked, reached = subgoals_of(goals, [False, True, False, True], outcomes)
    assert asked == (AT_OBJECT, AT_RECEPTACLE, PLACED, AT_OBJECT, DETECTED)
    assert reached == (AT_OBJECT, AT_OBJECT)


def record(framework, task, succeeded, model=MODEL, seed=0, robot="", **values):
    about = {"task": task, **({"robot": robot} if robot else {}), "seed": seed}
    if task.startswith("scale"):
        about |= {"robots": 4, "objects": 3}
    known = {"tokens": 1000, "discussion_tokens": 400, "steps": 50, "cpu_s": 1.0, "chance": 0.25}
    return Record(model, Case({"framework": framework}, about), Trial(succeeded, **(known | values)))


RECORDS = [
    record("emos", "height", True, subgoals=(AT_OBJECT, PLACED), reached=(AT_OBJECT, PLACED)),
    record("emos", "mobility", True, subgoals=(AT_OBJECT,), reached=(AT_OBJECT,)),
    record("emos", "scale_robots", True),
    record("emos", "scale_objects", False, reason="step limit"),
    record("no-numbers", "height", True, tokens=500, subgoals=(AT_OBJECT, PLACED), reached=(AT_OBJECT,)),
    record("no-numbers", "height", False, seed=1, tokens=500, reason="goals missed", claimed=True),
    *(record("oracle", "height", True, model=f"{SPEAKERS}/{rate}", kept_as_published=True) for rate in (0, 0.3)),
    record("all-to-one", "height", False, robot="fetch"),
    record("all-to-one", "height", False, robot="stretch"),
    record("random", "height", False),
    record("try-all", "height", False),
]


@pytest.fixture(scope="module")
def report():
    return make_report(read_experiment({"episodes": 1}), RECORDS)


def test_tables_have_the_published_figures(report):
    (first, second) = report.sections["Table 1: success, sub-goals, tokens, steps"]
    assert (first["success %"], first["success % in the paper"]) == (100, 37.82)
    assert (second["success %"], second["tokens"], second["tokens in the paper"]) == (50, 500, 53201)
    (_, second) = report.sections["Table 2: relative to EMOS"]
    assert (second["relative success"], second["relative success in the paper"]) == (2, 1.61)
    assert (second["relative tokens"], second["token efficiency"]) == (2, 10)
    (_, second) = report.sections["Table 3: sub-goals reached [%]"]
    assert (second["Robot_At_Object %"], second["Object_At_Receptacle %"]) == (100, 0)
    (row,) = report.sections["Table 5: by number of robots"]
    assert (row["robots"], row["success"], row["success in the paper"]) == (4, "1/1", "60 %")
    (row,) = report.sections["Table 6: by number of objects"]
    assert (row["objects"], row["success"], row["tokens in the paper"]) == (3, "0/1", 87668)


def test_rows_label_baselines_and_chance(report):
    rows = {(row["task"], row["framework"]): row for row in report.result.rows}
    assert rows["height", "emos"]["in the paper"] == "T3 28.35 %"
    assert rows["height", "emos"]["95 %"] == "21 to 100"
    assert rows["all of T1 to T4", "emos"]["success"] == "2/2"
    assert rows["scale_robots, 4 robots", "emos"]["in the paper"] == "60 %"
    assert rows["height", "oracle"]["success"] == "1/1", "a baseline counts once for all fault rates"
    assert rows["height", "no-numbers: chance by construction"]["failed for"] == "1 goals missed"
    assert ("height", "random: chance 0.25") in rows
    assert {"all-to-one (fetch)", "all-to-one (stretch)"} <= {framework for _, framework in rows}
    assert any("orderings compare" in note for note in report.result.notes)
    assert any("draw lots" in note for note in report.result.notes)


def test_headline_figures_have_stable_names(report):
    metrics = report.result.metrics
    assert metrics["success_rate_height"] == Rate(1, 1)
    assert metrics[f"success_rate_height (no-numbers, {MODEL})"] == Rate(1, 2)
    assert (metrics["oracle_rate"], metrics["all_to_one_rate"]) == (Rate(1, 1), Rate(0, 2))
    assert (metrics["random_rate"], metrics["try_all_rate"]) == (Rate(0, 1), Rate(0, 1))
    assert (metrics["false_successes"], metrics[f"false_successes (no-numbers, {MODEL})"]) == (0, 1)
    assert metrics["episode_cpu_s_p50"] == 1.0


def test_a_trial_that_breaks_off_is_a_failed_one():
    assert STUDY.broken_off(RECORDS[0].case, "broke off: x", 3, 9) == Trial(
        False, reason="broke off: x", calls=3, tokens=9
    )
    assert set(FRAMEWORKS) >= set(BASELINES)
