"""Hangs a gripper's model on a body of an arm's model."""

from __future__ import annotations

import mujoco
from scipy.spatial.transform import Rotation

from quartet_simulation.described.reading import ModelFile, compiled, parsed, told
from quartet_site import SimulatedGripper

RENAMED = "gripper."
"""Begins a name of the gripper's model that the arm's model has as well."""
_ATTACHED = "gripper/"
_NAMED = ("bodies", "joints", "sites", "geoms")
_UNUSED = ("actuators", "sensors", "tendons", "equalities", "keys")
"""What names joints and is nothing that the simulation takes from a model."""


class NoSuchBodyError(Exception):
    """The arm's model does not have the body that the gripper is to hang on. Arguments: names of those it has."""


def joined(arm: ModelFile, gripper: ModelFile, where: SimulatedGripper) -> mujoco.MjModel:
    """Return the model of an arm with a gripper.

    Names of the gripper's parts stay as they are; those that the arm's model has too begin with RENAMED.

    Raises:
        ModelFileError: MuJoCo cannot use the gripper's model, or both together.
        NoSuchBodyError: the arm's model has no body `where.at`.
    """
    compiled(gripper)
    whole, part = parsed(arm), parsed(gripper)
    body = whole.body(where.at)
    if body is None:
        raise NoSuchBodyError(*(one.name for one in whole.bodies if one.name not in ("", "world")))
    taken = {kind: {element.name for element in getattr(whole, kind)} for kind in _NAMED}
    with told(f"hang {gripper.path} on '{where.at}' of {arm.path}"):
        for kind in _UNUSED:
            for element in list(getattr(part, kind)):
                part.delete(element)
        x, y, z, w = Rotation.from_euler("xyz", where.rpy_rad).as_quat()
        frame = body.add_frame(pos=where.position_m, quat=[w, x, y, z])
        whole.attach(part, prefix=_ATTACHED, frame=frame)
        for kind in _NAMED:
            for element in [one for one in getattr(whole, kind) if one.name.startswith(_ATTACHED)]:
                element.name = _plain(element.name, taken[kind])
        for pair in whole.excludes:
            for side in ("bodyname1", "bodyname2"):
                name = getattr(pair, side)
                if name.startswith(_ATTACHED):
                    setattr(pair, side, _plain(name, taken["bodies"]))
        return whole.compile()


def _plain(name: str, taken: set[str]) -> str:
    """Return the name in the gripper's model, or one that the arm's model does not have."""
    plain = name.removeprefix(_ATTACHED)
    return RENAMED + plain if plain in taken else plain
