"""What the robot's laser, planner and map server publish, reduced to what a person can see on a map."""

import math
import time

import numpy as np
from numpy.typing import NDArray

from quartet_contracts.tools.perception import OccupancyMap
from quartet_robot_link import Message, QoS, RobotLink, Subscription, Transform

UNWATCHED_S = 15.0
"""A topic that nobody has asked for in this time (wall time) is unsubscribed."""
MOST_LASER_POINTS, MOST_PATH_POINTS = 180, 60
MOST_CELLS, MOST_RUNS = 200, 4000
OCCUPIED = 65
"""Percentage from which a cell counts as occupied: `occupied_thresh` of nav2_map_server."""


class WatchedTopic:
    """The newest message of a topic that is subscribed to only while somebody asks for it."""

    def __init__(self, link: RobotLink, topic: str, msg_type: str, qos: QoS, period_ms: int) -> None:
        """`period_ms` is the shortest time between two messages; the bridge drops the others."""
        self._link, self._topic, self._msg_type, self._qos, self._period_ms = link, topic, msg_type, qos, period_ms
        self._subscription: Subscription | None = None
        self._newest: tuple[float, Message] | None = None
        self._asked_at = 0.0

    def newest(self, max_age_s: float) -> Message | None:
        """Return the newest message unless it came more than `max_age_s` ago (wall time); the first call has none."""
        self._asked_at = time.monotonic()
        if self._subscription is None:
            self._subscription = self._link.subscribe(
                self._topic,
                self._msg_type,
                qos=self._qos,
                throttle_ms=self._period_ms,
                keep=1,
                on_message=self._on_message,
            )
        return self._newest[1] if self._newest and self._asked_at - self._newest[0] <= max_age_s else None

    def _on_message(self, message: Message) -> None:
        now = time.monotonic()
        self._newest = now, message
        if now - self._asked_at > UNWATCHED_S and self._subscription is not None:
            self._subscription.close()
            self._subscription = None


def laser_points(scan: Message, map_from_laser: Transform) -> list[tuple[float, float]]:
    """Return where the rays of a sensor_msgs/LaserScan end in the map [m]; those without a return are left out."""
    # JSON has no infinity: such a range comes as null.
    ranges = np.array([math.nan if one is None else one for one in scan["ranges"]], dtype=np.float64)
    angles = scan["angle_min"] + scan["angle_increment"] * np.arange(len(ranges))
    hit = np.isfinite(ranges) & (ranges >= scan["range_min"]) & (ranges <= scan["range_max"])
    ranges, angles = ranges[hit], angles[hit]
    step = max(1, math.ceil(len(ranges) / MOST_LASER_POINTS))
    ranges, angles = ranges[::step], angles[::step]
    local = np.stack([ranges * np.cos(angles), ranges * np.sin(angles), np.zeros_like(ranges), np.ones_like(ranges)])
    return _rounded((map_from_laser.matrix @ local)[:2].T)


def planar_covariance(located: Message) -> NDArray[np.float64] | None:
    """Return the covariance (3x3: x, y [m], yaw [rad]) of a geometry_msgs/PoseWithCovarianceStamped.

    None for one that no covariance can be: localisation that does not tell it fills in zeros.
    """
    full = np.array([math.nan if one is None else one for one in located["pose"]["covariance"]], dtype=np.float64)
    if full.size != 36:
        return None
    planar = full.reshape(6, 6)[np.ix_((0, 1, 5), (0, 1, 5))]
    known = bool(np.isfinite(planar).all()) and bool((np.diag(planar) > 0).all())
    return planar if known else None


def path_points(path: Message, map_frame: str) -> list[tuple[float, float]]:
    """Return the points of a nav_msgs/Path [m], thinned out; none when it is in another frame than the map's."""
    poses = path.get("poses") or []
    if path["header"]["frame_id"].lstrip("/") != map_frame or not poses:
        return []
    chosen = np.unique(np.linspace(0, len(poses) - 1, min(len(poses), MOST_PATH_POINTS)).round().astype(int))
    positions = [poses[index]["pose"]["position"] for index in chosen]
    return _rounded(np.array([(one["x"], one["y"]) for one in positions]))


def occupancy_map(grid: Message) -> OccupancyMap:
    """Return the occupied cells of a nav_msgs/OccupancyGrid, in larger cells where there are too many.

    Raises ValueError for a grid whose size does not fit its data.
    """
    info = grid["info"]
    rows, columns = int(info["height"]), int(info["width"])
    data = np.asarray(grid["data"], dtype=np.int8)
    if rows < 1 or columns < 1 or data.size != rows * columns:
        raise ValueError(f"the map has {data.size} cells and says {columns} x {rows}")
    occupied = data.reshape(rows, columns) >= OCCUPIED
    factor = math.ceil(max(rows, columns) / MOST_CELLS)
    while len(runs := _runs(_coarser(occupied, factor))) > MOST_RUNS:
        factor *= 2
    q = info["origin"]["orientation"]
    return OccupancyMap(
        cell_m=float(info["resolution"]) * factor,
        columns=math.ceil(columns / factor),
        rows=math.ceil(rows / factor),
        origin=(info["origin"]["position"]["x"], info["origin"]["position"]["y"]),
        yaw=math.atan2(2 * (q["w"] * q["z"] + q["x"] * q["y"]), 1 - 2 * (q["y"] ** 2 + q["z"] ** 2)),
        occupied=runs,
    )


def _coarser(occupied: NDArray[np.bool_], factor: int) -> NDArray[np.bool_]:
    """Return cells of `factor` x `factor` cells each, occupied where one of them is."""
    rows, columns = (math.ceil(size / factor) for size in occupied.shape)
    padded = np.zeros((rows * factor, columns * factor), dtype=bool)
    padded[: occupied.shape[0], : occupied.shape[1]] = occupied
    return np.asarray(padded.reshape(rows, factor, columns, factor).any(axis=(1, 3)))


def _runs(occupied: NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    edges = np.diff(np.pad(occupied.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    (rows, begins), (_, ends) = np.nonzero(edges == 1), np.nonzero(edges == -1)
    return [(int(row), int(begin), int(end - begin)) for row, begin, end in zip(rows, begins, ends, strict=True)]


def _rounded(points: NDArray[np.float64]) -> list[tuple[float, float]]:
    return [(round(float(x), 2), round(float(y), 2)) for x, y in points if math.isfinite(x) and math.isfinite(y)]
