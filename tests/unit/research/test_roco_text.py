"""RoCoBench-Text: each key is proved in a second way; answers are read as they are written."""

import asyncio
import re
from collections import Counter

import numpy as np
import pytest

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.result import Rate
from quartet_research.harness.study import Case, Record
from quartet_research.roco.options import read_experiment
from quartet_research.roco.part import WORDINGS
from quartet_research.roco.report import make_report
from quartet_research.roco.text.answerer import Answerer
from quartet_research.roco.text.question import Question, guess, make_question, read_answer
from quartet_research.roco.text.questions import COUNTS, DRAWS, question_of
from quartet_research.roco.text.sorting import best_reply
from quartet_research.roco.text.stacking import PER_EPISODE
from quartet_research.roco.text_part import TextPart
from quartet_simulation.table_arms import HandPose, check_goals
from quartet_simulation.table_tasks import SortCubes, TableTask
from quartet_simulation.table_tasks.sort_cubes import PANEL_X, PANEL_Y
from quartet_teams import Answer, ReplyError
from quartet_teams.roco import Action, parse_reply, plan_text

SORTING = ("capability", "inquiry", "respond")
STACKING = ("memory", "adaptation")
PLAN = re.compile(r"^NAME (\w+) ACTION (\w+) ?(\w*)", re.MULTILINE)


def numbers(*categories: str, count: int = 1000) -> list[tuple[str, int]]:
    return [(category, number) for category in categories for number in range(min(COUNTS[category], count))]


def stages(task: TableTask, *actions: Action) -> list[str]:
    """Return the stages of the complaints about these actions while all others wait."""
    plan = {robot: Action(robot, "WAIT") for robot in task.robots} | {action.robot: action for action in actions}
    return [stage for stage, _ in task.check(plan)]


def reaches(task: TableTask, robot: str, x: float, z: float) -> bool:
    """Return whether a point above the row of panels is in a robot's box and has joint positions."""
    inside = all(low <= value <= high for value, (low, high) in zip((x, PANEL_Y, z), task.reach[robot], strict=True))
    return inside and not check_goals(task.scene, {robot: HandPose.down((x, PANEL_Y, z), any_turn=True)}).unsolved


@pytest.mark.slow
def test_what_a_robot_reaches_is_proved_by_its_box_and_inverse_kinematics() -> None:
    for _, number in numbers("capability"):
        question = question_of("capability", number)
        at = {name: PANEL_X[name] if name in PANEL_X else question.task.scene.position(name)[0]
              for name in question.choices}  # fmt: skip
        near = {name: reaches(question.task, question.robot, x, 0.25) for name, x in at.items()}
        wanted = question.about["kind"].startswith("near")
        assert question.right == (", ".join(name for name in at if near[name] == wanted) or "none")


@pytest.mark.slow
def test_requests_are_proved_by_the_checks_of_the_plan() -> None:
    for _, number in numbers("respond"):
        question, block = question_of("respond", number), question_of("respond", number).about["block"]
        plans = {panel: Action(question.robot, "PICK PLACE", block, panel) for panel in question.about["aims"]}
        right = {f"YES {plan}" for plan in plans.values() if not stages(question.task, plan)}
        assert right == ({question.right} if question.right != "NO" else set())


@pytest.mark.slow
def test_replies_to_inquiries_are_proved_by_the_checks_of_the_plan() -> None:
    for _, number in numbers("inquiry"):
        question = question_of("inquiry", number)
        task, robot, block, announced = question.task, question.robot, *map(question.about.get, ("block", "announced"))
        assert isinstance(task, SortCubes)
        said = {one: action for one, action in announced.items() if one != robot}
        own = [Action(robot, "PICK PLACE", block, panel) for panel in PANEL_X if panel != task.panel_of(block)]
        able = [one for one in own if not stages(task, one)]
        helped = [
            other
            for other in set(task.robots) - {robot, *announced}
            for panel in PANEL_X
            if panel != task.panel_of(block)
            and not stages(task, *announced.values(), Action(other, "PICK PLACE", block, panel))
        ]
        assert not announced or not stages(task, *announced.values())
        if question.about["best"] == "announce":
            assert any(not stages(task, *said.values(), one) for one in able)
        elif question.about["best"] == "ask_help":
            assert able
            assert helped
            with pytest.raises(ReplyError, match="more than one line"):
                parse_reply(f"EXECUTE\n{plan_text(announced)}\nNAME {robot} ACTION {able[0]}", task)
        else:
            assert bool(helped) == (question.about["best"] == "ask_who")
            assert all("reach" in stages(task, one) or "constraints" in stages(task, one) for one in own)


@pytest.mark.parametrize(
    ("reached", "busy", "others_busy", "best"),
    [
        (True, False, False, "announce"),
        (True, False, True, "announce"),
        (True, True, False, "ask_help"),
        (True, True, True, "wait"),
        (False, False, False, "ask_who"),
        (False, False, True, "wait"),
        (False, True, True, "wait"),
        (False, True, False, ""),
    ],
)
def test_reply_follows_from_reach_and_who_is_busy(reached: bool, busy: bool, others_busy: bool, best: str) -> None:
    assert best_reply(reached=reached, busy=busy, others_busy=others_busy) == best


def prove_memory(question: Question) -> None:
    """Compare hands and places, from which the key was read, with the plans that the robots agreed on."""
    executed = [part.partition("Executed plan:")[2] for part in question.about["history"].split("Round ")[1:]]
    done = [found for text in executed for found in PLAN.findall(text)]
    verb = {"taken": "PICK", "put": "PUT", "left": "PUT"}[question.about["kind"]]
    robots = question.task.robots if question.about["kind"] == "left" else (question.about["subject"],)
    foods = {food for robot, own, food in done if own == verb and robot in robots}
    right = set(question.task.recipe) - foods if question.about["kind"] == "left" else foods  # type: ignore[attr-defined]
    assert question.right == (", ".join(sorted(right)) or "none")


def prove_adaptation(question: Question) -> None:
    """Remove what is missing, check both actions, and play the best one."""
    task, subject, scene = question.task, question.about["subject"], question.task.scene
    before = scene.snapshot()
    if question.about["kind"] == "missing":
        scene.place(subject, (0.0, 3.0, 0.1))
    passed = [one for one in question.about["actions"] if one.robot != subject and not stages(task, one)]
    assert passed == ([question.about["best"]] if question.about["best"] else [])
    if question.about["best"] and question.right == "A":
        plan = {robot: Action(robot, "WAIT") for robot in task.robots} | {passed[0].robot: passed[0]}
        assert task.step(plan).failure == ""
        assert (passed[0].object in task.held(passed[0].robot)) == (passed[0].verb == "PICK")
    scene.restore(before)


@pytest.mark.slow
@pytest.mark.parametrize("count", [PER_EPISODE, pytest.param(1000, marks=pytest.mark.long)])
def test_keys_of_episodes_are_proved_by_plans_and_by_playing(count: int) -> None:
    for category, number in numbers(*STACKING, count=count):
        {"memory": prove_memory, "adaptation": prove_adaptation}[category](question_of(category, number))


def answered(question: Question, wording: int, rate: float = 0.0, seed: int = 0) -> str:
    reply = asyncio.run(Answerer(rate, seed)(question.robot, question.texts[wording])).text
    return read_answer(reply, question.choices, question.many)


def check_wordings(category: str, number: int) -> None:
    question = question_of(category, number)
    parts = [re.split(r"^# (?:Question|Answer)\n", text, flags=re.MULTILINE) for text in question.texts]
    assert parts[0][::2] == parts[1][::2], "context and form of the answer are the same"
    lines = [part[1].splitlines() for part in parts]
    assert all(one != other for one, other in zip(*lines, strict=True) if one), "each sentence is reworded"
    assert [answered(question, wording) for wording in (0, 1)] == [question.right] * 2


def test_reference_answerer_finds_each_key_in_both_wordings() -> None:
    for category, number in numbers(*SORTING):
        check_wordings(category, number)


@pytest.mark.slow
@pytest.mark.parametrize("count", [PER_EPISODE, pytest.param(1000, marks=pytest.mark.long)])
def test_reference_answerer_finds_each_key_of_episodes_in_both_wordings(count: int) -> None:
    for category, number in numbers(*STACKING, count=count):
        check_wordings(category, number)


def test_keys_are_balanced_and_texts_differ() -> None:
    keys = {category: Counter(question_of(category, number).right for _, number in numbers(category))
            for category in SORTING}  # fmt: skip
    assert keys["respond"]["NO"] == COUNTS["respond"] / 2
    assert sorted(keys["inquiry"].values()) == [10, 10, 10, 11]
    assert max(keys["capability"].values()) < 0.2 * COUNTS["capability"]
    assert all(len({question_of(*one).texts for one in numbers(category)}) == COUNTS[category] for category in SORTING)


def test_equal_seeds_draw_equal_questions() -> None:
    texts = [[found.texts for rng in [np.random.default_rng(3)] for _ in range(50) if (found := DRAWS[one](1, rng))]
             for one in SORTING * 2]  # fmt: skip
    assert all(texts)
    assert texts[:3] == texts[3:]


NAMES, LETTERS = ("panel1", "panel2", "blue_square"), ("A", "B", "C")
MOVES = ("NO", "YES PICK blue_square PLACE panel3", "YES PICK blue_square PLACE panel5")


@pytest.mark.parametrize(
    ("choices", "many", "reply", "answer"),
    [
        (NAMES, True, "I reach these.\nANSWER: panel2, Panel 1", "panel1, panel2"),
        (NAMES, True, "**Answer:** `blue square` and panel1.", "blue_square, panel1"),
        (NAMES, True, "ANSWER: panel1 (next to me), because it is near", "panel1"),
        (NAMES, True, "answer: None.", "none"),
        (NAMES, True, "ANSWER: panel1\nI erred.\nANSWER: panel2", "panel2"),
        (NAMES, True, "ANSWER: none, panel1", ""),
        (NAMES, True, "ANSWER: panel9", ""),
        (NAMES, True, "ANSWER:", ""),
        (NAMES, True, "panel1", ""),
        (LETTERS, False, "The answer is: b", "B"),
        (LETTERS, False, "ANSWER: C) I wait.", "C"),
        (LETTERS, False, "ANSWER: Option A", "A"),
        (LETTERS, False, "ANSWER: A or B", ""),
        (LETTERS, False, "ANSWER: A, B", ""),
        (LETTERS, False, "ANSWER: A and B", ""),
        (LETTERS, False, "ANSWER: <your answer>", ""),
        (LETTERS, False, "ANSWER: D", ""),
        (LETTERS, False, "ANSWER: " + "(" * 50_000, ""),
        (LETTERS, False, "", ""),
        (MOVES, False, "ANSWER: no, it is too far", "NO"),
        (MOVES, False, "Answer: Yes, pick blue square and place it on panel 5.", MOVES[2]),
        (MOVES, False, "ANSWER: YES", ""),
        (MOVES, False, "ANSWER: not sure", ""),
        (MOVES, False, "ANSWER: YES PICK blue_square PLACE panel4", ""),
        (MOVES, False, "ANSWER\x00\udcff: ½ NaN", ""),
    ],
)
def test_answers_are_read_whatever_their_case_and_remarks(
    choices: tuple[str, ...], many: bool, reply: str, answer: str
) -> None:
    assert read_answer(reply, choices, many) == answer


def test_guesses_and_own_answers_are_valid() -> None:
    rng = np.random.default_rng(0)
    for category, number in numbers(*SORTING):
        question = question_of(category, number)
        drawn = guess(question.choices, question.many, rng)
        assert {read_answer(f"ANSWER: {one}", question.choices, question.many) for one in (question.right, drawn)} == {
            question.right,
            drawn,
        }


def test_faults_are_other_answers_at_their_rate() -> None:
    questions = [question_of(*one) for one in numbers(*SORTING)]
    assert all(answered(question, 0, rate=1.0) not in ("", question.right) for question in questions)
    wrong = sum(answered(one, 0, rate=0.3, seed=seed) != one.right for seed, one in enumerate(questions))
    assert 0.2 < wrong / len(questions) < 0.4


def case(number: int, category: str = "respond") -> Case:
    return Case({"task": category, "wording": WORDINGS[1]}, {"seed": number})


async def test_a_model_reads_the_chosen_wording_and_nonsense_is_wrong() -> None:
    prompts = []

    async def model(participant: str, prompt: str) -> Answer:
        prompts.append(prompt)
        return Answer("I ponder.", 3, 4)

    trial = await TextPart().play(case(5), model)
    assert prompts == [question_of("respond", 5).texts[1]]
    assert (trial.succeeded, trial.calls, trial.tokens, trial.reason) == (False, 1, 7, "no valid answer: ")


async def test_table_has_random_and_constant_answers_and_published_figures() -> None:
    part = TextPart()
    cases = [Case({"task": "respond", "wording": WORDINGS[0]}, {"seed": seed}) for seed in range(96)]
    records = [Record("reference-speakers/0", one, await part.play(one, part.speakers(0.0, one))) for one in cases]
    report = make_report(read_experiment({"tasks": "text"}), records).result
    rows = {row["model"]: row for row in report.rows}
    assert rows["reference-speakers/0"]["success"] == "96/96"
    assert rows["constant"]["success"] == "48/96"
    assert report.metrics["success_rate_respond (constant, original)"] == Rate(48, 96)
    assert 4 <= int(rows["random"]["success"].partition("/")[0]) <= 24
    assert rows["random"]["in the paper"].startswith("GPT-4-0314 0.83")


def test_questions_are_as_many_as_published_in_both_wordings() -> None:
    cases = [one for _, own in read_experiment({"tasks": "text"}).parts for one in own]
    assert len(cases) == 2 * sum(COUNTS.values()) == 2 * 269
    with pytest.raises(OptionError, match="no wording 'third'; valid: original, reworded"):
        read_experiment({"wording": ["third"]})


def test_parts_of_a_prompt_are_in_order() -> None:
    task = SortCubes(1)
    question = make_question(task, "Bob", ["Which?", "What?"], ["a", "b"], ["b"], {"You observe": "b is near."})
    headings = re.findall(r"^# (.+)$", question.texts[0], re.MULTILINE)
    assert headings == ["Task", "Yourself", "You observe", "Question", "Answer"]
    assert question.texts[1].endswith("ANSWER: <your answer>")
    assert question.right == "b"
