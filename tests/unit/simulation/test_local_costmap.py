"""A base stops before what its sensors show; what they have not shown it touches."""

import math

import mujoco
import numpy as np
import pytest

from quartet_simulation.codes import BackUpCode, DriveCode, SpinCode
from quartet_simulation.navigation import local_costmap
from quartet_simulation.sensors import laser
from quartet_simulation.sensors.localisation import compose, inverse
from quartet_simulation.simulation import Simulation
from quartet_simulation.worlds import FILES

CAN = "red coke can"


@pytest.fixture
def empty(studio):
    """The studio with the robot in the middle and the can out of the way."""
    studio.reset("studio", 0)
    studio.place_object(CAN, -60.0, 0.0, 0.0)
    studio.put_robot(-0.4, 0.0, 0.0)
    return studio


def around(sim: Simulation) -> np.ndarray:
    """Return the points that the robot knows around it, (N, 3) in base_footprint."""
    sim._base.blocked_along([(0.01, 0.0, 0.0)])
    return sim._base._local.look().seen


def test_a_thing_that_no_sensor_has_seen_is_pushed(empty, hands):
    """It lies behind the robot, lower than the laser."""
    empty.place_object(CAN, -0.95, 0.0, 0.0)
    assert hands(empty).run(empty.backup(0.5, 0.2)).error_code == BackUpCode.NONE
    assert empty.truth()["objects"][CAN]["position"][0] < -1.0


def test_a_thing_that_was_seen_is_not_pushed_when_it_is_behind(empty, hands):
    empty.place_object(CAN, 0.7, 0.0, 0.0)
    hand = hands(empty)
    hand.run(empty.spin(math.pi))
    # Only what was seen on the way tells of it now.
    empty._costmap.clear()
    assert hand.run(empty.backup(0.9, 0.2)).error_code == BackUpCode.COLLISION_AHEAD
    assert empty.truth()["objects"][CAN]["position"][0] == pytest.approx(0.7, abs=0.01)


@pytest.mark.parametrize(("gap", "blocked"), [(0.025, True), (0.04, False)])
def test_a_base_keeps_away_from_a_low_thing_that_only_the_costmap_tells_of(empty, gap, blocked):
    base, local = empty._base, empty._base._local
    local.look()
    behind = base.physics.build.base.length / 2
    local._things = lambda: [(*compose(empty._localisation.odom(), (-behind - 0.1 - gap, 0.0, 0.0))[:2], 0.0)]
    local._in_odom = local._gather(empty.time, empty._localisation.odom())
    base._looked_at, base._obstacles = base.physics.ticks, base._look()
    assert base.blocked_along([(-0.1, 0.0, 0.0)]) is blocked


def test_what_a_laser_shows_stops_a_base_whether_it_is_there_or_not(empty, hands, monkeypatch):
    true_scan = laser.scan

    def scan(*args):
        found = true_scan(*args)
        ahead = len(found["ranges"]) // 2
        found["ranges"][ahead - 5 : ahead + 6] = 0.45
        return found

    monkeypatch.setattr(laser, "scan", scan)
    assert hands(empty).run(empty.drive_on_heading(0.9, 0.2)).error_code == DriveCode.COLLISION_AHEAD


def test_a_single_point_is_noise(empty, hands, monkeypatch):
    true_scan = laser.scan

    def scan(*args):
        found = true_scan(*args)
        found["ranges"][len(found["ranges"]) // 2] = 0.45
        return found

    monkeypatch.setattr(laser, "scan", scan)
    monkeypatch.setattr("quartet_simulation.navigation.local_costmap.HEIGHTS", np.empty(0))
    assert hands(empty).run(empty.drive_on_heading(0.5, 0.2)).error_code == DriveCode.NONE


@pytest.mark.slow
@pytest.mark.parametrize(("aside", "turned"), [(0.07, 2.0), (-0.07, -2.0), (0.07, -2.0), (-0.07, 2.0)])
def test_the_posts_of_a_door_are_where_they_are_seen(tmp_path, hands, aside, turned):
    """However localisation errs."""
    text = (FILES / "flat.yaml").read_text().replace("width: 0.9, leaf: open", "width: 0.8, leaf: open")
    (tmp_path / "world.yaml").write_text(text)
    sim = Simulation(str(tmp_path), 0, sensors="typical")
    sim.put_robot(5.3, 2.0, math.pi)
    local = sim._localisation
    x, y, yaw = local._last
    # Corrections do not come before the door is passed.
    local._level = None
    corrected = compose((x, y + aside, yaw + math.radians(turned)), inverse(local.odom()))
    local.estimate = lambda time: compose(corrected, local.odom())
    goal = hands(sim).drive_to(2.9, 2.0, math.pi)
    truth = sim.truth()
    sim.close()
    assert goal.status == "SUCCEEDED", goal.error_text
    assert truth["fixed_contacts"] == []


def test_what_the_laser_meets_is_as_high_as_the_hand_until_the_camera_sees_over_it(empty):
    # Beside a wall, which the camera looks along.
    empty.put_robot(-1.6, -0.5, math.pi / 2)
    left = around(empty)
    left = left[(left[:, 1] > 0.3) & (np.abs(left[:, 0]) < 0.1)]
    assert left[:, 2].max() > 0.95
    table = empty.world.surface("wooden table")
    x0, y0, _, y1 = table.rect
    empty.put_robot(x0 - 0.9, (y0 + y1) / 2, 0.0)
    ahead = around(empty)
    ahead = ahead[(ahead[:, 0] > 0.5) & (np.abs(ahead[:, 1]) < (y1 - y0) / 2 - 0.05)]
    assert len(ahead)
    assert ahead[:, 2].max() < table.height + 0.05


def test_the_hand_keeps_away_from_a_wall_that_only_the_laser_sees(empty, hands):
    """On its right, where the camera on the left mast does not see; body and base would have room."""
    x0, _, _, _ = empty.world.bounds
    empty.put_robot(x0 + 0.52, -0.2, -math.pi / 2)
    assert hands(empty).run(empty.spin(-math.pi / 2)).error_code == SpinCode.COLLISION_AHEAD
    assert empty.truth()["fixed_contacts"] == []


def test_the_base_keeps_away_from_a_wall_by_more_than_a_scan_may_be_off(empty, hands):
    x0, _, _, _ = empty.world.bounds
    empty.put_robot(x0 + 0.75, -0.2, 0.0)
    hands(empty).run(empty.backup(0.6, 0.2))
    assert 0.115 < room(empty) < 0.15
    assert empty.truth()["fixed_contacts"] == []


def test_the_arm_counts_as_larger_than_it_is_and_the_body_does_not(empty, monkeypatch):
    """The hand is not quite where the encoders have it, and swings half a metre ahead of the base's middle."""
    footprint, points = empty._base._footprint, np.array([[0.60, -0.1, 0.9], [0.45, 0.0, 0.3]])
    footprint.update()
    arm, body = footprint.from_arm(points[:1])[0], footprint.from_body(points[1:])[0]
    monkeypatch.setattr("quartet_simulation.navigation.footprint.ARM_SLACK", 0.0)
    footprint._of = None
    footprint.update()
    assert footprint.from_arm(points[:1])[0] - arm == pytest.approx(0.025, abs=1e-3)
    assert footprint.from_body(points[1:])[0] == pytest.approx(body)


def room(sim: Simulation) -> float:
    """Return the true distance of the robot from what stands fast, the floor aside [m]."""
    model, data = sim._physics.model, sim._physics.data
    fixed = [
        geom
        for geom in range(model.ngeom)
        if model.body_weldid[model.geom_bodyid[geom]] == 0
        and model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_PLANE
        and (model.geom_contype[geom] or model.geom_conaffinity[geom])
        and data.geom_xpos[geom][2] + model.geom_rbound[geom] > 0.1
    ]
    own = [g for g in sim._physics.own_geoms if model.geom_contype[g] or model.geom_conaffinity[g]]
    return min(mujoco.mj_geomDistance(model, data, one, other, 0.5, None) for one in own for other in fixed)


def test_what_the_camera_sees_to_have_gone_bars_the_way_no_longer(empty, hands):
    empty.place_object(CAN, 0.5, 0.0, 0.0)
    seen = around(empty)
    assert (np.hypot(seen[:, 0] - 0.9, seen[:, 1]) < 0.06).any()
    empty.place_object(CAN, -60.0, 0.0, 0.0)
    empty.step(0.6)
    seen = around(empty)
    assert not (np.hypot(seen[:, 0] - 0.9, seen[:, 1]) < 0.06).any()
    empty._costmap.clear()
    assert hands(empty).run(empty.drive_on_heading(0.7, 0.3)).error_code == DriveCode.NONE


def test_what_it_holds_is_no_obstacle_to_a_base(studio, hands):
    studio.reset("studio", 0, f"in_gripper:{CAN}")
    studio.put_robot(-0.9, 0.0, 0.0)
    assert hands(studio).run(studio.drive_on_heading(0.4, 0.3)).error_code == DriveCode.NONE


@pytest.mark.parametrize("height", [0.0, 0.30, 0.60, 0.90])
def test_the_footprint_is_that_of_the_parts_at_each_height(studio, height):
    studio.reset("studio", 0)
    studio.put_robot(0.0, -0.3, 1.0)
    studio._base.blocked_along([(0.01, 0.0, 0.0)])
    footprint, base = studio._base._footprint, studio._physics.build.base
    points = np.array([[base.length / 2 + 0.10, 0.0, height], [0.0, 0.0, height]])
    ahead = np.minimum(footprint.from_body(points), footprint.from_arm(points))
    if height == 0.30:
        assert ahead[0] == pytest.approx(0.10, abs=0.01)
        assert ahead[1] < -0.1
    elif height == 0.90:
        # The hand sticks out.
        assert ahead[0] < 0.05
    else:
        assert ahead[0] > 0.09


def test_a_base_stops_farther_before_what_is_on_no_map(tmp_path, hands):
    (tmp_path / "world.yaml").write_text((FILES / "flat.yaml").read_text() + "\npeople:\n- {name: anna}\n")
    sim = Simulation(str(tmp_path), 0, sensors="typical")
    sim.reset(None, 0, "absent:yellow cup")
    sim.put_robot(5.2, 2.0, 0.0)
    sim._physics.set_person("anna", 6.9, 2.0)
    sim.step(0.1)
    assert hands(sim).run(sim.drive_on_heading(1.6, 0.5)).error_code == DriveCode.COLLISION_AHEAD
    sim.step(0.5)
    x = sim.truth()["robot"]["pose"][0]
    truth = sim.truth()
    sim.close()
    assert truth["person_contacts"] == []
    # Her trunk's front is 0.19 m before her middle, the hand 0.55 m before the robot's.
    assert 6.9 - 0.19 - x - 0.55 > 0.08


def test_along_a_wall_the_camera_sees_past_no_cell_of_it(empty):
    """It sees past those that are partly in front of the wall."""
    x0, *_ = empty.world.bounds
    empty.put_robot(x0 + 0.45, -0.5, math.pi / 2)
    around(empty)
    local = empty._base._local
    columns = local_costmap._key(local_costmap._cells(local_costmap._columns(local._laser)))
    assert len(columns)
    assert not np.isin(columns, local._free).any()


@pytest.mark.parametrize(("off", "known"), [(0.0, True), (0.1, True), (0.3, False)])
def test_what_is_on_the_map_may_be_off_by_the_error_of_localisation_and_is_nobody(empty, monkeypatch, off, known):
    x0, *_ = empty.world.bounds
    empty.put_robot(x0 + 0.6, -0.5, math.pi)
    localisation = empty._localisation
    monkeypatch.setattr(localisation, "estimate", lambda _: compose(localisation._last, (-off, 0.0, 0.0)))
    empty._base.forget_surroundings()
    seen = empty._base._local.look()
    ahead = (seen.seen[:, 0] > 0.3) & (np.abs(seen.seen[:, 1]) < 0.2) & (seen.seen[:, 2] > 0.27)
    assert ahead.any()
    assert seen.may_move[ahead].any() != known
