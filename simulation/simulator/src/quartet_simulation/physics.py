"""The compiled world and its state: indices, robot state, one controller tick."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np

from quartet_simulation.arm.body import STEPS_PER_TICK, TICK, ArmBody
from quartet_simulation.arm.external_torques import ExternalTorques
from quartet_simulation.mobile.build import SUMMIT, RobotBuild
from quartet_simulation.names import OBJECT_GROUP, body_name, is_person, leaf_name, number_of, person_name, prefix_of
from quartet_simulation.robot.parts import GROUP as ROBOT_GROUP
from quartet_simulation.solver import TIMESTEP
from quartet_simulation.worlds.compile import make_spec
from quartet_simulation.worlds.person import AWAY
from quartet_simulation.worlds.world import World

FIXED, OBJECT, PERSON = -1, -2, -3
"""What a geom belongs to that is no robot's: what stands fast, such as furniture and walls, an object, or a person."""


@dataclass
class Touch:
    """How long and how hard a part of a robot, or what it holds, touched something that is no object."""

    steps: int = 0
    """Physics steps of 2 ms in which they touched."""
    force_n: float = 0.0
    """Largest sum of the normal forces of all points at which they touched in a step [N]."""


@dataclass
class _Clock:
    """Of one world, whichever of its robots looks."""

    ticks: int = 0
    contacts: dict[tuple[int, int], Touch] = field(default_factory=dict[tuple[int, int], Touch])
    """By the geoms of both parts, a robot's first. What is held is its part, named by the object's first geom."""


class Physics(ArmBody):
    """Model and data of one world, and one of its robots: reads state and writes set points, nothing else."""

    def __init__(self, world: World, builds: Sequence[RobotBuild] = (SUMMIT,)) -> None:
        """Compile the world with a robot of each build; this one is the first."""
        self.world, self._builds = world, builds
        self.model = make_spec(world, builds=builds).compile()
        self.data = mujoco.MjData(self.model)
        self._clock = _Clock()
        self._external = ExternalTorques(self.model)
        self._owners = [self._owner(geom) for geom in range(self.model.ngeom)]
        self._bodies: list[int] = self.model.geom_bodyid.tolist()
        self._force = np.zeros(6)
        self._robot_of_pad = {
            self.model.geom(f"{prefix_of(number)}{side}_pad").id: number
            for number in range(len(builds))
            for side in ("left", "right")
        }
        self._finger_of = {robot: self._bodies[pad] for pad, robot in self._robot_of_pad.items()}
        self._jacobian_dot = np.zeros((3, self.model.nv))
        self._name_robot(0)

    def of_robot(self, number: int) -> Physics:
        """The same world with the eyes and hands of another of its robots."""
        other = copy.copy(self)
        other._name_robot(number)
        return other

    def _name_robot(self, number: int) -> None:
        world, model, self.build = self.world, self.model, self._builds[number]
        self.number, self.prefix = number, prefix_of(number)
        self.arm, self.hand = self.build.arm, self.build.hand
        base = [self.name(n) for n in ("base_x", "base_y", "base_yaw")]
        self.base_qpos = [model.joint(n).qposadr[0] for n in base]
        self.base_dof = [model.joint(n).dofadr[0] for n in base]
        self.base_act = [model.actuator(n).id for n in base]
        self.find_parts()
        self.pads = {s: model.geom(self.name(f"{s}_pad")).id for s in ("left", "right")}
        self.tool = model.body(self.name(self.arm.tool)).id
        self.own_geoms = np.flatnonzero(np.array(self._owners) == number)
        self.objects = {name: model.body(body_name(name)).id for name in world.objects}
        self.object_qpos = {n: model.joint(body_name(n)).qposadr[0] for n in world.objects}
        self.object_dof = {n: model.joint(body_name(n)).dofadr[0] for n in world.objects}
        self.people = {one.name: model.body(person_name(one.name)).id for one in world.people}
        self.person_qpos = {
            one.name: [int(model.joint(f"{person_name(one.name)} {axis}").qposadr[0]) for axis in "xy"]
            for one in world.people
        }
        self.leaves = {door: model.body(leaf_name(door)).id for door in world.leaves}
        self._body_of_object = {body: name for name, body in self.objects.items()}

    def name(self, part: str) -> str:
        """What a part of this robot is called in the model."""
        return self.prefix + part

    # --- stepping -------------------------------------------------------------------------------
    @property
    def ticks(self) -> int:
        """Controller ticks since the world began."""
        return self._clock.ticks

    @property
    def time(self) -> float:
        """World time [s]."""
        return self.ticks * TICK

    def tick(self) -> None:
        """10 ms of physics with the present set points."""
        self._external.begin()
        for _ in range(STEPS_PER_TICK):
            mujoco.mj_step(self.model, self.data)
            self._external.add(self.data)
            if self.data.ncon:
                # A world has a handful of contacts, things at rest sleep: lists are faster than arrays.
                geoms: list[list[int]] = self.data.contact.geom.tolist()
                held = self._held_bodies(geoms)
                self._count_contacts(geoms, held)
                for body, robot in held.items():
                    self._follow_hand(body, robot)
        self._clock.ticks += 1

    def clear(self) -> None:
        """Back to the model's rest state at time 0."""
        mujoco.mj_resetData(self.model, self.data)
        self._clock.ticks = 0
        self._external.begin()
        self._clock.contacts.clear()

    def forward(self) -> None:
        """Compute positions of everything from the joint state."""
        mujoco.mj_forward(self.model, self.data)

    def touched_robots(self) -> dict[tuple[str, str], Touch]:
        """Parts of two robots that touched since the episode began, by the names of both.

        What a robot holds between its pads counts as its part, here and below, and is called "held:" and its name.
        """
        return self._touched(lambda owner: owner not in (FIXED, PERSON))

    def touched_fixed(self) -> dict[tuple[str, str], Touch]:
        """Parts of robots and of what stands fast that touched since the episode began, the robot's part first."""
        return self._touched(lambda owner: owner == FIXED)

    def touched_people(self) -> dict[tuple[str, str], Touch]:
        """Parts of robots and of people that touched since the episode began, the robot's part first."""
        return self._touched(lambda owner: owner == PERSON)

    def _touched(self, by: Callable[[int], bool]) -> dict[tuple[str, str], Touch]:
        """Return the contacts whose other part belongs to an owner that `by` accepts."""
        return {
            (self._part_name(part), self._part_name(other)): touch
            for (part, other), touch in self._clock.contacts.items()
            if by(self._owners[other])
        }

    def _owner(self, geom: int) -> int:
        """Return the number of the robot that a geom belongs to, FIXED, OBJECT or PERSON."""
        group = self.model.geom_group[geom]
        if is_person(self.model.body(int(self.model.geom_bodyid[geom])).name):
            return PERSON
        if group == ROBOT_GROUP:
            return number_of(self.model.geom(geom).name)
        return OBJECT if group == OBJECT_GROUP else FIXED

    def _part_name(self, geom: int) -> str:
        thing = self.object_of_geom(geom)
        return self.model.geom(geom).name if thing is None else f"held:{thing}"

    def _follow_hand(self, body: int, robot: int) -> None:
        """Correct the position of a held object by the curve that its place in the hand took in this step.

        A step moves a free body along the tangent of that curve, and the hand along the curve itself. MuJoCo's friction
        acts on velocities and corrects no position: without this, what a hand 0.4 m from the middle of the base holds
        slips outwards by 2.5 mm in each turn.
        """
        model, data = self.model, self.data
        mujoco.mj_jacDot(model, data, self._jacobian_dot, None, data.xpos[body], self._finger_of[robot])
        free = model.jnt_qposadr[model.body_jntadr[body]]
        data.qpos[free : free + 3] += TIMESTEP**2 / 2 * (self._jacobian_dot @ data.qvel)

    def _count_contacts(self, geoms: list[list[int]], held: dict[int, int]) -> None:
        """Count each pair of parts once a step, however many points it touches at."""
        contacts = self.data.contact
        pairs: dict[tuple[int, int], float] = {}
        for number, (first, second) in enumerate(geoms):
            one, other = self._owners[first], self._owners[second]
            if held and one == OBJECT:
                one, first = self._held_as(first, held)
            if held and other == OBJECT:
                other, second = self._held_as(second, held)
            if one == other or OBJECT in (one, other) or max(one, other) < 0 or contacts.dist[number] >= 0:
                continue
            mujoco.mj_contactForce(self.model, self.data, number, self._force)
            parts = (second, first) if one < 0 else (first, second)
            pairs[parts] = pairs.get(parts, 0.0) + float(self._force[0])
        for parts, newtons in pairs.items():
            touch = self._clock.contacts.setdefault(parts, Touch())
            touch.steps += 1
            touch.force_n = max(touch.force_n, newtons)

    def _held_bodies(self, geoms: list[list[int]]) -> dict[int, int]:
        """Return the robot that holds each object between its pads, by the object's body, of the geoms in contact."""
        pads, held = self._robot_of_pad, dict[int, int]()
        touched: dict[tuple[int, int], int] = {}
        for first, second in geoms:
            pad, thing = (first, second) if first in pads else (second, first)
            if pad in pads and self._owners[thing] == OBJECT:
                robot, body = pads[pad], self._bodies[thing]
                if touched.setdefault((robot, body), pad) != pad:
                    held[body] = robot
        return held

    def _held_as(self, geom: int, held: dict[int, int]) -> tuple[int, int]:
        """Return the owner of an object's geom, the robot that holds it, and the geom that stands for the object."""
        body = self._bodies[geom]
        return held.get(body, OBJECT), int(self.model.body_geomadr[body])

    # --- base -----------------------------------------------------------------------------------
    def base_pose(self) -> tuple[float, float, float]:
        """True x, y, yaw in map."""
        x, y, yaw = (float(self.data.qpos[i]) for i in self.base_qpos)
        return x, y, yaw

    def base_twist(self) -> tuple[float, float, float]:
        """True vx, vy, wz in base_footprint."""
        vx, vy, wz = (float(self.data.qvel[i]) for i in self.base_dof)
        c, s = math.cos(self.base_pose()[2]), math.sin(self.base_pose()[2])
        return c * vx + s * vy, -s * vx + c * vy, wz

    def set_base_pose(self, x: float, y: float, yaw: float) -> None:
        """Set the base down at a pose in map [m, rad], at rest."""
        for index, value in zip(self.base_qpos, (x, y, yaw), strict=True):
            self.data.qpos[index] = value

    def drive(self, vx: float, vy: float, wz: float) -> None:
        """Wanted velocity in base_footprint until the next call."""
        c, s = math.cos(self.base_pose()[2]), math.sin(self.base_pose()[2])
        for actuator, value in zip(self.base_act, (c * vx - s * vy, s * vx + c * vy, wz), strict=True):
            self.data.ctrl[actuator] = value

    # --- arm ------------------------------------------------------------------------------------
    def set_arm(self, positions: Iterable[float]) -> None:
        """Set the arm to joint positions [rad], at rest."""
        values = np.array(list(positions), dtype=float)
        self.data.qpos[self.arm_qpos] = values
        self.servo_arm(values)

    def tool_pose(self) -> np.ndarray:
        """The arm's tool in map, 4x4."""
        return pose_of_body(self.data, self.tool)

    # --- gripper --------------------------------------------------------------------------------
    def set_opening(self, opening: float) -> None:
        """Set the opening between the fingers [m], at rest."""
        for index in self.finger_qpos:
            self.data.qpos[index] = self.hand.finger_at(opening)
        self.servo_gripper(opening, self.hand.force)

    # --- objects --------------------------------------------------------------------------------
    def object_pose(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Position [m] and quaternion (w, x, y, z) in map."""
        start = self.object_qpos[name]
        return self.data.qpos[start : start + 3].copy(), self.data.qpos[start + 3 : start + 7].copy()

    def set_object(self, name: str, position: Iterable[float], yaw: float = 0.0) -> None:
        """Put an object at a position in map [m], turned by yaw [rad], at rest."""
        start, dof = self.object_qpos[name], self.object_dof[name]
        self.data.qpos[start : start + 3] = list(position)
        self.data.qpos[start + 3 : start + 7] = (math.cos(yaw / 2), 0, 0, math.sin(yaw / 2))
        # A sleeping body wakes only when it moves.
        self.data.qvel[dof : dof + 6] = (0, 0, -0.01, 0, 0, 0)

    def stand(self, name: str, x: float, y: float, z: float, yaw: float = 0.0) -> None:
        """Stand an object on what is at height z [m], at (x, y) of map, turned by yaw [rad]."""
        # A little above, so that it never begins inside of what it stands on.
        self.set_object(name, (x, y, z + self.rest_height(name) + 0.001), yaw)

    def rest_height(self, name: str) -> float:
        """Height of the body origin above what it stands on [m]."""
        return self.world.kinds[name].half_height

    # --- people ---------------------------------------------------------------------------------
    def person_at(self, name: str) -> tuple[float, float]:
        """Where a person is on the map (x, y) [m]."""
        x, y = (float(self.data.qpos[i]) + away for i, away in zip(self.person_qpos[name], AWAY, strict=True))
        return x, y

    def set_person(self, name: str, x: float, y: float, velocity: tuple[float, float] = (0.0, 0.0)) -> None:
        """Put a person at a point of the map [m], who moves on with a velocity [m/s]."""
        for axis, value, away, speed in zip("xy", (x, y), AWAY, velocity, strict=True):
            joint = self.model.joint(f"{person_name(name)} {axis}")
            self.data.qpos[joint.qposadr[0]], self.data.qvel[joint.dofadr[0]] = value - away, speed

    # --- doors ----------------------------------------------------------------------------------
    def close_door(self, door: str) -> None:
        """Close the leaf of a door; clear() opens it."""
        joint = self.model.joint(leaf_name(door))
        self.data.qpos[joint.qposadr[0]] = self.world.leaves[door]

    def leaf_ends(self, door: str) -> tuple[tuple[float, float], tuple[float, float]]:
        """Both ends of the leaf of a door on the map [m]."""
        geom = int(self.model.body_geomadr[self.leaves[door]])
        size = self.model.geom_size[geom]
        axis = int(size[1] > size[0])
        x, y, _ = self.data.geom_xpos[geom]
        dx, dy, _ = self.data.geom_xmat[geom].reshape(3, 3)[:, axis] * size[axis]
        return (float(x - dx), float(y - dy)), (float(x + dx), float(y + dy))

    def object_of_geom(self, geom: int) -> str | None:
        """Return the object that a geom belongs to, None where it belongs to none."""
        return self._body_of_object.get(int(self.model.geom_bodyid[geom]))

    def touched_by_pads(self) -> dict[str, set[str]]:
        """Names of the objects that each pad touches."""
        touched: dict[str, set[str]] = {"left": set(), "right": set()}
        geoms = self.data.contact.geom
        for side, pad in self.pads.items():
            for other in geoms[(geoms == pad).any(axis=1)].ravel().tolist():
                name = self.object_of_geom(other)
                if name is not None:
                    touched[side].add(name)
        return touched

    def held_object(self) -> str | None:
        """The object that both pads touch, if any."""
        touched = self.touched_by_pads()
        both = touched["left"] & touched["right"]
        return min(both) if both else None


def pose_of_body(data: mujoco.MjData, body: int) -> np.ndarray:
    """Return the pose of a body in the world, 4x4."""
    pose = np.eye(4)
    pose[:3, :3] = data.xmat[body].reshape(3, 3)
    pose[:3, 3] = data.xpos[body]
    return pose
