"""From a robot file to the robot that the simulation builds, with every fault at its line."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np

from quartet_simulation.arm.collision import CollisionWorld, planning_model
from quartet_simulation.arm.kind import ArmKind
from quartet_simulation.described.arm import always_touching, described_arm
from quartet_simulation.described.reading import PACKAGE, SUFFIXES, names_a_file
from quartet_simulation.errors import SimulationError
from quartet_simulation.mobile.arms import ARMS
from quartet_simulation.mobile.build import OPTICAL, Base, CameraMount, RobotBuild
from quartet_simulation.mobile.model import add_robot
from quartet_simulation.solver import new_scene
from quartet_site import Fault, RobotFile, Simulated, SimulatedBase, SimulatedCamera, SiteFileError, load_file

SAME_M = 0.002
"""Sizes of the gripper may differ from those of the model by this much."""


def load_build(path: Path) -> RobotBuild:
    """Return how the robot of a file is built.

    Raises SimulationError naming file, line, field, value and what is valid, for all faults at once.
    """
    built: list[RobotBuild] = []

    def check(file: RobotFile) -> list[Fault]:
        kind, faults = _arm(file, path.resolve().parent)
        if kind is None or file.simulation is None:
            return faults
        if faults := _faults(file, file.simulation, kind):
            return faults
        built.append(_build(file, file.simulation, kind))
        return [*_folded(file, built[-1])]

    try:
        load_file(path, RobotFile, "robot file", check=check)
    except SiteFileError as error:
        raise SimulationError(str(error)) from error
    return built[-1]


def _arm(file: RobotFile, folder: Path) -> tuple[ArmKind | None, list[Fault]]:
    """Return the arm that a robot file in `folder` names, or None and why there is none."""
    simulated = file.simulation
    if simulated is None:
        return None, [
            ((), "there is no field 'simulation', which says how the simulation builds the robot (docs/worlds.md)")
        ]
    model = simulated.arm.model
    if names_a_file(model):
        return described_arm(file, folder)
    further: list[tuple[str, ...]] = [
        ("simulation", "arm", name) for name in ("foot", "tool", "without") if getattr(simulated.arm, name)
    ]
    if simulated.gripper is not None:
        further.append(("simulation", "gripper"))
    if model in ARMS and not further:
        return ARMS[model], []
    if model in ARMS:
        text = f"the model '{model}' has its own; leave it out, which is for model files"
        return None, [(place, text) for place in further]
    files = f"a file ({', '.join(SUFFIXES)}) beside this one, {PACKAGE}NAME/PATH"
    text = f"there is no model '{model}'; valid: {', '.join(sorted(ARMS))}, {files}"
    return None, [(("simulation", "arm", "model"), text)]


def _faults(file: RobotFile, simulated: Simulated, kind: ArmKind) -> list[Fault]:
    """Return why the simulation cannot build the robot of a file with an arm; each fault with its place."""
    return [*_names(file, kind), *_gripper(file, kind), *_joints(file, kind), *_sizes(file, simulated)]


def _build(file: RobotFile, simulated: Simulated, kind: ArmKind) -> RobotBuild:
    arm = simulated.arm
    build = RobotBuild(
        base=_base(file, simulated.base),
        kind=kind,
        mount=arm.position_m,
        mount_yaw=arm.yaw_rad,
        arm=replace(kind.at(arm.position_m, arm.yaw_rad), force_limit=arm.force_limit_n),
        folded=tuple(file.arm.named_states[file.arm.transit_state]),
        pick_standoff=file.approach.standoff_m.pick,
        front_camera=_camera(simulated.cameras.front),
        arm_camera=_camera(simulated.cameras.arm),
        laser_height=simulated.laser_height_m,
    )
    if not names_a_file(arm.model):
        return build
    apart = (*kind.apart, *always_touching(bare(build), build.arm))
    return replace(build, kind=replace(kind, apart=apart))


def _base(file: RobotFile, base: SimulatedBase) -> Base:
    return Base(
        length=base.length_m,
        width=base.width_m,
        height=base.height_m,
        clearance=base.ground_clearance_m,
        mass=base.mass_kg,
        differential=base.drive == "differential",
        wheel_radius=base.wheel_radius_m,
        wheel_track=base.wheel_track_m,
        wheel_base=base.wheel_base_m,
        linear_speed=file.base.linear_speed_m_s,
        angular_speed=file.base.angular_speed_rad_s,
    )


def _camera(camera: SimulatedCamera) -> CameraMount:
    return CameraMount(camera.position_m, camera.tilt_rad, camera.fovy_deg)


def _names(file: RobotFile, kind: ArmKind) -> Iterator[Fault]:
    """Names in the file that the simulated robot does not have."""
    what = f"the simulated robot with the arm '{_model(file)}'"
    arm, hand = kind.arm, kind.hand
    frames = {"map": "map", "odom": "odom", "base": arm.base, "tool": arm.tool}
    for field, valid in frames.items():
        if (name := getattr(file.frames, field)) != valid:
            yield ("frames", field), f"{what} has no frame '{name}' there; valid: {valid}"
    for field, valid in OPTICAL.items():
        if (name := getattr(file.cameras, field).frame) != valid:
            yield ("cameras", field, "frame"), f"{what} has no frame '{name}' there; valid: {valid}"
    if file.arm.group != arm.group:
        yield ("arm", "group"), f"{what} has no planning group '{file.arm.group}'; valid: {arm.group}"
    if tuple(file.arm.joints) != arm.joints:
        yield (
            ("arm", "joints"),
            f"{what} has other joints than {', '.join(file.arm.joints)}; valid: {', '.join(arm.joints)}",
        )
    if file.gripper.joint != hand.joint:
        yield ("gripper", "joint"), f"{what} has no finger joint '{file.gripper.joint}'; valid: {hand.joint}"
    valid = (*arm.hand, *arm.fingers)
    if unknown := [name for name in file.gripper.links if name not in valid]:
        yield ("gripper", "links"), f"{what} has no link '{unknown[0]}'; valid: {', '.join(valid)}"
    if file.actions.gripper != hand.action:
        yield ("actions", "gripper"), f"{what} has no gripper at '{file.actions.gripper}'; valid: {hand.action}"


def _model(file: RobotFile) -> str:
    assert file.simulation is not None
    return file.simulation.arm.model


def _gripper(file: RobotFile, kind: ArmKind) -> Iterator[Fault]:
    gripper, own = file.gripper, file.simulation.gripper if file.simulation is not None else None
    whose = f"the arm '{_model(file)}'" if own is None else f"'{own.model}'"
    sizes = {
        "stroke_m": kind.hand.stroke,
        "finger_offset_m": kind.arm.tip_m,
        "open_position": kind.hand.open_position,
        "closed_position": kind.hand.closed_position,
    }
    for field, valid in sizes.items():
        if abs((value := getattr(gripper, field)) - valid) > SAME_M:
            yield (
                ("gripper", field),
                f"{value:g} is not that of the gripper of {whose}; valid: {valid:.4g}",
            )


def _joints(file: RobotFile, kind: ArmKind) -> Iterator[Fault]:
    arm = kind.arm
    for state, values in file.arm.named_states.items():
        for joint, value, low, high in zip(arm.joints, values, arm.lower, arm.upper, strict=False):
            if not low <= value <= high:
                yield (
                    ("arm", "named_states", state),
                    f"{joint} is {value:g} rad; valid: {low:g} to {high:g}",
                )


def _sizes(file: RobotFile, simulated: Simulated) -> Iterator[Fault]:
    base, (x, y, z) = simulated.base, simulated.arm.position_m
    at = ("simulation", "base")
    if base.ground_clearance_m >= base.height_m:
        yield (
            (*at, "ground_clearance_m"),
            f"{base.ground_clearance_m:g} is not below the body's top; valid: less than height_m ({base.height_m:g})",
        )
    if base.drive == "omnidirectional" and base.wheel_base_m > base.length_m:
        yield (*at, "wheel_base_m"), f"{base.wheel_base_m:g} is longer than the body; valid: up to {base.length_m:g}"
    if base.wheel_track_m > base.width_m + 0.1:
        yield (
            (*at, "wheel_track_m"),
            f"{base.wheel_track_m:g} is wider than the body with its wheels; valid: up to {base.width_m + 0.1:g}",
        )
    for axis, value, half in (("x", x, base.length_m / 2), ("y", y, base.width_m / 2)):
        if abs(value) > half:
            yield (
                ("simulation", "arm", "position_m"),
                f"{axis} {value:g} is not over the body; valid: {-half:g} to {half:g}",
            )
    own_base = names_a_file(simulated.arm.model) and z == 0
    if z < base.height_m and not own_base:
        yield (
            ("simulation", "arm", "position_m"),
            f"z {z:g} is inside of the body; valid: from its top, {base.height_m:g}, or 0 for a model with a base",
        )
    if simulated.cameras.front.position_m[2] < base.height_m + 0.05:
        yield (
            ("simulation", "cameras", "front", "position_m"),
            f"z {simulated.cameras.front.position_m[2]:g} is too low; valid: from {base.height_m + 0.05:g}",
        )
    if simulated.laser_height_m > base.height_m:
        yield (
            ("simulation", "laser_height_m"),
            f"{simulated.laser_height_m:g} is over the body's top; valid: up to {base.height_m:g}",
        )
    corner = math.hypot(base.length_m, base.width_m) / 2
    if file.base.footprint_radius_m < corner:
        yield (
            ("base", "footprint_radius_m"),
            f"{file.base.footprint_radius_m:g} is less than the body's own circle; valid: from {corner:.2f}",
        )


def _folded(file: RobotFile, build: RobotBuild) -> Iterator[Fault]:
    """Named states in which the robot touches itself."""
    world = bare(build)
    for name, joints in file.arm.named_states.items():
        world.set_arm(np.array(joints))
        if touching := world.named_contacts():
            one, other, _ = touching[0]
            yield ("arm", "named_states", name), f"the robot touches itself there: {one} and {other}; give other joints"


def bare(build: RobotBuild) -> CollisionWorld:
    """Return the robot alone, with nothing around it, for checks of its own shape."""
    spec = new_scene("robot")
    add_robot(spec, build)
    world = CollisionWorld(build.arm, planning_model(build.arm, spec))
    mujoco.mj_resetData(world.model, world.data)
    return world
