"""Where a robot can stand on the floor of a world, worked out from its geometry."""

from __future__ import annotations

import math
from functools import cached_property

import mujoco
import numpy as np
from scipy import ndimage

from quartet_simulation.worlds.file import Room, WorldFile
from quartet_simulation.worlds.floor_plan import covered
from quartet_simulation.worlds.paint import add_materials
from quartet_simulation.worlds.piece import Pose, Side
from quartet_simulation.worlds.scene import build_scene
from quartet_simulation.worlds.world import Rect

RESOLUTION = 0.05
FURNITURE = np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8)
"""Groups of geoms that a ray meets."""
HEIGHTS = (0.03, 1.3)
"""The body and the folded arm are between these heights [m]."""
ROOM_TO_TURN = 0.66
"""From the robot's middle to what is nearest, where it turns on the spot [m]: the hand is 0.58 m ahead."""
ROOM_TO_DRIVE = 0.42
"""The same beside a straight drive."""
STANDOFF = 0.66
JUST_ABOVE = 0.01
"""Height over a top at which a look upwards starts [m]."""
SIDES: dict[Side, tuple[int, int]] = {"s": (0, -1), "n": (0, 1), "w": (-1, 0), "e": (1, 0)}
DISTANCES = (1.25, 1.4, 1.1, 1.0, 0.9, 0.8)
"""From the edge of a piece to the robot that looks at it, best first [m]."""
ASIDE = (0.0, 0.25, -0.25, 0.5, -0.5, 0.75, -0.75)


class FreeFloor:
    """Distances to the nearest obstacle on the floor of a world file."""

    def __init__(self, file: WorldFile) -> None:
        self._file = file
        self._pieces = {piece.name: piece for piece in file.furniture}
        boxes = np.array([room.bounds() for room in file.rooms])
        self._origin = (float(boxes[:, 0].min()) - 0.3, float(boxes[:, 1].min()) - 0.3)
        size = boxes[:, 2].max() - self._origin[0] + 0.3, boxes[:, 3].max() - self._origin[1] + 0.3
        self._shape = (math.ceil(size[1] / RESOLUTION) + 1, math.ceil(size[0] / RESOLUTION) + 1)

    @cached_property
    def _compiled(self) -> tuple[mujoco.MjModel, mujoco.MjData]:
        spec = mujoco.MjSpec()
        add_materials(spec, dict.fromkeys(self._file.colours, ((0, 0, 0), "plain")), textures=False)
        build_scene(self._file, spec)
        model = spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        return model, data

    @cached_property
    def _clearance(self) -> np.ndarray:
        model, data = self._compiled
        cells = covered(model, data, self._origin, self._shape, RESOLUTION, HEIGHTS)
        return np.asarray(ndimage.distance_transform_edt(~cells)) * RESOLUTION

    def clearance(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the distance from points of the map to the nearest obstacle [m]."""
        columns = np.round((x - self._origin[0]) / RESOLUTION).astype(int)
        rows = np.round((y - self._origin[1]) / RESOLUTION).astype(int)
        inside = (rows >= 0) & (columns >= 0) & (rows < self._shape[0]) & (columns < self._shape[1])
        rows, columns = rows.clip(0, self._shape[0] - 1), columns.clip(0, self._shape[1] - 1)
        return np.where(inside, self._clearance[rows, columns], 0.0)

    def top_at(self, x: float, y: float, below: float) -> float | None:
        """Return the height of the highest furniture at a point of the map below a height [m]; None without any."""
        hit, down = np.zeros(1, dtype=np.int32), np.array([0.0, 0.0, -1.0])
        length = mujoco.mj_ray(*self._compiled, np.array([x, y, below]), down, FURNITURE, 1, -1, hit)
        return None if hit[0] < 0 else below - length

    def free_above(self, x: float, y: float, height: float) -> float:
        """Return the free height over a point of the map, from a height up to what is above it [m]."""
        hit, up = np.zeros(1, dtype=np.int32), np.array([0.0, 0.0, 1.0])
        start = np.array([x, y, height + JUST_ABOVE])
        length = mujoco.mj_ray(*self._compiled, start, up, FURNITURE, 1, -1, hit)
        return math.inf if hit[0] < 0 else JUST_ABOVE + length

    def clear_drive(self, start: tuple[float, float], target: tuple[float, float], standoff: float) -> bool:
        """Return whether the straight way from `start` to `standoff` before `target` is free."""
        length = math.dist(start, target)
        way = np.arange(0.0, max(length - standoff, 0.0) + RESOLUTION, RESOLUTION) / max(length, 1e-6)
        x, y = start[0] + way * (target[0] - start[0]), start[1] + way * (target[1] - start[1])
        return bool((self.clearance(x, y) >= ROOM_TO_DRIVE).all())

    def before(self, outline: Rect, front: Side | None = None) -> tuple[Pose, Side] | None:
        """Return where a robot looks at a piece, and from which of its sides; None where it finds no room.

        With a `front`, from that side only.
        """
        x0, y0, x1, y1 = outline
        middle = ((x0 + x1) / 2, (y0 + y1) / 2)
        best: tuple[float, Pose, Side] | None = None
        for side, (dx, dy) in SIDES.items():
            if front not in (None, side):
                continue
            edge = (x1 if dx > 0 else x0 if dx < 0 else middle[0], y1 if dy > 0 else y0 if dy < 0 else middle[1])
            reach = ((y1 - y0) if dx else (x1 - x0)) / 2
            for aside in (a for a in ASIDE if abs(a) <= reach):
                target = (edge[0] + abs(dy) * aside, edge[1] + abs(dx) * aside)
                for rank, distance in enumerate(DISTANCES):
                    pose = (target[0] + dx * distance, target[1] + dy * distance)
                    score = self._view(pose, target, middle, STANDOFF) - 0.05 * rank - 0.3 * abs(aside)
                    if score > 0 and (best is None or score > best[0]):
                        best = (score, _facing(pose, target), side)
        return None if best is None else best[1:]

    def around(self, centre: tuple[float, float], standoff: float) -> Pose | None:
        """Return where a robot looks at a small piece, from any side; None where it finds no room."""
        best: tuple[float, Pose] | None = None
        for turn in np.arange(0, 2 * math.pi, math.pi / 12):
            for rank, distance in enumerate(DISTANCES):
                pose = (centre[0] + distance * math.cos(turn), centre[1] + distance * math.sin(turn))
                score = self._view(pose, centre, centre, standoff) - 0.05 * rank
                if score > 0 and (best is None or score > best[0]):
                    best = (score, _facing(pose, centre))
        return None if best is None else best[1]

    def _view(
        self, pose: tuple[float, float], target: tuple[float, float], piece: tuple[float, float], standoff: float
    ) -> float:
        """Return how free a robot stands that looks at `target`; 0 where it cannot drive up to it."""
        room = self._file.room_of(*piece)
        free = float(self.clearance(np.array([pose[0]]), np.array([pose[1]]))[0])
        if free < ROOM_TO_TURN or room is None or not room.contains(*pose):
            return 0.0
        return min(free, 1.0) if self.clear_drive(pose, target, standoff) else 0.0

    def entry(self, room: Room, targets: list[tuple[float, float]]) -> Pose | None:
        """Return where a robot stands to look into a room, such that it reaches most of `targets` straight ahead."""
        x0, y0, x1, y1 = room.bounds()
        best: tuple[float, float, float] | None = None
        for x in np.arange(x0 + 0.5, x1 - 0.45, 0.1):
            for y in np.arange(y0 + 0.5, y1 - 0.45, 0.1):
                free = float(self.clearance(np.array([x]), np.array([y]))[0])
                if free < ROOM_TO_TURN or not room.contains(float(x), float(y)):
                    continue
                near = [target for target in targets if math.dist(target, (x, y)) > 0.9]
                rest = 0.3 * min(free, 1.2) - 0.02 * math.dist((x, y), ((x0 + x1) / 2, (y0 + y1) / 2))
                if best is not None and len(near) + rest <= best[0]:
                    continue
                straight = sum(self.clear_drive((float(x), float(y)), target, STANDOFF) for target in near)
                score = straight + rest
                if best is None or score > best[0]:
                    best = (score, float(x), float(y))
        if best is None:
            return None
        _, x, y = best
        tx, ty = np.mean(targets, axis=0) if targets else ((x0 + x1) / 2, (y0 + y1) / 2)
        return Pose(x=round(x, 3), y=round(y, 3), yaw=round(math.atan2(float(ty) - y, float(tx) - x), 4))

    def aside(self, goals: list[tuple[float, float]]) -> list[Pose]:
        """Return where robots stand aside: one pose for a room at most, far from `goals`."""
        found: list[Pose] = []
        for room in self._file.rooms:
            x0, y0, x1, y1 = room.bounds()
            xs, ys = (values.ravel() for values in np.meshgrid(np.arange(x0, x1, 0.1), np.arange(y0, y1, 0.1)))
            free = (self.clearance(xs, ys) >= ROOM_TO_TURN) & [
                room.contains(float(x), float(y)) for x, y in zip(xs, ys, strict=True)
            ]
            away = np.array(
                [min((math.dist((x, y), goal) for goal in goals), default=9.0) for x, y in zip(xs, ys, strict=True)]
            )
            away = np.where(free, away, 0.0)
            if len(away) and away.max() > 1.2:
                at = int(away.argmax())
                found.append(Pose(x=round(float(xs[at]), 3), y=round(float(ys[at]), 3)))
        return found


def _facing(pose: tuple[float, float], target: tuple[float, float]) -> Pose:
    yaw = math.atan2(target[1] - pose[1], target[0] - pose[0])
    return Pose(x=round(pose[0], 3), y=round(pose[1], 3), yaw=round(yaw, 4))
