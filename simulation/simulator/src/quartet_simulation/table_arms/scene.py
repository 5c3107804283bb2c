"""The table in motion: state, hands and contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from quartet_simulation.errors import TableError, UnknownNameError
from quartet_simulation.solver import TIMESTEP
from quartet_simulation.table_arms.kinds import FOOT, GRIP, KINDS, ArmAt, Hand, Kind
from quartet_simulation.table_arms.poses import HandPose, Vector, vector

RAIL = "rail"
RAIL_SPEED, RAIL_ACCELERATION, RAIL_SWEEP = 1.0, 2.0, 1.0
"""Of a foot on its rail [m/s, m/s^2]; what one metre of it moves the hand [m]."""
TICK_S = 0.01
"""Set points change this often [s]."""
HOLDING_N = 0.5
"""Force of each pad, or of the cup, on what is held [N]."""
CLOSING_S, PULLING_S = 0.8, 0.3
"""How long fingers take to close, and a cup to hold [s]."""
LIES_ON = 0.5
"""Least vertical part of the normal of a contact by which one thing lies on another."""
AT_REST = 0.02
"""Speed below which everything is at rest [m/s, rad/s]."""
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION

State = np.ndarray
"""Everything that `restore` needs; opaque."""
Pairs = list[tuple[str, str]]
"""Names of bodies, two by two."""


@dataclass(frozen=True, eq=False)
class Arm:
    """Where the model has an arm. Joint values are in the order of `joints`: the rail first, if it has one."""

    name: str
    kind: Kind
    hand: Hand
    joints: tuple[str, ...]
    columns: slice
    """Where the joint vector of all arms has its joints."""
    lower: np.ndarray
    upper: np.ndarray
    tip: int
    """Site."""
    grip: int | None
    """Actuator of the hand; None: a tool."""
    touching: tuple[int, ...]
    """Geoms that hold."""
    bodies: frozenset[int]
    hand_bodies: frozenset[int]


class Scene:
    """Arms, table and things. `joints` are those of all arms [rad, rails m], shape (J,)."""

    def __init__(self, model: mujoco.MjModel, arms: Sequence[tuple[ArmAt, Hand]]) -> None:
        self.model = model
        self.data = mujoco.MjData(model)
        self.arms: dict[str, Arm] = {}
        first = 0
        for arm, hand in arms:
            self.arms[arm.name] = self._find(arm, hand, first)
            first = self.arms[arm.name].columns.stop
        found = list(self.arms.values())
        self.joint_names = tuple(joint for arm in found for joint in arm.joints)
        self.qpos = np.array([model.joint(joint).qposadr[0] for joint in self.joint_names])
        self.dofs = np.array([model.joint(joint).dofadr[0] for joint in self.joint_names])
        self.servos = np.array([model.actuator(joint).id for joint in self.joint_names])
        self.lower = np.concatenate([arm.lower for arm in found])
        self.upper = np.concatenate([arm.upper for arm in found])
        self.speed = self._per_joint("speed", RAIL_SPEED)
        self.acceleration = self._per_joint("acceleration", RAIL_ACCELERATION)
        self.sweep = self._per_joint("sweep", RAIL_SWEEP)
        self.home = self._per_joint("home", 0.0)
        for arm, _ in arms:
            if arm.rail:
                self.home[self.arms[arm.name].columns.start] = arm.rail_home
        self.data.qpos[self.qpos] = self.data.ctrl[self.servos] = self.home
        for arm in found:
            if arm.grip is not None:
                self.data.ctrl[arm.grip] = arm.hand.open
                for geom in arm.touching:
                    body = model.body(int(model.geom_bodyid[geom]))
                    if body.jntnum[0]:
                        self.data.qpos[model.jnt_qposadr[body.jntadr[0]]] = arm.hand.open
        self._arm_of_body = {body: arm.name for arm in found for body in arm.bodies}
        mujoco.mj_forward(model, self.data)

    def _find(self, arm: ArmAt, hand: Hand, first: int) -> Arm:
        model, prefix, kind = self.model, arm.prefix, KINDS[arm.kind]
        rails = ((RAIL, *arm.rail),) if arm.rail else ()
        joints = tuple(prefix + joint for joint in (*(rail[0] for rail in rails), *kind.joints))
        return Arm(
            name=arm.name,
            kind=kind,
            hand=hand,
            joints=joints,
            columns=slice(first, first + len(joints)),
            lower=np.array([*(rail[1] for rail in rails), *kind.lower]),
            upper=np.array([*(rail[2] for rail in rails), *kind.upper]),
            tip=int(model.site(prefix + "tip").id),
            grip=int(model.actuator(prefix + GRIP).id) if hand.touching else None,
            touching=tuple(int(model.geom(prefix + geom).id) for geom in hand.touching),
            bodies=self.family(model.body(prefix + FOOT).id),
            hand_bodies=self.family(model.body(prefix + kind.flange).id),
        )

    def family(self, body: int) -> frozenset[int]:
        """Return a body and those that hang on it."""
        found = {body}
        for other in range(body + 1, self.model.nbody):
            if int(self.model.body_parentid[other]) in found:
                found.add(other)
        return frozenset(found)

    def _per_joint(self, what: str, of_rail: float) -> np.ndarray:
        values: list[float] = []
        for arm in self.arms.values():
            own = getattr(arm.kind, what)
            values += [of_rail] * (len(arm.joints) - len(own)) + list(own)
        return np.array(values)

    def arm(self, name: str) -> Arm:
        """Return an arm. Raises UnknownNameError."""
        if name not in self.arms:
            raise UnknownNameError("arm", name, self.arms)
        return self.arms[name]

    def body(self, name: str) -> int:
        """Return a body's number. Raises UnknownNameError."""
        body = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name)
        if body < 0:
            own = [self.model.body(number).name for number in range(1, self.model.nbody)]
            raise UnknownNameError("body", name, [one for one in own if "/" not in one])
        return body

    @property
    def time(self) -> float:
        """World time [s]."""
        return float(self.data.time)

    @property
    def joints(self) -> np.ndarray:
        """Joint positions of all arms [rad, m], shape (J,)."""
        return self.data.qpos[self.qpos].copy()

    def hand_pose(self, arm: str) -> HandPose:
        """Return the pose of an arm's tip."""
        site = self.data.site(self.arm(arm).tip)
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, site.xmat)
        w, x, y, z = (float(value) for value in quaternion)
        return HandPose(vector(site.xpos), (w, x, y, z))

    def position(self, body: str) -> Vector:
        """Return the position of a body [m]."""
        return vector(self.data.xpos[self.body(body)])

    def rotation(self, body: str) -> np.ndarray:
        """Return the rotation matrix of a body, (3, 3)."""
        return self.data.xmat[self.body(body)].reshape(3, 3).copy()

    def place(self, body: str, position: Vector, yaw: float = 0.0) -> None:
        """Put a body with a free joint somewhere, at rest; to set up an episode. Raises TableError."""
        number = self.body(body)
        joint = self.model.body(number).jntadr[0]
        if joint < 0 or self.model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE:
            raise TableError(f"{body!r} cannot be put anywhere: it has no free joint")
        start, dof = int(self.model.jnt_qposadr[joint]), int(self.model.jnt_dofadr[joint])
        self.data.qpos[start : start + 7] = [*position, np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)]
        self.data.qvel[dof : dof + 6] = 0.0
        mujoco.mj_forward(self.model, self.data)

    def snapshot(self) -> State:
        """Return the whole state."""
        state = np.empty(mujoco.mj_stateSize(self.model, _STATE))
        mujoco.mj_getState(self.model, self.data, state, _STATE)
        return state

    def restore(self, state: State) -> None:
        """Go back to a state that `snapshot` gave. Raises TableError when it is that of another scene."""
        if state.shape != (size := (mujoco.mj_stateSize(self.model, _STATE),)):
            raise TableError(f"the state has shape {state.shape}, and this scene's have {size}")
        mujoco.mj_setState(self.model, self.data, state, _STATE)
        mujoco.mj_forward(self.model, self.data)

    def step(self, seconds: float = TICK_S) -> None:
        """Advance the physics with the present set points."""
        mujoco.mj_step(self.model, self.data, max(1, round(seconds / TIMESTEP)))

    def settle(self, most_s: float = 2.0) -> None:
        """Advance until everything is at rest, at most for `most_s` [s]."""
        for _ in range(round(most_s / TICK_S)):
            self.step()
            if float(np.abs(self.data.qvel).max(initial=0.0)) < AT_REST:
                break

    def grasp(self, *arms: str) -> dict[str, str | None]:
        """Close hands at the same time; return what each holds then."""
        self._move_hands(arms, close=True)
        return {arm: self.holds(arm) for arm in arms}

    def release(self, *arms: str) -> None:
        """Open hands at the same time."""
        self._move_hands(arms, close=False)

    def _move_hands(self, names: tuple[str, ...], *, close: bool) -> None:
        hands: list[tuple[int, float, float]] = []
        for arm in map(self.arm, names):
            if arm.grip is None:
                raise TableError(f"{arm.name} has a bolted tool, which neither grasps nor releases")
            wanted = arm.hand.closed if close else arm.hand.open
            hands.append((arm.grip, float(self.data.ctrl[arm.grip]), wanted))
        for share in np.linspace(0, 1, round(CLOSING_S / TICK_S)):
            for grip, present, wanted in hands:
                self.data.ctrl[grip] = present + share * (wanted - present)
            self.step()
        for _ in range(round(PULLING_S / TICK_S)):
            self.step()

    def holds(self, arm: str) -> str | None:
        """Return the body that both pads press, or that the cup pulls; None when the hand holds nothing."""
        one = self.arm(arm)
        if one.grip is None or (len(one.touching) == 1 and not self.data.ctrl[one.grip]):
            return None
        forces: dict[int, list[float]] = {}
        wrench = np.zeros(6)
        for number, contact in enumerate(self.data.contact):
            for own, other in (contact.geom, contact.geom[::-1]):
                body = self._whole(int(self.model.geom_bodyid[other]))
                if own in one.touching and body and body not in self._arm_of_body:
                    mujoco.mj_contactForce(self.model, self.data, number, wrench)
                    pressed = forces.setdefault(body, [0.0] * len(one.touching))
                    pressed[one.touching.index(own)] += float(wrench[0])
        held = {body: min(pressed) for body, pressed in forces.items() if min(pressed) > HOLDING_N}
        return self.model.body(max(held, key=held.__getitem__)).name if held else None

    def carries(self, arm: str) -> list[str]:
        """Return the bodies that lie on an arm's hand or on what it holds, as cubes do on a dustpan."""
        held = self.holds(arm)
        under = {*self.arm(arm).hand_bodies, *([self.body(held)] if held else [])}
        pairs: list[tuple[int, int]] = []
        for contact in self.data.contact:
            if abs(contact.frame[2]) > LIES_ON:
                first, second = (int(self.model.geom_bodyid[geom]) for geom in contact.geom)
                pairs.append((first, second) if contact.frame[2] > 0 else (second, first))
        known = len(under) - 1
        while known < len(under):
            known = len(under)
            under |= {self._whole(above) for below, above in pairs if below in under or self._whole(below) in under}
            under -= {0, *self._arm_of_body} - self.arm(arm).hand_bodies
        names = [self.model.body(body).name for body in sorted(under - self.arm(arm).hand_bodies)]
        return [name for name in names if name != held]

    def _whole(self, body: int) -> int:
        """Return the body to which a body is fixed; 0 when it does not move."""
        return int(self.model.body_weldid[body])

    def arm_contacts(self, within: float = 0.0) -> Pairs:
        """Return the pairs of bodies of different arms in contact at a distance of at most `within` [m]."""
        found: dict[tuple[str, str], None] = {}
        for contact in self.data.contact:
            one, other = sorted(int(self.model.geom_bodyid[geom]) for geom in contact.geom)
            arms = self._arm_of_body.get(one), self._arm_of_body.get(other)
            if None not in arms and arms[0] != arms[1] and contact.dist <= within:
                found[self.model.body(one).name, self.model.body(other).name] = None
        return list(found)

    def picture(self, camera: str = "front", width: int = 960, height: int = 720) -> np.ndarray:
        """Return what a camera (`front`, `overhead`) sees: (height, width, 3), uint8 RGB."""
        with mujoco.Renderer(self.model, height, width) as renderer:
            renderer.update_scene(self.data, camera)
            return renderer.render()
