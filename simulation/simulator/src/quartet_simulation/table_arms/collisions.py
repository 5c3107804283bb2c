"""Collision checks of all arms, and of what they hold, on a copy of the model that only planning uses."""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Iterable
from itertools import product

import mujoco
import numpy as np

from quartet_simulation.arm.collision import sum_masks
from quartet_simulation.table_arms.scene import Arm, Pairs, Scene

CLEARANCE = 0.02
"""Distance that different arms, and what they hold, keep from each other [m]."""
TOUCH = 0.001
"""Other contacts count from this depth [m]."""
ALLOWED_DEPTH = 0.01
"""How deep two bodies may be in each other that are allowed to touch [m]."""
MOST_LEAN = 0.2
"""How far a hand that is kept level may lean [rad]."""
START_SLACK = 0.003
"""How much deeper a contact of the start may become [m]."""
_THINGS = 1


class ChecksSpentError(Exception):
    """The number of checks that the caller allowed is spent."""


class Collisions:
    """Collision checks at joint positions of all arms. Things that no hand holds stay where they are.

    Contacts of the present state may stay, but not become deeper.

    Args:
        scene: the table; its state is copied.
        allow: pairs of bodies that may touch; an arm's name stands for its hand. A tool pushes what it may touch.
        limit: number of calls of `free` before it raises ChecksSpentError.
        level: arms whose hands must not lean by more than MOST_LEAN from where they point now.
        still: arms that stay, and with them a door or rope that they hold.
    """

    def __init__(
        self,
        scene: Scene,
        allow: Iterable[tuple[str, str]] = (),
        limit: int | None = None,
        level: Iterable[str] = (),
        still: Collection[str] = (),
    ) -> None:
        self._checks, self._limit = 0, limit
        self.fixed: list[slice] = []
        """Columns of arms that must not move, because they would lose a door or rope."""
        self._scene, self._model = scene, copy.copy(scene.model)
        self._data = mujoco.MjData(self._model)
        self._data.qpos[:] = scene.data.qpos
        mujoco.mj_kinematics(self._model, self._data)
        self._level = [(tip, self._data.site_xmat[tip][2::3].copy()) for tip in (scene.arm(name).tip for name in level)]
        self._geoms_of = [np.flatnonzero(self._model.geom_bodyid == body) for body in range(self._model.nbody)]
        self._solid = (self._model.geom_contype != 0) | (self._model.geom_conaffinity != 0)
        self._carried: list[tuple[int, int, np.ndarray]] = []
        self._need = np.full((self._model.ngeom, self._model.ngeom), -TOUCH)
        """Distance below which two geoms collide [m]."""
        self._owner = np.full(self._model.ngeom, -1)
        """Number of the arm to which a geom belongs, or that holds it."""
        self._model.geom_contype[self._solid], self._model.geom_conaffinity[self._solid] = _THINGS, 0
        arms = list(scene.arms.values())
        for number, arm in enumerate(arms):
            self._mask(arm.bodies - arm.hand_bodies, number, _link(number), _anything(len(arms)))
            self._mask(arm.hand_bodies, number, _hand(number), _anything(len(arms)) & ~_hand(number) & ~_held(number))
        for number, arm in enumerate(arms):
            held = scene.holds(arm.name)
            for name in ([held] if held else []) + scene.carries(arm.name):
                self._hold(number, arm, name, len(arms), still)
        others = self._owner[:, None] != self._owner[None, :]
        self._need[others & (self._owner[:, None] >= 0) & (self._owner[None, :] >= 0)] = CLEARANCE
        self._model.geom_margin[self._owner >= 0] = CLEARANCE
        for one, other in allow:
            depth = np.inf if self._pushes(one, other) or self._pushes(other, one) else ALLOWED_DEPTH
            for first, second in product(self._named(one), self._named(other)):
                self._let(first, second, -depth)
        sum_masks(self._model)
        self._forget_overlaps_at_home()
        for first, second, distance in self._contacts(scene.joints):
            self._let(first, second, min(float(self._need[first, second]), distance - START_SLACK))

    def _mask(self, bodies: Iterable[int], owner: int, contype: int, conaffinity: int) -> None:
        for body in bodies:
            geoms = self._geoms_of[body]
            self._owner[geoms] = owner
            geoms = geoms[self._solid[geoms]]
            self._model.geom_contype[geoms], self._model.geom_conaffinity[geoms] = contype, conaffinity

    def _hold(self, number: int, arm: Arm, name: str, arms: int, still: Collection[str]) -> None:
        """Let what an arm holds move with its hand, or leave it out where it does not follow rigidly."""
        model, body = self._model, self._scene.body(name)
        joint = int(model.body_jntadr[body])
        family = [other for other in range(model.nbody) if body in self._line(other) or other in self._line(body)]
        jointed = [other for other in family if model.body_jntnum[other]]
        if len(jointed) > 1 or model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE:
            if arm.name in still:
                self.fixed.append(arm.columns)
            else:
                self._mask(family, -1, 0, 0)
        elif all(body != carried for carried, _, _ in self._carried):
            self._mask(family, number, _held(number), _anything(arms) & ~_hand(number) & ~_held(number))
            tip = _pose(self._data.site_xpos[arm.tip], self._data.site_xmat[arm.tip])
            relative = np.linalg.inv(tip) @ _pose(self._data.xpos[body], self._data.xmat[body])
            self._carried.append((body, arm.tip, relative))
        else:
            for first, second in product(family, arm.hand_bodies):
                for one, other in product(self._geoms_of[first], self._geoms_of[second]):
                    self._let(int(one), int(other), -ALLOWED_DEPTH)

    def _line(self, body: int) -> list[int]:
        """Return a body and those that it hangs on, as far as these move."""
        line: list[int] = []
        while self._model.body_weldid[body]:
            line.append(body)
            body = int(self._model.body_parentid[body])
        return line

    def _named(self, name: str) -> list[int]:
        """Return the geoms of a hand, or of a body and those that hang on it."""
        scene = self._scene
        family = scene.arms[name].hand_bodies if name in scene.arms else scene.family(scene.body(name))
        return [int(geom) for body in family for geom in self._geoms_of[body]]

    def _pushes(self, name: str, other: str) -> bool:
        """Return whether a body gives way to an arm's tool, as a cube to a broom."""
        arms = self._scene.arms
        return (
            name in arms and arms[name].grip is None and other not in arms and bool(self._line(self._scene.body(other)))
        )

    def _let(self, first: int, second: int, distance: float) -> None:
        self._need[first, second] = self._need[second, first] = distance

    def _forget_overlaps_at_home(self) -> None:
        """Ignore overlaps of one arm's parts that exist at home."""
        for first, second, _ in self._contacts(self._scene.home):
            if self._owner[first] == self._owner[second]:
                self._let(first, second, -np.inf)

    def free(self, joints: np.ndarray) -> bool:
        """Return whether nothing collides at joint positions (J,). Raises ChecksSpentError."""
        if self._limit is not None and self._checks >= self._limit:
            raise ChecksSpentError
        self._checks += 1
        self._set(joints)
        if any(self._data.site_xmat[tip][2::3] @ axis < math.cos(MOST_LEAN) for tip, axis in self._level):
            return False
        if not self._data.ncon:
            return True
        geoms = self._data.contact.geom
        return not (self._data.contact.dist < self._need[geoms[:, 0], geoms[:, 1]]).any()

    def pairs(self, joints: np.ndarray) -> Pairs:
        """Return the names of bodies that collide at joint positions."""
        found: dict[tuple[str, str], None] = {}
        for first, second, _ in self._contacts(joints):
            one, other = sorted(self._model.body(int(self._model.geom_bodyid[geom])).name for geom in (first, second))
            found[one, other] = None
        return list(found)

    def first_pairs(self, path: np.ndarray) -> Pairs:
        """Return the pairs of the first point of a path (N, J) that collides; empty when none does."""
        return next((pairs for joints in path if (pairs := self.pairs(joints))), [])

    def alone(self, arm: str, joints: np.ndarray) -> bool:
        """Return whether an arm collides with neither itself nor things, wherever the other arms are."""
        number = list(self._scene.arms).index(arm)
        owners = ({int(self._owner[first]), int(self._owner[second])} for first, second, _ in self._contacts(joints))
        return not any(number in pair and pair <= {number, -1} for pair in owners)

    def _contacts(self, joints: np.ndarray) -> list[tuple[int, int, float]]:
        self._set(joints)
        found = ((int(c.geom[0]), int(c.geom[1]), float(c.dist)) for c in self._data.contact)
        return [one for one in found if one[2] < self._need[one[0], one[1]]]

    def _set(self, joints: np.ndarray) -> None:
        model, data = self._model, self._data
        data.qpos[self._scene.qpos] = joints
        mujoco.mj_kinematics(model, data)
        for body, tip, relative in self._carried:
            pose = _pose(data.site_xpos[tip], data.site_xmat[tip]) @ relative
            start = int(model.jnt_qposadr[model.body_jntadr[body]])
            data.qpos[start : start + 3] = pose[:3, 3]
            mujoco.mju_mat2Quat(data.qpos[start + 3 : start + 7], pose[:3, :3].flatten())
        if self._carried:
            mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)


def _pose(position: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = matrix.reshape(3, 3), position
    return pose


def _link(arm: int) -> int:
    return 2 << 3 * arm


def _hand(arm: int) -> int:
    return 4 << 3 * arm


def _held(arm: int) -> int:
    return 8 << 3 * arm


def _anything(arms: int) -> int:
    return _THINGS | sum(_link(arm) | _hand(arm) | _held(arm) for arm in range(arms))
