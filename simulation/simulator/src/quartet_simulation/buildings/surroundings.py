"""Collision checks between a robot and the furniture of a storey."""

from __future__ import annotations

import mujoco
import numpy as np

from quartet_simulation.arm.model import standing
from quartet_simulation.bodies.body import FLOOR, Body
from quartet_simulation.buildings.building import Stand, furnished
from quartet_simulation.buildings.extent import moved_by_arm
from quartet_simulation.described.shapes import SHAPES, add_mesh, collides
from quartet_simulation.worlds.world import World

POSE = 7
"""Values of a free joint in qpos."""


class Surroundings:
    """The furniture of a world and the links of a robot, which its own model places.

    The floor does not count: the body's own model has one. Meshes count as their convex hulls, as in MuJoCo.
    """

    def __init__(self, world: World, body: Body) -> None:
        self._body = body
        self._inverse = np.linalg.inv(body.base)
        self._places = [] if body.arm is None else body.model.jnt_qposadr[list(body.arm.joints)]
        self._robot = mujoco.MjData(body.model)
        self._robot.qpos[:] = body.posture
        spec = furnished(world)
        for geom in spec.geoms:
            plane = geom.type == mujoco.mjtGeom.mjGEOM_PLANE
            geom.contype, geom.conaffinity = int(bool(geom.contype or geom.conaffinity) and not plane), 0
        self._links = _add_links(spec, body)
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        first = min((int(self._model.body(_name(link)).id) for link in self._links), default=0)
        self._moved = np.zeros(self._model.nbody, dtype=bool)
        self._moved[first : first + len(self._links)] = moved_by_arm(body)[self._links]
        self._first = int(self._model.jnt_qposadr[self._model.body_jntadr[first]]) if self._links else 0

    def free(self, stand: Stand, joints: np.ndarray | None = None, *, arm: bool = True) -> bool:
        """Return whether a robot meets no furniture with its base at `stand` and joints (J,) of its arm.

        Args:
            stand: pose of the base frame.
            joints: of the arm; None: those of the body's posture.
            arm: False leaves out the parts that the arm moves.
        """
        model, data, robot = self._model, self._data, self._robot
        if len(self._places):
            robot.qpos[self._places] = self._body.posture[self._places] if joints is None else joints
        mujoco.mj_kinematics(self._body.model, robot)
        base = standing((stand.x, stand.y, stand.height), stand.yaw) @ self._inverse
        # All links at once: base times the pose of each link, position and quaternion.
        poses = data.qpos[self._first : self._first + POSE * len(self._links)].reshape(-1, POSE)
        poses[:, :3] = robot.xpos[self._links] @ base[:3, :3].T + base[:3, 3]
        poses[:, 3:] = _turned(base[:3, :3], robot.xquat[self._links])
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        if not data.ncon:
            return True
        counts = data.contact.dist < 0
        if not arm:
            counts &= ~self._moved[model.geom_bodyid[data.contact.geom]].any(axis=1)
        return not counts.any()


def _turned(turn: np.ndarray, quaternions: np.ndarray) -> np.ndarray:
    """Return quaternions (N, 4) turned by a rotation (3, 3); w comes first."""
    first = np.empty(4)
    mujoco.mju_mat2Quat(first, turn.flatten())
    (w, own), (others, axes) = (first[0], first[1:]), (quaternions[:, :1], quaternions[:, 1:])
    return np.hstack([w * others - axes @ own[:, None], w * axes + others * own + np.cross(own, axes)])


def _name(link: int) -> str:
    # No part of a world has such a name.
    return f"robot link:{link}"


def _add_links(spec: mujoco.MjSpec, body: Body) -> list[int]:
    """Add each link of a body that has solid shapes as a free body; return their numbers in the body's model."""
    model, floor = body.model, body.model.body(FLOOR).id
    solid = [geom for geom in range(model.ngeom) if collides(model, geom) and int(model.geom_type[geom]) in SHAPES]
    links = sorted({int(model.geom_bodyid[geom]) for geom in solid} - {floor})
    for link in links:
        part = spec.worldbody.add_body(name=_name(link))
        part.add_freejoint()
        for geom in (one for one in solid if model.geom_bodyid[one] == link):
            shape = part.add_geom(
                type=SHAPES[int(model.geom_type[geom])],
                size=model.geom_size[geom],
                pos=model.geom_pos[geom],
                quat=model.geom_quat[geom],
                contype=0,
                conaffinity=1,
            )
            if shape.type == mujoco.mjtGeom.mjGEOM_MESH:
                mesh = int(model.geom_dataid[geom])
                shape.meshname = f"robot mesh:{mesh}"
                if spec.mesh(shape.meshname) is None:
                    add_mesh(spec, model, mesh, shape.meshname)
    return links
