"""Solids in the base frame: distance of points to their surface, and where rays of a camera meet them."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quartet_site.site import Appearance

Array = NDArray[np.float64]
Primitive = Literal["box", "cylinder", "sphere"]
SimpleShape = Literal["box", "cylinder", "lying cylinder", "sphere", "bowl", "irregular"]
"""What an object may look like whose size nobody has written down."""


@dataclass(frozen=True)
class Part:
    """A piece of a compound: its own size [m] and the middle of its underside in the compound's frame [m]."""

    primitive: Primitive
    size: tuple[float, float, float]
    offset: tuple[float, float, float]


@dataclass(frozen=True)
class Solid:
    """A primitive of known size, standing upright unless `lying`.

    size: extent along its own x, along its own y, and height [m], as it stands.
    hollow: open at the top, so that a ray into it ends anywhere inside (bowls, bins, baskets).
    lying: a cylinder on its side, its axis along its own x.
    irregular: a box which the object fills only in part, and nobody knows how.
    """

    primitive: Primitive
    size: tuple[float, float, float]
    hollow: bool = False
    lying: bool = False
    irregular: bool = False
    parts: tuple[Part, ...] = field(default=())
    """Its pieces, where one primitive is too rough; `size` is then the outer size."""

    @property
    def turned(self) -> float:
        """Smallest rotation about z after which it looks the same [rad]."""
        if self._uneven:
            return 2 * np.pi
        return np.pi if abs(self.size[0] - self.size[1]) > 0.004 else np.pi / 2

    @property
    def round(self) -> bool:
        """Whether it looks the same at every yaw."""
        return self.primitive == "sphere" or (self.primitive == "cylinder" and not self.lying and not self._uneven)

    @property
    def _uneven(self) -> bool:
        """Whether a part of it is beside its middle."""
        return any(abs(p.offset[0]) > 0.002 or abs(p.offset[1]) > 0.002 for p in self.parts)

    def place(self, x: float, y: float, z: float, yaw: float = 0.0) -> "PosedSolid":
        """Return this solid with the middle of its underside at (x, y, z) [m], turned by `yaw` [rad]."""
        return PosedSolid(self, float(x), float(y), float(z), float(yaw))


@dataclass(frozen=True)
class PosedSolid:
    """A solid at a pose: (x, y) of its middle, z of its underside [m], yaw [rad], base frame."""

    solid: Solid
    x: float
    y: float
    z: float
    yaw: float = 0.0

    @property
    def height(self) -> float:
        """Extent along z [m]."""
        return self.solid.size[2]

    @property
    def top(self) -> float:
        """Height of its top [m]."""
        return self.z + self.height

    @property
    def centre(self) -> Array:
        """Middle x, y, z [m]."""
        return np.array([self.x, self.y, self.z + self.height / 2])

    def moved(self, dx: float, dy: float, dyaw: float = 0.0, dz: float = 0.0) -> "PosedSolid":
        """Return it shifted [m] and turned [rad]."""
        return replace(self, x=self.x + dx, y=self.y + dy, z=self.z + dz, yaw=self.yaw + dyaw)

    @cached_property
    def footprint(self) -> Array:
        """Nx2 corners of its outline on the floor, in order [m]."""
        if self.solid.parts:
            corners = np.concatenate([piece.footprint for piece in self._pieces()])
            return _hull(corners)
        sx, sy, _ = self.solid.size
        if self.solid.round:
            angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
            return np.stack([self.x + sx / 2 * np.cos(angles), self.y + sy / 2 * np.sin(angles)], axis=1)
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * (sx / 2, sy / 2)
        return corners @ np.array([[c, s], [-s, c]]) + (self.x, self.y)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Gravity-aligned box: minimum and maximum corner."""
        outline = self.footprint
        return np.array([*outline.min(axis=0), self.z]), np.array([*outline.max(axis=0), self.top])

    def _pieces(self) -> list["PosedSolid"]:
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        return [
            Solid(p.primitive, p.size).place(
                self.x + c * p.offset[0] - s * p.offset[1],
                self.y + s * p.offset[0] + c * p.offset[1],
                self.z + p.offset[2],
                self.yaw,
            )
            for p in self.solid.parts
        ]

    def corners(self) -> Array:
        """Return Nx3 points whose hull contains it, for finding it in a picture."""
        outline = self.footprint
        return np.concatenate([np.column_stack([outline, np.full(len(outline), z)]) for z in (self.z, self.top)])

    def distances(self, points: NDArray[np.floating]) -> Array:
        """Return the N signed distances of Nx3 points to its surface [m], negative inside."""
        return signed_distances(self.solid, np.asarray(points), np.array([[self.x, self.y, self.yaw]]), self.z)[0]

    def intersect(self, origin: NDArray[np.floating], rays: NDArray[np.floating]) -> tuple[Array, Array]:
        """Return where rays (Nx3) from `origin` enter and leave it, in lengths of the ray; inf for a miss."""
        if self.solid.parts:
            hits = [p.intersect(origin, rays) for p in self._pieces()]
            return np.min([h[0] for h in hits], axis=0), np.min([h[1] for h in hits], axis=0)
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        start = (np.asarray(origin, dtype=np.float64) - self.centre) @ turn
        rays = np.asarray(rays, dtype=np.float64) @ turn
        if self.solid.lying:
            start, rays = start[[1, 2, 0]], rays[:, [1, 2, 0]]
        sx, sy, sz = self.solid.size
        if self.solid.primitive == "box":
            return _hit_box(start, rays, np.array([sx, sy, sz]) / 2)
        if self.solid.primitive == "sphere":
            return _hit_quadric(start, rays, sz / 2, None)
        if self.solid.lying:
            return _hit_quadric(start, rays, sz / 2, sx / 2)
        return _hit_quadric(start, rays, (sx + sy) / 4, sz / 2)


def shapes_of(appearance: Appearance) -> tuple[SimpleShape, ...]:
    """Return the shapes that an object without a size may be seen to have: it may have fallen over."""
    match appearance.shape:
        case "cylinder":
            return "cylinder", "lying cylinder"
        case "box" | "sphere" | "bowl" | "irregular":
            return (appearance.shape,)
        case _:
            return ()


def standing_size(solid: Solid) -> tuple[float, float, float]:
    """Return the size of a solid as the catalogue would have it, upright [m]."""
    x, y, z = solid.size
    return (z, z, x) if solid.lying else (x, y, z)


def solids_of(appearance: Appearance) -> list[Solid]:
    """Return the solids that a catalogue entry may look like: upright first, then fallen over."""
    x, y, h = appearance.known_size_m
    parts = tuple(Part(p.shape, p.size_m, p.offset_m) for p in appearance.parts)
    match appearance.shape:
        case "sphere":
            return [Solid("sphere", (h, h, h))]
        case "cylinder":
            r = (x + y) / 2
            lying = [Solid("cylinder", (h, r, r), lying=True)] if h > 1.2 * r else []
            return [Solid("cylinder", (r, r, h), parts=parts), *lying]
        case "bowl":
            r = (x + y) / 2
            return [Solid("cylinder", (r, r, h), hollow=True)]
        case "irregular" if not parts:
            return [Solid("box", (x, y, h), irregular=True)]
        case "container":
            solids = [Solid("box", (x, y, h), hollow=True)]
            return [*solids, Solid("cylinder", (x, y, h), hollow=True)] if abs(x - y) < 0.02 else solids
        case _:
            # Only poses with a lower centre: a thin object does not stand on its end.
            fallen = [size for size in ((x, h, y), (y, h, x)) if size[2] < h - 1e-6]
            return [Solid("box", (x, y, h), parts=parts), *(Solid("box", size) for size in dict.fromkeys(fallen))]


def signed_distances(solid: Solid, points: NDArray[np.floating], poses: Array, z: float) -> Array:
    """Return SxN signed distances [m] of Nx3 points to `solid` at S poses (x, y, yaw), its underside at `z`."""
    if solid.parts:
        c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
        each = []
        for part in solid.parts:
            ox, oy, oz = part.offset
            moved = np.column_stack([poses[:, 0] + c * ox - s * oy, poses[:, 1] + s * ox + c * oy, poses[:, 2]])
            each.append(signed_distances(Solid(part.primitive, part.size), points, moved, z + oz))
        return np.min(each, axis=0)
    dx = points[None, :, 0] - poses[:, 0, None]
    dy = points[None, :, 1] - poses[:, 1, None]
    sx, sy, sz = solid.size
    up = points[None, :, 2] - (z + sz / 2)
    if solid.primitive == "sphere":
        return np.sqrt(dx * dx + dy * dy + up * up) - sz / 2
    if solid.primitive == "cylinder" and not solid.lying:
        return _rounded(np.hypot(dx, dy) - (sx + sy) / 4, np.abs(up) - sz / 2)
    c, s = np.cos(poses[:, 2, None]), np.sin(poses[:, 2, None])
    along, across = c * dx + s * dy, c * dy - s * dx
    if solid.lying:
        return _rounded(np.hypot(across, up) - sz / 2, np.abs(along) - sx / 2)
    qx, qy, qz = np.abs(along) - sx / 2, np.abs(across) - sy / 2, np.broadcast_to(np.abs(up) - sz / 2, along.shape)
    outside = np.sqrt(np.maximum(qx, 0) ** 2 + np.maximum(qy, 0) ** 2 + np.maximum(qz, 0) ** 2)
    return outside + np.minimum(np.maximum(np.maximum(qx, qy), qz), 0)


def _rounded(a: Array, b: Array) -> Array:
    return np.sqrt(np.maximum(a, 0) ** 2 + np.maximum(b, 0) ** 2) + np.minimum(np.maximum(a, b), 0)


def _hull(points: Array) -> Array:
    """Return the corners of the convex outline of Nx2 points, counterclockwise.

    Andrew's monotone chain: scipy.spatial would be for this alone, and the server's image does without it.
    """
    ordered = sorted(map(tuple, points.tolist()))

    def chain(those: Iterable[tuple[float, ...]]) -> list[tuple[float, ...]]:
        kept: list[tuple[float, ...]] = []
        for x, y in those:
            while len(kept) > 1:
                (ax, ay), (bx, by) = kept[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                kept.pop()
            kept.append((x, y))
        return kept[:-1]

    return np.array([*chain(ordered), *chain(reversed(ordered))])


def _hit_box(start: Array, rays: Array, half: Array) -> tuple[Array, Array]:
    # Axis by axis: a reduction over the three columns of each ray takes ten times as long.
    slabs = [_hit_slab(start[k], rays[:, k], half[k]) for k in range(3)]
    enter, leave = slabs[0]
    for first, last in slabs[1:]:
        enter, leave = np.maximum(enter, first), np.minimum(leave, last)
    return _interval(enter, leave)


def _hit_slab(start: float, rays: Array, half: float) -> tuple[Array, Array]:
    """Return where rays enter and leave the space between -half and half of one axis."""
    inverse = 1.0 / np.where(np.abs(rays) < 1e-9, 1e-9, rays)
    one, two = (-half - start) * inverse, (half - start) * inverse
    return np.minimum(one, two), np.maximum(one, two)


def _hit_quadric(start: Array, rays: Array, radius: float, half: float | None) -> tuple[Array, Array]:
    """Intersect with a sphere, or with an upright cylinder of half height `half`."""
    axes = slice(0, 3 if half is None else 2)
    a = np.maximum((rays[:, axes] ** 2).sum(axis=1), 1e-12)
    b = rays[:, axes] @ start[axes]
    root = b * b - a * ((start[axes] ** 2).sum() - radius * radius)
    spread = np.sqrt(np.maximum(root, 0))
    enter, leave = (-b - spread) / a, (-b + spread) / a
    if half is not None:
        first, last = _hit_slab(start[2], rays[:, 2], half)
        enter, leave = np.maximum(enter, first), np.minimum(leave, last)
    enter, leave = _interval(enter, leave)
    return np.where(root < 0, np.inf, enter), np.where(root < 0, np.inf, leave)


def _interval(enter: Array, leave: Array) -> tuple[Array, Array]:
    miss = (leave < enter) | (leave < 0)
    return np.where(miss, np.inf, np.maximum(enter, 0)), np.where(miss, np.inf, leave)
