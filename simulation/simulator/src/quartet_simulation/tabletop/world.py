"""One episode at the table: the arm moves by physics, success is judged by ground truth."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Self

import mujoco
import numpy as np

from quartet_simulation.arm.external_torques import ExternalTorques
from quartet_simulation.errors import UnknownNameError
from quartet_simulation.mobile.arms import ARMS
from quartet_simulation.names import body_name, prefix_of
from quartet_simulation.robot import panda
from quartet_simulation.solver import TIMESTEP, new_scene
from quartet_simulation.table_arms import KINDS, ArmAt, Scene, add_arms
from quartet_simulation.table_arms.kinds import Hand
from quartet_simulation.table_arms.poses import Vector, vector
from quartet_simulation.table_arms.scene import TICK_S
from quartet_simulation.tabletop.errors import (
    CollisionError,
    NoPlacementError,
    TabletopError,
    UnknownObjectError,
    UnreachableError,
)
from quartet_simulation.tabletop.kinematics import FOOT, top_down
from quartet_simulation.tabletop.placing import TRIES, Places
from quartet_simulation.tabletop.tasks import ALL_TASKS, TabletopTask, find_task
from quartet_simulation.tabletop.things import TABLE_Z, Layout, Thing, add_thing, add_volume

START = ((0.278, -0.008, 1.25), 0.0)
"""Where the hand begins: position [m] and yaw [rad]. The paper's log has it 0.22 m higher, where a hand that points
down does not reach."""
SPEED_SHARE = 0.35
"""Of the joints' greatest speeds."""
SHORTEST_S, SETTLE_S = 0.4, 0.2
OPEN_TURN = math.pi / 2
"""A cap comes off when it has been turned so far counter-clockwise [rad]; a choice of ours."""
DRAWN_IN = 0.40
"""Distance from the foot to which the hand is drawn in on a detour [m]."""
SAMPLES_PER_RAD = 12.0
NEAR_EDGE = -0.5
"""Where the table begins, x [m]."""
ARM = ""
"""Name of the first arm, whose parts have plain names."""
FEET = ((FOOT, 0.0), ((0.90, 0.0, FOOT[2]), math.pi))
"""Feet of the arms [m] and the directions that they face [rad]: opposite each other."""


def half_length(arms: int) -> float:
    """Return half of the length of a table for some arms, from NEAR_EDGE along x [m]."""
    return 0.65 if arms == 1 else 0.8


def arms_at(kinds: Sequence[str]) -> list[ArmAt]:
    """Return arms of these kinds at their feet. Raises UnknownNameError, TabletopError."""
    if not 1 <= len(kinds) <= len(FEET):
        raise TabletopError(f"{len(kinds)} arms ({', '.join(kinds)}) do not fit the table; valid: 1 to {len(FEET)}")
    if unknown := next((kind for kind in kinds if kind not in ARMS), None):
        raise UnknownNameError("kind of arm", unknown, ARMS)
    return [ArmAt(prefix_of(number).removesuffix("/"), kind, *FEET[number]) for number, kind in enumerate(kinds)]


class Tabletop(Scene):
    """An episode of a task. Bodies go by the names of things.

    Args:
        task: one of the nine, or of those for several arms.
        variation: its number.
        layout: what stands where.
        foot: of the Panda that is the only arm where `arms` names none [m].
        arms: see `arms_at`. They begin with the hand before the foot, and `execute_trajectory` is not for them.
    """

    def __init__(
        self,
        task: TabletopTask,
        variation: int,
        layout: Layout,
        foot: Vector = FOOT,
        arms: Sequence[ArmAt] = (),
    ) -> None:
        self.task = task
        self.variation = variation
        self.things: Mapping[str, Thing] = {thing.name: thing for thing in layout.things}
        self.layout, self.foot = layout, foot
        self.placed = arms or [ArmAt(ARM, "panda", foot)]
        spec, hands = make_spec(layout, self.placed)
        super().__init__(spec.compile(), hands)
        self.external = ExternalTorques(self.model)
        self._scratch = mujoco.MjData(self.model)
        self._cap = layout.screwed[0] if layout.screwed else None
        self._pose = START
        self.encoder_errors = np.zeros(len(self.joint_names))
        """Measured minus true position of each joint [rad]; the measured one is brought where it is wanted."""
        self.touched: set[tuple[str, str]] = set()
        """Bodies of different arms that were in contact."""
        if not arms:
            self.data.qpos[self.qpos] = self.data.ctrl[self.servos] = top_down(*START, foot)
        mujoco.mj_forward(self.model, self.data)
        self.step(SETTLE_S)
        self.settle()

    @classmethod
    def generate(cls, task: str, variation: int, seed: int, foot: Vector = FOOT, arms: Sequence[ArmAt] = ()) -> Self:
        """Return the episode of a task that a seed draws. Raises UnknownTaskError, NoPlacementError."""
        task, variation = find_task(f"{task}:{variation}", len(arms) or 1)
        found = ALL_TASKS[task]
        rng = np.random.default_rng((list(ALL_TASKS).index(task), variation, seed))
        problem: NoPlacementError | None = None
        for _ in range(TRIES):
            try:
                return cls(found, variation, found.lay_out(variation, Places(rng, foot)), foot, arms)
            except NoPlacementError as error:
                problem = error
        raise NoPlacementError(f"{task}, variation {variation}, seed {seed}: {problem}")

    @property
    def instruction(self) -> str:
        """What a person says."""
        return self.task.instruction(self.variation)

    @property
    def succeeded(self) -> bool:
        """Whether the task is done now, by ground truth."""
        return self.task.succeeded(self, self.variation)

    @property
    def held(self) -> str | None:
        """Name of the thing that the fingers of an arm press, None without one."""
        return next((held for arm in self.arms if (held := self.held_by(arm)) is not None), None)

    def held_by(self, arm: str) -> str | None:
        """Return the name of the thing that both fingers of an arm press, None without one."""
        held = self.holds(arm)
        return None if held is None else held.removeprefix(body_name(""))

    @property
    def hand(self) -> Vector:
        """Position of the point between the fingers [m]."""
        return vector(self.data.site("tcp").xpos)

    @property
    def hand_yaw(self) -> float:
        """Turn of the line on which the fingers close, from the x axis [rad]."""
        closing = self.data.site("tcp").xmat.reshape(3, 3)[:, 1]
        # The fingers' line is the hand's y axis, which `top_down` turns a quarter against the yaw.
        return math.remainder(math.atan2(closing[1], closing[0]), 2 * math.pi)

    def body(self, name: str) -> int:
        """Return the number of a thing's body. Raises UnknownNameError."""
        return super().body(body_name(name))

    def meets(self, thing: str, volume: str) -> bool:
        """Return whether a shape of a thing meets a volume of the task."""
        probe = self.model.geom(f"{volume}/0").id
        first, count = (int(value[self.body(thing)]) for value in (self.model.body_geomadr, self.model.body_geomnum))
        return any(
            mujoco.mj_geomDistance(self.model, self.data, geom, probe, 0.01, None) <= 0
            for geom in range(first, first + count)
        )

    def turns(self, thing: str) -> Vector:
        """Return the turns of a thing about fixed x, y and z [rad]."""
        return _euler(self.rotation(thing))

    def execute_trajectory(self, position: Vector, yaw: float) -> None:
        """Move the hand, which points down, to a position [m] and a yaw [rad].

        The arm swings round its foot: angle, distance and height change evenly. A gripper without anything in it may
        take the yaw half a turn further, where its fingers change places.

        Raises:
            UnreachableError: the arm does not reach it.
            CollisionError: the arm would meet something that does not move.
        """
        if not all(map(math.isfinite, (*position, yaw))):
            raise UnreachableError(f"position {position} and yaw {yaw} must be finite numbers")
        path, self._pose = self._plan(position, yaw)
        swing = np.abs(np.diff(path, axis=0)).sum(axis=0)
        seconds = max(SHORTEST_S, float((swing / (SPEED_SHARE * np.array(panda.SPEED))).max()) * 1.5)
        ticks = math.ceil(seconds / TICK_S)
        numbers = range(len(path))
        for tick in range(1, ticks + 1):
            share = tick / ticks
            at = (3 * share**2 - 2 * share**3) * numbers[-1]
            self.data.ctrl[self.servos] = [np.interp(at, numbers, joint) for joint in path.T] - self.encoder_errors
            self.step()
        self.step(SETTLE_S)
        self.settle()

    def open_gripper(self) -> None:
        """Open the fingers."""
        self.release(ARM)
        self.settle()

    def close_gripper(self, thing: str) -> str | None:
        """Close the fingers and return what they hold. Raises UnknownObjectError when there is no such thing."""
        if thing not in self.things:
            told = ", ".join(name for name, one in self.things.items() if one.told)
            raise UnknownObjectError(f"there is no object {thing!r}; objects: {told}")
        self.close_fingers()
        return self.held

    def close_fingers(self) -> None:
        """Close the fingers round whatever is between them."""
        self.grasp(ARM)
        self.settle()

    def place(self, body: str, position: Vector, yaw: float = 0.0) -> None:
        """Put a thing that can move at (x, y), standing on height z [m], at rest; for scenario set-up.

        Raises:
            UnknownObjectError: there is no such thing, or it does not move.
        """
        movable = {name: one for name, one in self.things.items() if one.mass is not None}
        if body not in movable:
            raise UnknownObjectError(f"no object {body!r} can be put anywhere; valid: {', '.join(movable)}")
        x, y, z = position
        super().place(body, (x, y, z + movable[body].extents[2] / 2), yaw)

    def _plan(self, position: Vector, yaw: float) -> tuple[np.ndarray, tuple[Vector, float]]:
        """Return joints (N, 7) along a way from where the hand was sent last, and the pose at its end."""
        start, start_yaw = self._pose
        wanted = start_yaw + math.remainder(yaw - start_yaw, 2 * math.pi)
        turns = [0.0, 2 * math.pi, -2 * math.pi]
        if self.held is None:
            turns += [math.pi, -math.pi]
        problem: TabletopError | None = None
        for end_yaw in (wanted + turn for turn in turns):
            try:
                # A way to a far end would have a step for each of its centimetres.
                top_down(position, end_yaw, self.foot)
            except UnreachableError as error:
                problem = problem or error
                continue
            for way in self._ways(start, start_yaw, position, end_yaw):
                try:
                    path = np.array([top_down(point, turn, self.foot) for point, turn in way])
                    self._check(path)
                except (UnreachableError, CollisionError) as error:
                    if problem is None or isinstance(problem, UnreachableError):
                        problem = error
                else:
                    return path, (position, end_yaw)
        assert problem is not None
        raise problem

    def _check(self, path: np.ndarray) -> None:
        """Raise CollisionError when the arm meets something that does not move."""
        own, scratch = self.arms[ARM].bodies, self._scratch
        scratch.qpos[:] = self.data.qpos
        for joints in path[1:]:
            scratch.qpos[self.qpos] = joints
            mujoco.mj_kinematics(self.model, scratch)
            mujoco.mj_collision(self.model, scratch)
            for contact in scratch.contact:
                first, second = (int(self.model.geom_bodyid[geom]) for geom in contact.geom)
                arm, other = (first, second) if first in own else (second, first)
                if arm in own and other not in own and self.model.body_weldid[other] == 0:
                    part = self.model.body(arm).name
                    met = next((thing for thing in self.things if self.body(thing) == other), "the table")
                    raise CollisionError(f"no path was found: the arm's {part} would meet {met}")

    def step(self, seconds: float = TICK_S) -> None:
        """Advance the physics with the present set points."""
        self.external.begin()
        for _ in range(round(seconds / TIMESTEP)):
            mujoco.mj_step(self.model, self.data)
            self.external.add(self.data)
        if len(self.arms) > 1:
            self.touched.update(self.arm_contacts())
        if self._cap is not None and _euler(self.rotation(self._cap))[2] >= OPEN_TURN:
            self.data.eq_active[[self.model.equality(name).id for name in ("thread_low", "thread_high")]] = 0
            self._cap = None

    def _swing(self, start: tuple[Vector, float], end: tuple[Vector, float]) -> list[tuple[Vector, float]]:
        """Return positions and yaws from start to end, evenly in the arm's cylindrical coordinates."""
        first, last = (np.array([*self._cylindrical(position), yaw]) for position, yaw in (start, end))
        steps = max(2, math.ceil(float(np.abs((last - first) * (1, 4, 4, 1)).max()) * SAMPLES_PER_RAD))
        points = first + np.linspace(0, 1, steps + 1)[:, None] * (last - first)
        return [(self._cartesian((angle, r, z)), float(yaw)) for angle, r, z, yaw in points]

    def _ways(self, start: Vector, start_yaw: float, end: Vector, end_yaw: float) -> list[list[tuple[Vector, float]]]:
        """Return ways to a pose: the direct one, then those that draw the hand in or raise it before it swings."""
        (angle, r, z), (last_angle, last_r, last_z) = self._cylindrical(start), self._cylindrical(end)
        near, high = min(r, last_r, DRAWN_IN), max(z, last_z)
        detours = [
            [],
            [((angle, near, z), start_yaw), ((last_angle, near, last_z), end_yaw)],
            [((angle, near, high), start_yaw), ((last_angle, near, high), end_yaw)],
            [((angle, r, high), start_yaw), ((last_angle, last_r, high), end_yaw)],
        ]
        ways: list[list[tuple[Vector, float]]] = []
        for detour in detours:
            stops = [(start, start_yaw), *((self._cartesian(point), yaw) for point, yaw in detour), (end, end_yaw)]
            ways.append([pose for leg in itertools.pairwise(stops) for pose in self._swing(*leg)])
        return ways

    def _cartesian(self, point: Vector) -> Vector:
        angle, r, z = point
        return self.foot[0] + r * math.cos(angle), self.foot[1] + r * math.sin(angle), z

    def _cylindrical(self, position: Vector) -> Vector:
        x, y = position[0] - self.foot[0], position[1] - self.foot[1]
        return math.atan2(y, x), math.hypot(x, y), position[2]


def make_spec(layout: Layout, arms: Sequence[ArmAt]) -> tuple[mujoco.MjSpec, list[tuple[ArmAt, Hand]]]:
    """Return table, arms, cameras and what stands on the table; and the arms with their hands."""
    spec = new_scene("tabletop")
    light = spec.visual.headlight
    light.ambient, light.diffuse, light.specular = [0.38] * 3, [0.30] * 3, [0.0] * 3
    spec.worldbody.add_light(
        pos=(0.3, 0.4, 3),
        dir=(0, -0.1, -1),
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        diffuse=[0.35] * 3,
        specular=[0.05] * 3,
    )
    spec.worldbody.add_camera(name="overhead", pos=(0.15, 0, 2.6), quat=(1, 0, 0, 0), fovy=45)
    half = half_length(len(arms))
    spec.worldbody.add_geom(
        name="table",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(NEAR_EDGE + half, 0, TABLE_Z - 0.02),
        size=(half, 0.75, 0.02),
        rgba=(0.75, 0.66, 0.55, 1),
    )
    if len(arms) > 1:
        # Seen against nothing, space that an arm has left would stay occupied in the octomap of the other one.
        for pos, size in (
            ((0.3, 0, -0.05), (4, 4, 0.05)),
            ((0.3, 2, 1.5), (4, 0.05, 1.5)),
            ((0.3, -2, 1.5), (4, 0.05, 1.5)),
        ):
            room = {"contype": 0, "conaffinity": 0, "rgba": (0.85, 0.86, 0.88, 1)}
            spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, size=size, **room)
    for thing in layout.things:
        add_thing(spec, thing)
    for name, shape in layout.volumes.items():
        add_volume(spec, name, shape)
    if layout.screwed is not None:
        _screw(spec, *layout.screwed)
    hands = add_arms(spec, arms)
    for arm in arms:
        _add_cameras(spec, arm, alone=len(arms) == 1)
        # MuJoCo lets a body and its parent overlap, unless the parent stands still.
        model = ARMS[arm.kind].arm
        spec.add_exclude(bodyname1=arm.prefix + model.mount, bodyname2=arm.prefix + model.links[0])
    return spec, hands


def _add_cameras(spec: mujoco.MjSpec, arm: ArmAt, *, alone: bool) -> None:
    """Add the floor point under a foot, a camera that looks at the table, and one on the hand.

    The first camera of an arm that is `alone` is opposite of it; else it is at the arm's right, past no other arm.
    """
    turn = (math.cos(arm.yaw / 2), 0, 0, math.sin(arm.yaw / 2))
    base = spec.worldbody.add_body(name=f"{arm.prefix}base_footprint", pos=(*arm.foot[:2], 0.0), quat=turn)
    x, y, _ = arm.foot
    opposite, sideways = (1.35 - x, -y, 1.6), (0.6, -1.2, 1.75)
    pos, axes = (opposite, (0, 1, 0, -0.6, 0, 0.8)) if alone else (sideways, (1, 0, 0, 0, 0.64, 0.77))
    base.add_camera(name=f"{arm.prefix}front", pos=pos, xyaxes=axes, fovy=50)
    flange = spec.body(arm.prefix + KINDS[arm.kind].flange)
    flange.add_camera(name=f"{arm.prefix}arm", pos=(0, -0.07, 0.03), xyaxes=(1, 0, 0, 0, -1, 0.25), fovy=60)


def _screw(spec: mujoco.MjSpec, cap: str, bottle: str) -> None:
    """Hold a cap by two points of its axis, so that it turns and does not come off."""
    for name, height in (("thread_low", -0.02), ("thread_high", 0.02)):
        spec.add_equality(
            name=name,
            type=mujoco.mjtEq.mjEQ_CONNECT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            name1=body_name(cap),
            name2=body_name(bottle),
            data=[0, 0, height] + [0] * 9,
            solref=[0.005, 1],
        )


def _euler(matrix: np.ndarray) -> Vector:
    """Return the turns about fixed x, y and z [rad]."""
    return (
        math.atan2(matrix[2, 1], matrix[2, 2]),
        math.asin(max(-1.0, min(1.0, -matrix[2, 0]))),
        math.atan2(matrix[1, 0], matrix[0, 0]),
    )
