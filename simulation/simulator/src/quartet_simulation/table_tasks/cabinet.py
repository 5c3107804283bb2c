"""Arrange cabinet: two arms open the doors of a cabinet; then mug and cup are taken out and put onto their coasters.

Departures from the published task:

- The doors turn with less damping (5 instead of 100 N m s/rad), because fingers hold the handles by friction. A robot
  lets go of a door that it has opened, which stays where it is, and goes home.
- Mug and cup are boxes with a sloping front for the suction cup, which also leaves room for the arm above the table.
- Chad's rail goes to -0.75 m instead of -0.5; otherwise it would not reach the mug in a cabinet above 0.54 m.
- An object is done when it stands on its coaster and no hand holds it. The published distance is required, too;
  alone, it would accept an object in the air or next to the coaster.
- The publication contradicts itself about Chad: its observation names the right handle, and a rule keeps it off the
  doors. The rule applies here, and Chad's text does not name the handle.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar

import mujoco
import numpy as np

from quartet_simulation.robot.parts import quaternion
from quartet_simulation.table_arms import ArmAt, HandPose, Scene, Shape, Thing, build_table
from quartet_simulation.table_arms.collisions import Collisions
from quartet_simulation.table_arms.ik import Kinematics
from quartet_simulation.table_arms.poses import Vector, vector
from quartet_simulation.table_arms.things import FRICTION, Colour, add_shapes
from quartet_simulation.table_tasks.handling import HOVER, TABLE_TOP, above, point_text, yaw_of
from quartet_simulation.table_tasks.task import Box, Phase, TableTask
from quartet_teams.roco import Action, Form, JointPlan, Verb, sub_plans

CABINET, CABINET_XY, CABINET_Z, CABINET_YAW = "cabinet", (-0.7, 0.5), (0.47, 0.7), (0.45 * math.pi, 0.55 * math.pi)
HALF, WALL = (0.34, 0.2, 0.3), 0.01
"""Half of the cabinet along its own x, y and z, and of its walls [m]; its front is at -y."""
DOORS = {"left_door": -1, "right_door": 1}
"""Side of each door's hinge along the cabinet's x."""
DOOR_WIDTH, DOOR_HALF, HINGE_OUT, OPEN = 0.32, 0.008, 0.012, 2.6
"""Width, half of the thickness, distance of the hinge from the front [m]; greatest angle [rad]."""
DOOR_MASS, DAMPING, STICKING = 3.0, 5.0, 0.5
"""Mass of a door; damping and friction of its hinge [kg, N m s/rad, N m]."""
FROM_HINGE, STANDS_OUT, BAR = 0.23, 0.085, (0.012, 0.06)
"""Of a handle: distances from hinge and door, radius and half length of its upright bar [m]."""
COUNTS_AS_OPEN = 2.0
"""Angle of a door [rad]."""
HANDLES = {f"{door}_handle": door for door in DOORS}
BODY_HALF, FRONT, SLANT = (0.03, 0.03, 0.05), (0.045, 0.0, 0.01), 0.4
"""Of mug and cup: half sizes, where a suction cup holds them, in their own frame [m], and how far the front leans back
[rad]."""
FACING = {"mug": 0.4, "cup": 0.0}
"""Direction of the front at the start [rad]."""
STARTS = {"mug": (0.1, 0.0, WALL + 0.051), "cup": (0.1, 0.15, 2 * WALL + 0.051 - HALF[2])}
"""Middles of the objects, from that of the cabinet [m]."""
INSIDE = 0.35
"""Distance from the middle of the cabinet within which an object is inside it [m]."""
COASTERS: dict[str, tuple[float, float]] = {"mug_coaster": (0.3, 0.35), "cup_coaster": (0.3, 0.65)}
COASTER_HALF = (0.06, 0.06, 0.005)
ABOVE_COASTER, BESIDE_COASTER, NEAR_COASTER = 0.25, 0.09, 0.25
"""Published point of success above a coaster and along x from it, and distance from that point [m]."""
REACHED = {"Alice": ("left_door_handle", "cup", "mug"), "Bob": ("right_door_handle",), "Chad": ("mug", "cup")}
AT_COASTER = {"Alice": -0.8, "Chad": 0.8}
"""Direction from a coaster to the hand that puts something there [rad]."""
LEANS = 0.2
"""Angle of a hand at a handle to the door's normal, towards the robot's side [rad]. It turns with the door, because a
bar that turns between fingers rolls out of them."""
ARC_POINTS = 10
DEEP, HANDLE_DEEP = 0.02, 0.013
"""How far the tips of fingers reach past the middle of mug and cup, and of a handle [m]."""
OUT, LIFT, LET_FALL = 0.25, 0.02, 0.015
"""How far a hand goes back out of the cabinet, lifts what it takes, and lets it fall onto a coaster [m]."""
RESTARTS = 120
"""Restarts of inverse kinematics for a hand that goes in and out; few solutions allow that."""
Pairs = tuple[tuple[str, str], ...]
CARRYING = 0.2
"""Share of the speed limits with which things do not slip along a suction cup."""


class ArrangeCabinet(TableTask):
    """One episode."""

    name: ClassVar[str] = "cabinet"
    rules: str = (
        "A cabinet with two doors hangs above a table; mug and cup are inside. Put the mug on mug_coaster and the cup "
        "on cup_coaster. First both doors are opened: a robot picks the handle of a door, and in the next round it "
        "opens the door, lets it go and goes home. The doors stay open. Then mug and cup are taken; a robot that takes "
        "one puts it onto a coaster in the same round. An arm may be too short for one of them; another robot takes it "
        "then. All robots act at the same time. Chad may not touch the doors, and at least one robot acts in a round."
    )
    arms: ClassVar[tuple[ArmAt, ...]] = (
        ArmAt("Alice", "ur5", (-0.1, -0.2, 0.1), math.pi / 2, (-1.3, 1.3)),
        ArmAt("Bob", "panda", (-0.7, 1.3, 0.1), -math.pi / 2, (-1.5, 1.3)),
        ArmAt("Chad", "ur5", (0.6, 1.1, 0.1), -math.pi / 2, (-0.75, 1.3), "suction"),
    )
    reach: ClassVar[Mapping[str, Box]] = {
        "Alice": ((-1.3, 1.6), (-0.4, 1.5), (0.16, 1.0)),
        "Bob": ((-1.4, 1.4), (0.0, 1.5), (0.16, 1.0)),
        "Chad": ((-1.4, 1.6), (0.0, 1.5), (0.16, 1.0)),
    }
    rests: ClassVar[tuple[str, ...]] = (CABINET, "table", *COASTERS)
    home_after: ClassVar[tuple[Verb, ...]] = ("OPEN", "PLACE")

    def _build(self, rng: np.random.Generator) -> Scene:
        z, yaw = float(rng.uniform(*CABINET_Z)), float(rng.uniform(*CABINET_YAW))
        middle = (*CABINET_XY, z)
        coasters = [
            Thing(name, (Shape("box", COASTER_HALF, colour=colour),), (*xy, TABLE_TOP + COASTER_HALF[2]))
            for (name, xy), colour in zip(COASTERS.items(), ((0.9, 0.5, 0.4, 1), (0.4, 0.6, 0.9, 1)), strict=True)
        ]
        objects = [
            Thing(name, _vessel(colour), vector(np.add(middle, STARTS[name])), FACING[name], mass=0.15)
            for name, colour in (("mug", (0.9, 0.5, 0.4, 1)), ("cup", (0.4, 0.6, 0.9, 1)))
        ]
        return build_table(self.arms, [partial(_add_cabinet, position=middle, yaw=yaw), *coasters, *objects])

    @property
    def forms(self) -> Mapping[Verb, Form]:
        """PICK PLACE of objects, PICK and OPEN of handles, WAIT."""
        return {
            "PICK PLACE": Form(tuple(STARTS), tuple(COASTERS), meaning="takes an object and puts it onto a coaster"),
            "PICK": Form(tuple(HANDLES), meaning="takes the handle of a closed door and holds it"),
            "OPEN": Form(tuple(HANDLES), meaning="opens the door whose handle the robot holds, and lets go"),
            "WAIT": Form(meaning="does nothing in this round"),
        }

    @property
    def done(self) -> bool:
        """Whether mug and cup stand on their coasters, and no hand holds one."""
        return all(self._on_own(name) for name in STARTS) and not any(map(self.held, self.robots))

    def _on_own(self, name: str) -> bool:
        x, y = COASTERS[f"{name}_coaster"]
        point = (x + BESIDE_COASTER, y, TABLE_TOP + ABOVE_COASTER)
        near = math.dist(self.scene.position(name), point) <= NEAR_COASTER
        return near and self._touch(name, f"{name}_coaster")

    def held(self, robot: str) -> Collection[str]:
        """Return the object or the handle in a robot's gripper."""
        body = self.scene.holds(robot)
        return (f"{body}_handle" if body in DOORS else body,) if body else ()

    def _angle(self, door: str) -> float:
        return abs(float(self.scene.data.joint(door).qpos[0]))

    def is_open(self, door: str) -> bool:
        """Return whether a door is open."""
        return self._angle(door) > COUNTS_AS_OPEN

    def capability(self, robot: str) -> str:
        """Return what a robot reaches."""
        return f"{robot} reaches {', '.join(REACHED[robot])}."

    def describe(self) -> str:
        """Return doors, handles, objects and grippers."""
        doors = (
            f"{door} is {'open' if self.is_open(door) else 'closed'}, with {handle} at "
            f"{point_text(self._on_arc(door, self._angle(door))[0])}."
            for handle, door in HANDLES.items()
        )
        grippers = (f"{self._gripper(robot)}." for robot in self.robots)
        return "\n".join([*doors, *map(self._where, STARTS), *grippers])

    def describe_robot(self, robot: str) -> str:
        """Return doors, handles, objects and grippers; robots differ in what they reach."""
        return self.describe()

    def _where(self, name: str) -> str:
        if holder := self._holder(name):
            return f"{name} is in the gripper of {holder}."
        if math.dist(self.scene.position(name), self.scene.position(CABINET)) < INSIDE:
            return f"{name} is inside the cabinet."
        on = next((coaster for coaster in COASTERS if self._touch(name, coaster)), "the table")
        return f"{name} is on {on}."

    def _constraints(self, plan: JointPlan) -> Iterable[str]:
        yield from self._clashes(plan)
        for robot, action in plan.items():
            if action.object in HANDLES and robot == "Chad":
                yield f"Chad takes {action.object}, but Chad may not touch the doors."
            if action.verb == "PICK" and self.is_open(HANDLES[action.object]):
                yield f"{robot} takes {action.object}, whose door is open already."
        moved = {action.object for action in plan.values()}
        for robot, action in plan.items():
            for name in STARTS:
                if action.target and name not in moved and self._touch(name, action.target):
                    yield f"{robot} puts {action.object} onto {action.target}, where {name} stands; move {name} first."

    def _out_of_reach(self, plan: JointPlan) -> Iterable[str]:
        for robot, action in plan.items():
            if action.object and action.object not in REACHED[robot]:
                yield f"{robot} does not reach {action.object}; it reaches {', '.join(REACHED[robot])}."
                return
        yield from super()._out_of_reach(plan)

    def _allowed(self, action: Action) -> tuple[tuple[str, str], ...]:
        if action.object in HANDLES:
            return ((action.robot, HANDLES[action.object]),)
        return super()._allowed(action)

    def _goal(self, action: Action) -> HandPose | None:
        robot, name = action.robot, action.object
        match action.verb:
            case "WAIT":
                return None
            case "OPEN":
                return self._arc(HANDLES[name])[-1]
            case "PICK" if name in HANDLES:
                return self._on_arc(HANDLES[name], self._angle(HANDLES[name]))[1]
            case "PICK":
                return self._hold(robot, self.scene.position(name), yaw_of(self.scene.rotation(name)))
        stands = TABLE_TOP + 2 * COASTER_HALF[2] + BODY_HALF[2] + LET_FALL
        return self._hold(robot, (*COASTERS[action.target], stands), AT_COASTER[robot])

    def _arc(self, door: str) -> list[HandPose]:
        """Return the poses of a hand that moves the handle of a door from where it is until the door is open."""
        return [self._on_arc(door, angle)[1] for angle in np.linspace(self._angle(door), OPEN, ARC_POINTS + 1)]

    def _on_arc(self, door: str, angle: float) -> tuple[Vector, HandPose]:
        """Return the middle of a handle when its door is open by an angle, and the pose of a hand that holds it."""
        side, middle, rotation = DOORS[door], self.scene.position(CABINET), self.scene.rotation(CABINET)
        turn = side * angle
        hinge, bar = complex(side * HALF[0], -HALF[1] - HINGE_OUT), complex(-side * FROM_HINGE, -STANDS_OUT)
        at = hinge + bar * complex(math.cos(turn), math.sin(turn))
        handle = vector(np.array(middle) + rotation @ (at.real, at.imag, 0.0))
        normal = yaw_of(rotation) - math.pi / 2 + turn
        return handle, _hand_at(handle, normal + side * LEANS, deep=HANDLE_DEEP)

    def _hold(self, robot: str, position: Vector, yaw: float) -> HandPose:
        """Return the pose of a hand that holds mug or cup at a position [m], with its front in a direction [rad]."""
        if self.scene.arm(robot).hand.pad_half:
            return _hand_at(position, yaw, SLANT, DEEP)
        front = np.add(position, (FRONT[0] * math.cos(yaw), FRONT[0] * math.sin(yaw), FRONT[2]))
        return _hand_at(vector(front), yaw, SLANT)

    def _phases(self, action: Action) -> list[Phase]:
        goal = self._goal(action)
        if goal is None:
            return []
        robot, name, allow = action.robot, action.object, self._allowed(action)
        home = Phase(self.scene.home[self.scene.arm(robot).columns])
        if action.verb == "OPEN":
            *arc, last = self._arc(HANDLES[name])[1:]
            opened = Phase(last, "release", name, allow, tuple(arc), straight=True)
            return [opened, Phase(_back(last), allow=allow, straight=True), home]
        if action.verb == "PLACE":
            over, hand = above(goal), self.scene.hand_pose(robot)
            middle = hand.towards(over, vector(np.add(hand.position, over.position) / 2), 0.5)
            return [
                Phase(over, waypoints=(middle,), speed=CARRYING),
                Phase(goal, "release", name, allow, straight=True, speed=CARRYING),
                Phase(_back(goal), allow=allow, straight=True),
                home,
            ]
        before, *_, leaves, out = poses = self._in_and_out(action, goal)
        there = self._start(action, poses)
        phases = [Phase(before if there is None else there), Phase(goal, "grasp", name, allow, straight=True)]
        if name not in HANDLES:
            phases.append(Phase(out, allow=allow, waypoints=(leaves,), straight=True, speed=CARRYING))
        return phases

    def _in_and_out(self, action: Action, goal: HandPose) -> list[HandPose]:
        """Return the poses between which a hand moves straight: before the goal of a PICK, there, and until it is out.

        At the last two poses, the door whose handle is picked is open.
        """
        if action.object in HANDLES:
            arc = self._arc(HANDLES[action.object])[1:]
            return [_back(goal), goal, *arc, _back(arc[-1])]
        return [_back(goal, OUT), goal, _lifted(goal), _back(_lifted(goal), OUT)]

    def _bad_waypoints(self, plan: JointPlan) -> Iterable[str]:
        """Return which robots cannot take what they reach."""
        for robot, action in sub_plans(plan)[0].items():
            if action.verb != "PICK" or (goal := self._goal(action)) is None:
                continue
            first, *_, out = poses = self._in_and_out(action, goal)
            if self._start(action, poses) is None:
                way = f"in from {point_text(first.position)} and out to {point_text(out.position)}"
                yield (
                    f"{robot} reaches {action.object}, but cannot move straight {way}: it is too short, or "
                    f"collides. Let another robot take {action.object}, or take something else."
                )

    def _start(self, action: Action, poses: Sequence[HandPose]) -> np.ndarray | None:
        """Return joints at the first pose of a PICK from which the tip can move straight to all others.

        None if no solution of inverse kinematics allows that without a collision with things.
        """
        arm, allow = self.scene.arm(action.robot), self._allowed(action)
        kinematics, now = Kinematics(self.scene), Collisions(self.scene, allow)
        everything, (before, goal, *_) = self.scene.joints, poses
        later = self._when_open(HANDLES[action.object], allow) if action.object in HANDLES else now

        def free(point: np.ndarray, collisions: Collisions = now) -> bool:
            everything[arm.columns] = point
            return collisions.alone(arm.name, everything)

        for joints in kinematics.solutions(arm, goal, self.scene.joints[arm.columns], RESTARTS):
            line, points = kinematics.line(arm, joints, before), list[np.ndarray]()
            for pose in poses[1:]:
                line = None if line is None else kinematics.line(arm, line[-1], pose)
                points += [] if line is None else [line]
            ends = [one[-1] for one in points[-2:]]
            if line is not None and all(map(free, np.vstack(points))) and all(free(end, later) for end in ends):
                return points[0][0]
        return None

    def _when_open(self, door: str, allow: Pairs) -> Collisions:
        """Return collision checks for the time when a door is open; the scene stays as it is."""
        present = self.scene.snapshot()
        self.scene.data.joint(door).qpos[0] = OPEN
        found = Collisions(self.scene, allow)
        self.scene.restore(present)
        return found


def _hand_at(point: Vector, direction: float, slant: float = 0.0, deep: float = 0.0) -> HandPose:
    """Return the pose of a hand whose fingers close horizontally.

    It is in a horizontal direction from a point [rad, m], points down by `slant` [rad], and its tip reaches past the
    point by `deep` [m].
    """
    out = np.array([math.cos(direction) * math.cos(slant), math.sin(direction) * math.cos(slant), math.sin(slant)])
    x = np.array([-math.sin(direction), math.cos(direction), 0.0])
    found = np.zeros(4)
    mujoco.mju_mat2Quat(found, np.column_stack([x, np.cross(-out, x), -out]).flatten())
    w, a, b, c = (float(value) for value in found)
    return HandPose(vector(np.array(point) - deep * out), (w, a, b, c))


def _back(pose: HandPose, distance: float = HOVER) -> HandPose:
    """Return a pose drawn back along the hand [m]."""
    return HandPose(vector(np.array(pose.position) - distance * pose.rotation[:, 2]), pose.quaternion)


def _lifted(pose: HandPose) -> HandPose:
    return HandPose(vector(np.add(pose.position, (0.0, 0.0, LIFT))), pose.quaternion)


def _vessel(colour: Colour) -> list[Shape]:
    """Return a body with a front that leans back by SLANT."""
    thick, high = 0.006, 0.035
    x, _, z = FRONT
    inwards = (x - thick * math.cos(SLANT), 0.0, z - thick * math.sin(SLANT))
    leaning = (math.cos(SLANT / 2), 0.0, -math.sin(SLANT / 2), 0.0)
    return [
        Shape("box", BODY_HALF, colour=colour),
        Shape("box", (thick, BODY_HALF[1], high), inwards, leaning, colour),
    ]


def _add_cabinet(spec: mujoco.MjSpec, position: Vector, yaw: float) -> None:
    """Add the cabinet, with two doors on hinges."""
    x, y, z = HALF
    wood, dark, steel = (0.75, 0.6, 0.42, 1.0), (0.62, 0.45, 0.3, 1.0), (0.5, 0.5, 0.55, 1.0)
    body = spec.worldbody.add_body(name=CABINET, pos=position, quat=quaternion((0, 0, 1), yaw))
    sides = [Shape("box", (WALL, y, z), (side * (x - WALL), 0, 0), colour=wood) for side in (-1, 1)]
    boards = [Shape("box", (x, y, WALL), (0, 0, height), colour=wood) for height in (WALL - z, 0, z - WALL)]
    back = Shape("box", (x, WALL, z), (0, y - WALL, 0), colour=wood)
    add_shapes(body, CABINET, [*sides, *boards, back], 0.0, FRICTION)
    radius, length = BAR
    for name, side in DOORS.items():
        door = body.add_body(name=name, pos=(side * x, -y - HINGE_OUT, 0))
        hinge = door.add_joint(name=name, axis=(0, 0, side), limited=True, range=(0, OPEN))
        hinge.damping, hinge.frictionloss = [DAMPING, 0, 0], STICKING
        at = -side * FROM_HINGE
        posts = [
            Shape("box", (0.006, STANDS_OUT / 2, 0.006), (at, -STANDS_OUT / 2, end * (length - 0.006)), colour=steel)
            for end in (-1, 1)
        ]
        leaf = Shape("box", (DOOR_WIDTH / 2, DOOR_HALF, z), (-side * DOOR_WIDTH / 2, 0, 0), colour=dark)
        bar = Shape("cylinder", (radius, length), (at, -STANDS_OUT, 0), colour=steel)
        add_shapes(door, name, [leaf, bar, *posts], DOOR_MASS, FRICTION)
