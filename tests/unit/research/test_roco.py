"""RoCo's experiment: speakers that know their prompts alone, trials, tables, options."""

import asyncio

import pytest

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.result import Rate
from quartet_research.harness.study import Case, Record
from quartet_research.roco.options import read_experiment
from quartet_research.roco.part import Trial
from quartet_research.roco.report import make_report
from quartet_research.roco.speakers import Speakers
from quartet_research.roco.speakers.paths import through_table
from quartet_research.roco.speakers.prompt import Prompt
from quartet_research.roco.speakers.sorting import next_panel, sort
from quartet_research.roco.speakers.stacking import stack
from quartet_research.roco.speakers.sweeping import sweep
from quartet_research.roco.table_part import play
from quartet_simulation.table_tasks import TASKS, Outcome, SortCubes
from quartet_teams import Answer, Discussion, NoPlanError
from quartet_teams.roco import MOST_ATTEMPTS, Mode, Past, Roco, parse_reply


@pytest.mark.parametrize(
    ("panel", "goal", "reach", "next_one"),
    [
        ("panel7", "panel2", ("panel5", "panel6", "panel7"), "panel5"),
        ("panel5", "panel2", ("panel3", "panel4", "panel5"), "panel3"),
        ("panel3", "panel2", ("panel1", "panel2", "panel3"), "panel2"),
        ("panel2", "panel2", ("panel1", "panel2", "panel3"), ""),
        ("panel5", "panel2", ("panel5", "panel6", "panel7"), ""),
        ("panel1", "panel2", ("panel5", "panel6", "panel7"), ""),
    ],
)
def test_a_block_is_handed_towards_its_panel(panel: str, goal: str, reach: tuple[str, ...], next_one: str) -> None:
    assert next_panel(panel, goal, reach) == next_one


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("mode", Mode)
async def test_speakers_agree_on_a_plan_that_passes_the_checks(mode: Mode, task: str) -> None:
    for seed in range(3):
        world = TASKS[task](seed)
        decision = await Roco(mode).decide(world, Past(), Discussion(Speakers(0.0, seed)))
        assert world.check(decision.plan) == []
        assert any(action.verb != "WAIT" for action in decision.plan.values())


async def test_after_a_refusal_speakers_propose_another_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    world, proposed = SortCubes(4), []

    def refuse_all(plan):
        proposed.append({robot: str(action) for robot, action in plan.items()})
        return [("collision", "Alice and Bob would collide.")]

    monkeypatch.setattr(world, "check", refuse_all)
    with pytest.raises(NoPlanError):
        await Roco().decide(world, Past(), Discussion(Speakers(0.0, 0)))
    assert len(proposed) == 5
    assert proposed[1] != proposed[0]


SORTING = Prompt(
    "blue_square on panel2, pink_polygon on panel4",
    "Bob reaches panel3, panel4, panel5 and no other panel.\npink_polygon is on panel3.\nblue_square is on panel5.",
    ("Alice", "Bob"),
    (),
)


def test_a_robot_leaves_a_block_that_another_has_announced() -> None:
    assert sort(SORTING, "Bob", {}) == "PICK pink_polygon PLACE panel4"
    assert sort(SORTING, "Bob", {"Alice": "PICK pink_polygon PLACE panel2"}) == "PICK blue_square PLACE panel3"


@pytest.mark.parametrize(
    ("holds", "lies", "said", "action"),
    [
        ("nothing", "bread is on cutting_board.", {}, "PICK ham"),
        ("ham", "bread is on cutting_board.", {}, "PUT ham bread"),
        ("ham", "bread is on cutting_board.", {"Dave": "PUT top ham"}, "WAIT"),
        ("ham", "bread is on the right side of the table.", {}, "WAIT"),
        ("bread", "", {}, "PUT bread cutting_board"),
        ("tomato", "", {}, "PUT tomato table"),
    ],
)
def test_a_robot_stacks_in_the_order_of_the_recipe(holds: str, lies: str, said: dict[str, str], action: str) -> None:
    own = (
        f"Chad reaches the foods on the right side and the cutting_board.\n{lies}\n"
        f"ham is on the right side of the table.\nChad holds {holds}."
    )
    prompt = Prompt("From the bottom to the top it has: bread, ham, top.", own, ("Chad", "Dave"), ())
    assert stack(prompt, "Chad", said) == action


MOVES = {"Alice": "MOVE red", "Bob": "MOVE red"}


@pytest.mark.parametrize(
    ("robot", "red", "away", "refused", "said", "action"),
    [
        ("Alice", "on the table", 0.5, (), {}, "MOVE red"),
        ("Bob", "on the table", 0.13, (), {"Alice": "MOVE red"}, "WAIT"),
        ("Alice", "on the table", 0.2, (), {}, "WAIT"),
        ("Bob", "on the table", 0.13, (), {"Alice": "WAIT"}, "SWEEP red"),
        ("Bob", "on the table", 0.5, (), {"Alice": "WAIT"}, "MOVE red"),
        ("Alice", "on the table", 0.2, (MOVES,), {}, "WAIT"),
        ("Bob", "on the table", 0.13, (MOVES,), {}, "MOVE red"),
        ("Alice", "on the table", 0.2, (MOVES, MOVES), {}, "MOVE blue"),
        ("Alice", "in the bin", 0.2, (), {}, "MOVE blue"),
    ],
)
def test_both_robots_go_to_the_cube_with_the_smallest_y_and_then_sweep_it(
    robot: str, red: str, away: float, refused: tuple[dict[str, str], ...], said: dict[str, str], action: str
) -> None:
    tool = {"Alice": "dustpan", "Bob": "broom"}[robot]
    own = (
        "Alice holds the dustpan and can WAIT. At a cube, it is 0.21 from it.\n"
        "Bob holds the broom and can WAIT. At a cube, it is 0.13 from it.\n"
        f"blue: (0.60, 0.55, 0.17), on the table\nred: (0.30, 0.45, 0.17), {red}\n"
        f"Gripper of {robot}: (0.3, 0.2, 0.2), with the {tool}. Its distances: 0.60 to blue, {away:.2f} to red"
    )
    assert sweep(Prompt("Sweep all cubes", own, ("Alice", "Bob"), refused), robot, said) == action


def test_dustpan_is_dumped_when_no_cube_is_on_the_table() -> None:
    own = (
        "Alice holds the dustpan and can WAIT. At a cube, it is 0.21 from it.\n"
        "Bob holds the broom and can WAIT. At a cube, it is 0.13 from it.\nred: (0.30, 0.45, 0.17), on the dustpan"
    )
    prompt = Prompt("Sweep all cubes", own, ("Alice", "Bob"), ())
    assert (sweep(prompt, "Alice", {}), sweep(prompt, "Bob", {})) == ("DUMP", "WAIT")


async def test_a_trial_counts_rounds_without_a_plan_and_tells_of_plans_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    speakers, prompts = Speakers(0.0, 4), []
    outcomes = iter([Outcome("Bob is blocked"), *[Outcome()] * 9])
    monkeypatch.setattr(SortCubes, "step", lambda self, plan: next(outcomes))

    async def model(participant: str, prompt: str) -> Answer:
        prompts.append(prompt)
        return Answer("I ponder.") if len(prompts) <= MOST_ATTEMPTS else await speakers(participant, prompt)

    trial = await play(SortCubes(4), Roco("central"), model, most_steps=4)
    assert (trial.steps, trial.no_plan, trial.not_executed, trial.succeeded) == (4, 1, 1, False)
    assert trial.attempts == MOST_ATTEMPTS + 3
    failed = [prompt.partition("# Plans that failed in execution")[2].partition("#")[0] for prompt in prompts]
    assert ["Reason: Bob is blocked" in part for part in failed[MOST_ATTEMPTS:]] == [False, True, False]


async def test_faults_show_in_what_the_checks_refuse() -> None:
    refused = 0
    for seed in range(6):
        discussion = Discussion(Speakers(0.6, seed))
        try:
            await Roco().decide(SortCubes(seed), Past(), discussion)
        except NoPlanError:
            refused += 1
        refused += len(discussion.refusals)
    assert refused > 3


async def test_path_through_the_table_is_refused_at_its_points() -> None:
    world = TASKS["pack"](1)
    plan = (await Roco().decide(world, Past(), Discussion(Speakers(0.0, 1)))).plan
    lines = "\n".join(f"NAME {robot} ACTION {through_table(str(action))}" for robot, action in plan.items())
    sunk = parse_reply(f"EXECUTE\n{lines}", world)
    assert [point[:2] for point in sunk["Bob"].path] == [point[:2] for point in plan["Bob"].path]
    assert {stage for stage, _ in world.check(sunk)} == {"waypoints"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("task", "most"), [("sort", 8), ("sandwich", 12), ("pack", 8), ("rope", 4), ("sweep", 7), ("cabinet", 8)]
)
def test_speakers_do_the_task(task: str, most: int) -> None:
    trial = asyncio.run(play(TASKS[task](4), Roco(), Speakers(0.0, 4), most_steps=20))
    assert (trial.succeeded, trial.reason, trial.arm_contacts) == (True, "", 0)
    assert trial.steps <= most


def record(succeeded: bool, seed: int, feedback: str = "on") -> Record:
    setting = {"task": "sort", "framework": "dialogue", "history": "all", "feedback": feedback}
    reason = "" if succeeded else "not done in 20 steps"
    trial = Trial(
        succeeded, steps=4, attempts=6, calls=12, tokens=100, not_executed=1, reason=reason, plan_cpu_s=(0.1, 0.3)
    )
    return Record("reference-speakers/0", Case(setting, {"seed": seed}), trial)


def test_tables_have_the_published_figures_beside() -> None:
    report = make_report(read_experiment({}), [record(True, 0), record(False, 1), record(True, 0, "off")])
    rows = {row["team"]: row for row in report.result.rows}
    assert rows["dialogue"]["success"] == "1/2"
    assert rows["dialogue"]["in the paper"] == "0.93; 4.9, 1.3"
    assert rows["dialogue"]["failed for"] == "1 not done in 20 steps"
    assert rows["dialogue, no feedback"]["in the paper"] == "0.53; 4.9, 1.0"
    assert report.result.metrics["plan_failures"] == Rate(3, 12)
    assert report.result.metrics["success_rate_sort (reference-speakers/0, dialogue)"] == Rate(1, 2)
    assert report.result.metrics["plan_cpu_s_p50_3"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tasks": ["juggle"]}, "no task 'juggle'; valid: rocobench, variations, "),
        ({"framework": ["choir"]}, "no framework 'choir'; valid: dialogue, central, one_voice"),
        ({"history": ["some"]}, "no history 'some'; valid: all, none"),
        ({"feedback": ["maybe"]}, "no feedback 'maybe'; valid: on, off"),
        ({"trials": 0}, "at least 1 trial"),
        ({"robots": [3]}, "no option robots of roco"),
    ],
)
def test_options_that_there_are_not_are_refused(options: dict, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        read_experiment(options)
