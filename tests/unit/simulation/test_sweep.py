"""The sweep task: what is refused, what each robot observes, what physics makes of a sweep, and when it is done."""

import math

import pytest

from quartet_simulation.table_arms import TableTop
from quartet_simulation.table_tasks import SweepFloor
from quartet_simulation.table_tasks.handling import TABLE_TOP
from quartet_simulation.table_tasks.sweep import BIN_CENTRE, BIN_FLOOR, COLOURS, HALF, PATCH_HALF, PATCH_Y, PATCHES_X
from quartet_teams.roco import Action, JointPlan, Verb

LIES = TABLE_TOP + HALF + 0.001


@pytest.fixture(scope="module")
def drawn() -> SweepFloor:
    return SweepFloor(0)


def plan(alice: Verb, bob: Verb, cube: str = "red_cube") -> JointPlan:
    verbs: dict[str, Verb] = {"Alice": alice, "Bob": bob}
    return {robot: Action(robot, verb, cube if verb in ("MOVE", "SWEEP") else "") for robot, verb in verbs.items()}


def in_bin(task: SweepFloor, *cubes: str) -> None:
    x, y, _ = BIN_CENTRE
    for number, cube in enumerate(cubes):
        task.scene.place(cube, (x + 0.06 * (number - 1), y, BIN_FLOOR + HALF + 0.001))


def test_each_cube_starts_on_a_patch_of_its_own() -> None:
    assert pytest.approx(TABLE_TOP) == TableTop().top
    for seed in range(5):
        places = [SweepFloor(seed).scene.position(cube) for cube in COLOURS]
        assert places == [SweepFloor(seed).scene.position(cube) for cube in COLOURS]
        patches = [min(PATCHES_X, key=lambda middle: abs(middle - x)) for x, _, _ in places]
        assert len(set(patches)) == len(COLOURS)
        assert all(abs(x - middle) <= PATCH_HALF[0] + 0.001 for (x, _, _), middle in zip(places, patches, strict=True))
        assert all(abs(y - PATCH_Y) <= PATCH_HALF[1] + 0.001 for _, y, _ in places)


def test_task_is_done_when_all_cubes_are_in_the_bin() -> None:
    task = SweepFloor(0)
    in_bin(task, *COLOURS)
    task.scene.settle()
    assert task.done
    task.scene.place("red_cube", (BIN_CENTRE[0] + 0.3, BIN_CENTRE[1], LIES))
    assert not task.done


@pytest.mark.parametrize(
    ("joint", "stage", "said"),
    [
        (plan("MOVE", "SWEEP"), "constraints", "Alice must WAIT while Bob SWEEPs"),
        (plan("DUMP", "SWEEP"), "constraints", "Alice must WAIT while Bob SWEEPs"),
        (plan("SWEEP", "WAIT"), "constraints", "Alice cannot SWEEP; only Bob can"),
        (plan("WAIT", "DUMP"), "constraints", "Bob cannot DUMP; only Alice can"),
        (plan("MOVE", "MOVE"), "", ""),
        (plan("DUMP", "MOVE"), "", ""),
    ],
)
def test_plans_are_refused_by_published_rules_and_tools(
    drawn: SweepFloor, joint: JointPlan, stage: str, said: str
) -> None:
    complaints = drawn.check(joint)
    assert [found for found, _ in complaints][:1] == ([stage] if stage else [])
    assert said in " ".join(text for _, text in complaints)


def test_pan_that_would_land_on_another_cube_is_refused() -> None:
    task = SweepFloor(0)
    for cube, y in (("red_cube", 0.6), ("blue_cube", 0.4)):
        task.scene.place(cube, (0.6, y, LIES))
    complaints = task.check(plan("MOVE", "WAIT"))
    assert complaints == [
        (
            "collision",
            "Alice (MOVE red_cube) and blue_cube would collide at the goals: Alice/tool with blue_cube. "
            "Let one robot act elsewhere.",
        )
    ]


def test_a_robot_observes_all_cubes_and_its_own_tool_alone() -> None:
    task = SweepFloor(0)
    x, y, z = task.scene.hand_pose("Alice").position
    task.scene.place("red_cube", (x, y, z + HALF + 0.003))
    in_bin(task, "green_cube")
    task.scene.place("blue_cube", (0.6, 0.5, LIES))
    assert {cube: task.status(cube) for cube in COLOURS} == {
        "red_cube": "dustpan", "green_cube": "bin", "blue_cube": "table"
    }  # fmt: skip
    alice, bob = map(task.describe_robot, task.robots)
    assert "Gripper of Alice: (-0.0, 0.2, 0.2), with the dustpan. Its distances: 0.69 to blue_cube" in alice
    assert "Bob" not in alice
    assert "with the broom" in bob
    assert "Alice" not in bob
    assert set(task.describe().splitlines()) == {*alice.splitlines(), *bob.splitlines()}
    task.scene.place("blue_cube", (0.6, -0.5, HALF))
    assert task.status("blue_cube") == "floor"


@pytest.mark.slow
def test_cubes_that_lie_along_the_edge_of_the_pan_go_over_it_and_into_the_bin() -> None:
    task = SweepFloor(0)
    for cube, x, yaw in (("red_cube", 0.3, 0.0), ("green_cube", 0.8, math.pi / 4)):
        task.scene.place(cube, (x, 0.5, LIES), yaw)
    in_bin(task, "blue_cube")
    task.scene.settle()
    assert task.scene.model.neq == 0, "nothing is welded"
    for cube in ("red_cube", "green_cube"):
        for joint in (plan("MOVE", "MOVE", cube), plan("WAIT", "SWEEP", cube)):
            assert task.check(joint) == []
            outcome = task.step(joint)
            assert (outcome.failure, outcome.arm_contacts) == ("", 0)
        assert task.status(cube) == "dustpan"
        stage, text = task.check(plan("WAIT", "SWEEP", cube))[0]
        assert (stage, "Alice/tool with Bob/tool" in text) == ("collision", True)
    assert task.step(plan("DUMP", "WAIT")).failure == ""
    assert task.done
