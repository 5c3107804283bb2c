"""Collision checks of the whole robot on a copy of the world that only planning uses."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np

from quartet_simulation.arm.body_points import BodyPoints
from quartet_simulation.arm.model import ArmModel
from quartet_simulation.arm.objects import SceneObjects, name_in
from quartet_simulation.arm.octomap import Voxels
from quartet_simulation.names import OBJECT_GROUP, body_name, is_person, number_of, prefix_of
from quartet_simulation.robot.parts import GROUP as ROBOT_GROUP

STATIC, OBJECT, BODY, ARM, FINGER, HELD = 1, 2, 4, 8, 16, 32
HELD_SLACK = 0.012
"""What is held may sink this far into what it stands on: grasps and depth are not exact [m]."""
BASE_MARGIN = 0.015
"""Distance that a moving base keeps from everything [m]."""
OTHERS_MARGIN = 0.15
"""Distance that a moving base keeps from people and other robots, which may move as well [m]: at full speed two robots
that drive towards each other stop within it, after both have seen it."""
MEASURED_WITHIN = 0.25
"""Up to this far around a moving base distances are measured [m]."""
Mode = Literal["arm", "base"]
OCTOMAP = "<octomap>"
"""MoveIt's name for all that the sensors see."""


@dataclass(frozen=True)
class Octree:
    """What an arm's planner knows of its surroundings: voxels in a frame of their own."""

    voxels: Voxels
    from_world: np.ndarray
    """Transforms points of the world into the voxels' frame, 4x4."""
    allowed: frozenset[frozenset[str]] = frozenset()
    """Pairs of links, objects and OCTOMAP that may be in contact."""


def planning_model(
    arm: ArmModel, spec: mujoco.MjSpec, added: SceneObjects | None = None, number: int = 0
) -> mujoco.MjModel:
    """A world with collision masks for planning in place of those for physics, and what clients added to it.

    `spec` is changed. For the arm of robot `number` in it; the others are obstacles, which tell where they are.
    """
    prefix = prefix_of(number)
    spec.option.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    for geom in spec.geoms:
        if geom.contype == 0 and geom.conaffinity == 0:
            continue
        body = geom.parent.name.removeprefix(prefix)
        if geom.group == OBJECT_GROUP:
            geom.contype, geom.conaffinity = OBJECT, 0
        elif geom.group != ROBOT_GROUP or number_of(geom.name) != number:
            geom.contype, geom.conaffinity = STATIC, 0
        elif body in arm.fingers:
            geom.contype, geom.conaffinity = FINGER, STATIC | BODY
        elif body in arm.hand:
            geom.contype, geom.conaffinity = ARM, STATIC | OBJECT | BODY | ARM
        else:
            geom.contype, geom.conaffinity = BODY, 0
    if added is not None:
        added.build(spec, obstacle=(STATIC, 0), carried=(HELD, STATIC | BODY | ARM | FINGER), tool=prefix + arm.tool)
    return spec.compile()


def own_points(model: mujoco.MjModel, *, moving: bool = False) -> BodyPoints:
    """Return points all over the robot of a planning model and what is attached to it, or over what moves of it."""
    kinds = (ARM, FINGER, HELD) if moving else (BODY, ARM, FINGER, HELD)
    return BodyPoints(model, [geom for geom in range(model.ngeom) if int(model.geom_contype[geom]) in kinds])


def sum_masks(model: mujoco.MjModel) -> None:
    """Sum up masks and margins of geoms per body, as MuJoCo's broad phase reads them."""
    for total, values in (
        (model.body_contype, model.geom_contype),
        (model.body_conaffinity, model.geom_conaffinity),
    ):
        total[:] = 0
        np.bitwise_or.at(total, model.geom_bodyid, values)
    model.body_margin[:] = 0
    np.maximum.at(model.body_margin, model.geom_bodyid, model.geom_margin)


class CollisionWorld:
    """One thread's own copy of the planning world. `qpos` has the layout of the physical model's.

    The arm meets itself, other robots, what clients added and what is in an `octree`; the base meets the world.
    `points` are all over what moves of the robot, computed where it is left out.
    """

    def __init__(
        self,
        arm: ArmModel,
        model: mujoco.MjModel,
        mode: Mode = "arm",
        prefix: str = "",
        *,
        octree: Octree | None = None,
        points: BodyPoints | None = None,
    ) -> None:
        self.model = copy.copy(model)
        self.data = mujoco.MjData(self.model)
        self.mode = mode
        self.slack = 0.0
        """Contacts that are no deeper than this do not count [m]."""
        self._prefix = prefix
        self.arm_qpos = np.array([model.joint(prefix + n).qposadr[0] for n in arm.joints])
        base_joints = ("base_x", "base_y", "base_yaw") if mode == "base" else ()
        self._base_qpos = [model.joint(prefix + n).qposadr[0] for n in base_joints]
        self.tool = model.body(prefix + arm.tool).id
        self._held: str | None = None
        self._held_in_tool = np.eye(4)
        self._held_adr = -1
        self._kept = model.geom_margin.copy()
        """Distance that each geom keeps from others [m]."""
        self._octree, self._points = octree, points
        if octree is not None and points is None:
            self._points = own_points(model, moving=True)
        if mode == "arm":
            self._forget_world()
        else:
            robots = (self.model.geom_group == ROBOT_GROUP) & (self.model.geom_contype != 0)
            others = robots & (self.model.geom_contype == STATIC)
            robot = robots & ~others
            self.model.geom_conaffinity[robot] = STATIC | OBJECT
            self.model.geom_margin[robot] = MEASURED_WITHIN
            people = [is_person(model.body(int(body)).name) for body in model.geom_bodyid]
            self._kept[robot], self._kept[others | people] = BASE_MARGIN, OTHERS_MARGIN
            sum_masks(self.model)

    def load(self, qpos: np.ndarray) -> None:
        """Take over a state of the world."""
        self.data.qpos[:] = qpos

    def _forget_world(self) -> None:
        """The planner of an arm does not know where furniture, things and people truly are."""
        model = self.model
        added = np.array([name_in(model.geom(geom).name) is not None for geom in range(model.ngeom)])
        robots = model.geom_group == ROBOT_GROUP
        model.geom_contype[~added & ~robots] = 0
        sum_masks(self.model)

    def moved(self) -> mujoco.MjData:
        """Return the data of the present state, kinematics computed."""
        mujoco.mj_kinematics(self.model, self.data)
        return self.data

    def attach(self, name: str | None) -> None:
        """From now on `name` moves with the hand, as it lies in it in the loaded state."""
        if name == self._held:
            if name is not None:
                self._remember_grasp(name)
            return
        if self._held is not None:
            self._mask(self._held, OBJECT, 0)
        self._held = name
        if name is not None:
            self._mask(name, HELD, STATIC | OBJECT)
            self._remember_grasp(name)

    def _mask(self, name: str, contype: int, conaffinity: int) -> None:
        body = self.model.body(body_name(name)).id
        for geom in range(self.model.ngeom):
            if self.model.geom_bodyid[geom] == body and self.model.geom_size[geom].any():
                solid = self.model.geom_contype[geom] or self.model.geom_conaffinity[geom] or contype == HELD
                if solid:
                    self.model.geom_contype[geom], self.model.geom_conaffinity[geom] = contype, conaffinity
        sum_masks(self.model)

    def _remember_grasp(self, name: str) -> None:
        mujoco.mj_kinematics(self.model, self.data)
        self._held_adr = int(self.model.joint(body_name(name)).qposadr[0])
        body = self.model.body(body_name(name)).id
        self._held_in_tool = np.linalg.inv(self._pose(self.tool)) @ self._pose(body)

    def _pose(self, body: int) -> np.ndarray:
        pose = np.eye(4)
        pose[:3, :3] = self.data.xmat[body].reshape(3, 3)
        pose[:3, 3] = self.data.xpos[body]
        return pose

    def set_base(self, x: float, y: float, yaw: float) -> None:
        """Set the base to a pose in map [m, rad]."""
        for index, value in zip(self._base_qpos, (x, y, yaw), strict=True):
            self.data.qpos[index] = value

    def set_arm(self, q: np.ndarray) -> None:
        """Set the arm to joint positions [rad]."""
        self.data.qpos[self.arm_qpos] = q

    def colliding(self) -> bool:
        """Does the robot, or what it holds, touch something in the present state by more than `slack`?"""
        return bool(self._touches(first=True)) or bool(self._in_voxels())

    def named_contacts(self) -> list[tuple[str, str, float]]:
        """Return what touches what and how deep [m].

        Links and added objects go by name, those of other robots with what their names begin with; everything else is
        OCTOMAP. How deep something is in a voxel is not known: 0.
        """
        found = [(self._public(a), self._public(b), max(0.0, -distance)) for a, b, distance, _ in self._touches()]
        return [*found, *((link, OCTOMAP, 0.0) for link in self._in_voxels())]

    def _in_voxels(self) -> list[str]:
        """Links and attached objects that are in an occupied voxel, as of the last kinematics."""
        octree, points = self._octree, self._points
        if octree is None or points is None or not len(points.geoms):
            return []
        turn, shift = octree.from_world[:3, :3], octree.from_world[:3, 3]
        meets = octree.voxels.at(points.at(self.data) @ turn.T + shift).any(axis=1)
        if not meets.any():
            return []
        names = dict.fromkeys(self._public(int(geom)) for geom in points.geoms[meets])
        return [name for name in names if frozenset((name, OCTOMAP)) not in octree.allowed]

    def _public(self, geom: int) -> str:
        added = name_in(self.model.geom(geom).name)
        if added is not None:
            return added
        if int(self.model.geom_group[geom]) == ROBOT_GROUP:
            return self.model.body(int(self.model.geom_bodyid[geom])).name.removeprefix(self._prefix)
        return OCTOMAP

    def touched(self) -> str:
        """Return what the present state touches first, in words."""
        for a, b, _, _ in self._touches(first=True):
            for geom in (a, b):
                if (added := name_in(self.model.geom(geom).name)) is not None:
                    return f"the added object '{added}'"
            others = STATIC in {int(self.model.geom_contype[geom]) for geom in (a, b)}
            return "another robot" if others else "the robot itself"
        return "what the cameras see"

    def room(self) -> float:
        """How far each part can move before it is nearer to something than it may be [m].

        At most MEASURED_WITHIN; negative where it is too near already.
        """
        return min((distance - kept for _, _, distance, kept in self._near()), default=MEASURED_WITHIN)

    def _touches(self, first: bool = False) -> list[tuple[int, int, float, float]]:
        """Contacts that count: two geoms, their distance [m], negative when they overlap, and the one they keep."""
        found = [one for one in self._near() if one[2] < one[3] and not self._may_touch(one[0], one[1])]
        return found[:1] if first else found

    def _may_touch(self, one: int, other: int) -> bool:
        allowed = () if self._octree is None else self._octree.allowed
        return bool(allowed) and frozenset((self._public(one), self._public(other))) in allowed

    def _near(self) -> list[tuple[int, int, float, float]]:
        """Return the pairs of geoms whose distance was measured, as `_touches` does."""
        model, data = self.model, self.data
        mujoco.mj_kinematics(model, data)
        if self._held is not None:
            held = self._pose(self.tool) @ self._held_in_tool
            data.qpos[self._held_adr : self._held_adr + 3] = held[:3, 3]
            mujoco.mju_mat2Quat(data.qpos[self._held_adr + 3 : self._held_adr + 7], held[:3, :3].flatten())
            mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        if not data.ncon:
            return []
        geoms, distances = data.contact.geom, data.contact.dist
        counts = np.ones(len(distances), dtype=bool)
        if self._held is not None:
            counts &= (distances <= -HELD_SLACK) | ~(model.geom_contype[geoms] == HELD).any(axis=1)
        if self.slack:
            counts &= distances <= -self.slack
        kept = self._kept[geoms].max(axis=1)
        return [
            (int(a), int(b), float(distance), float(keep))
            for (a, b), distance, keep in zip(geoms[counts], distances[counts], kept[counts], strict=True)
        ]

    def pose(self, body: str) -> np.ndarray:
        """Pose of a body of the robot in map as of the last kinematics, 4x4."""
        return self._pose(self.model.body(self._prefix + body).id)
