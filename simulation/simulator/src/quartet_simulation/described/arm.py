"""From a model file and the robot file that names it to an arm that stands on a base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from quartet_simulation.arm.collision import CollisionWorld
from quartet_simulation.arm.kind import ArmKind
from quartet_simulation.arm.model import ArmModel, GripperModel
from quartet_simulation.described.chain import chain_of
from quartet_simulation.described.hand import Hand, hand_of
from quartet_simulation.described.joining import NoSuchBodyError, joined
from quartet_simulation.described.parts import Parts, stiffness_of
from quartet_simulation.described.reading import ModelFile, compiled, data_of, read_model
from quartet_simulation.described.structure import (
    BASE,
    MODEL,
    MOUNT,
    RESERVED,
    Structure,
    listed,
    structure_of,
)
from quartet_simulation.errors import ModelFileError
from quartet_site import Fault, RobotFile

GRIPPER_MODEL, GRIPPER_AT = ("simulation", "gripper", "model"), ("simulation", "gripper", "at")
HINGE_SPEED, SLIDE_SPEED = 2.0, 0.2
"""Of a joint for which the model has no speed, and the most of any [rad/s, m/s]."""
SPEED_UP_S = 0.5
"""Time in which a joint reaches its full speed."""
FINGER_SPEED = 0.1
"""Rate of change of the opening [m/s]."""
ALWAYS = 0.95
"""Bodies that overlap in this share of all positions are made that way, and no collision."""
SAMPLES = 200
Name = TypeVar("Name", int, str)


def described_arm(file: RobotFile, folder: Path) -> tuple[ArmKind | None, list[Fault]]:
    """Return the arm of the model that a robot file in `folder` names, or None and why it cannot be used."""
    assert file.simulation is not None
    try:
        read = read_model(file.simulation.arm.model, folder)
        model = compiled(read)
    except ModelFileError as error:
        return None, [(MODEL, str(error))]
    if (gripper := file.simulation.gripper) is not None:
        try:
            hand_file = read_model(gripper.model, folder)
            model = joined(read, hand_file, gripper)
            # It may have a joint of the wrist.
            read.speeds = {**hand_file.speeds, **read.speeds}
        except ModelFileError as error:
            return None, [(GRIPPER_MODEL, str(error))]
        except NoSuchBodyError as error:
            text = f"the arm's model has no body '{gripper.at}'; valid: {listed(error.args)}"
            return None, [(GRIPPER_AT, text)]
    found, faults = structure_of(file, model, data_of(model))
    if found is None:
        return None, faults
    hand, faults = hand_of(file, found)
    faults += _names(found)
    if hand is None or faults:
        return None, faults
    return _kind(file, read, found, hand), []


def _names(found: Structure) -> list[Fault]:
    names = [found.model.body(body).name for body in found.bodies]
    wrong = [name for name in names if name in (MOUNT, BASE) or "/" in name]
    wrong += [name for link in found.links if (name := found.model.body(link).name) in RESERVED or not name]
    return [
        (MODEL, f"the model has a body '{name}'; valid: a name of its own, without '/', for each link; rename it")
        for name in wrong
    ]


def _kind(file: RobotFile, read: ModelFile, found: Structure, hand: Hand) -> ArmKind:
    model = found.model
    chain = replace(
        chain_of(model, found.data, found.joints, found.pose(found.foot), found.pose(found.links[-1]) @ found.tool),
        starts=np.array(list(file.arm.named_states.values())),
    )
    lower, upper, slides = chain.lower, chain.upper, chain.slides
    most = np.where(slides, SLIDE_SPEED, HINGE_SPEED)
    speed = np.minimum(most, [read.speeds.get(name, np.inf) for name in file.arm.joints])
    parts = Parts(found, hand, file.frames.tool, stiffness_of(found, lower, upper))
    fingers = {int(model.jnt_bodyid[joint]) for joint in found.fingers}
    # What no joint of the arm moves stands on the base as a part of it.
    fixed = {body for body in found.bodies if found.carrier(body) == found.foot and found.foot not in found.links}
    others = set(found.bodies) - fixed - set(found.links)
    gripped = {body for body in others if found.carrier(body) in fingers}
    action = file.actions.gripper
    arm = ArmModel(
        robot=file.name,
        group=file.arm.group,
        base=BASE,
        mount=MOUNT,
        joints=tuple(file.arm.joints),
        links=tuple(model.body(link).name for link in found.links),
        tool=file.frames.tool,
        tip="gripper_tip",
        tip_m=hand.reach,
        fingers=tuple(parts.body_name(body) for body in sorted(gripped)),
        palm=tuple(parts.body_name(body) for body in sorted(others - gripped) if body != found.tool_body),
        lower=tuple(lower.tolist()),
        upper=tuple(upper.tolist()),
        speed=tuple(speed.tolist()),
        acceleration=tuple((speed / SPEED_UP_S).tolist()),
        # Joints near the foot move more of the arm, and a lift of 0.3 m is as far as a radian.
        weights=tuple((np.linspace(1.5, 0.4, len(found.joints)) * np.where(slides, 3.0, 1.0)).tolist()),
        forward=chain.forward,
        inverse=chain.inverse,
        follow=chain.follow,
    )
    gripper = GripperModel(
        action=action,
        node=action.rsplit("/", 1)[0] or action,
        driver="/gripper_driver",
        joint=file.gripper.joint,
        stroke=hand.stroke,
        open_position=hand.open_position,
        closed_position=hand.closed_position,
        speed=FINGER_SPEED,
        force=file.gripper.effort,
        most_force=file.gripper.max_effort_n,
        finger_joints=tuple(model.joint(joint).name for joint in found.fingers),
        opens=True,
        gap=hand.gap,
        pad_half=hand.pad_half,
        depth=max(file.gripper.grasp_depth_m - hand.pad_half, 0.01),
    )
    return ArmKind(arm, gripper, ((0.0, 0.0, 0.0), 0.0), parts.add, tuple(parts.excluded))


def always_touching(world: CollisionWorld, arm: ArmModel) -> tuple[tuple[str, str], ...]:
    """Return the pairs of bodies that overlap in nearly all positions of an arm, as made by their coarse shapes.

    MoveIt's Setup Assistant disables the same pairs.
    """

    def pairs(joints: np.ndarray) -> Iterable[tuple[str, str]]:
        world.set_arm(joints)
        return ((min(one, other), max(one, other)) for one, other, _ in world.named_contacts())

    return tuple(sorted(frequent(pairs, np.maximum(arm.lower, -np.pi), np.minimum(arm.upper, np.pi))))


def frequent(
    pairs: Callable[[np.ndarray], Iterable[tuple[Name, Name]]], lower: np.ndarray, upper: np.ndarray
) -> list[tuple[Name, Name]]:
    """Return the pairs that meet in nearly all joint positions (J,) from `lower` to `upper`."""
    counts: Counter[tuple[Name, Name]] = Counter()
    for joints in np.random.default_rng(0).uniform(lower, upper, (SAMPLES, len(lower))):
        counts.update(set(pairs(joints)))
    return [pair for pair, count in counts.items() if count >= ALWAYS * SAMPLES]
