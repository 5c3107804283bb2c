"""Tasks with paths: packing and the rope. What is refused, what physics makes of a plan, and when a task is done."""

import itertools
import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from quartet_simulation.table_arms import HandPose, MotionPlan, PlanFailure
from quartet_simulation.table_tasks import MoveRope, PackGrocery, TableTask
from quartet_simulation.table_tasks.pack import BIN_FLOOR, CELLS, SIZES, SLOTS
from quartet_simulation.table_tasks.rope import ENDS, GROOVE_CENTRE
from quartet_teams import ReplyError
from quartet_teams.roco import Action, Point, parse_reply

Path = tuple[Point, ...]


@pytest.fixture
def pack() -> PackGrocery:
    """Return the task with things far from each other, at known places."""
    task = PackGrocery(0)
    for item, (x, y) in zip(SIZES, CELLS[2:], strict=True):
        task.scene.place(item, (x, y, 0.151 + SIZES[item][2] / 2), math.pi / 2 if item == "banana" else 0.0)
    task.scene.settle()
    return task


@pytest.fixture(scope="module")
def rope() -> MoveRope:
    return MoveRope(1)


def over(task: TableTask, robot: str, goal: tuple[float, float], height: float = 0.55, *, lift: bool = False) -> Path:
    """Return an even path at a height from a gripper to above a goal."""
    x, y, _ = task.scene.hand_pose(robot).position
    shares = np.linspace(0, 1, 4) if lift else np.linspace(0.25, 1, 4)
    return tuple((x + float(s) * (goal[0] - x), y + float(s) * (goal[1] - y), height) for s in shares)


def picks(task: PackGrocery, **paths: Path) -> dict[str, Action]:
    """Return a plan in which Alice picks the milk and Bob the soda can."""
    things = {"Alice": "milk", "Bob": "soda_can"}
    return {
        robot: Action(robot, "PICK", item, path=paths.get(robot, over(task, robot, task.scene.position(item)[:2])))
        for robot, item in things.items()
    }


def refused(task: TableTask, plan: dict[str, Action]) -> tuple[str, str]:
    """Return the stage and the text of the complaints."""
    complaints = task.check(plan)
    return (complaints[0][0] if complaints else "", " ".join(text for _, text in complaints))


def test_even_paths_above_the_things_pass(pack: PackGrocery) -> None:
    assert refused(pack, picks(pack)) == ("", "")


def test_point_inside_the_table_is_named_with_its_number(pack: PackGrocery) -> None:
    way = list(over(pack, "Alice", pack.scene.position("milk")[:2]))
    way[2] = (*way[2][:2], 0.1)
    stage, said = refused(pack, picks(pack, Alice=tuple(way)))
    assert stage == "waypoints"
    assert said.startswith("at point 3 of the paths Alice/")
    assert "and table would collide; choose another point." in said
    assert "point 2" not in said


def test_point_out_of_reach_is_refused_before_ik(pack: PackGrocery) -> None:
    way = list(over(pack, "Bob", pack.scene.position("soda_can")[:2]))
    way[0] = (1e300, 0.5, 0.5)
    stage, said = refused(pack, picks(pack, Bob=tuple(way)))
    assert stage == "waypoints"
    assert said.startswith("at point 1 of the paths Bob does not reach (1e+300, 0.50, 0.50)")
    way[0] = (-0.2, 0.02, 0.5)
    stage, said = refused(pack, picks(pack, Bob=tuple(way)))
    assert stage == "waypoints"
    assert said.startswith("at point 1 of the paths Bob has no joint positions (IK) for (-0.20, 0.02, 0.50)")


def test_uneven_path_is_refused_with_its_longest_and_shortest_segment(pack: PackGrocery) -> None:
    x, y, z = pack.scene.hand_pose("Alice").position
    way = ((x, y, z + 0.1), (x, y, z + 0.11), (x, y, z + 0.12), (0.9, 0.4, 0.55))
    stage, said = refused(pack, picks(pack, Alice=way))
    assert stage == "spacing"
    points = [(x, y, z), *way, pack._goal(picks(pack)["Alice"]).position]
    lengths = [math.dist(one, other) for one, other in itertools.pairwise(points)]
    assert f"standard deviation of its segments is {np.std(lengths):.2f} m, at most 0.19 m" in said
    assert f"with {max(lengths):.2f} m, its shortest" in said
    assert "(0.90, 0.40, 0.55)" in said.partition("its shortest")[0]
    assert f"with {min(lengths):.2f} m. The" in said


@pytest.mark.parametrize("count", [1, 3, 40])
def test_path_has_exactly_four_points(pack: PackGrocery, count: int) -> None:
    way = over(pack, "Alice", (0.0, 0.5))[:1] * count
    assert refused(pack, picks(pack, Alice=way)) == (
        "constraints",
        f"the PATH of Alice has {count} points; it must have exactly 4.",
    )


@pytest.mark.parametrize(
    ("alice", "bob", "said"),
    [
        ("PICK milk PATH [(0, 0.4, 0.5), (0, 0.4, 0.5)]", "PICK bread PATH [(0, 0.4, 0.5)]", "unequal numbers"),
        ("PICK milk PATH [(nan, 0.4, 0.5)]", "PICK bread PATH [(0, 0.4, 0.5)]", "not three finite numbers"),
        ("PICK milk", "PICK bread PATH [(0, 0.4, 0.5)]", "has no PATH"),
        ("PLACE milk bin_front_left PATH [(0, 0.4, 0.5)]", "PICK bread PATH [(0, 0.4, 0.5)]", "does not hold milk"),
        ("WAIT", "PICK bread PATH [(0, 0.4, 0.5)]", "no valid action"),
    ],
)
def test_malformed_actions_are_refused(pack: PackGrocery, alice: str, bob: str, said: str) -> None:
    with pytest.raises(ReplyError, match=said):
        parse_reply(f"EXECUTE\nNAME Alice ACTION {alice}\nNAME Bob ACTION {bob}", pack)


def test_only_all_things_in_the_bin_are_packed(pack: PackGrocery) -> None:
    assert not pack.done
    for item, (x, y, _) in zip(SIZES, SLOTS.values(), strict=True):
        yaw = math.pi / 2 if item == "banana" else 0.0
        pack.scene.place(item, (x, y, BIN_FLOOR + SIZES[item][2] / 2 + 0.001), yaw)
    pack.scene.settle()
    assert pack.done
    pack.scene.place("apple", (-0.5, 0.5, 0.186))
    pack.scene.settle()
    assert not pack.done
    assert "apple: (-0.50, 0.50, 0.27), on the table" in pack.describe_robot("Alice")
    assert "soda_can: (0.25, 0.58, 0.35), in bin_back_left" in pack.describe_robot("Bob")


@pytest.mark.slow
def test_arms_pick_and_place_along_their_paths(pack: PackGrocery) -> None:
    assert pack.step(picks(pack)).failure == ""
    assert (pack.held("Alice"), pack.held("Bob")) == (("milk",), ("soda_can",))
    slots = {"Alice": ("milk", "bin_front_left"), "Bob": ("soda_can", "bin_back_middle")}
    plan = {
        robot: Action(robot, "PLACE", item, slot, over(pack, robot, SLOTS[slot][:2], lift=True))
        for robot, (item, slot) in slots.items()
    }
    assert refused(pack, plan) == ("", "")
    outcome = pack.step(plan)
    assert (outcome.failure, outcome.arm_contacts) == ("", 0)
    assert pack.held("Alice") == pack.held("Bob") == ()
    for item, slot in slots.values():
        assert math.dist(pack.scene.position(item)[:2], SLOTS[slot][:2]) < 0.03
        assert f"in {slot}" in pack._where(item)


def test_first_motion_is_planned_and_not_executed() -> None:
    task = PackGrocery(2)
    before, plan = task.scene.snapshot(), picks(task)
    motion, spent = task.plan_first(plan)
    assert isinstance(motion, MotionPlan)
    assert spent > 0
    task.scene.data.qpos[task.scene.qpos] = motion.trajectory.positions[-1]
    mujoco.mj_forward(task.scene.model, task.scene.data)
    for robot, action in plan.items():
        tip, goal = task.ends(action)
        assert math.dist(tip, goal) < 0.002, f"the motion ends where {robot} takes {action.object}"
    task.scene.restore(before)
    same = {robot: replace(action, object="apple") for robot, action in plan.items()}
    failure, _ = task.plan_first(same)
    assert isinstance(failure, PlanFailure)
    assert failure.reason == "goal_contact"


def test_hand_turns_evenly_along_a_path(pack: PackGrocery) -> None:
    start = HandPose.down((0.0, 0.0, 0.5), 0.0)
    turned = start.towards(HandPose.down((0.0, 0.0, 0.2), 1.0), (0.1, 0.2, 0.3), 0.25)
    assert turned.position == (0.1, 0.2, 0.3)
    assert turned.rotation == pytest.approx(HandPose.down((0, 0, 0), 0.25).rotation)


def rope_picks(task: MoveRope) -> dict[str, Action]:
    front, back = ENDS
    low, high = sorted((front, back), key=lambda end: task._end(end)[1])
    return {
        robot: Action(robot, "PICK", end, path=over(task, robot, task._end(end)[:2], 0.5))
        for robot, end in (("Alice", low), ("Bob", high))
    }


def test_rope_is_done_in_the_groove_only() -> None:
    task = MoveRope(1)
    assert not task.done
    x, y, _ = GROOVE_CENTRE
    state = task.scene.snapshot()
    straight = task.scene.data.qpos
    number = task.scene.model.joint("rope").qposadr[0]
    straight[number + 7 : number + 7 + 4 * 24] = np.tile([1.0, 0, 0, 0], 24)
    task.scene.place("rope/00", (x - 0.36, y, 0.4))
    assert not task.done, "its ends are near those of the groove, but it does not touch the floor"
    task.scene.place("rope/00", (x - 0.36, y, 0.2015))
    task.scene.settle()
    assert task.done
    task.scene.restore(state)
    assert not task.done


@pytest.mark.slow
def test_rope_between_the_grippers_has_to_pass_above_the_wall() -> None:
    task = MoveRope(1)
    assert task.step(rope_picks(task)).failure == ""
    left = min(task.robots, key=lambda robot: task.scene.hand_pose(robot).position[0])

    def carried_at(height: float) -> dict[str, Action]:
        plan = {}
        for robot in task.robots:
            (end,), target = task.held(robot), f"groove_{'left' if robot == left else 'right'}_end"
            goal_x, goal_y, _ = task._goal(Action(robot, "PUT", end, target)).position
            x, y, _ = task.scene.hand_pose(robot).position
            path = tuple((x + s * (goal_x - x), y + s * (goal_y - y), height) for s in (0.0, 0.4, 0.7, 1.0))
            plan[robot] = Action(robot, "PUT", end, target, path)
        return plan

    points = ("at point 2 of the paths", "at point 3 of the paths")
    low = " ".join(f"{point} rope and wall would collide; choose a higher point." for point in points)
    assert refused(task, carried_at(0.28)) == ("waypoints", low)
    assert refused(task, carried_at(0.5)) == ("", "")


@pytest.mark.parametrize(
    ("start", "end", "meets"),
    [
        ((-0.5, 0.5, 0.2), (0.5, 0.5, 0.2), True),
        ((-0.5, 0.5, 0.2), (0.5, 0.5, 0.9), False),
        ((-0.5, 0.5, 0.2), (-0.3, 0.5, 0.2), False),
        ((-0.5, 0.9, 0.2), (0.5, 0.9, 0.2), False),
        ((0.0, 0.5, 0.2), (0.0, 0.5, 0.2), False),
    ],
)
def test_straight_line_that_crosses_the_wall_below_its_top(
    rope: MoveRope, start: Point, end: Point, meets: bool
) -> None:
    assert rope._meets_wall(start, end) == meets


@pytest.mark.slow
def test_rope_that_is_pulled_apart_slips_and_the_table_is_as_before() -> None:
    task = MoveRope(1)
    assert task.step(rope_picks(task)).failure == ""
    assert sorted(task.held("Alice") + task.held("Bob")) == sorted(ENDS)
    before = [task._end(end) for end in ENDS]
    plan = {}
    for robot in ("Alice", "Bob"):
        (end,) = task.held(robot)
        x, y, _ = task.scene.hand_pose(robot).position
        apart = -0.5 if x < max(task._end(one)[0] for one in ENDS) - 0.1 else 0.0
        path = ((x, y, 0.3), (x + apart / 2, y, 0.4), (x + apart, y, 0.5), (x + apart, y, 0.54))
        plan[robot] = Action(robot, "PUT", end, "groove_left_end" if apart else "groove_right_end", path)
    outcome = task.step(plan)
    assert "lost rope_" in outcome.failure or "off its path" in outcome.failure
    for end, position in zip(ENDS, before, strict=True):
        assert math.dist(task._end(end), position) < 1e-6
    assert sorted(task.held("Alice") + task.held("Bob")) == sorted(ENDS)
