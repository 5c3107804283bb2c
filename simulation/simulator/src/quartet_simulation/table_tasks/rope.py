"""Move rope: two arms lift a rope by its ends, over a wall, into a groove, along paths that they agree on.

Departures from the published task: the rope does not stretch and is 0.72 m from end to end, so hands release it 7 cm
inside the ends of the groove, which are 0.8 m apart; it is held by friction, at a height just above the groove.
In about 2 % of the published starts, an end hangs over the edge of the table, where no hand can take it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from quartet_simulation.table_arms import ArmAt, HandPose, Rope, Scene, Shape, Thing, build_table
from quartet_simulation.table_arms.poses import Vector
from quartet_simulation.table_tasks.handling import TABLE_TOP, point_text, yaw_of
from quartet_simulation.table_tasks.task import Box, PathTask
from quartet_teams.roco import Action, Form, JointPlan, Verb

ROPE = "rope"
ENDS = {"rope_front_end": 0, "rope_back_end": 24}
"""Numbers of the last links."""
FRONT_X, FRONT_X_TURNED, FRONT_Y, MOST_YAW = (-1.3, -1.2), -1.1, (0.45, 0.6), math.pi / 6
"""Where the front end starts: x, x where the yaw is more than 0.3, y, and the rope's yaw [m, rad]."""
LIFTED, LIFT_N, LIFT_S = range(8, 16), (1.0, 1.4), 0.3
"""Links, of which one is lifted at the start: force [N] and time [s]."""
WALL_HALF, WALL_X, WALL_Z, WALL_YAW = (0.03, 0.3, 0.08), (-0.15, 0.0), (0.2, 0.3), math.pi / 5
GROOVE_CENTRE, GROOVE_HALF, LIPS = (0.6, 0.5, 0.16), (0.45, 0.04), 0.08
GROOVE_ENDS = {"groove_left_end": (0.2, 0.5), "groove_right_end": (1.0, 0.5)}
"""Published ends, by which success is measured [m]."""
INSIDE = 0.07
"""Distance from a groove end at which a hand releases the rope [m]."""
ABOVE_TABLE, ABOVE_LIPS = 0.003, 0.01
"""Heights of the fingers' tips above the table, and above the lips of the groove where they open [m]."""
NEAR_END = 0.2
"""Distance between an end of the rope and one of the groove at success [m]."""


class MoveRope(PathTask):
    """One episode of moving the rope."""

    name: ClassVar[str] = "rope"
    rules: str = (
        "A rope lies on the table, and a wall stands between it and a groove. Lift the rope by both ends, carry it "
        "above the wall and put it into the groove. One robot takes rope_front_end, the other rope_back_end, in the "
        "same round; in another round both put their ends onto different ends of the groove. The rope does not "
        "stretch: while both hold it, the distance between the grippers must stay the same or get a little smaller on "
        "all of the way. The arms must not meet: each takes the end that is nearer to its side of the table. The "
        "task is done when the rope lies in the groove."
    )
    path_rules: str = (
        "A PATH has exactly four points [m] through which the tip of the gripper moves, between where it is now and "
        "its goal, without these two. Space the points evenly. Pick and put from above: the last point of a PICK is "
        "0.2 above the end of the rope, the first point of a PUT is straight above where the gripper is now, and the "
        "last is above the end of the groove. The rope sags between the grippers by up to 0.15, so pass high above the "
        "wall. Keep z of the four points between 0.25 and 0.55."
    )
    most_uneven: ClassVar[float] = 0.3
    arms: ClassVar[tuple[ArmAt, ...]] = (
        ArmAt("Alice", "ur5", (-0.4, -0.2, 0.15), math.pi / 2, (-1.3, 1.3)),
        ArmAt("Bob", "panda", (-0.5, 1.1, 0.1), -math.pi / 2, (-1.5, 1.3)),
    )
    reach: ClassVar[Mapping[str, Box]] = {
        "Alice": ((-1.4, 1.6), (-0.4, 1.5), (0.0, 1.0)),
        "Bob": ((-1.3, 1.6), (0.0, 1.5), (0.0, 1.0)),
    }
    rests: ClassVar[tuple[str, ...]] = ("table",)
    home_after: ClassVar[tuple[Verb, ...]] = ("PUT",)

    def _build(self, rng: np.random.Generator) -> Scene:
        x, y, yaw = (float(rng.uniform(*bounds)) for bounds in (FRONT_X, FRONT_Y, (-MOST_YAW, MOST_YAW)))
        self._rope = Rope(ROPE, (0.0, 0.0, 0.0))
        half = (self._rope.links - 1) / 2 * self._rope.spacing
        x = FRONT_X_TURNED if abs(yaw) > 0.3 else x
        middle = (x + half * math.cos(yaw), y + half * math.sin(yaw), TABLE_TOP + self._rope.radius + 0.001)
        wall_x, wall_z, wall_yaw = (float(rng.uniform(*bounds)) for bounds in (WALL_X, WALL_Z, (-WALL_YAW, WALL_YAW)))
        grey = (0.5, 0.5, 0.55, 1.0)
        wall = Thing("wall", (Shape("box", WALL_HALF, colour=grey),), (wall_x, 0.5, wall_z), wall_yaw)
        self._corners = {
            f"wall_{side}_top": (
                wall_x - sign * WALL_HALF[1] * math.sin(wall_yaw),
                0.5 + sign * WALL_HALF[1] * math.cos(wall_yaw),
                wall_z + WALL_HALF[2],
            )
            for side, sign in (("front", -1), ("back", 1))
        }
        scene = build_table(self.arms, [Rope(ROPE, middle, yaw), wall, *_groove()])
        lifted = scene.body(self._rope.link(int(rng.choice(LIFTED))))
        scene.data.xfrc_applied[lifted, 2] = rng.uniform(*LIFT_N)
        scene.step(LIFT_S)
        scene.data.xfrc_applied[lifted, 2] = 0.0
        return scene

    @property
    def forms(self) -> Mapping[Verb, Form]:
        """PICK and PUT, both with a path."""
        return {
            "PICK": Form(tuple(ENDS), path=True, meaning="takes an end of the rope; the gripper must be empty"),
            "PUT": Form(
                tuple(ENDS), tuple(GROOVE_ENDS), path=True, meaning="puts the end that the robot holds into the groove"
            ),
        }

    @property
    def done(self) -> bool:
        """Whether the rope touches the floor of the groove and its ends are near different ends of it."""
        front, back = (self._end(end)[:2] for end in ENDS)
        left, right = GROOVE_ENDS.values()
        near = (
            max(math.dist(front, one), math.dist(back, other)) <= NEAR_END
            for one, other in ((left, right), (right, left))
        )
        links = map(self._rope.link, range(self._rope.links))
        return any(near) and any(self._touch(link, "groove_floor") for link in links)

    def _name_of(self, body: str) -> str:
        """Return an end of the rope, or "rope" for another part."""
        number = int(body.rpartition("/")[2]) if body.startswith(f"{ROPE}/") else -1
        return next((end for end, last in ENDS.items() if number >= 0 and abs(number - last) <= 1), ROPE)

    def _end(self, end: str) -> Vector:
        return self.scene.position(self._rope.link(ENDS[end]))

    def capability(self, robot: str) -> str:
        """Return where a robot stands."""
        side = "small y" if robot == "Alice" else "large y"
        return f"{robot} stands on the side of the table with {side} and holds one end of the rope at a time."

    def _describe_table(self) -> str:
        points = {end: self._end(end) for end in ENDS} | self._corners | {end: _release(end) for end in GROOVE_ENDS}
        return "\n".join(f"{name}: {point_text(point)}" for name, point in points.items())

    def _allowed(self, action: Action) -> tuple[tuple[str, str], ...]:
        return ((action.robot, self._rope.link(0)),)

    def _bad_waypoints(self, plan: JointPlan) -> Iterable[str]:
        """Also return points at which the rope between both grippers would be in the wall."""
        bad = [*super()._bad_waypoints(plan)]
        if not bad and all(map(self.held, self.robots)):
            for number, tips in enumerate(zip(*(action.path for action in plan.values()), strict=True), 1):
                if self._meets_wall(*tips):
                    bad.append(f"at point {number} of the paths rope and wall would collide; choose a higher point.")
        return bad

    def _meets_wall(self, one: Vector, other: Vector) -> bool:
        """Return whether the straight line between two points crosses the wall below its top."""
        start, end, front, back = map(np.array, (one, other, *self._corners.values()))
        sides = np.column_stack([end - start, front - back])[:2]
        if abs(np.linalg.det(sides)) < 1e-9:
            return False
        along, across = np.linalg.solve(sides, (front - start)[:2])
        return bool(0 <= along <= 1 and 0 <= across <= 1 and start[2] + along * (end - start)[2] < front[2])

    def _goal(self, action: Action) -> HandPose:
        robot = action.robot
        if action.verb == "PUT":
            return self._fingers_down(robot, _release(action.target), math.pi / 2)
        x, y, z = self._end(action.object)
        tip_z = max(z - self.scene.arm(robot).hand.pad_half, TABLE_TOP + ABOVE_TABLE)
        along = yaw_of(self.scene.rotation(self._rope.link(ENDS[action.object])))
        return self._fingers_down(robot, (x, y, tip_z), along + math.pi / 2)


def _release(end: str) -> Vector:
    """Return the point at which the rope is released at an end of the groove [m]."""
    x, y = GROOVE_ENDS[end]
    inwards = math.copysign(INSIDE, GROOVE_CENTRE[0] - x)
    return x + inwards, y, GROOVE_CENTRE[2] + LIPS + ABOVE_LIPS


def _groove() -> list[Thing]:
    length, width = GROOVE_HALF
    dark = (0.3, 0.3, 0.35, 1.0)
    lip = (length, 0.06, LIPS)
    lips = [Shape("box", lip, (0, sign * (width + lip[1]), 0), colour=dark) for sign in (-1, 1)]
    floor = Shape("box", (length, 2 * width, 0.03), colour=dark)
    return [Thing("groove_floor", (floor,), GROOVE_CENTRE), Thing("groove", lips, GROOVE_CENTRE)]
