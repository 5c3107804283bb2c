"""One episode at the table: the arm moves by physics, success is judged by ground truth."""

import itertools
import math
from collections.abc import Mapping
from typing import Self

import mujoco
import numpy as np

from quartet_simulation.arm.external_torques import ExternalTorques
from quartet_simulation.names import body_name
from quartet_simulation.robot import panda
from quartet_simulation.solver import TIMESTEP, new_scene
from quartet_simulation.tabletop.errors import (
    CollisionError,
    NoPlacementError,
    TabletopError,
    UnknownObjectError,
    UnreachableError,
)
from quartet_simulation.tabletop.kinematics import FOOT, top_down
from quartet_simulation.tabletop.placing import TRIES, Places
from quartet_simulation.tabletop.tasks import TASKS, TabletopTask, find_task
from quartet_simulation.tabletop.things import TABLE_Z, Layout, Thing, Vector, add_thing, add_volume

TICK_S = 0.02
START = ((0.278, -0.008, 1.25), 0.0)
"""Where the hand begins: position [m] and yaw [rad]. The paper's log has it 0.22 m higher, where a hand that points
down does not reach."""
SPEED_SHARE = 0.35
"""Of the joints' greatest speeds."""
SHORTEST_S, SETTLE_S, MOST_SETTLE_S, CLOSING_S = 0.4, 0.2, 1.0, 0.8
AT_REST = 0.02
"""Speed below which a thing is at rest [m/s]."""
HELD_N = 0.5
"""Force of each finger on what is held [N]."""
OPEN_TURN = math.pi / 2
"""A cap comes off when it has been turned so far counter-clockwise [rad]; a choice of ours."""
DRAWN_IN = 0.40
"""Distance from the foot to which the hand is drawn in on a detour [m]."""
SAMPLES_PER_RAD = 12.0
CAMERAS = ("front", "arm")


class Tabletop:
    """An episode of a task.

    Args:
        task: one of the nine.
        variation: its number.
        layout: what stands where.
    """

    def __init__(self, task: TabletopTask, variation: int, layout: Layout) -> None:
        self.task = task
        self.variation = variation
        self.things: Mapping[str, Thing] = {thing.name: thing for thing in layout.things}
        self.layout = layout
        self._model = make_spec(layout).compile()
        self._data = mujoco.MjData(self._model)
        self.external = ExternalTorques(self._model)
        self._scratch = mujoco.MjData(self._model)
        self._names = {int(self._model.body(body_name(name)).id): name for name in self.things}
        self._cap = layout.screwed[0] if layout.screwed else None
        self._joints = np.array([self._model.joint(name).qposadr[0] for name in panda.JOINTS])
        self._actuators = np.array([self._model.actuator(name).id for name in panda.JOINTS])
        self._grip = self._model.actuator("grip").id
        self._pads = [self._model.geom(name).id for name in panda.PADS]
        self._pose = START
        self.encoder_errors = np.zeros(len(panda.JOINTS))
        """Measured minus true position of each joint [rad]; the measured one is brought where it is wanted."""
        self._data.qpos[self._joints] = self._data.ctrl[self._actuators] = top_down(*START)
        for name in ("left_finger", "right_finger"):
            self._data.qpos[self._model.joint(name).qposadr[0]] = panda.FINGER_TRAVEL
        self._data.ctrl[self._grip] = panda.FINGER_TRAVEL
        mujoco.mj_forward(self._model, self._data)
        self._settle()

    @classmethod
    def generate(cls, task: str, variation: int, seed: int) -> Self:
        """Return the episode of a task that a seed draws. Raises UnknownTaskError, NoPlacementError."""
        task, variation = find_task(f"{task}:{variation}")
        found = TASKS[task]
        rng = np.random.default_rng((list(TASKS).index(task), variation, seed))
        problem: NoPlacementError | None = None
        for _ in range(TRIES):
            try:
                return cls(found, variation, found.lay_out(variation, Places(rng)))
            except NoPlacementError as error:
                problem = error
        raise NoPlacementError(f"{task}, variation {variation}, seed {seed}: {problem}")

    @property
    def model(self) -> mujoco.MjModel:
        """The compiled model."""
        return self._model

    @property
    def data(self) -> mujoco.MjData:
        """Its state."""
        return self._data

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
        """Name of the thing that both fingers press, None without one."""
        forces: dict[str, list[float]] = {}
        wrench = np.zeros(6)
        for number, contact in enumerate(self._data.contact):
            for pad, other in (contact.geom, contact.geom[::-1]):
                if pad in self._pads and (thing := self._thing_of(int(other))) is not None:
                    mujoco.mj_contactForce(self._model, self._data, number, wrench)
                    forces.setdefault(thing, [0.0, 0.0])[self._pads.index(pad)] += float(wrench[0])
        return next((thing for thing, pair in forces.items() if min(pair) > HELD_N), None)

    @property
    def hand(self) -> Vector:
        """Position of the point between the fingers [m]."""
        return _vector(self._data.site("tcp").xpos)

    @property
    def hand_yaw(self) -> float:
        """Turn of the line on which the fingers close, from the x axis [rad]."""
        closing = self._data.site("tcp").xmat.reshape(3, 3)[:, 1]
        # The fingers' line is the hand's y axis, which `top_down` turns a quarter against the yaw.
        return math.remainder(math.atan2(closing[1], closing[0]), 2 * math.pi)

    def position(self, thing: str) -> Vector:
        """Return the centre of a thing [m]."""
        return _vector(self._data.body(body_name(thing)).xpos)

    def meets(self, thing: str, volume: str) -> bool:
        """Return whether a shape of a thing meets a volume of the task."""
        own, probe = self._model.body(body_name(thing)), self._model.geom(volume).id
        first = int(own.geomadr[0])
        return any(
            mujoco.mj_geomDistance(self._model, self._data, geom, probe, 0.01, None) <= 0
            for geom in range(first, first + int(own.geomnum[0]))
        )

    def turns(self, thing: str) -> Vector:
        """Return the turns of a thing about fixed x, y and z [rad]."""
        return _euler(self._data.body(body_name(thing)).xmat.reshape(3, 3))

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
        along = np.linspace(0, len(path) - 1, len(path))
        for tick in range(1, ticks + 1):
            share = tick / ticks
            at = (3 * share**2 - 2 * share**3) * (len(path) - 1)
            wanted = [np.interp(at, along, path[:, joint]) for joint in range(len(path[0]))]
            self._data.ctrl[self._actuators] = wanted - self.encoder_errors
            self._step()
        self._settle()

    def open_gripper(self) -> None:
        """Open the fingers."""
        self._data.ctrl[self._grip] = panda.FINGER_TRAVEL
        self._run(CLOSING_S / 2)
        self._settle()

    def close_gripper(self, thing: str) -> str | None:
        """Close the fingers and return what they hold. Raises UnknownObjectError when there is no such thing."""
        if thing not in self.things:
            told = ", ".join(name for name, one in self.things.items() if one.told)
            raise UnknownObjectError(f"there is no object {thing!r}; objects: {told}")
        self.close_fingers()
        return self.held

    def close_fingers(self) -> None:
        """Close the fingers round whatever is between them."""
        for left in np.linspace(panda.FINGER_TRAVEL, 0.0, round(CLOSING_S / TICK_S)):
            self._data.ctrl[self._grip] = min(left, self._data.ctrl[self._grip])
            self._step()
        self._settle()

    def picture(self, camera: str = "front", width: int = 640, height: int = 480) -> np.ndarray:
        """Return what a camera (`front` or `arm`, on the wrist) sees: (height, width, 3), uint8 RGB."""
        with mujoco.Renderer(self._model, height, width) as renderer:
            renderer.update_scene(self._data, camera)
            return renderer.render()

    def place(self, thing: str, place: Vector, yaw: float = 0.0) -> None:
        """Put a thing that can move at (x, y), standing on height z [m], at rest; for scenario set-up.

        Raises:
            UnknownObjectError: there is no such thing, or it does not move.
        """
        movable = {name: one for name, one in self.things.items() if one.mass is not None}
        if thing not in movable:
            raise UnknownObjectError(f"no object {thing!r} can be put anywhere; valid: {', '.join(movable)}")
        joint = self._model.joint(body_name(thing))
        start, dof = joint.qposadr[0], joint.dofadr[0]
        x, y, z = place
        self._data.qpos[start : start + 3] = x, y, z + movable[thing].extents[2] / 2
        self._data.qpos[start + 3 : start + 7] = math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)
        self._data.qvel[dof : dof + 6] = 0.0
        mujoco.mj_forward(self._model, self._data)

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
                top_down(position, end_yaw)
            except UnreachableError as error:
                problem = problem or error
                continue
            for way in _ways(start, start_yaw, position, end_yaw):
                try:
                    path = np.array([top_down(point, turn) for point, turn in way])
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
        self._scratch.qpos[:] = self._data.qpos
        for joints in path[1:]:
            self._scratch.qpos[self._joints] = joints
            mujoco.mj_kinematics(self._model, self._scratch)
            mujoco.mj_collision(self._model, self._scratch)
            for contact in self._scratch.contact:
                first, second = (int(self._model.geom_bodyid[geom]) for geom in contact.geom)
                arm, other = (first, second) if self._of_arm(first) else (second, first)
                if self._of_arm(arm) and not self._of_arm(other) and self._model.body_weldid[other] == 0:
                    part, met = self._model.body(arm).name, self._names.get(other, "the table")
                    raise CollisionError(f"no path was found: the arm's {part} would meet {met}")

    def _of_arm(self, body: int) -> bool:
        return self._first_link <= body <= self._last_link

    @property
    def _first_link(self) -> int:
        return int(self._model.body(panda.LINKS[0]).id)

    @property
    def _last_link(self) -> int:
        return int(self._model.body("right_finger").id)

    def _thing_of(self, geom: int) -> str | None:
        return self._names.get(int(self._model.geom_bodyid[geom]))

    def _step(self) -> None:
        self.advance(round(TICK_S / TIMESTEP))

    def advance(self, steps: int) -> None:
        """Advance the physics by so many time steps with the present set points."""
        self.external.begin()
        for _ in range(steps):
            mujoco.mj_step(self._model, self._data)
            self.external.add(self._data)
        if self._cap is not None and _yaw(self._data.body(body_name(self._cap)).xquat) >= OPEN_TURN:
            self._data.eq_active[[self._model.equality(name).id for name in ("thread_low", "thread_high")]] = 0
            self._cap = None

    def _run(self, seconds: float) -> None:
        for _ in range(round(seconds / TICK_S)):
            self._step()

    def _settle(self) -> None:
        """Let things come to rest."""
        self._run(SETTLE_S)
        for _ in range(round((MOST_SETTLE_S - SETTLE_S) / TICK_S)):
            if float(np.abs(self._data.qvel).max(initial=0.0)) < AT_REST:
                break
            self._step()


def make_spec(layout: Layout) -> mujoco.MjSpec:
    """Return table, arm, cameras and what stands on the table."""
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
    spec.worldbody.add_camera(name="front", pos=(1.35, 0, 1.6), xyaxes=(0, 1, 0, -0.6, 0, 0.8), fovy=50)
    spec.worldbody.add_camera(name="overhead", pos=(0.15, 0, 2.6), quat=(1, 0, 0, 0), fovy=45)
    spec.worldbody.add_geom(
        name="table",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(0.15, 0, TABLE_Z - 0.02),
        size=(0.65, 0.75, 0.02),
        rgba=(0.75, 0.66, 0.55, 1),
        contype=panda.OBJECT_BITS,
        conaffinity=panda.OBJECT_BITS | panda.ARM_BITS,
    )
    spec.worldbody.add_body(name="base_footprint", pos=(*FOOT[:2], 0.0))
    hand = panda.add_panda(spec, spec.worldbody, FOOT)
    hand.add_camera(name="arm", pos=(0.07, 0, 0.03), xyaxes=(0, 1, 0, 1, 0, 0.25), fovy=60)
    for thing in layout.things:
        add_thing(spec, thing)
    for volume in layout.volumes:
        add_volume(spec, volume)
    if layout.screwed is not None:
        _screw(spec, *layout.screwed)
    return spec


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


def _swing(start: tuple[Vector, float], end: tuple[Vector, float]) -> list[tuple[Vector, float]]:
    """Return positions and yaws from start to end, evenly in the arm's cylindrical coordinates."""
    first, last = (np.array([*_cylindrical(position), yaw]) for position, yaw in (start, end))
    steps = max(2, math.ceil(float(np.abs((last - first) * (1, 4, 4, 1)).max()) * SAMPLES_PER_RAD))
    points = first + np.linspace(0, 1, steps + 1)[:, None] * (last - first)
    return [(_cartesian((angle, r, z)), float(yaw)) for angle, r, z, yaw in points]


def _ways(start: Vector, start_yaw: float, end: Vector, end_yaw: float) -> list[list[tuple[Vector, float]]]:
    """Return ways to a pose: the direct one, then those that draw the hand in, or raise it, before it swings round."""
    (angle, r, z), (last_angle, last_r, last_z) = _cylindrical(start), _cylindrical(end)
    near, high = min(r, last_r, DRAWN_IN), max(z, last_z)
    detours = [
        [],
        [((angle, near, z), start_yaw), ((last_angle, near, last_z), end_yaw)],
        [((angle, near, high), start_yaw), ((last_angle, near, high), end_yaw)],
        [((angle, r, high), start_yaw), ((last_angle, last_r, high), end_yaw)],
    ]
    ways: list[list[tuple[Vector, float]]] = []
    for detour in detours:
        stops = [(start, start_yaw), *((_cartesian(point), yaw) for point, yaw in detour), (end, end_yaw)]
        ways.append([pose for leg in itertools.pairwise(stops) for pose in _swing(*leg)])
    return ways


def _cartesian(point: Vector) -> Vector:
    angle, r, z = point
    return FOOT[0] + r * math.cos(angle), FOOT[1] + r * math.sin(angle), z


def _cylindrical(position: Vector) -> Vector:
    x, y = position[0] - FOOT[0], position[1] - FOOT[1]
    return math.atan2(y, x), math.hypot(x, y), position[2]


def _vector(values: np.ndarray) -> Vector:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _euler(matrix: np.ndarray) -> Vector:
    """Return the turns about fixed x, y and z [rad]."""
    return (
        math.atan2(matrix[2, 1], matrix[2, 2]),
        math.asin(max(-1.0, min(1.0, -matrix[2, 0]))),
        math.atan2(matrix[1, 0], matrix[0, 0]),
    )


def _yaw(quat: np.ndarray) -> float:
    w, x, y, z = quat
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
