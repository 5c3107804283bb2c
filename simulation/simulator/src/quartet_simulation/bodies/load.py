"""Finds the body that a name, a folder or a file describes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np

from quartet_simulation.arm.model import standing
from quartet_simulation.bodies.body import Body, BodyArm, Camera, add_floor, data_of
from quartet_simulation.bodies.fit import compiled_on_floor, first_link, fitted
from quartet_simulation.described.chain import chain_of
from quartet_simulation.described.reading import SUFFIXES, read_model, reference_of
from quartet_simulation.described.structure import lineage, pose_of
from quartet_simulation.errors import ModelFileError, SimulationError
from quartet_simulation.mobile.build import SUMMIT, RobotBuild
from quartet_simulation.mobile.file import load_build
from quartet_simulation.mobile.model import add_robot
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.solver import new_scene
from quartet_site import BodyFile, Fault, SiteFileError, load_body, load_robot, mobility_of

BODY_FILE, ROBOT_FILE = "body.yaml", "robot.yaml"
PLAIN_FOOTPRINT_M = 0.5
"""Of a model file alone, which says nothing about mobility."""


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
        return robot_body(path) if path.name == ROBOT_FILE else _of_file(path)
    except SiteFileError as error:
        raise SimulationError(str(error)) from error


def build_of(path: Path) -> RobotBuild:
    """Return how the simulation builds the robot of a file, that of the home without a field for it.

    Raises SimulationError, SiteFileError.
    """
    file = load_robot(path)
    of_the_home = file.simulation is None and tuple(file.arm.joints) == SUMMIT.arm.joints
    return SUMMIT if of_the_home else load_build(path)


def robot_body(path: Path) -> Body:
    """Return the body of the robot that a robot file describes. Raises SimulationError, SiteFileError."""
    file, build = load_robot(path), build_of(path)
    spec = new_scene("robot")
    add_robot(spec, build)
    add_floor(spec, 0.0)
    model = spec.compile()
    joints = tuple(int(model.joint(name).id) for name in build.arm.joints)
    posture = model.qpos0.copy()
    posture[model.jnt_qposadr[list(joints)]] = build.folded
    data, tool = data_of(model, posture), int(model.body(build.arm.tool).id)
    tip = standing((0.0, 0.0, build.arm.tip_m))
    # It drives up to things so that they are ahead.
    arm = BodyArm(chain_of(model, data, joints, np.eye(4), pose_of(data, tool) @ tip), joints)
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
        body, faults = fitted(file, path.resolve().parent)
        made.extend([] if body is None else [body])
        return faults

    load_body(path, check)
    return made[-1]


def _of_model(path: Path) -> Body:
    """Return the body of a model file alone, whose hand is the link behind most joints."""
    read = read_model(path.name, path.parent)
    model = compiled_on_floor(read, 0.0)
    hand = _outermost(model)
    if hand is None:
        raise ModelFileError(
            f"{path}:1: the model has no joint that moves; valid: at least one hinge or slide between foot and hand"
        )
    stem = "".join(letter if letter.isalnum() else "_" for letter in path.stem)[:32]
    height = float(reference_of(model).xpos[first_link(model)][2])
    file = BodyFile.model_validate({
        "name": stem if stem[:1].isalpha() else "robot",
        "model": path.name,
        "position_m": (0.0, 0.0, height),
        "arm": {"hand": {"body": hand}},
        "mobility": {"kind": "none", "footprint_radius_m": PLAIN_FOOTPRINT_M, "speed_m_s": 0.0},
    })  # fmt: skip
    body, faults = fitted(file, path.resolve().parent)
    if body is None or faults:
        raise ModelFileError("\n".join(text for _, text in faults))
    return body


def _outermost(model: mujoco.MjModel) -> str | None:
    """Return the name of the body behind most joints; of a hand, the palm that carries the fingers."""
    counts = [sum(int(model.body_jntnum[one]) for one in lineage(model, body)) for body in range(model.nbody)]
    body = int(np.argmax(counts))
    if counts[body] == 0:
        return None
    if (fingers := int(model.body_parentid[body])) and counts[body] > 1:
        # More than one joint side by side at the end of the chain are fingers.
        siblings = [one for one in range(model.nbody) if model.body_parentid[one] == fingers and model.body_jntnum[one]]
        body = fingers if len(siblings) > 1 else body
    return model.body(body).name
