"""Which bodies and joints of a model are arm, tool and fingers, and what of it does not fit its robot file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from quartet_simulation.arm.kinematics import pose_matrix
from quartet_simulation.arm.model import standing
from quartet_site import Fault, RobotFile, SimulatedTool

MOUNT, BASE = "arm_mount", "base_footprint"
"""Bodies of the simulation: the arm's first link, which is added before the model's, and the base."""
RESERVED = frozenset({MOUNT, BASE, "base_link", "laser", "map", "odom", "gripper_tip"})
"""Frames of the simulation, which no link of an arm may have."""
RESERVED_JOINTS = frozenset({"base_x", "base_y", "base_yaw"})
SHOWN = 24
"""As many names a message lists."""
FOOT, TOOL, MODEL = ("simulation", "arm", "foot"), ("simulation", "arm", "tool", "body"), ("simulation", "arm", "model")
FINGER, WITHOUT = ("gripper", "joint"), ("simulation", "arm", "without")
MOVES = frozenset({int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE)})


@dataclass(frozen=True)
class Structure:
    """What of a compiled model is used; bodies and joints by their numbers in `model`."""

    model: mujoco.MjModel
    data: mujoco.MjData
    """In the model's reference configuration."""
    foot: int
    joints: tuple[int, ...]
    """Of the arm, from the foot on."""
    fingers: tuple[int, int]
    """Joints; the first is the one that the robot file names."""
    tool: np.ndarray
    """Pose of the tool frame in the last link, 4x4 [m]."""
    tool_body: int | None
    """Body that is the tool frame, None where one is added."""
    left_out: frozenset[int]
    """Bodies that are not used, nor what hangs on them."""

    @property
    def links(self) -> tuple[int, ...]:
        """The link after each joint."""
        return tuple(int(self.model.jnt_bodyid[joint]) for joint in self.joints)

    @property
    def bodies(self) -> tuple[int, ...]:
        """The foot and all that hangs on it and is used, parents first."""
        above = {body: lineage(self.model, body) for body in range(1, self.model.nbody)}
        return tuple(body for body in above if self.foot in above[body] and self.left_out.isdisjoint(above[body]))

    def carrier(self, body: int) -> int:
        """Return the nearest body, itself or above it, that a joint in use moves; the foot where there is none."""
        moved = {*self.links, *(int(self.model.jnt_bodyid[joint]) for joint in self.fingers)}
        return next(one for one in lineage(self.model, body) if one in moved or one == self.foot)

    def pose(self, body: int) -> np.ndarray:
        """Return the pose of a body in the model's world, 4x4."""
        return pose_of(self.data, body)


def structure_of(file: RobotFile, model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Structure | None, list[Fault]]:
    """Return what of a model is arm, tool and fingers, or None and why it does not fit the robot file."""
    assert file.simulation is not None
    names = Names(model)
    joints, faults = _chain(names, file.arm.joints)
    fault, finger = _joint(names, file.gripper.joint)
    if fault is None and finger is not None and model.jnt_type[finger] != mujoco.mjtJoint.mjJNT_SLIDE:
        fault = f"the joint '{file.gripper.joint}' is a hinge; valid: a slide that moves one of two parallel fingers"
    if fault is not None:
        faults.append((FINGER, fault))
    if len(joints) < len(file.arm.joints):
        return None, faults
    foot, told = _foot(names, file.simulation.arm.foot, joints[0])
    faults += told
    if foot is None:
        return None, faults
    last = int(model.jnt_bodyid[joints[-1]])
    found = [*_tool(names, file, last, data)]
    faults += [fault for _, fault in found if fault is not None]
    placed = next((one for one, fault in found if fault is None), None)
    pair: tuple[int, int] | None = None
    if finger is not None and fault is None:
        pair, fault = _pair(names, finger, last, set(joints))
        if fault is not None:
            faults.append((FINGER, fault))
    if placed is None or pair is None or faults:
        return None, faults
    left_out, faults = _left_out(names, file.simulation.arm.without, [*joints, *pair], placed[1])
    if faults:
        return None, faults
    return Structure(model, data, foot, tuple(joints), pair, *placed, left_out), []


def _left_out(
    names: Names, wanted: list[str], joints: list[int], tool: int | None
) -> tuple[frozenset[int], list[Fault]]:
    """Return the bodies that are left out, without what hangs on them, and why others cannot be."""
    model, bodies, faults = names.model, set[int](), list[Fault]()
    for number, name in enumerate(wanted):
        body = names.find(mujoco.mjtObj.mjOBJ_BODY, name)
        carried = [joint for joint in joints if body in lineage(model, int(model.jnt_bodyid[joint]))]
        if body is None:
            faults.append(((*WITHOUT, number), f"the model has no body '{name}'; valid: {names.bodies()}"))
        elif carried or (tool is not None and body in lineage(model, tool)):
            what = f"'{model.joint(carried[0]).name}'" if carried else "the tool frame"
            text = f"'{name}' carries {what}; valid: bodies that carry neither a joint in use nor the tool frame"
            faults.append(((*WITHOUT, number), text))
        else:
            bodies.add(body)
    return frozenset(bodies), faults


def _chain(names: Names, wanted: list[str]) -> tuple[list[int], list[Fault]]:
    """Return those of the wanted joints that hang on each other, and why others do not."""
    joints, faults = list[int](), list[Fault]()
    for number, name in enumerate(wanted):
        fault, joint = _joint(names, name)
        if fault is None and joint is not None and joints:
            fault = _behind(names, joints[-1], joint)
        if fault is not None:
            faults.append((("arm", "joints", number), fault))
        elif joint is not None:
            joints.append(joint)
    return joints, faults


class Names:
    """Names of a model's parts, and lists of them for messages."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = model

    def find(self, kind: mujoco.mjtObj, name: str) -> int | None:
        """Return the number of a part, or None."""
        number = mujoco.mj_name2id(self.model, kind, name)
        return None if number < 0 else int(number)

    def body(self, number: int) -> str:
        """Return the name of a body, or its number."""
        return self.model.body(number).name or f"body {number}"

    def bodies(self) -> str:
        """List the bodies."""
        return listed(self.model.body(number).name for number in range(1, self.model.nbody))

    def joints(self) -> str:
        """List the hinges and slides."""
        types = self.model.jnt_type
        return listed(self.model.joint(number).name for number in range(self.model.njnt) if int(types[number]) in MOVES)


def listed(names: Any) -> str:
    """Return the first names of a message's list."""
    all_names = [name for name in names if name]
    more = len(all_names) - SHOWN
    return (", ".join(all_names[:SHOWN]) or "none") + (f" and {more} more" if more > 0 else "")


def _joint(names: Names, name: str) -> tuple[str | None, int | None]:
    joint = names.find(mujoco.mjtObj.mjOBJ_JOINT, name)
    if joint is None:
        return f"the model has no joint '{name}'; valid: {names.joints()}", None
    if int(names.model.jnt_type[joint]) not in MOVES:
        return f"the joint '{name}' is neither a hinge nor a slide; valid: {names.joints()}", None
    if "/" in name or name in RESERVED_JOINTS:
        return f"the name '{name}' has a '/' or is one of the base's joints; rename it in the model", None
    return None, joint


def _behind(names: Names, before: int, joint: int) -> str | None:
    model = names.model
    one, other = int(model.jnt_bodyid[before]), int(model.jnt_bodyid[joint])
    first, second = model.joint(before).name, model.joint(joint).name
    if one == other:
        return f"'{first}' and '{second}' move the same body; valid: one joint for each, with a body of its own"
    if one not in lineage(model, other):
        return f"'{second}' does not hang on '{first}'; valid: the joints of one chain, from the foot to the hand"
    return None


def _foot(names: Names, name: str | None, first: int) -> tuple[int | None, list[Fault]]:
    """Return the body that stands on the base."""
    model, body = names.model, int(names.model.jnt_bodyid[first])
    if name is None:
        return lineage(model, body)[-1], []
    foot = names.find(mujoco.mjtObj.mjOBJ_BODY, name)
    if foot is None:
        return None, [(FOOT, f"the model has no body '{name}'; valid: {names.bodies()}")]
    if foot not in lineage(model, body):
        above = listed(names.body(one) for one in reversed(lineage(model, body)))
        return None, [(FOOT, f"'{name}' does not carry '{model.joint(first).name}'; valid: {above}")]
    return foot, []


Placed = tuple[np.ndarray, int | None]


def _tool(
    names: Names, file: RobotFile, last: int, data: mujoco.MjData
) -> Iterator[tuple[Placed, None] | tuple[None, Fault]]:
    """Yield where the tool frame is in the last link, or why it cannot be there."""
    assert file.simulation is not None
    told, name, model = file.simulation.arm.tool, file.frames.tool, names.model
    place = ("frames", "tool") if told is None else TOOL
    if name in RESERVED or "/" in name:
        yield None, (("frames", "tool"), f"'{name}' is a frame of the base or has a '/'; give another name")
        return
    tool = told or SimulatedTool(body=name)
    body, site = names.find(mujoco.mjtObj.mjOBJ_BODY, tool.body), names.find(mujoco.mjtObj.mjOBJ_SITE, tool.body)
    if body is None and site is None:
        yield None, (place, f"the model has no body or site '{tool.body}'; valid: {names.bodies()}")
        return
    within = body if body is not None else int(model.site_bodyid[site])
    if last not in lineage(model, within) or any(model.body_jntnum[one] for one in _up_to(model, within, last)):
        yield None, (place, f"'{tool.body}' is not fixed to the last link of the arm, '{names.body(last)}'")
        return
    if body is not None and told is None and body != last:
        yield (np.linalg.inv(pose_of(data, last)) @ pose_of(data, body), body), None
        return
    if names.find(mujoco.mjtObj.mjOBJ_BODY, name) is not None:
        yield (
            None,
            (("frames", "tool"), f"'{name}' is another body of the model already; give the tool frame a new name"),
        )
        return
    found = frame_in(names, data, tool)
    assert found is not None
    yield (np.linalg.inv(pose_of(data, last)) @ found[1], None), None


def frame_in(names: Names, data: mujoco.MjData, frame: SimulatedTool) -> tuple[int, np.ndarray] | None:
    """Return the body of a frame in a model and its pose in the world, 4x4; None: no body or site is called so."""
    body = names.find(mujoco.mjtObj.mjOBJ_BODY, frame.body)
    if body is not None:
        return body, pose_of(data, body) @ _offset(frame)
    site = names.find(mujoco.mjtObj.mjOBJ_SITE, frame.body)
    if site is None:
        return None
    return int(names.model.site_bodyid[site]), _pose_of_site(data, site) @ _offset(frame)


def _offset(tool: SimulatedTool) -> np.ndarray:
    """Return the pose of the tool frame in its body; roll, pitch and yaw are about fixed axes, as in URDF."""
    pose = standing(tool.position_m)
    pose[:3, :3] = Rotation.from_euler("xyz", tool.rpy_rad).as_matrix()
    return pose


def _pair(names: Names, finger: int, last: int, arm: set[int]) -> tuple[tuple[int, int] | None, str | None]:
    """Return the joints of both fingers, or why there are no two."""
    model, name = names.model, names.model.joint(finger).name
    if finger in arm:
        return None, f"'{name}' is a joint of the arm; valid: a joint of a finger"
    if not _hangs_on(model, finger, last):
        return None, f"'{name}' does not hang on the last link of the arm, '{names.body(last)}'"
    others = [
        joint
        for joint in range(model.njnt)
        if joint != finger
        and joint not in arm
        and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE
        and _hangs_on(model, joint, last)
    ]
    if len(others) != 1:
        found = listed(model.joint(joint).name for joint in others)
        return (
            None,
            f"beside '{name}' the hand has {len(others)} slides ({found}); valid: one, that of the other finger",
        )
    for joint in (finger, others[0]):
        if not model.jnt_limited[joint]:
            return None, f"the joint '{model.joint(joint).name}' has no range; give the model one"
    return (finger, others[0]), None


def _hangs_on(model: mujoco.MjModel, joint: int, link: int) -> bool:
    return link in lineage(model, int(model.jnt_bodyid[joint]))[1:]


def lineage(model: mujoco.MjModel, body: int) -> list[int]:
    """Return a body and those that it hangs on, up to the one below the world."""
    found: list[int] = []
    while body != 0:
        found.append(body)
        body = int(model.body_parentid[body])
    return found


def _up_to(model: mujoco.MjModel, body: int, link: int) -> list[int]:
    chain = lineage(model, body)
    return chain[: chain.index(link)]


def pose_of(data: mujoco.MjData, body: int) -> np.ndarray:
    """Return the pose of a body in the world, 4x4."""
    return _matrix(data.xpos[body], data.xmat[body])


def _pose_of_site(data: mujoco.MjData, site: int) -> np.ndarray:
    return _matrix(data.site_xpos[site], data.site_xmat[site])


def _matrix(position: np.ndarray, turn: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn.reshape(3, 3), position
    return pose


def local_pose(position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """Return a pose from a position [m] and MuJoCo's quaternion (w, x, y, z), 4x4."""
    w, x, y, z = (float(value) for value in quaternion)
    return pose_matrix(tuple(float(value) for value in position), (x, y, z, w))
