"""A printed chessboard, and how its inner corners are found in a picture."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Array = NDArray[np.float64]

SMOOTHING_PX = 1.2
"""Width of the Gaussian whose derivatives are taken."""
CANDIDATES = 500
"""Saddle points of a picture that are looked at, the most pronounced first."""
FAINTEST = 0.03
"""A corner's saddle has at least this share of the most pronounced one's strength."""
SEEDS = 60
STEP_SHARE = 0.3
"""A corner is at most this share of a square away from where its neighbours let it expect."""
TURNED = 0.5
"""Least cosine between the directions of corners that should be alike, and its negative of those that should not."""
LEAST_SQUARE_PX = 5.0
"""Smaller squares are not found reliably."""
LEAST_CONTRAST = 10.0
"""Between neighbouring squares, of 255."""
FIT_PX = 1.0
"""RMS distance of the corners from a flat board."""


@dataclass(frozen=True)
class Chessboard:
    """A board of `columns` x `rows` squares of `square_m`, of which one count is odd and the other even.

    Then half a turn swaps black and white, and each corner has a name of its own. Its frame is in the middle, x along
    the columns, y along the rows, z into the board, and the square at the start of both is black.
    """

    columns: int = 10
    rows: int = 7
    square_m: float = 0.027

    @property
    def corners(self) -> Array:
        """Inner corners in the board's frame [m], (N, 3), row by row."""
        y, x = np.mgrid[1 : self.rows, 1 : self.columns].reshape(2, -1).astype(float)
        flat = np.stack([x - self.columns / 2, y - self.rows / 2, np.zeros_like(x)], axis=1)
        return flat * self.square_m


def find_corners(board: Chessboard, colour: NDArray[np.uint8]) -> Array | None:
    """Return the inner corners of the board in a picture, (N, 2) as x, y [pixels] in the order of `board.corners`.

    Corners are the saddle points of brightness; they are joined to a lattice from a first one outwards, as Geiger et
    al. do it ("Automatic camera and range sensor calibration using a single shot", ICRA 2012). None when the whole
    board is not seen.

    Args:
        board: what is looked for.
        colour: HxWx3, RGB.
    """
    grey = colour.astype(float) @ np.array([0.299, 0.587, 0.114])
    saddles = _saddles(grey)
    shape = (board.columns - 1, board.rows - 1)
    if len(saddles.points) < shape[0] * shape[1]:
        return None
    tried = set[int]()
    for seed in range(min(SEEDS, len(saddles.points))):
        # What a lattice took that was no board is not tried again.
        for lattice in () if seed in tried else _lattices(saddles, seed):
            tried |= set(lattice.values())
            for ordered in _orders(lattice, saddles.points, shape):
                found = _refined(grey, ordered, shape)
                if found is not None and _is_board(board, grey, found):
                    return found
    return None


@dataclass(frozen=True)
class _Saddles:
    """Saddle points of brightness, the most pronounced first.

    points: (N, 2) as x, y [px]. ways: (N, 2), the doubled angle in which each is bright as a unit vector. From a corner
    of a board to the next one it turns by half a turn, because black and white change places.
    """

    points: Array
    ways: Array


def _derivative(grey: Array, sigma: float, order: Any) -> Array:
    """Return a derivative of a smoothed picture; `order`: how often by row and by column."""
    return ndimage.gaussian_filter(grey, sigma, order=order)


def _saddles(grey: Array) -> _Saddles:
    xx, xy, yy = (_derivative(grey, SMOOTHING_PX, order) for order in ((0, 2), (1, 1), (2, 0)))
    strength = xy**2 - xx * yy
    best = (strength == ndimage.maximum_filter(strength, size=5)) & (strength > FAINTEST * strength.max())
    y, x = np.nonzero(best)
    order = np.argsort(-strength[y, x])[:CANDIDATES]
    y, x = y[order], x[order]
    ways = np.stack([xx[y, x] - yy[y, x], 2 * xy[y, x]], axis=1)
    ways /= np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-12)
    return _Saddles(np.stack([x, y], axis=1).astype(float), ways)


Cell = tuple[int, int]
"""Column and row."""
Lattice = dict[Cell, int]
"""Number of a saddle point by its place in a lattice."""


def _lattices(saddles: _Saddles, seed: int) -> Iterator[Lattice]:
    """Return lattices that grow from one saddle point, for pairs of its neighbours."""
    points, like = saddles.points, saddles.ways @ saddles.ways[seed]
    away = np.hypot(*(points - points[seed]).T)
    near = [int(n) for n in np.argsort(away)[1:9] if like[n] < -TURNED]
    for a, b in itertools.permutations(near, 2):
        u, v = points[a] - points[seed], points[b] - points[seed]
        long, short = sorted((float(np.hypot(*u)), float(np.hypot(*v))), reverse=True)
        # Right-handed as the picture is, since only the front of a board is printed.
        if short < LEAST_SQUARE_PX or long > 4 * short or u[0] * v[1] - u[1] * v[0] < 0.4 * long * short:
            continue
        distance, corner = _nearest(points, points[seed] + u + v)
        if distance <= STEP_SHARE * long and like[corner] > TURNED:
            yield _grow(saddles, {(0, 0): seed, (1, 0): a, (0, 1): b, (1, 1): corner})


def _nearest(points: Array, at: Array) -> tuple[float, int]:
    """Return distance and number of the point that is nearest to `at`."""
    away = np.hypot(*(points - at).T)
    nearest = int(np.argmin(away))
    return float(away[nearest]), nearest


def _grow(saddles: _Saddles, found: Lattice) -> Lattice:
    """Add the neighbours of what was found, one after the other, where the steps beside them lead to."""
    points = saddles.points
    taken, border = set(found.values()), list(found)
    while border:
        here = border.pop(0)
        for way in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            there = (here[0] + way[0], here[1] + way[1])
            step = None if there in found else _step(points, found, here, way)
            if step is None:
                continue
            distance, nearest = _nearest(points, points[found[here]] + step)
            opposite = saddles.ways[nearest] @ saddles.ways[found[here]] < -TURNED
            if distance <= STEP_SHARE * np.hypot(*step) and nearest not in taken and opposite:
                found[there] = nearest
                taken.add(nearest)
                border.append(there)
    return found


def _step(points: Array, found: Lattice, here: Cell, way: Cell) -> Array | None:
    """Return the step [px] that is expected from a corner, as of the nearest one that is known; None without one."""
    side = (abs(way[1]), abs(way[0]))
    for offset in (0, 1, -1):
        start = (here[0] + offset * side[0], here[1] + offset * side[1])
        ahead, behind = (start[0] + way[0], start[1] + way[1]), (start[0] - way[0], start[1] - way[1])
        if start in found and ahead in found:
            return points[found[ahead]] - points[found[start]]
        if start in found and behind in found:
            return points[found[start]] - points[found[behind]]
    return None


def _orders(lattice: Lattice, points: Array, shape: Cell) -> list[Array]:
    """Return the points of each full rectangle of `shape` in a lattice, row by row, in each of its two directions."""
    found: list[Array] = []
    columns = [x for x, _ in lattice]
    rows = [y for _, y in lattice]
    for turned in (False, True):
        wide, high = (shape[1], shape[0]) if turned else shape
        for x0 in range(min(columns), max(columns) - wide + 2):
            for y0 in range(min(rows), max(rows) - high + 2):
                cells = [(x0 + x, y0 + y) for y in range(high) for x in range(wide)]
                if any(cell not in lattice for cell in cells):
                    continue
                grid = points[[lattice[cell] for cell in cells]].reshape(high, wide, 2)
                if turned:
                    # A quarter turn: rows become columns, and the picture stays right-handed.
                    grid = np.rot90(grid)
                found += [grid.reshape(-1, 2), grid[::-1, ::-1].reshape(-1, 2)]
    return found


def _refined(grey: Array, corners: Array, shape: Cell) -> Array | None:
    """Return the corners to a fraction of a pixel; None where one has no clear place.

    Foerstner and Guelch 1987: at a corner, the brightness around it changes only across lines that go through it.
    """
    grid = corners.reshape(shape[1], shape[0], 2)
    gaps = [
        np.hypot(*(grid[:, 1:] - grid[:, :-1]).reshape(-1, 2).T),
        np.hypot(*(grid[1:] - grid[:-1]).reshape(-1, 2).T),
    ]
    half = int(np.clip(0.4 * min(float(gap.min()) for gap in gaps), 2, 8))
    dy, dx = _derivative(grey, 0.7, (1, 0)), _derivative(grey, 0.7, (0, 1))
    oy, ox = np.mgrid[-half : half + 1, -half : half + 1].astype(float)
    weight = np.exp(-(ox**2 + oy**2) / (half / 1.5) ** 2)
    result = corners.copy()
    for number, start in enumerate(corners):
        at = start.copy()
        for _ in range(10):
            y, x = oy + at[1], ox + at[0]
            gx = ndimage.map_coordinates(dx, [y, x], order=1, mode="nearest")
            gy = ndimage.map_coordinates(dy, [y, x], order=1, mode="nearest")
            a, b, c = (float(np.sum(weight * p)) for p in (gx * gx, gx * gy, gy * gy))
            if a * c - b * b < 1e-9 * (a + c) ** 2:
                return None
            right = np.array(
                [np.sum(weight * (gx * gx * x + gx * gy * y)), np.sum(weight * (gx * gy * x + gy * gy * y))]
            )
            moved = np.linalg.solve([[a, b], [b, c]], right)
            done = np.hypot(*(moved - at)) < 0.005
            at = moved
            if done or np.hypot(*(at - start)) > half:
                break
        if np.hypot(*(at - start)) > half:
            return None
        result[number] = at
    return result


def depth_at(depth: NDArray[np.float32], corners: Array) -> Array:
    """Return the median depth around each corner (N,) [m], 0 where less than half of the pixels have any."""
    found = np.zeros(len(corners))
    for number, (x, y) in enumerate(np.rint(corners).astype(int)):
        around = depth[max(0, y - 2) : y + 3, max(0, x - 2) : x + 3]
        if np.count_nonzero(around) * 2 > around.size:
            found[number] = float(np.median(around[around > 0]))
    return found


def homography(board: Chessboard, corners: Array) -> Array:
    """Return the 3x3 matrix that takes points of the board's plane [m] into the picture [px]."""
    flat = board.corners[:, :2] / board.square_m
    centre, scale = corners.mean(axis=0), float(corners.std())
    at = (corners - centre) / scale
    rows: list[Array] = []
    for (x, y), (u, v) in zip(flat, at, strict=True):
        rows += [
            np.array([x, y, 1, 0, 0, 0, -u * x, -u * y, -u]),
            np.array([0, 0, 0, x, y, 1, -v * x, -v * y, -v]),
        ]
    matrix = np.linalg.svd(np.array(rows))[2][-1].reshape(3, 3)
    back = np.array([[scale, 0, centre[0]], [0, scale, centre[1]], [0, 0, 1.0]])
    found = back @ matrix @ np.diag([1 / board.square_m, 1 / board.square_m, 1.0])
    return found / found[2, 2]


def _is_board(board: Chessboard, grey: Array, corners: Array) -> bool:
    """Return whether corners lie as on a flat board, and its squares are black and white as they should be."""
    matrix = homography(board, corners)

    def shown(points: Array) -> Array:
        at = np.c_[points, np.ones(len(points))] @ matrix.T
        return at[:, :2] / at[:, 2:]

    off = shown(board.corners[:, :2]) - corners
    if not np.sqrt(np.mean(np.sum(off**2, axis=1))) < FIT_PX:
        return False
    row, column = np.mgrid[0 : board.rows, 0 : board.columns].reshape(2, -1)
    middles = np.stack([column + 0.5 - board.columns / 2, row + 0.5 - board.rows / 2], axis=1) * board.square_m
    x, y = shown(middles).T
    tones = ndimage.map_coordinates(grey, [y, x], order=1, mode="nearest").reshape(board.rows, board.columns)
    whiter = np.where((row + column) % 2 == 0, -1, 1).reshape(tones.shape)
    # Each with its neighbours, so that a shadow over the board does no harm.
    across, down = np.diff(tones, axis=1) * whiter[:, 1:], np.diff(tones, axis=0) * whiter[1:]
    return min(float(across.min()), float(down.min())) > LEAST_CONTRAST
