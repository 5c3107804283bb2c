"""The MALMM experiment: programs at the table, reference speakers, options and tables."""

import json
import shutil
from dataclasses import replace

import pytest

from quartet_benchmarks.command import bench, load_suite
from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.result import BenchParameters, Rate
from quartet_research.malmm.arm import TabletopArm
from quartet_research.malmm.options import read_experiment
from quartet_research.malmm.speakers import ReferenceModel
from quartet_research.malmm.table import Entry, headline, rate_lines, stack_rows, task_rows
from quartet_research.malmm.trial import Trial, play
from quartet_scripted_model.programs import ArmSpeakers, Rates, read_scene
from quartet_simulation.tabletop import TASKS, Tabletop
from quartet_teams import Answer


@pytest.fixture(scope="module")
def arm():
    return TabletopArm(Tabletop.generate("put-block", 0, 0))


async def test_a_program_moves_the_arm_and_is_told_the_new_state(arm):
    result = await arm.execute("print('up')\nexecute_trajectory([0.3, 0.1, 0.95], 0.3)")
    assert result.exit_code == 0
    assert result.output.startswith("up\n**block**")
    assert read_scene(result.output).hand == pytest.approx((0.3, 0.1, 0.95), abs=0.002)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("execute_trajectory(position, 0.0)", "NameError: name 'position' is not defined"),
        ("execute_trajectory([0.3, 0.1], 0.0)", "must be three numbers"),
        ("execute_trajectory([0.3, 0.1, 10**400], 0.0)", "position[2]: Input should be a valid number"),
        ("execute_trajectory([0.3, 0.1, 0.9], 10**400)", "yaw: Input should be a valid number"),
        ("execute_trajectory([1e308, 0.1, 0.9], 0.0)", "does not reach"),
        ("execute_trajectory([1e6, 1e6, 0.9], 0.0)", "does not reach"),
        ("close_gripper(['block'])", "object_name: Input should be a valid string"),
        ("execute_trajectory([2.0, 0.0, 0.9], 0.0)", "does not reach"),
        ("execute_trajectory([0.3, 0.0, 0.74], 0.0)", "would meet the table"),
        ("close_gripper('cup')", "there is no object 'cup'"),
        ("move(", "SyntaxError"),
        ("open('/etc/passwd')", "PermissionError"),
    ],
)
async def test_the_error_text_alone_goes_back_and_the_arm_stays(arm, code, words):
    hand = arm.world.hand
    result = await arm.execute(code)
    assert result.exit_code == 1
    assert words in result.output
    assert "Center Position" not in result.output
    assert arm.world.hand == hand


async def test_variables_do_not_last_and_after_completion_nothing_moves():
    arm = TabletopArm(Tabletop.generate("put-block", 0, 0))
    assert (await arm.execute("z = 0.9")).exit_code == 0
    assert "name 'z' is not defined" in (await arm.execute("print(z)")).output
    result = await arm.execute("task_completed()\nexecute_trajectory([0.3, 0.0, 0.9], 0.0)")
    assert arm.completed
    assert result.exit_code == 1


@pytest.mark.slow
@pytest.mark.parametrize("task", ["insert-in-peg", "open-bottle", "rubbish-in-bin"])
async def test_the_speakers_do_a_task_by_their_prompts_alone(task):
    trial = await play(Tabletop.generate(task, 0, 0), "malmm", ReferenceModel(Rates(), 0))
    assert (trial.succeeded, trial.ending, trial.failed_executions) == (True, "completed", 0)


async def test_without_feedback_the_speakers_plan_all_at_once():
    trial = await play(Tabletop.generate("put-block", 0, 0), "malmm", ReferenceModel(Rates(), 0), feedback=False)
    assert (trial.succeeded, trial.calls) == (True, 4)


@pytest.mark.slow
async def test_faults_are_drawn_by_the_seed_and_feedback_makes_up_for_them():
    rates = Rates.equal(0.3)
    first = await play(Tabletop.generate("put-block", 0, 0), "sa", ReferenceModel(rates, 5))
    again = await play(Tabletop.generate("put-block", 0, 0), "sa", ReferenceModel(rates, 5))
    assert (first.calls, first.failed_executions) == (again.calls, again.failed_executions)
    assert first.succeeded
    assert first.executions > 9, "more than a way without faults has"


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("undefined name", "execute_trajectory(position, yaw)"),
        ("dropped", "open_gripper()"),
    ],
)
def test_each_fault_is_what_it_says(kind, line):
    speakers = ArmSpeakers(Rates(program=1.0), 0)
    step = "lower: position [0.3000, 0.1000, 0.9000], yaw 0.2000"
    programs = [speakers._program(step) for _ in range(40)]
    sound = ArmSpeakers(Rates(), 0)._program(step)
    assert sound not in programs
    assert line in sound or kind == "dropped"
    wanted = {
        "undefined name": lambda program: "position =" not in program,
        "dropped": lambda program: program.startswith("open_gripper()"),
    }[kind]
    assert any(map(wanted, programs))
    assert not wanted(sound)


async def test_a_claim_that_is_wrong_is_a_false_success():
    async def liar(_participant, _prompt):
        return Answer("```python\ntask_completed()\n```")

    trial = await play(Tabletop.generate("put-block", 0, 0), "sa", liar)
    assert trial.false_success
    assert not trial.succeeded


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"framework": ["sa,trio"]}, "no framework 'trio'; valid: sa, ma, malmm"),
        ({"framework": [","]}, "framework is empty; name at least one or leave it out; valid: sa, ma, malmm"),
        ({"model": [","]}, "model is empty; name at least one or leave it out"),
        ({"tasks": ["juggle"]}, "no task 'juggle'"),
        ({"feedback": ["maybe"]}, "no feedback 'maybe'; valid: on, off"),
        ({"observation": "smell"}, "no observation 'smell'; valid: state, vision"),
        ({"p_fault": [1.5]}, "a rate is from 0 to 1"),
        ({"model": ["openai/gpt-4o"], "p_fault": [0.1]}, "p-fault is of the reference speakers"),
        ({"budget_usd": 5.0}, "budget_usd: the reference speakers need no such option"),
        ({"robots": [3]}, "'malmm' has no such option; armtable, planners, teams have"),
        ({"shard": "3/2"}, "shard '3/2': give it as i/n"),
        ({"shard": "4/4", "tasks": ["put-block"], "framework": ["sa"]}, "enough for 3 shards"),
    ],
)
def test_options_that_there_are_not_are_refused(options, words):
    with pytest.raises(OptionError, match=words):
        bench("malmm", options=options, episodes=3)


def test_options_of_this_suite_are_not_of_planners():
    with pytest.raises(OptionError, match="'planners' has no such option; malmm, roco have"):
        bench("planners", options={"feedback": ["on"]})


def test_names_may_be_parted_by_commas_and_all_variations_come():
    read = read_experiment({"framework": ["sa,ma", "malmm"], "tasks": ["stack-blocks"], "episodes": 60})
    assert read.framework == ("sa", "ma", "malmm")
    assert {variation for _, variation, _ in read.instances} == set(range(60))
    assert read_experiment({"tasks": list(TASKS)}).episodes == 25


def entry(task, framework, feedback, succeeded, variation=0):
    trial = Trial(succeeded, "completed", 10, 100, 9, 0, 2.0)
    return Entry(task, variation, 0, "m", framework, feedback, trial)


def test_tables_have_the_published_figures_beside():
    entries = [
        entry("stack-blocks", "malmm", True, True),
        entry("stack-blocks", "malmm", True, False, variation=1),
        entry("put-block", "malmm", True, True),
        entry("empty-container", "sa", False, False),
    ]
    rows = {(row["framework"], row["task"]): row for row in task_rows(entries)}
    assert rows["malmm", "stack-blocks"]["success"] == "1/2"
    assert rows["malmm", "stack-blocks"]["GPT-4 in the paper"] == "56 %"
    assert rows["malmm", "all"]["GPT-4 in the paper"] == "78 %"
    assert rows["sa", "empty-container"]["GPT-4 in the paper"] == "12 %"
    assert [row["task"] for row in stack_rows(entries)] == ["stack-blocks, 2 blocks", "stack-blocks, 3 blocks"]
    metrics = headline(entries)
    assert metrics["false_successes"] == 2
    assert metrics["success_rate_malmm"] == Rate(2, 3)


def test_the_study_under_equal_faults_is_drawn_by_rate():
    several = [
        replace(entry("put-block", "sa", True, done), model=f"reference-speakers/{rate}")
        for rate, done in ((0, True), (0, True), (0.2, True), (0.2, False))
    ]
    lines = rate_lines(several)
    assert [line.split("p ")[1].split(" (")[0] for line in lines[1:]] == [
        "0    #################### 2/2",
        "0.2  ##########.......... 1/2",
    ]
    assert rate_lines(several[:2]) == []


def test_the_suite_plays_what_the_options_name():
    options = {"tasks": ["put-block"], "framework": ["sa"]}
    result = load_suite("malmm")(BenchParameters(episodes=1, options=options, progress=lambda _line: None))
    assert result.metrics["success_rate_sa"] == Rate(1, 1)
    assert result.metrics["false_successes"] == 0
    assert result.details[0]["ending"] == "completed"


@pytest.fixture
def play_shards(tmp_path):
    """Plays shards of an experiment with the reference speakers, below one folder."""

    def play_them(*shards, out=tmp_path, **options):
        wanted = {"tasks": ["put-block,open-bottle"], "framework": ["malmm,sa"], "out": out} | options
        for shard in shards:
            bench("malmm", options={**wanted, "shard": shard}, episodes=1, seeds=[3], json_path=tmp_path / "part.json")
        return tmp_path

    return play_them


@pytest.mark.long
def test_shards_of_the_reference_speakers_give_together_what_one_process_gives(play_shards, tmp_path):
    folder = play_shards("1/2", "2/2")
    part = json.loads((tmp_path / "part.json").read_text())
    assert (part["parameters"]["shard"], len(part["details"])) == ("2/2", 2)
    bench("malmm", options={"merge": [folder]}, json_path=tmp_path / "whole.json")
    bench("malmm", options={"tasks": ["put-block,open-bottle"], "framework": ["malmm,sa"]}, episodes=1, seeds=[3],
          json_path=tmp_path / "one.json")  # fmt: skip
    whole, one = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("whole", "one"))
    for result in (whole, one):
        result["details"] = [{**each, "wall_s": 0.0} for each in result["details"]]
    assert whole["details"] == one["details"]
    assert whole["parameters"] == one["parameters"]


def test_a_folder_that_cannot_be_written_is_told_before_an_episode_is_played(play_shards, tmp_path, monkeypatch):
    monkeypatch.setattr("quartet_research.malmm.study.play", lambda *_, **__: pytest.fail("it was played"))
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match=r"trials.jsonl cannot be written: Not a directory; give another folder"):
        play_shards("1/2", out=tmp_path / "file" / "runs")


@pytest.mark.long
def test_shards_that_do_not_belong_together_are_not_merged(play_shards, tmp_path):
    play_shards("1/2")
    with pytest.raises(OptionError, match="these shards are missing: 2/2"):
        bench("malmm", options={"merge": [tmp_path]})
    play_shards("2/2", p_fault=[0.1], out=tmp_path / "other")
    with pytest.raises(OptionError, match="parts of several experiments"):
        bench("malmm", options={"merge": [tmp_path]})
    shutil.rmtree(tmp_path / "other")
    play_shards("2/2")
    play_shards("2/2", out=tmp_path / "again")
    with pytest.raises(OptionError, match="shard 2/2 is there more than once"):
        bench("malmm", options={"merge": [tmp_path]})
    (tmp_path / "again" / "shard-2-of-2" / "trials.jsonl").write_text("{}\n")
    with pytest.raises(OptionError, match="is no file of trials of this version"):
        bench("malmm", options={"merge": [tmp_path]})
