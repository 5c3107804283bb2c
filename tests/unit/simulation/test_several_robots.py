"""Several robots in one world: each has its own senses and hands, sees the others and keeps clear of them."""

import math

import numpy as np
import pytest

from quartet_simulation.codes import NavCode
from quartet_simulation.errors import SimulationError
from quartet_simulation.mobile.build import SUMMIT
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.simulation import Simulation

LIMIT_S = 120.0
"""World time."""


@pytest.fixture(scope="module")
def pair():
    sim = Simulation("studio", 0, builds=[SUMMIT] * 2, sensors="clean")
    yield sim
    sim.close()


@pytest.fixture
def robots(pair):
    pair.reset("studio", 0)
    return pair.robots


def distance(robots):
    (ax, ay, _), (bx, by, _) = (one["pose"] for one in robots[0].truth()["robots"])
    return math.hypot(ax - bx, ay - by)


def run(robots, *goals, each=lambda: None):
    while not all(goal.done for goal in goals):
        robots[0].step(0.05)
        each()
        assert robots[0].time < LIMIT_S


def test_they_start_apart_and_touch_nothing(robots):
    assert distance(robots) >= 1.3
    assert [one["in_collision"] for one in robots[0].truth()["robots"]] == [[], []]


def test_things_lie_where_they_lie_without_the_other_robot(robots):
    alone = Simulation("studio", 0, sensors="clean")
    try:
        there, here = alone.truth(), robots[0].truth()
    finally:
        alone.close()
    assert here["robot"]["pose"] == pytest.approx(there["robot"]["pose"], abs=1e-6)
    for name, one in there["objects"].items():
        assert here["objects"][name]["position"] == pytest.approx(one["position"], abs=1e-3)


def test_each_sees_the_other_with_its_laser(robots):
    for one, other in (robots, robots[::-1]):
        x, y, yaw = one.truth()["robots"][robots.index(one)]["pose"]
        ox, oy, _ = one.truth()["robots"][robots.index(other)]["pose"]
        scan = one.scan()
        bearing = math.remainder(math.atan2(oy - y, ox - x) - yaw, math.tau)
        index = round((bearing - scan["angle_min"]) / scan["angle_increment"]) % len(scan["ranges"])
        away = math.hypot(ox - x, oy - y)
        assert away - 0.55 < scan["ranges"][index] < away - 0.2
        assert np.nanmin(scan["ranges"]) > dim.BASE_WIDTH / 2, "it does not see itself"


def test_one_moves_and_the_other_stays(robots):
    first, second = robots
    before = second.joint_states()["position"]
    goal = first.spin(1.0)
    run(robots, goal)
    assert goal.status == "SUCCEEDED"
    assert second.at_standstill
    assert second.joint_states()["position"] == pytest.approx(before, abs=0.01)


def test_the_stop_of_one_leaves_the_other_to_its_goal(robots):
    first, second = robots
    goals = first.spin(2.0), second.spin(-1.0)
    first.step(0.3)
    first.halt()
    assert goals[0].status == "CANCELED"
    run(robots, goals[1])
    assert goals[1].status == "SUCCEEDED"


def test_a_path_leads_around_the_other(robots):
    first, second = robots
    first.put_robot(-1.5, -1.2, 0.0)
    second.put_robot(0.0, -1.2, 0.0)
    first.clear_costmaps()
    closest = [distance(robots)]
    goal = first.navigate_to_pose(1.0, -0.5, 0.0)
    run(robots, goal, each=lambda: closest.append(distance(robots)))
    assert goal.status == "SUCCEEDED", goal.error_text
    assert min(closest) > 0.75
    assert all(not one["in_collision"] for one in first.truth()["robots"])


@pytest.mark.slow
def test_two_that_drive_towards_each_other_never_touch(robots):
    first, second = robots
    first.put_robot(-1.4, -1.2, 0.0)
    second.put_robot(1.0, -1.2, math.pi)
    touched = []

    def look():
        touched.extend(name for one in first.truth()["robots"] for name in one["in_collision"])

    goals = first.navigate_to_pose(0.9, -1.0, 0.0), second.navigate_to_pose(-1.3, -1.0, math.pi)
    run(robots, *goals, each=look)
    assert touched == []


def test_a_straight_drive_stops_before_the_other(robots):
    first, second = robots
    first.put_robot(-1.5, -1.2, 0.0)
    second.put_robot(0.2, -1.2, 0.0)
    goal = first.drive_on_heading(1.5, 0.5)
    run(robots, goal)
    assert goal.status == "ABORTED"
    assert "collision ahead" in goal.error_text
    assert distance(robots) > dim.BASE_LENGTH


def test_the_arm_plans_around_the_other_robot_also_without_an_octomap(robots):
    first, second = robots
    first.put_robot(0.0, -1.0, 0.0)
    second.put_robot(0.95, -1.0, math.pi)
    first.clear_octomap()
    scene = first.snapshot()
    reach = scene.fk([-0.0109, -0.6348, -2.0271, -1.3523, 1.5778, -0.0084])
    reach[:3, 3] = (0.75, 0.0, 0.45)
    assert scene.ik_all(reach)
    assert scene.plan_pose(reach).trajectory is None
    second.put_robot(-1.5, 0.5, 0.0)
    assert first.snapshot().plan_pose(reach).trajectory is not None


def test_robots_that_have_no_room_are_told():
    with pytest.raises(SimulationError, match="no room for 8 robots in studio"):
        Simulation("studio", 0, builds=[SUMMIT] * 8)
    with pytest.raises(SimulationError, match="9 robots cannot be in one world; valid: 1 to 8"):
        Simulation("studio", 0, builds=[SUMMIT] * 9)


def test_every_contact_of_two_robots_is_counted_with_the_parts(robots):
    one, other = robots
    one.step(0.1)
    assert one.truth()["robot_contacts"] == []
    x, y, yaw = one.truth()["robots"][0]["pose"]
    other.put_robot(x + 0.3, y, yaw)
    one.step(0.02)
    contacts = one.truth()["robot_contacts"]
    assert contacts
    assert all(contact["steps"] in range(1, 11) for contact in contacts), contacts
    assert all(len({part.startswith("robot2/") for part in contact["parts"]}) == 2 for contact in contacts), contacts
    one.reset("studio", 0)
    assert one.truth()["robot_contacts"] == []


def test_a_robot_that_is_out_of_sight_does_not_keep_another_from_setting_off():
    """Whether it still stands at the goal is seen on arrival; where it stood, nothing of it is known before."""
    sim = Simulation("home", 0, builds=[SUMMIT] * 2, sensors="clean")
    try:
        first, second = sim.robots
        goal = (9.85, 2.1, 0.0)
        second.put_robot(*goal)
        first.put_robot(3.35, 2.15, 0.0)
        first.clear_costmaps()
        assert first.compute_path(goal)[0] is NavCode.NONE
        first.put_robot(7.0, 2.1, 0.0)
        first.clear_costmaps()
        assert first.compute_path(goal)[0] is NavCode.GOAL_OCCUPIED
    finally:
        sim.close()
