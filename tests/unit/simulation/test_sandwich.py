"""The sandwich task: what is refused, what each robot observes, and when the stack is done."""

import itertools

import numpy as np
import pytest

from quartet_simulation.table_tasks import VARIATIONS, MakeSandwich
from quartet_simulation.table_tasks.sandwich import BOARD, BOARD_CENTRE, BOARD_SIZE, RECIPES, SIDES, SIZES
from quartet_teams.roco import Action

TOP = BOARD_CENTRE[2] + BOARD_SIZE[2] / 2
WAIT = {name: Action(name, "WAIT") for name in ("Chad", "Dave")}


def stacked(task: MakeSandwich, *foods: str) -> MakeSandwich:
    """Put foods on the board, one on the other."""
    height = TOP
    for food in foods:
        task.scene.place(food, (0.0, 0.5, height + SIZES[food][2] / 2 + 0.0005))
        height += SIZES[food][2] + 0.0005
    task.scene.settle()
    return task


@pytest.fixture(scope="module")
def drawn() -> MakeSandwich:
    return MakeSandwich(0)


def refused(task: MakeSandwich, **actions: tuple[str, ...]) -> tuple[str, str]:
    """Return stage and text of the first complaints about a plan of these actions."""
    plan = WAIT | {robot: Action(robot, *words) for robot, words in actions.items()}  # type: ignore[arg-type]
    complaints = task.check(plan)
    return (complaints[0][0] if complaints else "", " ".join(text for _, text in complaints))


def test_only_the_stack_of_the_recipe_is_done() -> None:
    task = MakeSandwich(0)
    assert not task.done
    assert stacked(task, *task.recipe).done
    first, second, *rest = task.recipe
    assert not stacked(MakeSandwich(0), second, first, *rest).done
    assert not stacked(MakeSandwich(0), *task.recipe[:-1]).done


def test_the_order_of_the_recipe_is_enforced(drawn: MakeSandwich) -> None:
    first, second, *_ = drawn.recipe
    other = next(food for food in SIZES if food not in drawn.recipe)
    assert refused(drawn, Dave=("PUT", first, second))[1].endswith(f"the recipe has it on {BOARD}.")
    assert "has it on" in refused(drawn, Chad=("PUT", second, BOARD))[1]
    drawn.scene.place(first, (-0.8, 0.5, 0.2))
    drawn.scene.settle()
    assert "not on the cutting_board yet" in refused(drawn, Chad=("PUT", second, first))[1]
    assert "not in the recipe; put it on the table" in refused(drawn, Chad=("PUT", other, BOARD))[1]
    both = refused(drawn, Chad=("PUT", second, BOARD), Dave=("PUT", first, BOARD))
    assert both[0] == "constraints"
    assert both[1].startswith("two robots PUT in the same round")


def test_what_something_lies_on_is_not_taken() -> None:
    task = stacked(MakeSandwich(0), "bread_slice1", "cheese")
    assert refused(task, Dave=("PICK", "bread_slice1")) == (
        "constraints", "Dave takes bread_slice1, on which cheese lies."
    )  # fmt: skip
    assert refused(task, Dave=("PICK", "cheese")) == ("", "")


def test_the_stack_is_listed_from_the_bottom_and_the_rules_name_its_first_food() -> None:
    task = MakeSandwich(0)
    stacked(task, *task.recipe[:3])
    assert f"from the bottom to the top: {', '.join(task.recipe[:3])}.\n" in task.describe()
    assert "Only bread_slice1 is put on the cutting_board itself" in task.rules


def test_food_put_on_the_table_stays_on_the_side_that_the_robot_names() -> None:
    task = MakeSandwich(0)
    for robot, sign in (("Dave", -1), ("Chad", 1)):
        side = "left" if sign < 0 else "right"
        assert task.capability(robot).endswith(f"With the target table, it puts a food on the {side} side.")
        assert sign * task._spot(robot, "table")[0] > 0


def test_hands_that_would_meet_are_refused() -> None:
    task = MakeSandwich(0)
    task.scene.place("bacon", (0.06, 0.53, TOP + 0.006))
    task.scene.place("ham", (0.06, 0.43, TOP + 0.006))
    task.scene.settle()
    stage, text = refused(task, Chad=("PICK", "bacon"), Dave=("PICK", "ham"))
    assert stage == "collision"
    assert text.startswith("Chad (PICK bacon) and Dave (PICK ham) would collide at the goals: Chad/")
    assert refused(task, Chad=("PICK", "bacon")) == ("", "")


def test_a_robot_observes_its_own_side_and_the_board() -> None:
    task = stacked(MakeSandwich(0), "bread_slice1")
    assert "from the bottom to the top: no food yet." in MakeSandwich(0).describe()
    for robot, other in itertools.permutations(task.robots):
        seen = task.describe_robot(robot)
        assert "bread_slice1 is on cutting_board." in seen
        assert "The stack on the cutting_board, from the bottom to the top: bread_slice1." in seen
        assert all(f"{food} is on the" in seen for food in SIDES[task.side[robot]] if food != "bread_slice1")
        assert not any(f"{food} is on the" in seen for food in SIDES[task.side[other]])
    assert all(f"{food} is on" in task.describe() for food in SIZES)


def positions(task: MakeSandwich) -> dict[str, tuple[float, ...]]:
    return {food: tuple(np.round(task.scene.position(food), 6)) for food in SIZES}


def test_each_variation_changes_one_thing() -> None:
    recipes = [VARIATIONS["sandwich_recipes"](seed) for seed in range(4)]
    assert {task.sandwich for task in recipes} == set(RECIPES)
    assert positions(recipes[0]) == positions(MakeSandwich(0))
    starts = [VARIATIONS["sandwich_starts"](seed) for seed in range(3)]
    left = [{food for food in SIZES if positions(task)[food][0] < 0} for task in starts]
    assert [len(foods) for foods in left] == [4] * 3
    assert len(set(map(frozenset, [*left, SIDES["left"]]))) > 2
    assert {task.sandwich for task in starts} <= set(RECIPES)


def test_robots_that_changed_sides_reach_and_see_the_other_foods() -> None:
    drawn, changed = MakeSandwich(0), VARIATIONS["sandwich_reach"](0)
    assert positions(changed) == positions(drawn)
    assert changed.describe_robot("Dave").replace("Dave", "Chad") == drawn.describe_robot("Chad")
    assert "Dave reaches the foods on the right side" in changed.capability("Dave")
    for task, near, far in ((drawn, "cheese", "tomato"), (changed, "tomato", "cheese")):
        assert refused(task, Dave=("PICK", near)) == ("", "")
        assert refused(task, Dave=("PICK", far))[0] == "reach"
