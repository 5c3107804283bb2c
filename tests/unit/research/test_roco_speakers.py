"""RoCo's reference speakers: each of their faults, from their prompts alone, and other plans after failures."""

import asyncio
import re

import pytest

from quartet_research.roco.speakers import COMPLETE, Speakers
from quartet_research.roco.speakers.paths import HIGHER, HIGHEST, move_rope
from quartet_research.roco.speakers.prompt import Prompt, read_prompt
from quartet_research.roco.table_part import play
from quartet_simulation.table_tasks import TASKS, MakeSandwich, SortCubes, TableTask
from quartet_teams import Discussion, NoPlanError
from quartet_teams.roco import Mode, Past, Roco


def talked(world: TableTask, rate: float, seed: int, mode: Mode = Mode.DIALOGUE) -> Discussion:
    """Return the turns of one round."""
    discussion = Discussion(Speakers(rate, seed))
    try:
        asyncio.run(Roco(mode).decide(world, Past(), discussion))
    except NoPlanError:
        assert discussion.refusals
    return discussion


@pytest.fixture(scope="module")
def sort() -> SortCubes:
    return SortCubes(0)


def parts_of(prompt: str) -> dict[str, str]:
    return dict(re.findall(r"^# (.+)\n((?:(?!# ).*\n?)*)", prompt, re.MULTILINE))


@pytest.mark.parametrize("mode", Mode)
def test_without_a_rate_no_fault_is_drawn(sort: SortCubes, mode: Mode) -> None:
    speakers = Speakers(0.0, 7)
    before = speakers._rng.bit_generator.state
    asyncio.run(Roco(mode).decide(sort, Past(), Discussion(speakers)))
    assert speakers._rng.bit_generator.state == before


def test_claims_of_reach_are_wrong_by_what_the_robot_observes(sort: SortCubes) -> None:
    too_far = too_near = 0
    for seed in range(40):
        for turn in talked(sort, 0.3, seed).turns:
            claim = re.search(r"^I will (.+)\.\nI (do not )?reach (\w+)\.$", turn.answer.text, re.MULTILINE)
            if claim is None:
                continue
            inside = re.search(r"Blocks in reach of \w+: (.*?)\.", turn.prompt)
            assert inside is not None
            assert (claim[3] in inside[1].split(", ")) == bool(claim[2])
            assert (claim[1] == "WAIT") == bool(claim[2])
            too_far, too_near = too_far + (not claim[2]), too_near + bool(claim[2])
    assert min(too_far, too_near) >= 3


@pytest.mark.parametrize("robot", ["Chad", "Dave"])
def test_food_beyond_reach_is_one_that_the_robot_does_not_observe(robot: str) -> None:
    world = MakeSandwich(1)
    said = [
        turn.answer.text for seed in range(40) for turn in talked(world, 0.3, seed).turns if turn.participant == robot
    ]
    foods = re.findall(r"^I reach (\w+)\.$", "\n".join(said), re.MULTILINE)
    observed = world.describe_robot(robot)
    assert foods
    assert not [food for food in foods if f"{food} is on" in observed]


def test_others_agree_that_the_task_is_complete_and_all_wait() -> None:
    world, agreed = MakeSandwich(1), 0
    for seed in range(40):
        turns = talked(world, 0.2, seed).turns
        for turn in turns:
            if COMPLETE in turn.prompt and "# Feedback" not in turn.prompt:
                agreed += 1
                assert re.findall(r"ACTION (.+)$", turn.answer.text, re.MULTILINE) in (["WAIT"] * 2, ["WAIT"])
    assert agreed >= 3


def test_a_robot_without_wait_does_not_claim_that_the_task_is_complete() -> None:
    world = TASKS["pack"](0)
    turns = [turn for seed in range(3) for turn in talked(world, 0.4, seed).turns]
    assert not read_prompt(parts_of(turns[0].prompt)).can_wait
    assert not [turn for turn in turns if COMPLETE in turn.answer.text or "I will WAIT" in turn.answer.text]


def test_a_refused_plan_is_repeated_at_the_rate() -> None:
    refused = {"Alice": "PICK blue_square PLACE panel3", "Bob": "WAIT"}
    prompt, said = (
        Prompt("", "", ("Alice", "Bob"), (refused,)),
        {"Alice": "WAIT", "Bob": "PICK pink_polygon PLACE panel4"},
    )

    def count(rate: float) -> int:
        return sum("ACTION PICK blue_square" in Speakers(rate, seed)._execute(prompt, said) for seed in range(50))

    assert count(0.0) == 0
    assert 5 <= count(0.3) <= 20


HOLDING = (
    "Alice stands on the side of the table with small y.\nrope_front_end: (-1.09, 0.61, 0.16)\n"
    "rope_back_end: (-0.46, 0.39, 0.16)\nwall_front_top: (-0.22, 0.22, 0.31)\ngroove_left_end: (0.27, 0.50, 0.25)\n"
    "groove_right_end: (0.93, 0.50, 0.25)\nGripper of Alice: (-0.46, 0.39, 0.15), holding {held}"
)


def test_after_a_failure_the_rope_is_carried_higher_and_ends_are_swapped() -> None:
    refused, heights, ends = ({"Alice": "PUT"},), [], []
    for count in range(5):
        put = move_rope(Prompt("", HOLDING.format(held="rope_back_end"), ("Alice",), refused * count), "Alice", {})
        heights.append(max(float(z) for z in re.findall(r"([\d.]+)\)", put)))
        pick = move_rope(Prompt("", HOLDING.format(held="nothing"), ("Alice",), refused * count), "Alice", {})
        ends.append((pick.split()[1], max(float(z) for z in re.findall(r"([\d.]+)\)", pick))))
    assert heights == pytest.approx([0.44, 0.44 + HIGHER, 0.44 + 2 * HIGHER, HIGHEST, HIGHEST])
    assert len(set(ends)) == 5


@pytest.mark.long
def test_a_rope_that_slips_at_first_is_moved() -> None:
    trial = asyncio.run(play(TASKS["rope"](12), Roco(), Speakers(0.0, 12), most_steps=6))
    assert (trial.succeeded, trial.not_executed) == (True, 1)
