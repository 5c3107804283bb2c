"""What the sensors of a robot see of things that move, in its costmap: the obstacle layer of Nav2."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import mujoco
import numpy as np

from quartet_simulation.names import body_name
from quartet_simulation.navigation.costmap import (
    LEAF,
    LEAF_MARK,
    LEAF_MARKS,
    OTHER_ROBOT,
    PERSON,
    PERSON_MARK,
    RESOLUTION,
    Costmap,
)
from quartet_simulation.physics import Physics
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.sensors import laser
from quartet_simulation.sensors.localisation import Pose, compose, inverse, moved_by
from quartet_simulation.sensors.timing import after
from quartet_simulation.worlds.person import AWAY

LASER_RANGE_M = 4.0
"""What the laser meets within this distance is marked."""
CAMERA_RANGE_M = 2.5
"""What the front camera sees within this distance is marked: Nav2's default of `obstacle_max_range`."""
LOW_M = 0.25
"""What lies below this bars the base."""
BODY_MIDDLE, BODY_SIDES = (0.0, 0.07, -0.07), (0.15, -0.15)
"""How far beside a person's middle beams go that meet them [m]; the first also with one leg behind the other."""
FLOOR_M = 0.02
"""Height above the floor at which the camera looks for what was there."""
JUST_BEFORE_M = 0.05
"""A ray that ends so near before a point has come to it."""
SAME_M = RESOLUTION
"""A mark stays where it is while what it stands for is seen so near to it [m]: noise does not rebuild the map."""
ELSEWHERE = 1000.0
"""How far away another robot, a person or a thing is put that is not seen [m]."""
Sensor = Literal["laser", "front"]
Mark = tuple[float, float, float]
"""x, y and radius in map [m]."""


class ObstacleLayer:
    """Marks things on the floor, people and closed doors in a costmap, as far as they are in sight, and robots near by.

    All but robots are where the measurement and the estimated pose put them at that time.

    Args:
        physics: of the robot.
        costmap: that it drives by.
        measured: where a sensor has a point of base_footprint (3,) [m]; the text names the reading.
        late: how late the stamp of what a sensor shows now is [s]; marks are where the base is by then.
        estimate: pose of base_footprint in map, as localisation has it.
        odom: pose of base_footprint in odom.
        radius: of an object by its name [m].
        closed: names of the doors that are closed now.
        others: names and physics of the other robots.
    """

    def __init__(
        self,
        physics: Physics,
        costmap: Costmap,
        measured: Callable[[Sensor, np.ndarray, str], np.ndarray],
        late: Callable[[Sensor], float],
        estimate: Callable[[], Pose],
        odom: Callable[[], Pose],
        radius: Callable[[str], float],
        closed: Callable[[], Iterable[str]],
        others: Callable[[], Sequence[Physics]],
    ) -> None:
        self._physics, self._costmap = physics, costmap
        self._measured, self._late, self._estimate, self._odom = measured, late, estimate, odom
        self._in_odom: dict[str, tuple[float, float]] = {}
        """Where each thing was seen last, in odom [m]."""
        self._radius, self._closed, self._others = radius, closed, others

    def look(self) -> None:
        """Mark what is seen now; unmark what has gone from where it is seen that nothing is there."""
        seen: dict[str, Mark] = {}
        gone: set[str] = set()
        self._look_for_things(seen, gone)
        self._look_for_robots(seen, gone)
        self._look_for_people(seen, gone)
        self._look_for_leaves(seen)
        self._costmap.unmark(gone)
        self._costmap.mark(seen)

    def unseen(self) -> list[int]:
        """Return where qpos has the x of robots, people and things on the floor that are not in the costmap."""
        marks, physics = self._costmap.marks, self._physics
        robots = [int(one.base_qpos[0]) for one in self._others() if _mark_of(one) not in marks]
        people = [physics.person_qpos[name][0] for name in physics.people if f"{PERSON}{name}" not in marks]
        things = [int(physics.object_qpos[name]) for name in self._on_floor() if name not in marks]
        return [*robots, *people, *things]

    def known(self) -> np.ndarray:
        """Return qpos with people and things on the floor where they are marked; what is not marked is ELSEWHERE."""
        physics, marks = self._physics, self._costmap.marks
        known = physics.data.qpos.copy()
        for along_x in self.unseen():
            known[along_x] += ELSEWHERE
        places = {f"{PERSON}{name}": (indices, AWAY) for name, indices in physics.person_qpos.items()}
        places |= {name: ((at := int(physics.object_qpos[name]), at + 1), (0.0, 0.0)) for name in self._on_floor()}
        for key, ((along_x, along_y), origin) in places.items():
            if key in marks:
                known[along_x], known[along_y] = marks[key][0] - origin[0], marks[key][1] - origin[1]
        return known

    def things(self) -> list[Mark]:
        """Return x, y and radius in odom [m] of the things on the floor that are marked."""
        from_map, found = compose(self._odom(), inverse(self._estimate())), list[Mark]()
        for key, (x, y, radius) in self._costmap.marks.items():
            if not key.startswith((OTHER_ROBOT, PERSON, LEAF)):
                there = moved_by(np.array([x, y, 0.0]), from_map)
                x, y = self._in_odom.get(key, (float(there[0]), float(there[1])))
                found.append((x, y, radius))
        return found

    def begin_odom(self) -> None:
        """Forget where things are in odom, which begins anew; they stay marked in map."""
        self._in_odom.clear()

    def _placed(self, key: str, point: np.ndarray, by: Sensor, radius: float) -> Mark:
        """Return the mark of what a sensor shows at a true point of map (3,): the present one if that is near."""
        local = moved_by(point, inverse(self._physics.base_pose()))
        shown = self._measured(by, local, key)
        moved = after((0.0, 0.0, 0.0), self._physics.base_twist(), self._late(by))
        at = moved_by(shown, compose(self._odom(), moved))
        self._in_odom[key] = float(at[0]), float(at[1])
        x, y, _ = moved_by(shown, compose(self._estimate(), moved))
        mark = self._costmap.marks.get(key)
        if mark is not None and math.dist(mark[:2], (x, y)) < SAME_M:
            return mark
        return round(float(x), 2), round(float(y), 2), radius

    def _shown(self, mark: Mark) -> np.ndarray:
        """Return the true point of map (3,) at which the robot looks for a mark."""
        local = moved_by(np.array([*mark[:2], FLOOR_M]), inverse(self._estimate()))
        return moved_by(local, self._physics.base_pose())

    def _on_floor(self) -> list[str]:
        held = self._physics.held_object()
        return [
            name for name in self._physics.objects if name != held and self._physics.object_pose(name)[0][2] < LOW_M
        ]

    def _look_for_things(self, seen: dict[str, Mark], gone: set[str]) -> None:
        physics, marks, low = self._physics, self._costmap.marks, self._on_floor()
        for name in physics.objects:
            body = physics.model.body(body_name(name)).id
            position = physics.object_pose(name)[0]
            if name in low and (by := self._in_sight(position, body)) is not None:
                seen[name] = self._placed(name, position, by, self._radius(name))
            elif name in marks and (name == physics.held_object() or self._floor_in_sight(self._shown(marks[name]))):
                # Lifted, or taken away by somebody.
                gone.add(name)

    def _in_sight(self, position: np.ndarray, body: int) -> Sensor | None:
        """Return which of laser and front camera meets a body at a position of map, None where none does."""
        x, y = float(position[0]), float(position[1])
        if math.dist(self._physics.base_pose()[:2], (x, y)) <= LASER_RANGE_M:
            length, hit = laser.first_hit(self._physics, x, y)
            if hit == body and length <= LASER_RANGE_M:
                return "laser"
        return "front" if self._camera_ray(position)[1] == body else None

    def _floor_in_sight(self, point: np.ndarray) -> bool:
        """Whether the front camera looks at the floor at a point of map (3,)."""
        length, _ = self._camera_ray(point)
        return math.isfinite(length) and length >= self._from_camera(point) - JUST_BEFORE_M

    def _camera_ray(self, point: np.ndarray) -> tuple[float, int]:
        """Return how far the front camera sees towards a point of map [m], and the body there.

        Infinite and -1 where the point is out of the picture or of the camera's range. Robots are not in the way.
        """
        physics = self._physics
        camera = physics.model.camera(physics.name("front")).id
        away = point - physics.data.cam_xpos[camera]
        right, up, back = away @ physics.data.cam_xmat[camera].reshape(3, 3)
        high = math.tan(math.radians(float(physics.model.cam_fovy[camera])) / 2)
        wide = high * dim.IMAGE_WIDTH / dim.IMAGE_HEIGHT
        ahead = -back
        if not 0 < ahead <= CAMERA_RANGE_M or abs(right) > wide * ahead or abs(up) > high * ahead:
            return math.inf, -1
        hit = np.full(1, -1, dtype=np.int32)
        start, groups = physics.data.cam_xpos[camera], np.array([1, 1, 0, 0, 0, 0], dtype=np.uint8)
        ray = away / np.linalg.norm(away)
        length = mujoco.mj_ray(physics.model, physics.data, start, ray, groups, 1, -1, hit)
        return (math.inf, -1) if hit[0] < 0 else (length, int(physics.model.geom_bodyid[hit[0]]))

    def _from_camera(self, point: np.ndarray) -> float:
        camera = self._physics.model.camera(self._physics.name("front")).id
        return float(np.linalg.norm(point - self._physics.data.cam_xpos[camera]))

    def _look_for_robots(self, seen: dict[str, Mark], gone: set[str]) -> None:
        x, y, _ = self._physics.base_pose()
        for other in self._others():
            ox, oy, _ = other.base_pose()
            if math.hypot(ox - x, oy - y) <= LASER_RANGE_M:
                seen[_mark_of(other)] = (_coarse(ox), _coarse(oy), other.build.base.radius)
            else:
                gone.add(_mark_of(other))

    def _look_for_leaves(self, seen: dict[str, Mark]) -> None:
        """Mark closed doors where the laser meets their leaves; on the map they are open."""
        x, y, _ = self._physics.base_pose()
        for door in self._closed():
            body, corners = self._physics.leaves[door], self._physics.leaf_ends(door)
            for number, (px, py) in enumerate(np.linspace(*corners, LEAF_MARKS)):
                near = math.dist((x, y), (px, py)) <= LASER_RANGE_M
                if near and laser.first_hit(self._physics, px, py)[1] == body:
                    key = f"{LEAF}{door}:{number}"
                    seen[key] = self._placed(key, np.array([px, py, 0.0]), "laser", LEAF_MARK)

    def _look_for_people(self, seen: dict[str, Mark], gone: set[str]) -> None:
        """Mark people whom the laser meets; who is not seen any more where they were marked is unmarked."""
        x, y, _ = self._physics.base_pose()
        for name, body in self._physics.people.items():
            key, there = f"{PERSON}{name}", self._physics.person_at(name)
            near = math.dist(there, (x, y)) <= LASER_RANGE_M
            beams = self._beams_at(there, (*BODY_MIDDLE, *BODY_SIDES)) if near else ()
            if any(hit == body for _, hit in beams):
                seen[key] = self._placed(key, np.array([*there, 0.0]), "laser", PERSON_MARK)
            elif (mark := self._costmap.marks.get(key)) is not None:
                px, py, _ = self._shown(mark).tolist()
                away = math.dist((px, py), (x, y))
                # A doorpost may hide the very middle.
                if away <= LASER_RANGE_M and any(length > away for length, _ in self._beams_at((px, py), BODY_MIDDLE)):
                    gone.add(key)

    def _beams_at(self, point: tuple[float, float], beside: tuple[float, ...]) -> list[tuple[float, int]]:
        """Return length [m] and body hit of a beam each that goes so far `beside` a point of map [m]."""
        x, y, _ = self._physics.base_pose()
        away = max(math.dist(point, (x, y)), 1e-6)
        ux, uy = (y - point[1]) / away, (point[0] - x) / away
        return [laser.first_hit(self._physics, point[0] + side * ux, point[1] + side * uy) for side in beside]


def _mark_of(robot: Physics) -> str:
    """What a robot is called in the costmaps of the others."""
    return f"{OTHER_ROBOT}{robot.number}"


def _coarse(value: float) -> float:
    """In steps of a cell, so that a robot that drives does not make a new map at every look."""
    return round(value / RESOLUTION) * RESOLUTION
