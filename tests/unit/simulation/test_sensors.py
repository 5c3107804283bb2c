"""Cameras, laser and transforms: what they show fits the world, and noise depends on the time only."""

import math

import numpy as np
import pytest

from quartet_simulation.arm.kinematics import pose_matrix


def chain(sim, child):
    """Pose of a frame in map by the published transforms."""
    parents = {c: (p, pose_matrix(t, q)) for p, c, t, q in [*sim.transforms(), *sim.static_transforms()]}
    pose = np.eye(4)
    while child != "map":
        parent, step = parents[child]
        pose, child = step @ pose, parent
    return pose


def project(sim, camera, point):
    info = sim.camera_info(camera)
    x, y, z, _ = np.linalg.inv(chain(sim, info["frame"])) @ np.array([*point, 1.0])
    return info["fx"] * x / z + info["cx"], info["fy"] * y / z + info["cy"], z


def test_the_can_is_red_and_at_its_depth_where_the_transforms_say(home):
    home.reset("home", 0)
    can = home.truth()["objects"]["red coke can"]["position"]
    x, y, _ = home.world.area("kitchen").entry
    home.put_robot(x, y, math.atan2(can[1] - y, can[0] - x))
    rgb, depth = home.render("front")
    assert rgb.shape == (480, 640, 3)
    assert rgb.dtype == np.uint8
    assert depth.shape == (480, 640)
    assert depth.dtype == np.float32
    u, v, z = project(home, "front", can)
    # Its label has white on it.
    above = [can[0], can[1], can[2] + 0.018]
    column, row, _ = project(home, "front", above)
    patch = rgb[round(row) - 1 : round(row) + 2, round(column) - 4 : round(column) - 1].reshape(-1, 3).mean(axis=0)
    assert patch[0] > 3 * max(patch[1], patch[2]), patch
    seen = np.median(depth[round(v) - 3 : round(v) + 4, round(u) - 2 : round(u) + 3])
    assert seen == pytest.approx(z - 0.03, abs=0.04)


def test_the_wrist_camera_sees_what_is_below_the_hand(studio, hands):
    studio.reset("studio", 0, "at:red coke can@wooden table")
    hand = hands(studio)
    thing = studio.truth()["objects"]["red coke can"]
    hand.drive_to(*studio.world.surface("wooden table").approach)
    hand.approach(*thing["position"][:2], 0.80)
    x, y = hand.in_base(*thing["position"][:2])
    hand.grip(0.0)
    hand.move(hand.down(x, y, thing["position"][2] + 0.34, 1.57))
    rgb, _ = studio.render("arm")
    u, v, z = project(studio, "arm", thing["position"])
    assert 100 < u < 540
    assert 100 < v < 440
    assert 0.25 < z < 0.45
    red = (rgb[..., 0] > 100) & (rgb[..., 1] < 70) & (rgb[..., 2] < 70)
    assert red.sum() > 500
    rows, columns = np.nonzero(red)
    assert abs(columns.mean() - u) < 25
    assert abs(rows.mean() - v) < 45


def test_depth_unprojects_onto_the_floor(studio):
    studio.reset("studio", 0)
    studio.put_robot(-0.5, -0.6, -1.57)
    _, depth = studio.render("front")
    info = studio.camera_info("front")
    pose = chain(studio, info["frame"])
    v, u = 440, 250
    z = float(depth[v, u])
    point = pose @ np.array([(u - info["cx"]) / info["fx"] * z, (v - info["cy"]) / info["fy"] * z, z, 1.0])
    assert point[2] == pytest.approx(0.0, abs=0.015)


@pytest.mark.parametrize("camera", ["front", "arm"])
def test_noise_is_a_function_of_seed_and_time_only(studio, camera):
    studio.reset("studio", 7)
    first = studio.render(camera)
    for _ in range(3):
        studio.render("front")
        studio.scan()
    again = studio.render(camera)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    studio.step(0.5)
    later = studio.render(camera)
    difference = np.abs(first[0].astype(int) - later[0].astype(int))
    assert 0.5 < difference.mean() < 6
    assert np.array_equal(studio.scan()["ranges"], studio.scan()["ranges"])


@pytest.mark.slow
def test_looking_changes_nothing_in_the_world(studio, hands):
    ends = []
    for looks in (0, 4):
        studio.reset("studio", 3)
        goal = studio.navigate_to_pose(0.3, 0.0, 0.0)
        while not goal.done:
            studio.step(0.1)
            for _ in range(looks):
                studio.render("front")
                studio.scan()
                studio.snapshot()
        ends.append(studio.truth())
    assert ends[0] == ends[1]


def test_step_size_changes_nothing_in_the_world(studio):
    ends = []
    for step in (0.02, 0.05, 0.5):
        studio.reset("studio", 3)
        goal = studio.navigate_to_pose(0.3, 0.0, 0.0)
        for _ in range(round(6.0 / step)):
            studio.step(step)
        assert goal.done
        ends.append(studio.truth())
    assert ends[0] == ends[1] == ends[2]


def test_dim_and_warm_light_change_the_picture(studio):
    means = {}
    for light in ("normal", "dim", "warm"):
        studio.reset("studio", 1, light)
        means[light] = studio.render("front")[0].reshape(-1, 3).mean(axis=0)
    assert means["dim"].sum() < 0.75 * means["normal"].sum()
    assert means["warm"][0] / means["warm"][2] > 1.15 * means["normal"][0] / means["normal"][2]
    studio.reset("studio", 1)
    assert studio.render("front")[0].reshape(-1, 3).mean(axis=0) == pytest.approx(means["normal"], abs=0.01)


def test_the_laser_measures_the_walls(studio):
    studio.reset("studio", 0)
    studio.put_robot(-0.7, -0.5, 0.0)
    scan = studio.scan()
    angles = scan["angle_min"] + scan["angle_increment"] * np.arange(len(scan["ranges"]))
    ranges = scan["ranges"]
    behind = ranges[np.abs(np.abs(angles) - math.pi).argmin()]
    right = ranges[np.abs(angles + math.pi / 2).argmin()]
    assert behind == pytest.approx(2.15 - 0.7, abs=0.03)
    assert right == pytest.approx(2.15 - 0.5, abs=0.03)


def test_a_world_seen_from_above_shows_its_floor(home):
    home.reset("home", 0)
    rgb, depth = home.render("overhead")
    assert rgb.shape == (720, 960, 3)
    assert rgb.std() > 20
    assert 11 < np.median(depth) < 15


def test_joint_states_and_map_are_what_drivers_publish(home):
    home.reset("home", 0)
    state = home.joint_states()
    assert len(state["name"]) == len(state["position"]) == len(state["velocity"]) == len(state["effort"]) == 7
    assert state["position"][6] == pytest.approx(0.0, abs=0.01)
    grid = home.occupancy_grid()
    assert set(np.unique(grid["data"])) == {0, 100}
    column = round((6.7 - grid["origin"][0]) / grid["resolution"])
    row = round((1.0 - grid["origin"][1]) / grid["resolution"])
    assert grid["data"][row, column] == 100


def test_nothing_but_truth_names_an_object(home):
    home.reset("home", 0, "in_gripper:red coke can")
    home.step(0.2)
    seen = [
        home.joint_states(), home.gripper_state(), home.transforms(), home.static_transforms(),
        home.odometry(), home.camera_info("arm"), home.scan(), home.occupancy_grid(),
    ]  # fmt: skip
    text = repr(seen)
    assert not any(name in text for name in home.world.homes)
    assert home.truth()["held"] == "red coke can"
