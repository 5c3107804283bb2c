"""Placements: where to put a held object down on a surface, in a container or on the floor."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.errors import NoFreeSpaceError, TooFewPointsError
from quartet_perception.hand_room import HAND_WIDER_M, camera_outline
from quartet_perception.scene.view import Mask, View
from quartet_perception.segmenters.base import SegmentedObject
from quartet_site import Gripper, RobotFile

Array = NDArray[np.float64]

_CELL_M = 0.01
_STANDING_M = 0.06
"""What has its lowest seen point at most this far above a surface stands on it; the rest hovers."""
_THICK_M = 0.012
"""What rises less than this above a surface counts as part of it."""
_SPECK_CELLS, _SPECK_SIGMA = 12, 4.0
"""What covers fewer cells than this stands there only if it rises by more than so many times the surface's noise."""
_TALL_M = 0.45
_EDGE_M = 0.05
"""Least distance of the object's middle from the rim of what is seen of a surface."""
_RIM_M, _BESIDE_M, _FINGER_ROOM_M = 0.01, 0.02, 0.01
"""Room between the object and the rim, between it and what stands there, and between a finger or the hand and that."""
_TURNS = {0.0: 0.0, np.pi: 0.01, np.pi / 2: 0.05, -np.pi / 2: 0.06}
"""How the hand may be turned from closing across the line of sight [rad], and what that costs in metres of distance."""
_SECTOR = np.radians(15)
"""Directions from the robot that are this near to each other have one outline of the hand."""


@dataclass(frozen=True)
class Footprint:
    """Extent of a held object [m]: between the fingers, and across them."""

    across: float
    along: float

    @property
    def longest(self) -> float:
        """The longer one [m]."""
        return max(self.across, self.along)


ORDINARY = Footprint(0.10, 0.10)
"""Of something of which no size is known."""


@dataclass(frozen=True)
class Placement:
    """Where an object is released, base frame [m].

    x, y, z: of the tool flange at the release. yaw: direction in which the fingers close [rad]. underside: where the
    object's underside comes to lie. height: of the surface (95th percentile of z), the rim, or the floor. centroid: of
    what is seen of the place.
    """

    x: float
    y: float
    z: float
    underside: tuple[float, float, float]
    height: float
    centroid: tuple[float, float, float]
    reach_m: float
    yaw: float
    note: str = ""

    @property
    def distance(self) -> float:
        """Horizontal distance from the base frame's origin [m]."""
        return float(np.hypot(self.x, self.y))

    @property
    def reachable(self) -> bool:
        """Whether the arm reaches it from here."""
        return self.distance <= self.reach_m


def on_surface(
    view: View,
    found: SegmentedObject,
    object_height_m: float,
    robot: RobotFile,
    *,
    footprint: Footprint = ORDINARY,
    wrist_camera: Array | None = None,
    x_bias_m: float = 0.0,
    crop_radius_m: float | None = None,
) -> Placement:
    """Return a free spot on a seen surface, a little inside its near edge, and how the hand is turned there.

    The fingers close across the line of sight; where there is no room for that, or only much farther away, along it. On
    a small surface the spot is aside, where that leaves room for another object as large as this one.

    footprint: of the object. wrist_camera: its 4x4 pose in the frame of the tool flange, for things that it would meet.
    x_bias_m: moves the wanted spot away from the robot. crop_radius_m: how far from the wanted spot a free one is
    looked for; None for the whole surface. Raises TooFewPointsError, NoFreeSpaceError.
    """
    mask = found.mask & view.valid
    points = view.points[mask]
    if len(points) < 60:
        raise TooFewPointsError(f"only {len(points)} pixels of '{found.label}' have depth; drive nearer and look again")
    height = float(np.percentile(points[:, 2], 95)) if found.support_z is None else found.support_z
    height = max(height, float(np.percentile(points[:, 2], 50)))
    top = float(np.percentile(points[:, 2], 95))
    z = height + robot.release_m(object_height_m, into=False)
    grid = _Grid.around(points)
    plane = grid.filled(points)
    rises = grid.rises(view, found, height, _noise_of(points))
    standing = np.isfinite(rises)
    x, y = grid.centres()
    radial, bearing = np.hypot(x, y), np.arctan2(y, x)
    near, far = _edges(plane | standing, radial, bearing)
    inset = np.minimum(robot.manipulation.edge_inset_m + x_bias_m, np.maximum((far - near) / 2, 0.0))
    reach = robot.arm.reach_top_down_m
    aim = float(np.median(bearing[plane]))
    cost = np.abs(radial - near - inset) + 0.5 * np.abs(bearing - 0.5 * aim) * radial
    cost += 10.0 * np.maximum(radial - (reach - 0.01), 0)
    from_edge = ndimage.distance_transform_edt(np.pad(plane | standing, 1))[1:-1, 1:-1] * _CELL_M
    allowed = from_edge >= _EDGE_M
    if crop_radius_m is not None:
        wanted = np.unravel_index(int(np.argmin(np.where(plane | standing, cost, np.inf))), cost.shape)
        allowed &= np.hypot(x - x[wanted], y - y[wanted]) <= crop_radius_m
    outline = _Outline.of(robot.gripper, footprint, z - height, wrist_camera)
    turned = {turn: allowed & fits for turn, fits in outline.fits(plane, rises, bearing).items()}
    good = np.any(list(turned.values()), axis=0)
    if not good.any():
        raise NoFreeSpaceError(
            f"'{found.label}' is seen, but no free spot of {footprint.across:.2f} x {footprint.along:.2f} m with room "
            "for the fingers is in view on it; look from another side or choose another place"
        )
    leaves_room = good & (_farthest(x, y, good) > footprint.longest / 2 + outline.apart)
    if leaves_room.any():
        turned = {turn: fits & leaves_room for turn, fits in turned.items()}
    costs = {turn: np.where(fits, cost + _TURNS[turn], np.inf) for turn, fits in turned.items()}
    turn = min(costs, key=lambda one: float(costs[one].min()))
    row, col = np.unravel_index(int(np.argmin(costs[turn])), cost.shape)
    cx, cy = float(x[row, col]), float(y[row, col])
    middle = points.mean(axis=0)
    return Placement(
        cx,
        cy,
        z,
        (cx, cy, height),
        top,
        (float(middle[0]), float(middle[1]), float(middle[2])),
        reach,
        across_sight(cx, cy) + turn,
    )


def across_sight(x: float, y: float) -> float:
    """Return the yaw [rad] with which fingers at a point of the base frame close across the line of sight to it."""
    return float(np.arctan2(y, x)) + np.pi / 2


def into_container(view: View, found: SegmentedObject, object_height_m: float, robot: RobotFile) -> Placement:
    """Return the placement above the middle of a container's opening. Raises TooFewPointsError."""
    points = view.points[found.mask & view.valid]
    if found.solid is None or len(points) < 30:
        raise TooFewPointsError(
            f"'{found.label}' is seen, but its depth is too sparse ({len(points)} points); drive nearer"
        )
    rim = _rim(points, found.solid.top)
    z = rim + robot.release_m(object_height_m, into=True)
    bottom = found.support_z if found.support_z is not None else found.solid.z
    x, y = found.solid.x, found.solid.y
    return Placement(x, y, z, (x, y, bottom), rim, (x, y, rim), robot.arm.reach_top_down_m, across_sight(x, y))


def on_floor(view: View | None, object_height_m: float, robot: RobotFile, *, x_bias_m: float = 0.0) -> Placement:
    """Return a spot straight ahead on the floor, or beside it when something stands there. Raises NoFreeSpaceError."""
    m = robot.manipulation
    z = robot.hanging_m(object_height_m) + m.floor_drop_clearance_m
    wanted = (m.floor_drop_x_m + x_bias_m, m.floor_drop_y_m)
    spots = [wanted]
    spots += [
        (wanted[0] + dx, wanted[1] + dy) for dx in (0.0, 0.12, 0.24, 0.36) for dy in (0.0, 0.15, -0.15, 0.3, -0.3)
    ]
    obstacles = _low_points(view)
    fingers = robot.gripper.stroke_m / 2 + robot.gripper.finger_thickness_m
    for x, y in spots:
        if not len(obstacles) or int((np.hypot(obstacles[:, 0] - x, obstacles[:, 1] - y) < fingers).sum()) < 8:
            note = "" if (x, y) == wanted else "moved from the usual spot, where something stands"
            middle = (x, y, 0.0)
            return Placement(x, y, z, middle, 0.0, middle, robot.arm.reach_floor_m, across_sight(x, y), note)
    raise NoFreeSpaceError("things stand on the floor everywhere before the robot; turn or back up, then try again")


def _rim(points: NDArray[np.float32], expected: float) -> float:
    """Return the height of a container's rim: the highest dense points near where the catalogue has it."""
    z = points[:, 2]
    near = z[np.abs(z - expected) < 0.03]
    return float(np.percentile(near, 95)) if len(near) >= 20 else expected


def _low_points(view: View | None) -> NDArray[np.float32]:
    """Return the Nx2 points of objects that stand on the floor before the robot."""
    if view is None:
        return np.zeros((0, 2), dtype=np.float32)
    points = view.points[::2, ::2][view.valid[::2, ::2]]
    near = (points[:, 0] > 0.25) & (points[:, 0] < 1.2) & (np.abs(points[:, 1]) < 0.6)
    return points[near & (points[:, 2] > 0.02) & (points[:, 2] < 0.25)][:, :2]


def _edges(
    seen: Mask, radial: NDArray[np.float64], bearing: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for every cell the distance of the surface's near and far edge in its direction (2 degree sectors)."""
    sector = np.round(np.degrees(bearing) / 2).astype(int)
    sector -= sector.min()
    near = np.full(sector.max() + 1, np.inf)
    far = np.full(sector.max() + 1, -np.inf)
    np.minimum.at(near, sector[seen], radial[seen])
    np.maximum.at(far, sector[seen], radial[seen])
    near, far = np.where(np.isfinite(near), near, 0.0), np.where(np.isfinite(far), far, 0.0)
    return near[sector], far[sector]


def _farthest(x: NDArray[np.floating], y: NDArray[np.floating], cells: Mask) -> NDArray[np.floating]:
    """Return the distance of every cell's middle to the farthest of `cells` [m], to some parts in a hundred."""
    directions = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    ahead = np.cos(directions)[:, None] * x[cells] + np.sin(directions)[:, None] * y[cells]
    outermost = np.unique(ahead.argmax(axis=1))
    return np.max([np.hypot(x - x[cells][one], y - y[cells][one]) for one in outermost], axis=0)


@dataclass(frozen=True)
class _Outline:
    """What a hand with an object needs on a surface, as points (Nx2) [m] of a frame whose x is where the fingers close.

    whole: where the surface must be. object, fingers: where nothing may stand. hand: where nothing may be higher than
    `over` above the surface. apart: from the middle of the object to that of another one beside the fingers.
    """

    whole: Array
    object: Array
    fingers: Array
    hand: Array
    over: float
    apart: float

    @classmethod
    def of(cls, gripper: Gripper, footprint: Footprint, flange: float, wrist_camera: Array | None) -> "_Outline":
        """Return that of an object which is released with the flange so high above the surface [m]."""
        a, b = footprint.across / 2, footprint.along / 2
        outer = gripper.stroke_m / 2 + gripper.finger_thickness_m
        pad = gripper.pad_width_m / 2 + _FINGER_ROOM_M
        hand = [_rectangle(outer + _FINGER_ROOM_M, pad + HAND_WIDER_M)]
        if wrist_camera is not None:
            hand.append(camera_outline(wrist_camera, 0.0))
        return cls(
            whole=_rectangle(a + _RIM_M, b + _RIM_M),
            object=_rectangle(a + _BESIDE_M, b + _BESIDE_M),
            fingers=_rectangle(outer + _FINGER_ROOM_M, pad),
            hand=np.vstack(hand),
            over=flange - gripper.finger_offset_m + gripper.grasp_depth_m,
            apart=max(outer, footprint.longest / 2 + _BESIDE_M),
        )

    def fits(self, plane: Mask, rises: NDArray[np.floating], bearing: NDArray[np.float64]) -> dict[float, Mask]:
        """Return for each of _TURNS the cells over which it fits.

        plane: cells of the surface. rises: height of what stands on each cell above it, -inf where nothing does [m].
        bearing: direction from the robot to each cell [rad].
        """
        good = {turn: np.zeros(plane.shape, dtype=bool) for turn in _TURNS}
        standing, high = np.isfinite(rises), rises > self.over
        sectors = np.round(bearing / _SECTOR).astype(int)
        for sector in np.unique(sectors[plane]):
            yaw, here = sector * _SECTOR + np.pi / 2, (sectors == sector) & plane
            for axis in (0.0, np.pi / 2):
                # All but the camera is the same after half a turn.
                blocked = _near(~np.pad(plane, 1), self.whole, yaw + axis)[1:-1, 1:-1]
                blocked |= _near(standing, self.object, yaw + axis) | _near(standing, self.fingers, yaw + axis)
                for turn in _TURNS:
                    if np.isclose(turn % np.pi, axis):
                        good[turn] |= here & ~blocked & ~_near(high, self.hand, yaw + turn)
        return good


def _rectangle(half_x: float, half_y: float) -> Array:
    """Return the points (Nx2) of a rectangle around the origin, half a cell apart [m]."""
    x, y = (np.linspace(-half, half, 2 + int(np.ceil(4 * half / _CELL_M))) for half in (half_x, half_y))
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _near(cells: Mask, outline: Array, yaw: float) -> Mask:
    """Return the cells from which any of the `cells` is within an outline (Nx2) [m] that is turned by `yaw` [rad]."""
    if not cells.any():
        return np.zeros(cells.shape, dtype=bool)
    c, s = np.cos(yaw), np.sin(yaw)
    offsets = np.round(outline @ np.array([[c, s], [-s, c]]) / _CELL_M).astype(int)
    half = int(np.abs(offsets).max())
    structure = np.zeros((2 * half + 1, 2 * half + 1), dtype=bool)
    # A dilation asks for what lies at minus an offset.
    structure[half - offsets[:, 0], half - offsets[:, 1]] = True
    return ndimage.binary_dilation(cells, structure)


@dataclass(frozen=True)
class _Grid:
    """Cells of 1 cm over a surface; [row, column] is [x, y] of the base frame."""

    x0: float
    y0: float
    shape: tuple[int, int]

    @classmethod
    def around(cls, points: NDArray[np.float32]) -> "_Grid":
        low, high = np.percentile(points[:, :2], 0.5, axis=0) - 0.02, np.percentile(points[:, :2], 99.5, axis=0) + 0.02
        rows, cols = np.clip(np.ceil((high - low) / _CELL_M).astype(int), 1, 400)
        return cls(float(low[0]), float(low[1]), (int(rows), int(cols)))

    def centres(self) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        x = self.x0 + (np.arange(self.shape[0]) + 0.5) * _CELL_M
        y = self.y0 + (np.arange(self.shape[1]) + 0.5) * _CELL_M
        grid = np.meshgrid(x, y, indexing="ij")
        return grid[0], grid[1]

    def _cells(self, points: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.intp], Mask]:
        row = np.floor((points[:, 0] - self.x0) / _CELL_M).astype(np.intp)
        col = np.floor((points[:, 1] - self.y0) / _CELL_M).astype(np.intp)
        inside = (row >= 0) & (row < self.shape[0]) & (col >= 0) & (col < self.shape[1])
        return row[inside], col[inside], inside

    def filled(self, points: NDArray[np.float32]) -> Mask:
        """Return the cells with points; small gaps between scan lines are closed."""
        row, col, _ = self._cells(points)
        cells = np.zeros(self.shape, dtype=bool)
        cells[row, col] = True
        return ndimage.binary_closing(np.pad(cells, 3), structure=np.ones((5, 5)))[3:-3, 3:-3]

    def rises(self, view: View, found: SegmentedObject, height: float, noise_m: float) -> NDArray[np.floating]:
        """Return how high what stands on a surface rises above it in each cell [m], -inf where nothing does.

        height, noise_m: of the surface [m].
        """
        points = view.points[view.valid & ~found.mask]
        points = points[(points[:, 2] > height + _THICK_M) & (points[:, 2] < height + _TALL_M)]
        row, col, inside = self._cells(points)
        lowest, highest = np.full(self.shape, np.inf), np.full(self.shape, -np.inf)
        np.minimum.at(lowest, (row, col), points[inside][:, 2] - height)
        np.maximum.at(highest, (row, col), points[inside][:, 2] - height)
        labels, count = ndimage.label(np.isfinite(lowest), structure=np.ones((3, 3)))
        if count == 0:
            return highest
        each = np.arange(1, count + 1)
        cells = np.bincount(labels.ravel(), minlength=count + 1)[1:]
        stands = (np.asarray(ndimage.minimum(lowest, labels, index=each)) < _STANDING_M) & (cells >= 2)
        top = np.asarray(ndimage.maximum(highest, labels, index=each))
        stands &= (cells >= _SPECK_CELLS) | (top > _SPECK_SIGMA * noise_m)
        return np.where(np.concatenate([[False], stands])[labels], highest, -np.inf)


def _noise_of(points: NDArray[np.float32]) -> float:
    """Return the standard deviation of a surface's points (Nx3) about the plane that fits them [m].

    A plane is fitted, since an error of the camera's pose tilts the surface; outliers are left out.
    """
    used, noise = points[:: 1 + len(points) // 4000].astype(np.float64), 0.0
    for _ in range(3):
        design = np.column_stack([used[:, :2], np.ones(len(used))])
        off = np.abs(used[:, 2] - design @ np.linalg.lstsq(design, used[:, 2], rcond=None)[0])
        noise = 1.4826 * float(np.median(off))
        used = used[off <= 3 * noise + 1e-6]
    return noise
