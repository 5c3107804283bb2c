"""Two unlike arms at the simulated table: each is a robot of its own in one world."""

import math

import numpy as np
import pytest

from quartet_simulation.errors import UnknownNameError
from quartet_simulation.tabletop import TabletopError, UnknownTaskError
from quartet_simulation.tabletop.simulation import TableSimulation


@pytest.fixture(scope="module")
def table():
    sim = TableSimulation(0, sensors="clean", arms=("ur5", "panda"))
    yield sim
    sim.close()


def moved(robot, joint, by):
    """Return the trajectory that turns one joint by an angle [rad] in two seconds."""
    here = robot.believed_joints()
    there = here.copy()
    there[joint] += by
    return robot.execute_trajectory(list(robot.arm.joints), [(0.0, list(here)), (2.0, list(there))])


def test_each_arm_has_its_own_joints_frames_and_view(table):
    ur5, panda = table.robots
    assert (len(ur5.arm.joints), len(panda.arm.joints)) == (6, 7)
    for robot, (x, facing) in zip(table.robots, ((-0.3, 1.0), (0.9, -1.0)), strict=True):
        tree = robot.frame_tree()
        assert tree.between("map", robot.arm.base)[:3, 3] == pytest.approx([x, 0.0, 0.0])
        tool = tree.between(robot.arm.base, robot.arm.tool)
        assert tool == pytest.approx(robot.arm.forward(robot.believed_joints()), abs=1e-3)
        assert tool[0, 3] > 0.25, "the hand is before the foot"
        assert math.copysign(1.0, tree.between("map", robot.arm.tool)[0, 3] - x) == facing
        assert not robot.snapshot().in_collision(robot.believed_joints())
    assert not np.array_equal(ur5.render("front")[0], panda.render("front")[0])


def test_arms_move_at_once_and_each_alone(table):
    table.reset(seed=1)
    ur5, panda = table.robots
    before = [robot.believed_joints() for robot in table.robots]
    goals = moved(ur5, 0, 0.3), moved(panda, 0, -0.2)
    while not all(goal.done for goal in goals):
        table.step(0.1)
        assert table.time < 10
    assert [goal.status for goal in goals] == ["SUCCEEDED", "SUCCEEDED"]
    turned = [robot.believed_joints()[0] - start[0] for robot, start in zip(table.robots, before, strict=True)]
    assert turned == pytest.approx([0.3, -0.2], abs=0.02)
    assert ur5.time == panda.time
    assert table.truth()["contacts"] == []


def test_truth_tells_which_arms_have_touched(table):
    table.reset(seed=1)
    middle = np.array([[1.0, 0.0, 0.0, 0.6], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 1.1], [0.0, 0.0, 0.0, 1.0]])
    goals = []
    for robot in table.robots:
        here = robot.believed_joints()
        there = min(robot.arm.inverse(middle, here), key=lambda one: robot.arm.cost(one, here))
        there = robot.arm.nearest_turns(there, here)
        goals.append(robot.execute_trajectory(list(robot.arm.joints), [(0.0, list(here)), (4.0, list(there))]))
    while not all(goal.done for goal in goals):
        table.step(0.1)
        assert table.time < 20
    assert {goal.status for goal in goals} == {"ABORTED"}
    pairs = table.truth()["contacts"]
    assert pairs
    assert all(one.startswith("robot2/") != other.startswith("robot2/") for one, other in pairs)


@pytest.mark.parametrize(
    ("arms", "scenario", "error", "words"),
    [
        (("ur5", "panda", "ur5"), None, TabletopError, "3 arms (ur5, panda, ur5) do not fit the table; valid: 1 to 2"),
        (("ur5", "humanoid"), None, UnknownNameError, "unknown kind of arm 'humanoid'; valid: panda, ur5"),
        (("ur5", "panda"), "put-block", UnknownTaskError, "no task 'put-block' for 2 arms; valid: swap-blocks"),
        (("ur5",), "swap-blocks", UnknownTaskError, "there is no task 'swap-blocks'; valid: basketball-in-hoop"),
    ],
)
def test_what_does_not_fit_the_table_is_refused(arms, scenario, error, words):
    with pytest.raises(error) as refusal:
        TableSimulation(0, arms=arms, scenario=scenario)
    assert words in str(refusal.value)
