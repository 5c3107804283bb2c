"""Puts the arm of a compiled model into another specification: bodies, shapes and masses, with servos of our own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.arm.body import DAMPING_RATIO
from quartet_simulation.described.hand import Hand
from quartet_simulation.described.shapes import SHAPES, add_mesh, collides, colour_of
from quartet_simulation.described.structure import MOUNT, Structure, local_pose
from quartet_simulation.robot.parts import GROUP, quaternion
from quartet_simulation.solver import PAD_FRICTION, PAD_SOLIMP, PAD_SOLREF

STIFFNESS_PER_INERTIA = 1000.0
"""Of a position servo, for each kgm² or kg that its joint moves at most [1/s²]."""
LEAST_STIFFNESS = 1000.0
"""[Nm/rad, N/m]"""
FORCE_SHARE = 0.04
"""A servo's largest force is that of this error [rad, m]."""
ARMATURE = 0.1
"""Of each joint, as of the arms that the simulation has [kgm², kg]."""
MOST_FORCE = 80.0
"""Of the fingers [N], until the gripper's driver sets it."""
OFF_FLOOR_M = 0.01
"""Shapes that stand fast on the base and reach below this are wheels and what is about them [m]."""
SIDES = ("left", "right")
"""What the fingers are called, the one that the robot file names first."""
_OURS = frozenset({"body", "body_top", "pedestal", "mast", "front_camera_body", "arm_camera_body"})
"""Geoms of the base and the cameras."""


@dataclass(frozen=True)
class Parts:
    """The arm of a model, ready to be put on a base."""

    found: Structure
    hand: Hand
    tool: str
    """Name of the tool frame."""
    stiffness: tuple[float, ...]
    """Of each arm joint's servo [Nm/rad, N/m]."""

    def add(self, spec: mujoco.MjSpec, base: Any, pos: tuple[float, float, float], yaw: float) -> None:
        """Add arm, hand and the actuators: the arm's joints [rad, m] and `grip` [m of one finger].

        Args:
            spec: specification that gets meshes and actuators.
            base: body that the arm stands on.
            pos: where its foot stands, in the frame of `base` [m].
            yaw: its turn about the z axis of `base` [rad].
        """
        found, model = self.found, self.found.model
        mount = base.add_body(name=MOUNT, pos=pos, quat=quaternion((0, 0, 1), yaw))
        made: dict[int, Any] = {}
        for body in found.bodies:
            if body == found.foot:
                one = mount.add_body(name=self.body_name(body))
            else:
                one = made[int(model.body_parentid[body])].add_body(
                    name=self.body_name(body), pos=model.body_pos[body], quat=model.body_quat[body]
                )
            made[body] = one
            one.gravcomp, one.explicitinertial = 1, True
            one.mass, one.inertia = float(model.body_mass[body]), model.body_inertia[body]
            one.ipos, one.iquat = model.body_ipos[body], model.body_iquat[body]
        self._add_shapes(spec, made, pos[2])
        for joint, stiffness in zip(found.joints, self.stiffness, strict=True):
            self._add_joint(spec, made, joint, stiffness)
        self._add_fingers(spec, made)
        if found.tool_body is None:
            turn = np.zeros(4)
            mujoco.mju_mat2Quat(turn, found.tool[:3, :3].flatten())
            made[found.links[-1]].add_body(name=self.tool, pos=found.tool[:3, 3], quat=turn, gravcomp=1)

    def body_name(self, body: int) -> str:
        """Return the name of a body of the model; those without one get a number."""
        return self.found.model.body(body).name or f"arm body {body}"

    @property
    def excluded(self) -> list[tuple[str, str]]:
        """Pairs of bodies that the model itself leaves out of collisions."""
        model, bodies = self.found.model, set(self.found.bodies)
        pairs = [(int(signature) >> 16, int(signature) & 0xFFFF) for signature in model.exclude_signature]
        return [(self.body_name(one), self.body_name(other)) for one, other in pairs if {one, other} <= bodies]

    def _add_joint(self, spec: mujoco.MjSpec, made: dict[int, Any], joint: int, stiffness: float) -> None:
        model, name = self.found.model, self.found.model.joint(joint).name
        made[int(model.jnt_bodyid[joint])].add_joint(
            name=name,
            type=mujoco.mjtJoint(int(model.jnt_type[joint])),
            axis=model.jnt_axis[joint],
            pos=model.jnt_pos[joint],
            ref=float(model.qpos0[model.jnt_qposadr[joint]]),
            limited=bool(model.jnt_limited[joint]),
            range=model.jnt_range[joint],
            armature=ARMATURE,
            damping=1.0,
        )
        servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=stiffness, kv=DAMPING_RATIO * stiffness)
        servo.forcelimited, servo.forcerange = True, [-FORCE_SHARE * stiffness, FORCE_SHARE * stiffness]
        servo.ctrllimited = False

    def _add_fingers(self, spec: mujoco.MjSpec, made: dict[int, Any]) -> None:
        model = self.found.model
        names = [model.joint(finger.joint).name for finger in self.hand.fingers]
        for finger, name in zip(self.hand.fingers, names, strict=True):
            made[int(model.jnt_bodyid[finger.joint])].add_joint(
                name=name,
                type=mujoco.mjtJoint.mjJNT_SLIDE,
                axis=finger.sign * model.jnt_axis[finger.joint],
                limited=True,
                range=(0.0, self.hand.travel),
                ref=finger.reference,
                armature=ARMATURE,
                damping=5,
            )
        coupling = spec.add_equality(name="fingers", type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT)
        coupling.name1, coupling.name2 = names
        coupling.data = np.array([0.0, 1.0] + [0.0] * 10)
        coupling.solref = [0.005, 1]
        tendon = spec.add_tendon(name="grip")
        for name in names:
            tendon.wrap_joint(name, 0.5)
        servo = spec.add_actuator(name="grip", target="grip", trntype=mujoco.mjtTrn.mjTRN_TENDON)
        servo.set_to_position(kp=4000, kv=150)
        servo.forcelimited, servo.forcerange = True, [-MOST_FORCE, MOST_FORCE]

    # --- shapes ---------------------------------------------------------------------------------
    def _add_shapes(self, spec: mujoco.MjSpec, made: dict[int, Any], height: float) -> None:
        """Add the shapes of a model whose foot stands so high over the floor [m]."""
        model = self.found.model
        pads = {finger.pad: f"{side}_pad" for finger, side in zip(self.hand.fingers, SIDES, strict=True)}
        used, meshes = {*_OURS, *pads.values()}, dict[int, str]()
        for geom in range(model.ngeom):
            body, kind = int(model.geom_bodyid[geom]), int(model.geom_type[geom])
            if body not in made or kind not in SHAPES:
                continue
            name = pads.get(geom) or _new_name(self._name_of_shape(body), used)
            used.add(name)
            # What stands on the floor does not collide with it; the box of the base does so with all else.
            hits = int(collides(model, geom) and not self._on_floor(geom, height))
            shape = made[body].add_geom(
                name=name,
                type=SHAPES[kind],
                size=model.geom_size[geom],
                pos=model.geom_pos[geom],
                quat=model.geom_quat[geom],
                rgba=colour_of(model, geom),
                friction=model.geom_friction[geom],
                condim=int(model.geom_condim[geom]),
                contype=hits,
                conaffinity=hits,
                group=GROUP,
                mass=0,
            )
            if kind == mujoco.mjtGeom.mjGEOM_MESH:
                mesh = int(model.geom_dataid[geom])
                if mesh not in meshes:
                    meshes[mesh] = f"arm mesh {mesh}"
                    add_mesh(spec, model, mesh, meshes[mesh])
                shape.meshname = meshes[mesh]
            if geom in pads:
                shape.condim, shape.priority = 4, 1
                shape.solref, shape.solimp[:3] = PAD_SOLREF, PAD_SOLIMP
                shape.friction = np.maximum(model.geom_friction[geom], PAD_FRICTION)

    def _on_floor(self, geom: int, height: float) -> bool:
        """Return whether a shape stands fast on the base and reaches down to the floor, from a foot so high [m]."""
        found, model = self.found, self.found.model
        body = int(model.geom_bodyid[geom])
        if found.foot in found.links or found.carrier(body) != found.foot:
            return False
        pose = np.linalg.inv(found.pose(found.foot)) @ found.pose(body)
        pose = pose @ local_pose(model.geom_pos[geom], model.geom_quat[geom])
        centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
        lowest = pose[2, :3] @ centre + pose[2, 3] - np.abs(pose[2, :3]) @ half
        return bool(height + lowest < OFF_FLOOR_M)

    def _name_of_shape(self, body: int) -> str:
        """Return what the shapes of a body are called: those of the hand as with every arm of the simulation."""
        found = self.found
        carrier = found.carrier(body)
        for finger, side in zip(self.hand.fingers, SIDES, strict=True):
            if carrier == int(found.model.jnt_bodyid[finger.joint]):
                return f"{side}_finger"
        return "palm" if carrier == found.links[-1] and body != carrier else self.body_name(body)


def _new_name(body: str, used: set[str]) -> str:
    # Those of the base's own wheels are told by how their names begin.
    body = f"arm {body}" if body.startswith("wheel_") else body
    number, name = 1, body
    while name in used:
        number += 1
        name = f"{body} {number}"
    return name


def stiffness_of(found: Structure, lower: np.ndarray, upper: np.ndarray) -> tuple[float, ...]:
    """Return the stiffness of each arm joint's servo, from the most that it has to move over the arm's range."""
    model, data = found.model, mujoco.MjData(found.model)
    places = [int(model.jnt_qposadr[joint]) for joint in found.joints]
    degrees = [int(model.jnt_dofadr[joint]) for joint in found.joints]
    most, full = np.zeros(len(places)), np.zeros((model.nv, model.nv))
    low, high = np.maximum(lower, -math.pi), np.minimum(upper, math.pi)
    for joints in np.random.default_rng(0).uniform(low, high, (40, len(lower))):
        data.qpos[places] = joints
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fullM(model, data, full)
        most = np.maximum(most, full[degrees, degrees] - model.dof_armature[degrees])
    return tuple(float(value) for value in np.maximum(LEAST_STIFFNESS, STIFFNESS_PER_INERTIA * most))
