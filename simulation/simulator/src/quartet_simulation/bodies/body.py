"""A robot's body as one compiled model: chain, hand, cameras and mobility, whichever file describes it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from quartet_simulation.arm.model import standing
from quartet_simulation.described.chain import Chain, chain_of
from quartet_simulation.described.reading import ROOT, SUFFIXES, ModelFile, parsed, read_model, reference_of, told
from quartet_simulation.described.structure import Names, frame_in, lineage, listed, pose_of
from quartet_simulation.errors import ModelFileError, SimulationError
from quartet_simulation.mobile.build import RobotBuild
from quartet_simulation.mobile.file import load_build
from quartet_simulation.mobile.model import add_robot
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.solver import new_scene
from quartet_site import BodyArm as BodyArmFields
from quartet_site import BodyFile, Fault, Mobility, SimulatedTool, SiteFileError, load_body, load_robot, mobility_of

BODY_FILE, ROBOT_FILE = "body.yaml", "robot.yaml"
FLOOR = "the floor"
"""Body of the floor in a compiled model."""
_HINGE, _SLIDE, _BALL = (
    int(kind) for kind in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_BALL)
)
_LOOPS = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
PLAIN_FOOTPRINT_M = 0.5
"""Of a model file alone, which says nothing about mobility."""


@dataclass(frozen=True)
class BodyArm:
    """The chain from the base frame to the grasp point, whose frame reaches along its z."""

    chain: Chain
    joints: tuple[int, ...]
    """In the model."""
    box: bool
    """Whether a box stands for the workspace, not a sphere."""
    bearing: float | None
    """Of the points about which claims are made [degrees]; None: the best."""


@dataclass(frozen=True)
class Camera:
    """A camera in its link: position [m], horizontal field of view and tilt below the horizon at rest [degrees]."""

    link: int
    position: tuple[float, float, float]
    hfov_deg: float
    tilt_deg: float
    moved: bool


@dataclass(frozen=True)
class Body:
    """A robot. The base frame is on the floor below it: x ahead, y left, z up [m, rad]."""

    name: str
    type: str
    role: str
    model: mujoco.MjModel
    posture: np.ndarray
    """qpos while the robot stands still."""
    base: np.ndarray
    """Pose of the base frame in the model's world, 4x4."""
    foot: int
    """Body from which the tree of links begins."""
    cameras: dict[str, Camera]
    mobility: Mobility
    arm: BodyArm | None
    touching: tuple[tuple[int, int], ...] = ()
    """Pairs of bodies whose overlap is no collision."""

    def at_rest(self) -> mujoco.MjData:
        """Return data of the model in the body's posture, kinematics computed."""
        return _data(self.model, self.posture)


def find_body(named: str, robots: Path) -> Body:
    """Return the body that a name below `robots`, a folder or a file describes.

    Raises SimulationError naming file, line, value and what is valid.
    """
    places = [Path(named)] if "/" in named or Path(named).suffix else [robots / named, Path(named)]
    for place in places:
        for path in (place / BODY_FILE, place / ROBOT_FILE, place):
            if path.is_file():
                return _load(path)
    names = sorted({path.parent.name for name in (BODY_FILE, ROBOT_FILE) for path in robots.glob(f"*/{name}")})
    raise SimulationError(
        f"there is no robot '{named}'; valid: {', '.join(names)}, a folder with {BODY_FILE} or {ROBOT_FILE}, "
        f"such a file, or a model file ({', '.join(SUFFIXES)})"
    )


def _load(path: Path) -> Body:
    if path.suffix.lower() in SUFFIXES:
        return _of_model(path)
    try:
        # Only a body file names a model at its top.
        return _of_file(path) if "\nmodel:" in "\n" + path.read_text(encoding="utf-8") else robot_body(path)
    except (SiteFileError, UnicodeDecodeError) as error:
        raise SimulationError(str(error)) from error


def robot_body(path: Path) -> Body:
    """Return the body of the robot that a robot file describes. Raises SimulationError, SiteFileError."""
    file, build = load_robot(path), load_build(path)
    spec = new_scene("robot")
    add_robot(spec, build)
    _add_floor(spec, 0.0)
    model = spec.compile()
    joints = tuple(int(model.joint(name).id) for name in build.arm.joints)
    posture = model.qpos0.copy()
    posture[model.jnt_qposadr[list(joints)]] = build.folded
    data, tool = _data(model, posture), int(model.body(build.arm.tool).id)
    tip = standing((0.0, 0.0, build.arm.tip_m))
    # It drives up to things so that they are ahead.
    ahead = BodyArmFields(hand=SimulatedTool(body=build.arm.tool), bearing_deg=0.0)
    arm = _arm(model, data, joints, np.eye(4), pose_of(data, tool) @ tip, ahead)
    role, foot = file.description, int(model.body(build.arm.base).id)
    cameras = dict(_robot_cameras(model, build))
    return Body(file.name, file.name, role, model, posture, np.eye(4), foot, cameras, mobility_of(file), arm)


def _robot_cameras(model: mujoco.MjModel, build: RobotBuild) -> Iterator[tuple[str, Camera]]:
    data = reference_of(model)
    mujoco.mj_camlight(model, data)
    for name, mount in (("front", build.front_camera), ("arm", build.arm_camera)):
        link = int(model.camera(name).bodyid[0])
        hfov = 2 * math.atan(math.tan(math.radians(mount.fovy) / 2) * dim.IMAGE_WIDTH / dim.IMAGE_HEIGHT)
        down = -data.cam_xmat[model.camera(name).id].reshape(3, 3)[2, 2]
        moved = any(int(model.body_jntnum[one]) for one in lineage(model, link)[:-1])
        yield name, Camera(link, mount.position, math.degrees(hfov), math.degrees(math.asin(-down)), moved)


def _of_file(path: Path) -> Body:
    made: list[Body] = []

    def check(file: BodyFile) -> list[Fault]:
        body, faults = _built(file, path.resolve().parent)
        made.extend([] if body is None else [body])
        return faults

    load_body(path, check)
    return made[-1]


def _of_model(path: Path) -> Body:
    """Return the body of a model file alone, whose hand is the link behind most joints."""
    read = read_model(path.name, path.parent)
    model = _compiled(read, 0.0)
    hand = _outermost(model)
    if hand is None:
        raise ModelFileError(
            f"{path}:1: the model has no joint that moves; valid: at least one hinge or slide between foot and hand"
        )
    stem = "".join(letter if letter.isalnum() else "_" for letter in path.stem)[:32]
    height = float(reference_of(model).xpos[_first(model)][2])
    file = BodyFile.model_validate({
        "name": stem if stem[:1].isalpha() else "robot",
        "model": path.name,
        "position_m": (0.0, 0.0, height),
        "arm": {"hand": {"body": hand}},
        "mobility": {"kind": "none", "footprint_radius_m": PLAIN_FOOTPRINT_M, "speed_m_s": 0.0},
    })  # fmt: skip
    body, faults = _built(file, path.resolve().parent)
    if body is None or faults:
        raise ModelFileError("\n".join(f"{path}: {text}" for _, text in faults))
    return body


def _outermost(model: mujoco.MjModel) -> str | None:
    """Return the name of the body behind most joints; of a hand, the palm that carries the fingers."""
    counts = [sum(int(model.body_jntnum[one]) for one in lineage(model, body)) for body in range(model.nbody)]
    body = int(np.argmax(counts))
    if counts[body] == 0:
        return None
    if (fingers := int(model.body_parentid[body])) and counts[body] > 1:
        # More than one joint side by side at the end of the chain are fingers.
        beside = [one for one in range(model.nbody) if model.body_parentid[one] == fingers and model.body_jntnum[one]]
        body = fingers if len(beside) > 1 else body
    return model.body(body).name


def _built(file: BodyFile, folder: Path) -> tuple[Body | None, list[Fault]]:
    """Return the body of a file in `folder`, or None and what does not fit its model, each fault with its place."""
    try:
        read = read_model(file.model, folder)
        model = _compiled(read, -file.position_m[2], file.foot)
    except ModelFileError as error:
        return None, [(("model",), str(error))]
    names, faults = Names(model), list[Fault]()
    foot = _first(model) if file.foot is None else names.find(mujoco.mjtObj.mjOBJ_BODY, file.foot)
    if foot is None:
        return None, [(("foot",), f"the model has no body '{file.foot}'; valid: {names.bodies()}")]
    posture = _posture(model)
    for name, value in file.posture.items():
        joint = names.find(mujoco.mjtObj.mjOBJ_JOINT, name)
        if joint is None or int(model.jnt_type[joint]) not in (_HINGE, _SLIDE):
            faults.append((("posture", name), f"the model has no such hinge or slide; valid: {names.joints()}"))
        else:
            posture[model.jnt_qposadr[joint]] = value
    touching: list[tuple[int, int]] = []
    for number, pair in enumerate(file.touching):
        found = [names.find(mujoco.mjtObj.mjOBJ_BODY, name) for name in pair]
        if None in found:
            faults.append((("touching", number), f"the model lacks one of {pair}; valid: {names.bodies()}"))
        touching += [(one, other) for one, other in [found] if one is not None and other is not None]
    data = _data(model, posture)
    base = pose_of(data, foot) @ np.linalg.inv(standing(file.position_m, file.yaw_rad))
    arm, arm_faults = (None, []) if file.arm is None else _chain(file, read, names, data, foot, base)
    cameras, camera_faults = _cameras(file, names, foot)
    faults += [*arm_faults, *camera_faults]
    if faults:
        return None, faults
    kind = file.type or file.name
    body = Body(file.name, kind, file.role, model, posture, base, foot, cameras, file.mobility, arm, tuple(touching))
    return body, []


def _first(model: mujoco.MjModel) -> int:
    """Return the outermost link."""
    return 2 if model.body(1).name == ROOT and model.nbody > 2 else 1


def _compiled(read: ModelFile, floor: float, foot: str | None = None) -> mujoco.MjModel:
    spec = parsed(read)
    with told(f"use {read.path}"):
        model = spec.compile()
        _add_floor(spec, floor + _height(model, foot))
        return spec.compile()


def _height(model: mujoco.MjModel, foot: str | None) -> float:
    """Return how high the foot is in the model's world [m]."""
    number = -1 if foot is None else mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, foot)
    return float(reference_of(model).xpos[number if number >= 0 else min(1, model.nbody - 1)][2])


def _add_floor(spec: mujoco.MjSpec, height: float) -> None:
    floor = spec.worldbody.add_body(name=FLOOR, pos=(0, 0, height))
    floor.add_geom(name=FLOOR, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.1])


def _posture(model: mujoco.MjModel) -> np.ndarray:
    """Return qpos with each joint at 0, or as near as its limits allow."""
    posture = model.qpos0.copy()
    for joint in range(model.njnt):
        if int(model.jnt_type[joint]) in (_HINGE, _SLIDE) and model.jnt_limited[joint]:
            place = int(model.jnt_qposadr[joint])
            posture[place] = np.clip(posture[place], *model.jnt_range[joint])
    return posture


def _data(model: mujoco.MjModel, posture: np.ndarray) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[:] = posture
    mujoco.mj_kinematics(model, data)
    return data


def _chain(
    file: BodyFile, read: ModelFile, names: Names, data: mujoco.MjData, foot: int, base: np.ndarray
) -> tuple[BodyArm | None, list[Fault]]:
    """Return the arm of a file, or None and why there is none."""
    assert file.arm is not None
    model, place = names.model, ("arm", "hand", "body")
    found = frame_in(names, data, file.arm.hand)
    if found is None:
        text = f"the model has no body or site '{file.arm.hand.body}'; valid: {names.bodies()}"
        return None, [(place, text)]
    body, tip = found
    path = lineage(model, body)
    if foot not in path:
        return None, [(place, f"'{file.arm.hand.body}' does not hang on the foot, '{names.body(foot)}'")]
    carriers = list(reversed(path[: path.index(foot)]))
    between = [int(model.body_jntadr[one]) + number for one in carriers for number in range(int(model.body_jntnum[one]))]
    valid = listed(model.joint(joint).name for joint in between)
    wanted = file.arm.joints or [model.joint(joint).name for joint in between]
    faults: list[Fault] = []
    if not between:
        text = f"no joint is between '{names.body(foot)}' and '{file.arm.hand.body}'; valid: at least one"
        return None, [(place, text)]
    joints = [joint for joint in between if model.joint(joint).name in wanted]
    for number, name in enumerate(file.arm.joints):
        if name not in [model.joint(joint).name for joint in between]:
            faults.append((("arm", "joints", number), f"'{name}' is not between foot and hand; valid: {valid}"))
    for joint in joints:
        if fault := _fault_of(read, model, joint):
            faults.append((("arm",), fault))
    if loop := _loop(names, carriers):
        faults.append((("model",), f"{read.path}: {loop}"))
    if faults:
        return None, faults
    return _arm(model, data, tuple(joints), base, tip, file.arm), []


def _fault_of(read: ModelFile, model: mujoco.MjModel, joint: int) -> str | None:
    """Return why a joint of the chain cannot be used, with its line in the model file."""
    name, kind = model.joint(joint).name, int(model.jnt_type[joint])
    where = f"{read.path}:{read.line_of('joint', name)}: the joint '{name}'"
    if kind not in (_HINGE, _SLIDE):
        return f"{where} is a {'ball' if kind == _BALL else 'free joint'}; valid: hinges and slides between foot and hand"
    if name in read.mimics:
        return (
            f"{where} mimics '{read.mimics[name]}'; valid: joints between foot and hand that move alone, so make it "
            "fixed, or leave it out with arm.joints"
        )
    limited = bool(model.jnt_limited[joint])
    if name in read.unlimited or (kind == _SLIDE and not limited):
        return f"{where} has no limits; valid: <limit> with lower below upper (a range in MJCF), or a continuous joint"
    if limited and model.jnt_range[joint, 0] >= model.jnt_range[joint, 1]:
        return f"{where} has the limits {model.jnt_range[joint].tolist()}; valid: lower below upper"
    return None


def _loop(names: Names, carriers: list[int]) -> str | None:
    """Return why an equality of MJCF closes a loop with the chain."""
    model = names.model
    for number in range(model.neq):
        ends = (int(model.eq_obj1id[number]), int(model.eq_obj2id[number]))
        if int(model.eq_type[number]) in _LOOPS and int(model.eq_objtype[number]) == int(mujoco.mjtObj.mjOBJ_BODY):
            if moved := [end for end in ends if not set(lineage(model, end)).isdisjoint(carriers)]:
                return (
                    f"an equality closes a loop at '{names.body(moved[0])}', which the arm moves; valid: a tree of "
                    "links, so leave the equality out"
                )
    return None


def _arm(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    joints: tuple[int, ...],
    base: np.ndarray,
    tip: np.ndarray,
    given: BodyArmFields,
) -> BodyArm:
    chain = chain_of(model, data, joints, base, tip)
    slides = int(chain.slides.sum())
    box = 2 * slides >= len(joints) if given.workspace is None else given.workspace == "box"
    return BodyArm(chain, joints, box, given.bearing_deg)


def _cameras(file: BodyFile, names: Names, foot: int) -> tuple[dict[str, Camera], list[Fault]]:
    model, cameras, faults = names.model, dict[str, Camera](), list[Fault]()
    for name, camera in file.cameras.items():
        link = names.find(mujoco.mjtObj.mjOBJ_BODY, camera.link)
        if link is None:
            text = f"the model has no link '{camera.link}' for the camera; valid: {names.bodies()}"
            faults.append((("cameras", name, "link"), text))
            continue
        path = lineage(model, link)
        path = path[: path.index(foot)] if foot in path else path
        turned = any(
            int(model.jnt_type[int(model.body_jntadr[one]) + number]) == _HINGE
            for one in path
            for number in range(int(model.body_jntnum[one]))
        )
        moved = turned if camera.moved is None else camera.moved
        cameras[name] = Camera(link, camera.position_m, camera.hfov_deg, math.degrees(camera.tilt_rad), moved)
    return cameras, faults
