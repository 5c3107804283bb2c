"""Tasks at the table with several arms: what is checked, what physics makes of a plan, and when a task is done."""

import math

import pytest

from quartet_simulation.table_arms import Execution
from quartet_simulation.table_tasks import SortCubes
from quartet_simulation.table_tasks.sort_cubes import GOALS, PANEL_X, PANEL_Y, STARTS
from quartet_teams.roco import Action

WAIT = {name: Action(name, "WAIT") for name in ("Alice", "Bob", "Chad")}


@pytest.fixture(scope="module")
def drawn() -> SortCubes:
    return SortCubes(4)


def carry(robot: str, block: str, panel: str) -> dict[str, Action]:
    return {robot: Action(robot, "PICK PLACE", block, panel)}


def put(task: SortCubes, **panels: str) -> SortCubes:
    """Put each block on the middle of a panel."""
    for name, panel in panels.items():
        task.scene.place(name, (PANEL_X[panel], PANEL_Y, 0.25))
    task.scene.settle()
    return task


def test_equal_seeds_draw_the_same_table_and_blocks_start_where_they_are_not_done() -> None:
    for seed in range(3):
        one, other = SortCubes(seed), SortCubes(seed)
        assert [one.scene.position(name) for name in GOALS] == [other.scene.position(name) for name in GOALS]
        assert all(one.panel_of(name) in STARTS[name] for name in GOALS)
        assert not one.done


@pytest.mark.parametrize(
    ("plan", "stage", "said"),
    [
        ({}, "constraints", "all robots wait"),
        (carry("Alice", "yellow_trapezoid", "panel2"), "constraints", "panel2, which takes another block"),
        (carry("Alice", "yellow_trapezoid", "panel5"), "reach", "Alice does not reach panel5"),
        (carry("Chad", "yellow_trapezoid", "panel5"), "reach", "Chad does not reach panel1"),
        (carry("Alice", "yellow_trapezoid", "panel1"), "constraints", "where it is already"),
        (
            carry("Bob", "blue_square", "panel3") | carry("Chad", "blue_square", "panel7"),
            "constraints",
            "Bob and Chad take blue_square; only one robot can",
        ),
        (carry("Alice", "yellow_trapezoid", "panel3"), "", ""),
    ],
)
def test_a_plan_is_refused_by_the_first_check_that_fails(plan: dict, stage: str, said: str) -> None:
    task = put(SortCubes(4), blue_square="panel5", pink_polygon="panel7", yellow_trapezoid="panel1")
    complaints = task.check(WAIT | plan)
    assert [found for found, _ in complaints][:1] == ([stage] if stage else [])
    assert said in " ".join(text for _, text in complaints)


def test_robots_observe_what_they_reach(drawn: SortCubes) -> None:
    put(drawn, blue_square="panel5", pink_polygon="panel7", yellow_trapezoid="panel1")
    assert "Blocks in reach of Alice: yellow_trapezoid. Out of its reach: blue_square, pink_polygon." in (
        drawn.describe_robot("Alice")
    )
    assert "Blocks in reach of Bob: blue_square." in drawn.describe_robot("Bob")


def test_blocks_on_their_panels_are_done_wherever_they_came_from(drawn: SortCubes) -> None:
    put(drawn, **GOALS)
    assert drawn.done
    put(drawn, blue_square="panel3")
    assert not drawn.done


@pytest.mark.slow
def test_arms_carry_blocks_at_the_same_time_and_nothing_touches() -> None:
    plan = WAIT | carry("Alice", "yellow_trapezoid", "panel3") | carry("Chad", "pink_polygon", "panel5")
    task = put(SortCubes(4), blue_square="panel4", pink_polygon="panel7", yellow_trapezoid="panel1")
    assert task.check(plan) == []
    outcome = task.step(plan)
    assert (outcome.failure, outcome.arm_contacts) == ("", 0)
    assert task.panel_of("yellow_trapezoid") == "panel3"
    assert task.panel_of("pink_polygon") == "panel5"
    assert task.held("Alice") == ()


@pytest.mark.slow
def test_what_cannot_be_executed_leaves_the_table_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    task = put(SortCubes(4), blue_square="panel5", pink_polygon="panel7", yellow_trapezoid="panel1")
    before, joints = [task.scene.position(name) for name in GOALS], task.scene.joints
    monkeypatch.setattr(task.scene, "grasp", lambda *arms: dict.fromkeys(arms))
    outcome = task.step(WAIT | carry("Alice", "yellow_trapezoid", "panel3"))
    assert outcome.failure == "Alice did not grasp yellow_trapezoid: it holds nothing"
    for name, position in zip(GOALS, before, strict=True):
        assert math.dist(task.scene.position(name), position) < 1e-3
    assert task.scene.joints == pytest.approx(joints)


@pytest.mark.slow
def test_a_block_that_is_lost_on_the_way_ends_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    task = put(SortCubes(4), blue_square="panel5", pink_polygon="panel7", yellow_trapezoid="panel1")
    lost = Execution(lost={"Alice": "yellow_trapezoid"})
    monkeypatch.setattr("quartet_simulation.table_tasks.task.execute", lambda scene, plan: lost)
    outcome = task.step(WAIT | carry("Alice", "yellow_trapezoid", "panel3"))
    assert outcome.failure == "Alice lost yellow_trapezoid on the way"
