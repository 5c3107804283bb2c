"""Pictures and scans of a robot that moves arrive later than they were taken, and their stamps are off."""

from types import SimpleNamespace

import numpy as np
import pytest

from quartet_simulation.arm_simulation import FIXED_FRAME
from quartet_simulation.ros.cameras import Cameras
from quartet_simulation.ros.graph import Graph
from quartet_simulation.sensors.levels import LEVELS, TimingLevel
from quartet_simulation.sensors.timing import AT_ONCE, Times, after, times_of

TYPICAL = LEVELS["typical"].timing
PICTURES = [f"/front_camera/{name}" for name in ("color/image_raw", "aligned_depth_to_color/image_raw")]


def drawn(level: TimingLevel | None, sensor: str) -> list[Times]:
    return [times_of(level, 3, sensor, 0.1 * step) for step in range(400)]


def test_clean_sensors_answer_at_once():
    assert drawn(LEVELS["clean"].timing, "front") == [AT_ONCE] * 400


@pytest.mark.parametrize("level", ["typical", "harsh"])
def test_pictures_are_late_as_the_level_says_and_colour_beside_depth(level):
    timing = LEVELS[level].timing
    times = drawn(timing, "front")
    assert np.mean([one.arrives for one in times]) == pytest.approx(timing.delay_s, abs=0.002)
    assert np.mean([one.depth for one in times]) == pytest.approx(timing.late_s, abs=0.002)
    assert np.std([one.depth for one in times]) == pytest.approx(timing.jitter_s, rel=0.25)
    apart = np.array([one.colour - one.depth for one in times])
    assert np.abs(apart).max() <= timing.apart_s
    assert np.ptp(apart) > 1.8 * timing.apart_s
    assert min(one.depth for one in times) >= 0 <= min(one.arrives for one in times)
    assert drawn(timing, "front") == times


def test_a_scan_has_one_stamp_and_comes_after_its_turn():
    times = drawn(TYPICAL, "laser")
    assert all(one.colour == one.depth for one in times)
    assert np.mean([one.arrives for one in times]) == pytest.approx(TYPICAL.scan_s, abs=0.002)


def test_a_base_goes_on_by_its_twist():
    assert after((1.0, 2.0, np.pi / 2), (0.5, 0.0, 0.1), 0.2) == pytest.approx((1.0, 2.1, np.pi / 2 + 0.02))


@pytest.fixture
def camera_node():
    """The node of the cameras on a graph, and what is published: topic and stamp [s]."""
    graph, heard = Graph(lambda: 0), list[tuple[str, float]]()
    world = SimpleNamespace(revision=0, poke=lambda: None)
    node = Cameras(world, graph, lambda call: call())

    def hear(published) -> None:
        stamp = published.message["header"]["stamp"]
        heard.append((published.topic, stamp["sec"] + stamp["nanosec"] * 1e-9))

    for topic in PICTURES:
        graph.listen(topic, None, "/test", hear)
    picture = np.zeros((2, 2, 3), np.uint8), np.ones((2, 2), np.float32)
    sim = SimpleNamespace(
        time=5.0,
        jpeg_quality=80,
        render=lambda name: picture,
        camera_info=lambda name: {"frame": "optical"},
        times_of=lambda name: Times(0.03, 0.02, 0.05),
    )

    def tick(moving: bool) -> list[tuple[str, float]]:
        node.tick(sim, moving)
        node._worker.submit(lambda: None).result()
        new, heard[:] = heard.copy(), []
        return sorted(new)

    yield sim, world, tick
    node.close()


COLOUR, DEPTH = PICTURES


def test_a_moving_robots_picture_is_published_when_it_arrives_with_both_stamps(camera_node):
    sim, _, tick = camera_node
    assert tick(True) == []
    sim.time = 5.04
    assert tick(True) == []
    sim.time = 5.05
    assert tick(True) == [(DEPTH, pytest.approx(5.02)), (COLOUR, pytest.approx(5.03))]


def test_a_robot_at_rest_has_the_newest_picture(camera_node):
    _, _, tick = camera_node
    assert [topic for topic, _ in tick(False)] == [DEPTH, COLOUR]


def test_what_is_on_its_way_when_a_robot_comes_to_rest_arrives(camera_node):
    _, _, tick = camera_node
    tick(True)
    assert (DEPTH, pytest.approx(5.02)) in tick(False)


def test_a_picture_of_an_old_episode_does_not_arrive_in_the_next(camera_node):
    sim, world, tick = camera_node
    tick(True)
    world.revision, sim.time = 1, 0.0
    assert all(stamp < 1.0 for _, stamp in tick(False))


@pytest.fixture
def driving(studio, monkeypatch):
    """What the sensors show around a base that drives at 0.5 m/s along a wall by what it is told, and its clock [s]."""
    studio.reset("studio", 0)
    studio.put_robot(-1.4, -0.5, np.pi / 2)
    local = studio._base._local
    local.look()
    clock = SimpleNamespace(now=studio.time)
    told = {
        "_clock": lambda: clock.now,
        "_standing": lambda: False,
        "_twist": lambda: (0.5, 0.0, 0.0),
        "_times": lambda sensor: Times(0.0, 0.1, 0.06),
    }
    for name, value in told.items():
        monkeypatch.setattr(local, name, value)
    return local, clock


def test_a_scan_of_a_base_that_drives_comes_later_and_lies_where_it_is_at_the_stamp(driving):
    local, clock = driving
    before = local._laser
    clock.now += 0.1
    local.look()
    clock.now += 0.05
    local.look()
    assert np.array_equal(local._laser, before)
    clock.now += 0.011
    local.look()
    assert local._laser[:, 0].mean() == pytest.approx(before[:, 0].mean() + 0.05, abs=0.005)


def test_a_picture_of_a_base_that_drives_comes_later(driving):
    local, clock = driving
    before = local._depth
    clock.now += 0.5
    local.look()
    assert local._depth is before
    clock.now += 0.061
    local.look()
    assert local._depth is not before


def test_at_rest_all_that_was_on_its_way_has_come(driving):
    local, clock = driving
    before = local._laser
    clock.now += 0.1
    local.look()
    local._standing = lambda: True
    local.look()
    # Seen at rest, the same points with the noise of another time.
    assert not np.array_equal(local._laser, before)


def test_a_mark_is_where_the_base_is_at_the_stamp(studio, monkeypatch):
    studio.reset("studio", 0)
    studio.put_robot(-1.0, 0.0, 0.0)
    studio.place_object("red coke can", 0.2, 0.1, 0.0)
    studio.clear_costmaps()
    x, y, _ = studio._costmap.marks["red coke can"]
    monkeypatch.setattr(studio._physics, "base_twist", lambda: (0.5, 0.0, 0.0))
    monkeypatch.setattr(studio, "times_of", lambda sensor: Times(0.2, 0.2, 0.0))
    studio.clear_costmaps()
    assert studio._costmap.marks["red coke can"][:2] == pytest.approx((x + 0.1, y), abs=0.015)


def test_the_octomap_has_a_picture_where_the_base_is_at_its_stamp(studio, monkeypatch):
    studio.reset("studio", 0)
    seen = []
    monkeypatch.setattr(studio._octomap, "integrate", lambda view, body: seen.append(view.pose))
    studio.render("front")
    monkeypatch.setattr(studio, "times_of", lambda sensor: Times(0.2, 0.2, 0.0))
    monkeypatch.setattr(studio, "base_twist", lambda: (0.5, 0.0, 0.0))
    studio._mapped.clear()
    studio._map("front")
    ahead = studio.frame_tree().between(FIXED_FRAME, studio.arm.base)[:3, 0]
    assert seen[1][:3, 3] - seen[0][:3, 3] == pytest.approx(0.1 * ahead, abs=1e-6)
