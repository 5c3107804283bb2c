"""Fits a body file to its model, and names what of the two does not fit."""

from __future__ import annotations

import mujoco
import numpy as np

from quartet_simulation.arm.model import standing
from quartet_simulation.bodies.body import FLOOR, Body, BodyArm, add_floor
from quartet_simulation.described.chain import chain_of
from quartet_simulation.described.reading import ROOT, ModelFile, data_of, parsed, told
from quartet_simulation.described.structure import MOVES, Names, frame_in, lineage, listed, pose_of
from quartet_site import BodyFile, Fault

LEAST_MASS = 1e-6
"""Of links that have none [kg, kgm²]."""
_LOOPS = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))


def fitted(file: BodyFile, read: ModelFile, model: mujoco.MjModel) -> tuple[Body | None, list[Fault]]:
    """Return the body of a file with its compiled model, or None and what does not fit; move the floor to the foot."""
    names, faults = Names(model), list[Fault]()
    foot = first_link(model) if file.foot is None else names.find(mujoco.mjtObj.mjOBJ_BODY, file.foot)
    if foot is None:
        return None, [(("foot",), f"the model has no body '{file.foot}'; valid: {names.bodies()}")]
    model.body(FLOOR).pos[2] = data_of(model).xpos[foot][2] - file.position_m[2]
    posture = model.qpos0.copy()
    limited = np.isin(model.jnt_type, list(MOVES)) & (model.jnt_limited != 0)
    places = model.jnt_qposadr[limited]
    posture[places] = np.clip(posture[places], *model.jnt_range[limited].T)
    for name, value in file.posture.items():
        joint = names.find(mujoco.mjtObj.mjOBJ_JOINT, name)
        if joint is None or int(model.jnt_type[joint]) not in MOVES:
            faults.append((("posture", name), f"the model has no such hinge or slide; valid: {names.joints()}"))
        else:
            posture[model.jnt_qposadr[joint]] = value
    for number, pair in enumerate(file.touching):
        if any(names.find(mujoco.mjtObj.mjOBJ_BODY, name) is None for name in pair):
            faults.append((("touching", number), f"the model lacks one of {pair}; valid: {names.bodies()}"))
    data = data_of(model, posture)
    base = pose_of(data, foot) @ np.linalg.inv(standing(file.position_m, file.yaw_rad))
    arm, arm_faults = (None, []) if file.arm is None else _chain(file, read, names, data, foot, base)
    faults += arm_faults
    cameras = dict[str, int]()
    for name, camera in file.cameras.items():
        if (link := names.find(mujoco.mjtObj.mjOBJ_BODY, camera.link)) is None:
            text = f"the model has no link '{camera.link}' for the camera; valid: {names.bodies()}"
            faults.append((("cameras", name, "link"), text))
        else:
            cameras[name] = link
    return (None, faults) if faults else (Body(file, model, posture, base, foot, cameras, arm), [])


def first_link(model: mujoco.MjModel) -> int:
    """Return the outermost link."""
    return 2 if model.body(1).name == ROOT and model.nbody > 2 else 1


def compiled_on_floor(read: ModelFile) -> mujoco.MjModel:
    """Return the model of a file with a floor. Raises ModelFileError."""
    spec = parsed(read)
    # A model without masses is enough for kinematics.
    spec.compiler.boundmass = spec.compiler.boundinertia = LEAST_MASS
    with told(f"use {read.path}"):
        add_floor(spec)
        return spec.compile()


def _chain(
    file: BodyFile, read: ModelFile, names: Names, data: mujoco.MjData, foot: int, base: np.ndarray
) -> tuple[BodyArm | None, list[Fault]]:
    """Return the arm of a file, or None and why there is none."""
    assert file.arm is not None
    model, place, hand = names.model, ("arm", "hand", "body"), file.arm.hand
    if (found := frame_in(names, data, hand)) is None:
        return None, [(place, f"the model has no body or site '{hand.body}'; valid: {names.bodies()}")]
    path = lineage(model, found[0])
    carriers = path[: path.index(foot)] if foot in path else []
    between = [joint for joint in range(model.njnt) if model.jnt_bodyid[joint] in carriers]
    if not between:
        text = f"no joint is between the foot '{names.body(foot)}' and '{hand.body}'; valid: at least one"
        return None, [(place, text)]
    called = {model.joint(joint).name: joint for joint in between}
    faults: list[Fault] = [
        (("arm", "joints", number), f"'{name}' is not between foot and hand; valid: {listed(called)}")
        for number, name in enumerate(file.arm.joints)
        if name not in called
    ]
    joints = tuple(joint for name, joint in called.items() if name in (file.arm.joints or called))
    faults += [(("arm",), fault) for joint in joints if (fault := _fault_of(read, model, joint))]
    ends = np.column_stack([model.eq_obj1id, model.eq_obj2id])
    ends = ends[np.isin(model.eq_type, _LOOPS) & (model.eq_objtype == mujoco.mjtObj.mjOBJ_BODY)].flatten().tolist()
    if looped := [end for end in ends if not set(lineage(model, end)).isdisjoint(carriers)]:
        text = f"an equality closes a loop at '{names.body(looped[0])}', which the arm moves"
        faults.append((("model",), f"{read.path}: {text}; valid: a tree of links, so leave the equality out"))
    if faults:
        return None, faults
    return BodyArm(chain_of(model, data, joints, base, found[1]), joints, file.arm.bearing_deg), []


def _fault_of(read: ModelFile, model: mujoco.MjModel, joint: int) -> str | None:
    """Return why a joint of the chain cannot be used, with its line in the model file."""
    name, kind = model.joint(joint).name, int(model.jnt_type[joint])
    where = f"{read.path}:{read.line_of('joint', name)}: the joint '{name}'"
    if kind not in MOVES:
        called = "ball" if kind == mujoco.mjtJoint.mjJNT_BALL else "free joint"
        return f"{where} is a {called}; valid: hinges and slides between foot and hand"
    if name in read.mimics:
        return (
            f"{where} mimics '{read.mimics[name]}'; valid: joints between foot and hand that move alone, so make it "
            "fixed, or leave it out with arm.joints"
        )
    limited = bool(model.jnt_limited[joint])
    if name in read.unlimited or (kind == mujoco.mjtJoint.mjJNT_SLIDE and not limited):
        return f"{where} has no limits; valid: <limit> with lower below upper (a range in MJCF), or a continuous joint"
    if limited and model.jnt_range[joint, 0] >= model.jnt_range[joint, 1]:
        return f"{where} has the limits {model.jnt_range[joint].tolist()}; valid: lower below upper"
    return None
