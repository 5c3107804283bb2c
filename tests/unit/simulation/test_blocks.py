"""The block task with a person: rules, what the camera describes wrongly and what follows from it, success."""

from collections.abc import Callable

from quartet_simulation.table_tasks import MoveBlocks
from quartet_simulation.table_tasks.blocks import BIN, BIN_CENTRE, BIN_HALF, BLOCKS, BODIES, CUPS, SLOTS, TABLE
from quartet_teams.roco import Action, JointPlan


def plan(robot: str, block: str) -> JointPlan:
    """Return the plan in which one acts and the other waits."""
    target = BIN if robot == "Bob" else TABLE
    return {
        name: Action(name, "PICK PLACE", block, target) if name == robot else Action(name, "WAIT")
        for name in ("Bob", "Alice")
    }


def drawn(fits: Callable[[MoveBlocks], str], **options: object) -> tuple[MoveBlocks, str]:
    """Return the first episode with a block that `fits` names."""
    for seed in range(120):
        task = MoveBlocks(seed, **options)  # type: ignore[arg-type]
        if block := fits(task):
            return task, block
    raise AssertionError("no such episode among 120")


def table_block(task: MoveBlocks) -> str:
    return next((name for name, place in task.places.items() if place == TABLE), "")


def test_exactly_one_acts_and_each_has_its_target() -> None:
    task, lying = drawn(table_block)
    cupped = next(name for name, place in task.places.items() if place in CUPS)
    wait = plan("nobody", "")
    assert "both wait" in str(task.check(wait))
    assert "both act" in str(task.check({**plan("Bob", lying), "Alice": plan("Alice", cupped)["Alice"]}))
    wrong = {**wait, "Alice": Action("Alice", "PICK PLACE", cupped, BIN)}
    assert task.check(wrong)[0] == (
        "constraints", f"Alice puts {cupped} on {BIN}, but only puts blocks on table."
    )  # fmt: skip
    assert task.check(plan("Bob", cupped))[0][0] == "reach"
    assert task.check(plan("Bob", lying)) == task.check(plan("Alice", cupped)) == []


def test_person_puts_a_block_on_the_table_and_robot_puts_it_into_the_bin() -> None:
    task, block = drawn(lambda task: next(name for name in BLOCKS if task.places[name] in CUPS))
    assert task.step(plan("Alice", block)).failure == ""
    assert task.places[block] == TABLE
    assert task.step(plan("Alice", block)).failure == f"Alice found no {block} in a cup"
    assert task.step(plan("Bob", block)).failure == ""
    assert (task.places[block], task.steps) == (BIN, 3)


def test_camera_errs_at_the_stated_rate_and_the_person_does_not() -> None:
    wrong = 0
    for seed in range(40):
        task = MoveBlocks(seed, errors=0.3)
        camera = task.describe_robot("Bob").splitlines()
        wrong += sum(line not in camera for line in task.describe().splitlines())
        assert task.describe_robot("Alice") == task.describe()
    # Another block that is called by the name of a missing one may seem to be that one.
    assert 0.2 < wrong / (40 * len(BLOCKS)) < 0.4
    task = MoveBlocks(0)
    assert task.describe_robot("Bob") == task.describe()


def test_misnamed_block_goes_into_the_bin_against_the_order() -> None:
    def misnamed(task: MoveBlocks) -> str:
        camera, lying, first = task.describe_robot("Bob").splitlines(), table_block(task), task.order[0]
        if lying in ("", first) or len(camera) < len(BLOCKS):
            return ""
        lines = [number for number, line in enumerate(camera) if line == f"{first} is on the table."]
        return first if lines == [BLOCKS.index(lying)] else ""

    task, block = drawn(misnamed, errors=0.5, ordered=True)
    real = table_block(task)
    assert task.step(plan("Bob", block)).failure == ""
    assert (task.places[real], task.done) == (BIN, False)


def test_robot_finds_nothing_where_a_block_is_misplaced() -> None:
    def phantom(task: MoveBlocks) -> str:
        camera = task.describe_robot("Bob")
        seen = (name for name in BLOCKS if camera.count(f"{name} is on the table.") == 1)
        return next(seen, "") if not table_block(task) else ""

    task, block = drawn(phantom, errors=1.0)
    before = task.places
    assert task.check(plan("Bob", block)) == []
    assert task.step(plan("Bob", block)).failure == f"Bob did not grasp {block}: it holds nothing"
    assert task.places == before


def test_robot_looks_closer_for_a_block_that_the_camera_misses() -> None:
    task, block = drawn(
        lambda task: lying if (lying := table_block(task)) and f"{lying} is" not in task.describe_robot("Bob") else "",
        errors=1.0,
    )
    assert task.check(plan("Bob", block)) == []
    assert task.step(plan("Bob", block)).failure == ""
    assert task.places[block] == BIN


def test_done_is_by_where_the_middles_of_the_blocks_are() -> None:
    task = MoveBlocks(0)
    for name, (x, y, _) in zip(BLOCKS, SLOTS, strict=True):
        assert not task.done
        task.scene.place(BODIES[name], (x, y, 0.18))
    assert task.done
    task.scene.place(BODIES[BLOCKS[0]], (BIN_CENTRE[0], BIN_CENTRE[1] - BIN_HALF - 0.01, 0.18))
    assert not task.done


def test_order_is_part_of_success() -> None:
    task = MoveBlocks(2, ordered=True)
    for block in task.order[::-1]:
        if task.places[block] in CUPS:
            task.step(plan("Alice", block))
        task.step(plan("Bob", block))
    assert set(task.places.values()) == {BIN}
    assert not task.done


def test_refusal_of_the_person_is_a_complaint_about_a_valid_plan() -> None:
    asked: list[JointPlan] = []

    def refuse(wanted: JointPlan) -> str:
        asked.append(wanted)
        return "not that one."

    task = MoveBlocks(0, refuse=refuse)
    valid = plan("Bob", table_block(task))
    assert task.check(valid) == [("constraints", "Alice refused to execute it: not that one.")]
    assert "both wait" in str(task.check(plan("nobody", "")))
    assert asked == [valid]
