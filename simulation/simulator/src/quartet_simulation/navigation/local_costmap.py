"""What a robot's sensors show around it as it drives: the local costmap of Nav2, as points instead of cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import ndimage

from quartet_simulation.navigation.costmap import RESOLUTION, Costmap
from quartet_simulation.sensors.depth_rays import COLUMNS, ROWS, DepthRays
from quartet_simulation.sensors.localisation import Localisation, Pose, compose, inverse, moved_by
from quartet_simulation.sensors.timing import Times, after

LASER_PERIOD_S = 0.1
"""Time between two scans [s], as of the topic."""
CAMERA_PERIOD_S, CAMERA_MOVED_M, CAMERA_TURNED_RAD = 0.5, 0.25, 0.35
"""A picture of the front camera is looked at after this time, or once the robot has moved or turned so far."""
WINDOW_M = 1.5
"""Points are kept this far around the robot, for as long as nothing shows that they have gone: half the side of Nav2's
usual local costmap. Odometry that is 1 % and 0.3 degrees off a metre puts them less than 3 cm off within it."""
NEAR_M = 1.2
"""What is farther from the robot's middle than this, it does not meet before the next look [m]."""
CAMERA_RANGE_M = 2.0
"""What the camera shows beyond this is not marked [m]."""
FLOOR_M = 0.015
"""Up to this height, and what its tilt and three errors of its depth make of it, the camera shows the floor [m]."""
VOXEL_M = 0.03
"""Of points within one voxel the newest is kept [m]."""
GONE_M = 0.06
"""A point has gone once the camera sees so much farther than it [m]."""
COLUMN_TOP_M, COLUMN_STEP_M, COLUMN_CELL_M = 1.1, 0.08, 0.05
"""What the laser meets is taken to be so high, but where the camera has seen that it is not: the top, the steps upwards
and the cells of the floor in which that is noted [m]. An arm in its folded pose is lower."""
LOW_M = 0.25
"""What is lower than this stands still: nobody is so small [m]."""
MAPPED_WITHIN_M = 0.15
"""What is so near to something on the static map is that [m]: localisation errs by less."""
ROUND = [(math.cos(angle), math.sin(angle)) for angle in np.linspace(0, 2 * math.pi, 12, endpoint=False)]
"""Directions in which points of an outline lie."""
HEIGHTS = np.arange(0.34, COLUMN_TOP_M, COLUMN_STEP_M)
"""Heights of the points above one of the laser [m]."""
CELL = np.array([COLUMN_CELL_M, COLUMN_CELL_M, COLUMN_STEP_M])
"""Sides of a cell [m]."""
BESIDE = np.array([(x << 40) + (y << 20) for x in (-1, 0, 1) for y in (-1, 0, 1)])
"""What is added to the number of a cell for those beside it, and itself."""


@dataclass(frozen=True)
class Surroundings:
    """Points around a robot."""

    seen: np.ndarray
    """What its sensors show (N, 3) [m]."""
    may_move: np.ndarray
    """Which of them are on no map and higher than LOW_M, so that they may be somebody (N,)."""
    marked: np.ndarray
    """The outlines of things on the floor that are marked in the costmap, which may be lower than what the camera tells
    from the floor here (K, 2) [m]."""
    mapped: np.ndarray
    """Middles of occupied cells of the static map at the border of what is free, as far as localisation is right (M, 2)
    [m]."""


class LocalCostmap:
    """Points that the laser shows now, and those that the front camera has shown and has not seen gone, in odom.

    While the base moves, what a sensor shows arrives later, and is placed by where the base is at its stamp. A robot at
    rest has it at once: scans and pictures of what it stands before have been coming all the time.

    Args:
        costmap: with the static map.
        localisation: of the robot.
        scan: its laser, see sensors/laser.py.
        laser_height: above the floor [m].
        rays: its front camera.
        tilt: by which the front camera may be off [rad].
        picture: depth of `rays` now.
        things: x, y and radius in odom of the things on the floor that were seen [m].
        mounting: optical frame of the front camera in base_footprint, as the robot knows it, 4x4.
        clock: world time [s].
        twist: true twist of base_footprint [m/s, m/s, rad/s].
        standing: whether the base is at rest.
        times: of what "laser" or "front" shows now.
    """

    def __init__(
        self,
        costmap: Costmap,
        localisation: Callable[[], Localisation],
        scan: Callable[[], dict[str, np.ndarray]],
        laser_height: float,
        rays: DepthRays,
        tilt: float,
        picture: Callable[[], np.ndarray],
        things: Callable[[], list[tuple[float, float, float]]],
        mounting: Callable[[], np.ndarray],
        clock: Callable[[], float],
        twist: Callable[[], Pose],
        standing: Callable[[], bool],
        times: Callable[[Literal["laser", "front"]], Times],
    ) -> None:
        self._twist, self._standing, self._times = twist, standing, times
        self._costmap, self._localisation, self._clock = costmap, localisation, clock
        self._scan, self._laser_height = scan, laser_height
        self._rays, self._tilt, self._picture, self._mounting = rays, tilt, picture, mounting
        inner = np.asarray(ndimage.binary_erosion(costmap.static, border_value=1), dtype=bool)
        border = costmap.static & ~inner
        self._things = things
        self._border = np.array([costmap.point(row, column) for row, column in np.argwhere(border)]).reshape(-1, 2)
        self._from_static = np.asarray(ndimage.distance_transform_edt(~costmap.static)) * RESOLUTION
        self.clear()

    def clear(self) -> None:
        """Forget all points until the sensors show them again."""
        self._laser, self._depth = np.empty((0, 3)), np.empty((0, 3))
        self._free = np.empty(0, dtype=np.int64)
        """Cells above what the laser met that the camera has seen to be free."""
        self._in_odom = Surroundings(np.empty((0, 3)), np.empty(0, dtype=bool), np.empty((0, 2)), np.empty((0, 2)))
        self._scanned_at = self._pictured_at = -math.inf
        self._arriving = list[tuple[float, Callable[[], None]]]()
        """When what a sensor has shown arrives [s], and what is done with it then."""
        self._pictured_from: Pose = (0.0, 0.0, 0.0)

    def look(self) -> Surroundings:
        """Take over what the sensors show, where that is due, and return what is around it in base_footprint."""
        now, odom = self._clock(), self._localisation().odom()
        dx, dy, turn = compose(inverse(self._pictured_from), odom)
        moved = math.hypot(dx, dy) >= CAMERA_MOVED_M or abs(turn) >= CAMERA_TURNED_RAD
        scan_due = now - self._scanned_at >= LASER_PERIOD_S - 1e-6
        picture_due = moved or now - self._pictured_at >= CAMERA_PERIOD_S - 1e-6
        if scan_due:
            self._scanned_at = now
            self._take_scan(now, odom)
        if picture_due:
            self._pictured_at, self._pictured_from = now, odom
            self._take_picture(now, odom)
        if self._arrived(now):
            self._in_odom = self._gather(now, odom)
        kept, here = self._in_odom, inverse(odom)
        return Surroundings(
            moved_by(kept.seen, here), kept.may_move, moved_by(kept.marked, here), moved_by(kept.mapped, here)
        )

    def _gather(self, now: float, odom: Pose) -> Surroundings:
        """Return what is around the robot, in odom."""
        estimate = self._localisation().estimate(now)
        to_map = compose(estimate, inverse(odom))
        unknown = self._from_map(moved_by(self._laser, to_map)) > MAPPED_WITHIN_M
        columns = _columns(self._laser)
        # Who was not there when the camera looked is as high as a person.
        high = np.tile(unknown, len(HEIGHTS)) | ~np.isin(_key(_cells(columns)), self._free)
        depth = self._depth[np.hypot(self._depth[:, 0] - odom[0], self._depth[:, 1] - odom[1]) < NEAR_M]
        seen = np.vstack([self._laser, columns[high], depth])
        may_move = (seen[:, 2] > LOW_M) & (self._from_map(moved_by(seen, to_map)) > MAPPED_WITHIN_M)
        near = np.abs(self._border - estimate[:2]).max(axis=1, initial=0.0) < NEAR_M
        to_odom = inverse(to_map)
        outlines = [(x + radius * u, y + radius * v) for x, y, radius in self._things() for u, v in ROUND]
        marked = np.array(outlines).reshape(-1, 2)
        return Surroundings(seen, may_move, marked, moved_by(self._border[near], to_odom))

    def free_box(self, low: np.ndarray, high: np.ndarray) -> None:
        """Note that nothing is above the points of the laser in a box of base_footprint, from `low` to `high` (3,)."""
        odom = self._localisation().odom()
        cells = np.unique(_key(_cells(_columns(self._laser))))
        middles = moved_by(_middles(cells), inverse(odom))
        self._free = np.union1d(self._free, cells[((middles > low) & (middles < high)).all(axis=1)])
        self._in_odom = self._gather(self._clock(), odom)

    def _arrived(self, now: float) -> bool:
        """Take over what has arrived, all of it at rest; return whether there was anything."""
        pending, standing = self._arriving, self._standing()
        self._arriving = [item for item in pending if item[0] > now and not standing]
        for arrives, take in pending:
            if arrives <= now or standing:
                take()
        return len(self._arriving) < len(pending)

    def _take_scan(self, now: float, odom: Pose) -> None:
        times = self._times("laser")
        points = moved_by(self._scanned(), after(odom, self._twist(), times.depth))

        def take() -> None:
            self._laser = points

        self._arriving.append((now + times.arrives, take))

    def _scanned(self) -> np.ndarray:
        """Return the points of a scan (N, 3) in base_footprint [m]."""
        scan = self._scan()
        ranges = scan["ranges"].astype(float)
        angles = scan["angle_min"] + scan["angle_increment"] * np.arange(len(ranges))
        hit = ranges < NEAR_M
        ranges, angles = ranges[hit], angles[hit]
        return np.column_stack(
            [ranges * np.cos(angles), ranges * np.sin(angles), np.full(len(ranges), self._laser_height)]
        )

    def _take_picture(self, now: float, odom: Pose) -> None:
        times, depth, pose = self._times("front"), self._picture(), self._mounting()
        stamped = after(odom, self._twist(), times.depth)
        self._arriving.append((now + times.arrives, lambda: self._see(depth, pose, stamped)))

    def _see(self, depth: np.ndarray, pose: np.ndarray, odom: Pose) -> None:
        """Take over a picture from a mounting `pose` on a base at `odom`."""
        near = (depth > 0) & (depth < CAMERA_RANGE_M)
        shown = self._rays.points(depth, pose, near)
        away = np.linalg.norm(shown - pose[:3, 3], axis=1)
        # Of an error along the ray its share downwards counts.
        floor = FLOOR_M + self._tilt * away + 3 * self._rays.error(away) * (pose[2, 3] - shown[:, 2]) / away
        stands = shown[:, 2] > floor
        # Where it sees the floor nothing stands, however low.
        past = depth.copy()
        past[near] = np.where(stands, depth[near], np.inf)
        here = moved_by(self._depth, inverse(odom))
        kept = ~self._gone(here, past, pose) & (np.hypot(here[:, 0], here[:, 1]) < WINDOW_M)
        self._note_free(past, pose, odom)
        shown = moved_by(shown[stands], odom)
        # The newest first, of which unique() keeps one a voxel.
        points = np.vstack([shown, self._depth[kept]])
        _, first = np.unique(_key(np.floor(points / VOXEL_M).astype(np.int64)), return_index=True)
        self._depth = points[np.sort(first)]

    def _note_free(self, depth: np.ndarray, pose: np.ndarray, odom: Pose) -> None:
        """Note what of the cells above the points of the laser the camera sees past, and past all cells beside them."""
        cells = np.unique(_key(_cells(_columns(self._laser))))
        beside = (cells[:, None] + BESIDE).ravel()
        keys, back = np.unique(beside, return_inverse=True)
        free = self._gone(moved_by(_middles(keys), inverse(odom)), depth, pose)
        # Along a wall it sees past cells that are partly in front of it, but never past those behind.
        self._free = np.union1d(self._free, cells[free[back].reshape(-1, len(BESIDE)).all(axis=1)])

    def _gone(self, points: np.ndarray, depth: np.ndarray, pose: np.ndarray) -> np.ndarray:
        """Return which points of base_footprint (N, 3) the picture shows to have gone: it sees past them all round."""
        local = (points - pose[:3, 3]) @ pose[:3, :3]
        ahead = np.maximum(local[:, 2], 1e-6)
        rows = np.rint(local[:, 1] / ahead * self._rays.focal + (ROWS - 1) / 2)
        columns = np.rint(local[:, 0] / ahead * self._rays.focal + (COLUMNS - 1) / 2)
        shown = (local[:, 2] > 0) & (rows >= 0) & (rows < ROWS) & (columns >= 0) & (columns < COLUMNS)
        # Beside an edge one ray goes past what the next one meets. No return (0) tells nothing.
        least = ndimage.minimum_filter(depth, 3)
        gone = np.zeros(len(points), dtype=bool)
        gone[shown] = least[rows[shown].astype(int), columns[shown].astype(int)] > ahead[shown] + GONE_M
        return gone

    def _from_map(self, points: np.ndarray) -> np.ndarray:
        """Return how far points of map (N, 2 or 3) are from what the static map has [m]."""
        ox, oy = self._costmap.origin
        height, width = self._costmap.shape
        rows = np.round((points[:, 1] - oy) / RESOLUTION).astype(int).clip(0, height - 1)
        columns = np.round((points[:, 0] - ox) / RESOLUTION).astype(int).clip(0, width - 1)
        return self._from_static[rows, columns]


def _columns(points: np.ndarray) -> np.ndarray:
    """Return points above each of the points (N, 3), all of one height after the other (heights * N, 3)."""
    found = np.tile(points, (len(HEIGHTS), 1))
    found[:, 2] = np.repeat(HEIGHTS, len(points))
    return found


def _cells(points: np.ndarray) -> np.ndarray:
    return np.floor(points / CELL).astype(np.int64)


def _key(cells: np.ndarray) -> np.ndarray:
    """Return a number for each cell (N, 3), also where its indices are negative."""
    x, y, z = cells.T
    return (x << 40) + (y << 20) + z


def _middles(keys: np.ndarray) -> np.ndarray:
    """Return the middles (N, 3) of cells by their numbers [m]."""
    z = keys & 0xFFFFF
    y = ((keys >> 20) + 0x80000 & 0xFFFFF) - 0x80000
    x = keys - (y << 20) - z >> 40
    return (np.stack([x, y, z], axis=1) + 0.5) * CELL
