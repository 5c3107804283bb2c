"""Laser, path and occupancy map as they are shown to a person: in the map frame, and never many numbers."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from quartet_perception import surroundings
from quartet_perception.surroundings import WatchedTopic, laser_points, occupancy_map, path_points, planar_covariance
from quartet_robot_link import SENSOR, Message, Rigid, Transform


def at(x: float, y: float, yaw: float) -> Transform:
    return Transform("map", "laser", Rigid((x, y, 0.2), (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))), 0.0)


def scan(ranges: list[float | None]) -> Message:
    return {"angle_min": 0.0, "angle_increment": math.pi / 2, "range_min": 0.1, "range_max": 10.0, "ranges": ranges}


def grid(data: Any, yaw: float = 0.0, resolution: float = 0.05) -> Message:
    height, width = np.shape(data)
    turned = {"x": 0.0, "y": 0.0, "z": math.sin(yaw / 2), "w": math.cos(yaw / 2)}
    origin = {"position": {"x": -1.0, "y": 2.0, "z": 0.0}, "orientation": turned}
    info = {"resolution": resolution, "width": width, "height": height, "origin": origin}
    return {"info": info, "data": np.ravel(data)}


def test_rays_end_in_the_map_and_those_without_a_return_nowhere() -> None:
    found = laser_points(scan([1.0, 2.0, math.inf, None, 0.05, 3.0]), at(5.0, 1.0, math.pi / 2))
    assert found == [(5.0, 2.0), (3.0, 1.0), (2.0, 1.0)]


def test_a_fine_laser_is_thinned_out() -> None:
    fine = {**scan([2.0] * 3000), "angle_increment": 2 * math.pi / 3000}
    assert 90 <= len(laser_points(fine, at(0, 0, 0))) <= 180


def test_a_covariance_of_localisation_is_that_on_the_floor_and_zeros_are_none() -> None:
    full = np.arange(36.0) + 1
    planar = planar_covariance({"pose": {"covariance": full.tolist()}})
    assert planar is not None
    assert planar.tolist() == [[1, 2, 6], [7, 8, 12], [31, 32, 36]]
    assert planar_covariance({"pose": {"covariance": [0.0] * 36}}) is None
    assert planar_covariance({"pose": {"covariance": [None] * 36}}) is None
    assert planar_covariance({"pose": {"covariance": [1.0]}}) is None


def test_a_path_is_thinned_out_with_both_ends_and_one_of_another_frame_is_none() -> None:
    poses = [{"pose": {"position": {"x": 0.05 * step, "y": 1.0, "z": 0.0}}} for step in range(400)]
    path = {"header": {"frame_id": "map"}, "poses": poses}
    found = path_points(path, "map")
    assert (len(found), found[0], found[-1]) == (60, (0.0, 1.0), (19.95, 1.0))
    assert path_points({**path, "header": {"frame_id": "odom"}}, "map") == []
    assert path_points({**path, "poses": []}, "map") == []


def test_a_map_is_runs_of_occupied_cells() -> None:
    found = occupancy_map(grid([[0, 100, 100, -1], [65, 64, 0, 100]], yaw=0.5))
    assert found.occupied == [(0, 1, 2), (1, 0, 1), (1, 3, 1)]
    assert (found.cell_m, found.columns, found.rows, found.origin) == (0.05, 4, 2, (-1.0, 2.0))
    assert found.yaw == pytest.approx(0.5)


def test_a_large_map_has_larger_cells_that_lose_no_wall() -> None:
    data = np.zeros((1001, 2000), dtype=np.int8)
    data[:, 1999] = 100
    found = occupancy_map(grid(data))
    assert (found.cell_m, found.columns, found.rows) == (0.5, 200, 101)
    assert found.occupied == [(row, 199, 1) for row in range(101)]
    noise = occupancy_map(grid(np.random.default_rng(1).choice([0, 100], (200, 200))))
    assert len(noise.occupied) <= surroundings.MOST_RUNS


def test_a_map_that_says_another_size_than_it_has_is_refused() -> None:
    broken = grid([[0, 100]])
    broken["info"]["width"] = 3
    with pytest.raises(ValueError, match="2 cells and says 3 x 1"):
        occupancy_map(broken)


class Bridge:
    """Keeps what is subscribed to."""

    def __init__(self) -> None:
        self.open = 0
        self.hear: Callable[[Message], None] = lambda message: None

    def subscribe(self, topic: str, msg_type: str, *, on_message: Callable[[Message], None], **_: object) -> "Bridge":
        self.open, self.hear = self.open + 1, on_message
        return self

    def close(self) -> None:
        self.open -= 1


def test_a_topic_is_subscribed_to_only_while_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("quartet_perception.surroundings.time.monotonic", lambda: now[0])
    bridge = Bridge()
    watched = WatchedTopic(bridge, "/scan", "sensor_msgs/msg/LaserScan", SENSOR, 500)  # type: ignore[arg-type]
    assert bridge.open == 0
    assert watched.newest(3.0) is None
    bridge.hear({"n": 1})
    assert watched.newest(3.0) == {"n": 1}
    now[0] += 4.0
    assert watched.newest(3.0) is None, "too old"
    now[0] += 14.0
    bridge.hear({"n": 2})
    assert bridge.open == 1
    now[0] += 2.0
    bridge.hear({"n": 3})
    assert bridge.open == 0
    watched.newest(3.0)
    assert bridge.open == 1
