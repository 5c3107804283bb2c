"""Finds the body that a name, a folder or a file describes."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np

from quartet_simulation.bodies.body import Body, add_floor
from quartet_simulation.bodies.fit import compiled_on_floor, first_link, fitted
from quartet_simulation.described.reading import SUFFIXES, ModelFile, data_of, read_model
from quartet_simulation.described.structure import lineage
from quartet_simulation.errors import ModelFileError, SimulationError
from quartet_simulation.mobile.build import SUMMIT, CameraMount, RobotBuild
from quartet_simulation.mobile.file import load_build
from quartet_simulation.mobile.model import add_robot
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.solver import new_scene
from quartet_site import BodyFile, Fault, SiteFileError, load_file, load_robot

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
    raise SimulationError(
        f"there is no robot '{named}'; valid: {', '.join(sorted(body_files(robots)))}, a folder with {BODY_FILE} "
        f"or {ROBOT_FILE}, such a file, or a model file ({', '.join(SUFFIXES)})"
    )


def body_files(robots: Path) -> dict[str, Path]:
    """Return the file of each robot in a folder, by the robot's name."""
    return {path.parent.name: path for name in (ROBOT_FILE, BODY_FILE) for path in sorted(robots.glob(f"*/{name}"))}


def _load(path: Path) -> Body:
    if path.suffix.lower() in SUFFIXES:
        return _of_model(path)
    try:
        return _of_robot(path) if path.name == ROBOT_FILE else _of_file(path)
    except SiteFileError as error:
        raise SimulationError(str(error)) from error


def build_of(path: Path) -> RobotBuild:
    """Return how the simulation builds the robot of a file, that of the home without a field for it.

    Raises SimulationError, SiteFileError.
    """
    file = load_robot(path)
    of_the_home = file.simulation is None and tuple(file.arm.joints) == SUMMIT.arm.joints
    return SUMMIT if of_the_home else load_build(path)


def _of_robot(path: Path) -> Body:
    """Return the body of the robot that a robot file describes. Raises SimulationError, SiteFileError."""
    robot, build = load_robot(path), build_of(path)
    spec, arm = new_scene("robot"), build.arm
    add_robot(spec, build)
    add_floor(spec)
    model = spec.compile()
    file = BodyFile.model_validate({
        "name": robot.name,
        "role": robot.description,
        "model": str(path),
        "foot": arm.base,
        "posture": dict(zip(arm.joints, build.folded, strict=True)),
        # It drives up to things so that they are ahead.
        "arm": {"hand": {"body": arm.tool, "position_m": (0.0, 0.0, arm.tip_m)}, "joints": arm.joints},
        "cameras": {
            "front": _camera(model, "front", arm.base, build.front_camera),
            "arm": _camera(model, "arm", arm.tool, build.arm_camera),
        },
        # It states neither steps nor slopes: a flat floor.
        "mobility": {
            "footprint_radius_m": robot.base.footprint_radius_m, "speed_m_s": robot.base.linear_speed_m_s
        },
    })  # fmt: skip
    return _sound(file, ModelFile(path), model)


def _camera(model: mujoco.MjModel, name: str, link: str, mount: CameraMount) -> dict[str, object]:
    hfov = 2 * math.atan(math.tan(math.radians(mount.fovy) / 2) * dim.IMAGE_WIDTH / dim.IMAGE_HEIGHT)
    tilt = math.asin(model.camera(name).mat0[8])
    return {"link": link, "position_m": mount.position, "hfov_deg": math.degrees(hfov), "tilt_rad": tilt}


def _of_file(path: Path) -> Body:
    made: list[Body] = []

    def check(file: BodyFile) -> list[Fault]:
        try:
            read = read_model(file.model, path.resolve().parent)
            body, faults = fitted(file, read, compiled_on_floor(read))
        except ModelFileError as error:
            return [(("model",), str(error))]
        made.extend([] if body is None else [body])
        return faults

    load_file(path, BodyFile, "body file", check=check)
    return made[-1]


def _of_model(path: Path) -> Body:
    """Return the body of a model file alone, whose hand is the link behind most joints."""
    read = read_model(path.name, path.parent)
    model = compiled_on_floor(read)
    hand = _outermost(model)
    if hand is None:
        raise ModelFileError(
            f"{path}:1: the model has no joint that moves; valid: at least one hinge or slide between foot and hand"
        )
    stem = "".join(letter if letter.isalnum() else "_" for letter in path.stem)[:32]
    file = BodyFile.model_validate({
        "name": stem if stem[:1].isalpha() else "robot",
        "model": path.name,
        "position_m": (0.0, 0.0, float(data_of(model).xpos[first_link(model)][2])),
        "arm": {"hand": {"body": hand}},
        "mobility": {"kind": "none", "footprint_radius_m": PLAIN_FOOTPRINT_M, "speed_m_s": 0.0},
    })  # fmt: skip
    return _sound(file, read, model)


def _sound(file: BodyFile, read: ModelFile, model: mujoco.MjModel) -> Body:
    """Return the body of a derived file. Raises ModelFileError."""
    body, faults = fitted(file, read, model)
    if body is None:
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
