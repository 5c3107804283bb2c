"""Driving: to every area, around obstacles, and every failure with Nav2's own code."""

import math

import pytest

from quartet_simulation.codes import BackUpCode, DriveCode, NavCode, SpinCode
from quartet_simulation.errors import InvalidCommandError
from quartet_simulation.simulation import Simulation
from quartet_simulation.worlds import FILES


def error_of(sim, x, y, yaw):
    bx, by, byaw = sim.truth()["robot"]["pose"]
    return math.hypot(bx - x, by - y), abs(math.atan2(math.sin(byaw - yaw), math.cos(byaw - yaw)))


@pytest.mark.slow
def test_every_area_is_reached_with_the_pose_asked_for(home, hands):
    home.reset("home", 2)
    hand = hands(home)
    for area in [*home.world.areas, home.world.areas[2], home.world.areas[0]]:
        goal = hand.drive_to(*area.entry)
        assert (goal.status, goal.error_code) == ("SUCCEEDED", NavCode.NONE), (area.name, goal.error_text)
        distance, turn = error_of(home, *area.entry)
        assert distance < 0.07, area.name
        assert turn < math.radians(3), area.name
        assert home.truth()["robot_in_collision"] == []
        assert goal.feedback["distance_remaining"] < 0.1
    speed = 0.0
    goal = home.navigate_to_pose(*home.world.area("kitchen").entry)
    while not goal.done:
        home.step(0.1)
        vx, vy, _ = home.odometry()["twist"]
        speed = max(speed, math.hypot(vx, vy))
    assert 0.5 <= speed <= 0.8


@pytest.mark.parametrize(
    ("pose", "code"),
    [
        ((0.4, 2.0, 0.0), NavCode.GOAL_OCCUPIED),
        ((11.0, 2.0, 0.0), NavCode.GOAL_OCCUPIED),
        ((-4.0, 2.0, 0.0), NavCode.GOAL_OUTSIDE_MAP),
        ((float("nan"), 2.0, 0.0), NavCode.GOAL_OUTSIDE_MAP),
        ((1e308, 2.0, 0.0), NavCode.GOAL_OUTSIDE_MAP),
        ((2.0, -1e308, 1e308), NavCode.GOAL_OUTSIDE_MAP),
        ((11.2, 7.0, 0.0), NavCode.NO_VALID_PATH),
    ],
)
def test_a_goal_that_cannot_be_reached_is_answered_at_once_with_its_code(home, hands, pose, code):
    home.reset("home", 0)
    before = home.truth()["robot"]["pose"]
    goal = hands(home).drive_to(*pose)
    assert (goal.status, goal.error_code) == ("ABORTED", code), goal.error_text
    assert home.time < 0.3
    assert home.truth()["robot"]["pose"] == pytest.approx(before, abs=0.01)


@pytest.mark.parametrize("yaw", [0.0, -0.2, 0.8])
def test_a_base_drives_as_fast_and_where_it_is_told(home, yaw):
    """What looks ahead of a motion counts on it; 25 mm/s off, bases touched the posts of narrow doors."""
    home.reset("home", 0)
    home.put_robot(6.0, 5.4, yaw)
    wanted = (0.2, 0.03, 0.05)
    for _ in range(20):
        home.command_velocity(*wanted)
        home.step(0.05)
    assert home.truth()["robot"]["twist"] == pytest.approx(wanted, abs=0.008)


@pytest.mark.slow
def test_a_robot_too_near_to_a_thing_to_turn_backs_up_and_drives_around_it(home, hands):
    home.reset("home", 100)
    home.place_object("tennis ball", 6.70, 5.4, 0.0)
    # From where it sees the ball.
    home.put_robot(5.6, 5.5, 0.0)
    home.step(0.6)
    home.put_robot(6.33, 5.68, 0.5)
    goal = hands(home).drive_to(*home.world.area("kids' room").entry)
    assert (goal.status, goal.feedback["number_of_recoveries"]) == ("SUCCEEDED", 1), goal.error_text
    x, y, _ = home.truth()["objects"]["tennis ball"]["position"]
    assert (x, y) == pytest.approx((6.70, 5.4), abs=0.02)


@pytest.mark.parametrize("side", [1, -1])
def test_a_drive_that_begins_before_the_jamb_of_a_door_touches_nothing(flat, hands, side):
    flat.reset("flat", 0)
    yaw = math.pi if side > 0 else 0.0
    # The body overlaps the jamb by 4 cm: on the straight way through the door its corner would graze it.
    flat.put_robot(4.0 + side * 0.46, 2.0 - side * 0.185, yaw)
    goal = hands(flat).drive_to(4.0 - side, 2.0, yaw)
    assert goal.status == "SUCCEEDED", goal.error_text
    assert flat.truth()["fixed_contacts"] == []


def test_spin_drive_and_backup_move_as_told(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(-0.6, -0.4, 0.3)
    hand = hands(studio)
    assert hand.run(studio.spin(-1.2)).error_code == SpinCode.NONE
    assert error_of(studio, -0.6, -0.4, -0.9)[1] < 0.03
    goal = hand.run(studio.drive_on_heading(0.3, 0.3))
    assert (goal.status, goal.error_code) == ("SUCCEEDED", DriveCode.NONE)
    x, y = -0.6 + 0.3 * math.cos(-0.9), -0.4 + 0.3 * math.sin(-0.9)
    assert error_of(studio, x, y, -0.9)[0] < 0.02
    goal = hand.run(studio.backup(0.3, 0.2))
    assert (goal.status, goal.error_code) == ("SUCCEEDED", BackUpCode.NONE)
    assert error_of(studio, -0.6, -0.4, -0.9)[0] < 0.03
    assert goal.feedback["distance_traveled"] == pytest.approx(0.3, abs=0.02)


def test_driving_into_the_counter_stops_before_it(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(0.4, 0.0, 0.0)
    goal = hands(studio).run(studio.drive_on_heading(1.5, 0.5))
    assert (goal.status, goal.error_code) == ("ABORTED", DriveCode.COLLISION_AHEAD)
    assert "collision ahead" in goal.error_text
    studio.step(1.0)
    assert studio.truth()["robot_in_collision"] == []
    assert studio.at_standstill


def test_backing_into_the_wall_stops_before_it(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(-1.3, 0.0, 0.0)
    goal = hands(studio).run(studio.backup(1.5, 0.4))
    assert (goal.status, goal.error_code) == ("ABORTED", BackUpCode.COLLISION_AHEAD)
    studio.step(1.0)
    assert studio.truth()["robot_in_collision"] == []


def test_turning_beside_a_wall_stops_before_it(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(-1.76, 0.0, math.pi / 2)
    goal = hands(studio).run(studio.spin(1.6))
    assert (goal.status, goal.error_code) == ("ABORTED", SpinCode.COLLISION_AHEAD)
    assert studio.truth()["robot_in_collision"] == []


def test_a_thing_on_the_floor_stops_a_straight_drive(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(-0.8, 0.0, 0.0)
    studio.place_object("red coke can", 0.4, 0.0, 0.0)
    goal = hands(studio).run(studio.drive_on_heading(1.5, 0.5))
    assert goal.error_code == DriveCode.COLLISION_AHEAD
    assert studio.truth()["objects"]["red coke can"]["position"][0] == pytest.approx(0.4, abs=0.01)


def test_time_allowances_end_a_behaviour(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(-0.8, -0.2, 0.0)
    hand = hands(studio)
    assert hand.run(studio.spin(3.0, time_allowance=0.5)).error_code == SpinCode.TIMEOUT
    assert hand.run(studio.drive_on_heading(0.8, 0.2, time_allowance=0.5)).error_code == DriveCode.TIMEOUT
    assert hand.run(studio.backup(0.8, 0.2, time_allowance=0.5)).error_code == BackUpCode.TIMEOUT


def test_a_drive_without_speed_is_invalid_input(studio, hands):
    studio.reset("studio", 0)
    assert hands(studio).run(studio.drive_on_heading(0.5, 0.0)).error_code == DriveCode.INVALID_INPUT
    with pytest.raises(InvalidCommandError, match="target_yaw nan"):
        studio.spin(float("nan"))


def test_a_path_leads_around_what_stands_in_the_way(home, hands):
    home.reset("home", 0)
    home.put_robot(2.6, 5.2, 0.0)
    hand = hands(home)
    goal = home.navigate_to_pose(8.6, 5.2, 0.0)
    home.step(2.0)
    home.place_object("red coke can", 6.0, 5.2, 0.0)
    hand.run(goal)
    assert goal.status == "SUCCEEDED", goal.error_text
    x, y, _ = home.truth()["objects"]["red coke can"]["position"]
    assert (x, y) == pytest.approx((6.0, 5.2), abs=0.01)


def test_a_barred_door_is_no_valid_path(home, hands):
    home.reset("home", 0)
    for i, name in enumerate(("yellow cup", "blue mug", "yellow soup can", "red cup", "blue soda can")):
        home.place_object(name, 2.85 + 0.24 * i, 6.2, 0.0)
    home.put_robot(3.3, 5.0, 1.57)
    goal = hands(home).drive_to(*home.world.area("parents' bedroom").entry)
    assert (goal.status, goal.error_code) == ("ABORTED", NavCode.NO_VALID_PATH)


def test_cancel_brakes_and_then_says_canceled(home, hands):
    home.reset("home", 0)
    goal = home.navigate_to_pose(*home.world.area("kitchen").entry)
    home.step(4.0)
    assert not home.at_standstill
    goal.cancel()
    before, began = home.truth()["robot"]["pose"], home.time
    hands(home).run(goal)
    assert goal.status == "CANCELED"
    assert home.time - began < 1.0
    assert error_of(home, *before)[0] < 0.35
    home.step(1.0)
    assert home.at_standstill


def test_a_new_goal_preempts_the_old_one(home, hands):
    home.reset("home", 0)
    old = home.navigate_to_pose(*home.world.area("kitchen").entry)
    home.step(1.0)
    new = home.spin(0.5)
    assert old.status == "ABORTED"
    assert "preempted" in old.error_text
    assert hands(home).run(new).status == "SUCCEEDED"


def test_halt_stops_everything_at_once(home):
    home.reset("home", 0)
    goal = home.navigate_to_pose(*home.world.area("kitchen").entry)
    home.step(4.0)
    home.halt()
    assert goal.status == "CANCELED"
    home.step(0.3)
    assert home.at_standstill
    assert not home.busy


def test_velocity_commands_go_stale(studio):
    studio.reset("studio", 0)
    studio.put_robot(-0.8, -0.2, 0.0)
    studio.command_velocity(0.2, 0.0, 0.0)
    studio.step(0.4)
    assert studio.odometry()["twist"][0] == pytest.approx(0.2, abs=0.03)
    studio.step(0.6)
    assert studio.at_standstill


@pytest.mark.slow
def test_localisation_errs_by_centimetres_and_under_one_degree(home, hands):
    home.reset("home", 3)
    hand, worst = hands(home), (0.0, 0.0)
    for name in ("kitchen", "hallway"):
        hand.drive_to(*home.world.area(name).entry)
        distance, turn = error_of(home, *home.estimated_pose())
        worst = max(worst[0], distance), max(worst[1], turn)
        assert home.estimated_pose() == home.estimated_pose()
    assert 0.0 < worst[0] < 0.03
    assert 0.0 < worst[1] < math.radians(1)


def test_a_robot_that_stands_too_near_to_something_can_leave_it(studio, hands):
    studio.reset("studio", 0)
    # 5 mm from the counter's front: inside the distance that a moving base keeps.
    studio.put_robot(1.55 - 0.36 - 0.005, 0.0, 0.0)
    studio._physics.set_arm((0.0, -1.2, -1.8, -1.5, 1.57, 0.0))
    studio._arm.hold()
    studio._physics.forward()
    hand = hands(studio)
    assert hand.run(studio.drive_on_heading(0.2, 0.2)).error_code == DriveCode.COLLISION_AHEAD
    goal = hand.run(studio.backup(0.3, 0.2))
    assert goal.status == "SUCCEEDED", goal.error_text
    studio.put_robot(1.55 - 0.36 - 0.005, 0.0, 0.0)
    goal = hand.drive_to(0.3, 0.0, 3.1)
    assert goal.status == "SUCCEEDED", goal.error_text
    assert studio.truth()["robot_in_collision"] == []


@pytest.mark.slow
def test_a_robot_drives_through_a_narrow_door_from_askew(tmp_path, hands):
    text = (FILES / "flat.yaml").read_text().replace("width: 0.9, leaf: open", "width: 0.8, leaf: open")
    (tmp_path / "world.yaml").write_text(text)
    sim = Simulation(str(tmp_path), 0, sensors="typical")
    for seed, start, goal in (
        (3, (5.58, 1.32, -1.17), (3.02, 1.49, -3.13)),
        (18, (2.83, 1.66, 2.57), (5.24, 1.39, -0.95)),
    ):
        sim.reset(None, seed, "absent:yellow cup")
        sim.put_robot(*start)
        driven = hands(sim).drive_to(*goal)
        assert driven.status == "SUCCEEDED", (seed, driven.error_text)
        assert sim.truth()["robot_in_collision"] == []
    sim.close()
