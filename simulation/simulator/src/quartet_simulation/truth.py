"""Ground truth: for scoring, never for a robot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.episode import Episode
from quartet_simulation.gripper import GripperDriver
from quartet_simulation.names import number_of
from quartet_simulation.physics import Physics, Touch
from quartet_simulation.robot.parts import GROUP
from quartet_simulation.worlds.world import area_at

ON_TOLERANCE = 0.05
"""An object counts as on a surface if its lowest point is within this height of the top [m]."""


def describe(
    physics: Physics, episode: Episode, gripper: GripperDriver, others: Sequence[tuple[Physics, GripperDriver]] = ()
) -> dict[str, Any]:
    """Return the true state: pose of the robot and of each object, what is held, and where each object lies.

    It also tells how often each object was taken and let go since the episode began. `robots` has the same of each of
    several robots, `robot_contacts` in how many physics steps of the episode which parts of two robots have touched,
    and with which force [N] at most, over all points of a pair; `fixed_contacts` the same of a robot's parts and what
    stands fast, `person_contacts` of a robot's parts and people. What a gripper holds is a part too ("held:NAME").
    """
    held = physics.held_object()
    robots = [(physics, gripper), *others]
    in_hands = {one.held_object() for one, _ in robots}
    touched = physics.touched_by_pads()
    return {
        "time": physics.time,
        "world": physics.world.name,
        "robot": {
            "pose": list(physics.base_pose()),
            "twist": list(physics.base_twist()),
            "arm": physics.arm_positions().tolist(),
            "tool": physics.tool_pose()[:3, 3].tolist(),
            "opening": physics.opening(),
        },
        "held": held,
        "touched_by_fingers": sorted(touched["left"] | touched["right"]),
        "objects": {name: describe_object(physics, name, in_hands) for name in sorted(episode.present)},
        "absent": sorted(set(physics.world.homes) - episode.present),
        "robot_in_collision": robot_touches(physics),
        "grasps": dict(gripper.grasps),
        "releases": dict(gripper.releases),
        "robots": [_robot(one, hand) for one, hand in robots],
        "robot_contacts": _contacts(physics.touched_robots()),
        "fixed_contacts": _contacts(physics.touched_fixed()),
        "person_contacts": _contacts(physics.touched_people()),
        "people": {name: list(physics.person_at(name)) for name in physics.people},
    }


def distances_of_hand(physics: Physics, within: float) -> dict[str, float]:
    """Return the distance of fingers, hand and what is mounted on it to each object within `within` of them [m].

    Below zero they are within it.
    """
    model, arm = physics.model, physics.arm
    parts = {physics.name(body) for body in (*arm.fingers, arm.tool, *arm.palm)}
    solid = np.flatnonzero(model.geom_contype)
    hand = [geom for geom in solid if model.body(int(model.geom_bodyid[geom])).name in parts]
    found: dict[str, float] = {}
    for geom in solid:
        if (name := physics.object_of_geom(int(geom))) is None:
            continue
        for part in hand:
            distance = mujoco.mj_geomDistance(model, physics.data, int(part), int(geom), within, None)
            if distance < within:
                found[name] = min(distance, found.get(name, within))
    return found


def _contacts(touched: dict[tuple[str, str], Touch]) -> list[dict[str, Any]]:
    return [
        {"parts": list(parts), "steps": touch.steps, "force_n": round(touch.force_n, 1)}
        for parts, touch in sorted(touched.items())
    ]


def _robot(physics: Physics, gripper: GripperDriver) -> dict[str, Any]:
    return {
        "pose": list(physics.base_pose()),
        "held": physics.held_object(),
        "in_collision": robot_touches(physics),
        "grasps": dict(gripper.grasps),
        "releases": dict(gripper.releases),
    }


def robot_touches(physics: Physics) -> list[str]:
    """Names of static geometry, and of parts of other robots, that the robot's body or arm touches now."""
    model, names = physics.model, set()

    def own(geom: int) -> bool:
        return model.geom_group[geom] == GROUP and number_of(model.geom(geom).name) == physics.number

    for contact in physics.data.contact[: physics.data.ncon]:
        if contact.dist < 0 and own(contact.geom1) != own(contact.geom2):
            other = contact.geom2 if own(contact.geom1) else contact.geom1
            if physics.object_of_geom(other) is None:
                names.add(model.geom(other).name)
    return sorted(names)


def describe_object(physics: Physics, name: str, held: Collection[str | None] = ()) -> dict[str, Any]:
    """Return the true state of one object, when the objects of `held` are in grippers."""
    position, (w, x, y, z) = physics.object_pose(name)
    bottom = float(position[2]) - physics.world.kinds[name].half_height
    on, inside = support_of(physics, name, name in held)
    return {
        "position": position.tolist(),
        "quaternion": [float(x), float(y), float(z), float(w)],
        # A ball has no side to lie on.
        "upright": physics.world.kinds[name].shape == "sphere" or float(1 - 2 * (x * x + y * y)) > 0.8,
        "bottom_z": bottom,
        "size": list(physics.world.kinds[name].size),
        "held": name in held,
        "on": on,
        "in": inside,
        "area": area_at(physics.world, float(position[0]), float(position[1])),
        "speed": float(abs(physics.data.qvel[physics.object_dof[name] : physics.object_dof[name] + 3]).max()),
    }


def support_of(physics: Physics, name: str, held: bool) -> tuple[str | None, str | None]:
    """(surface or "floor" that the object stands on, container that it lies in), by geometry and contact."""
    world = physics.world
    (x, y, z), _ = physics.object_pose(name)
    for container in world.containers:
        x0, y0, x1, y1 = container.rect
        if x0 <= x <= x1 and y0 <= y <= y1 and z < container.rim + 0.05:
            return None, container.name
    lowest = z - max(physics.world.kinds[name].size) / 2 - 0.01
    if held:
        return None, None
    for surface in world.surfaces:
        x0, y0, x1, y1 = surface.rect
        if x0 <= x <= x1 and y0 <= y <= y1 and lowest - ON_TOLERANCE <= surface.height <= z + 0.02:
            return surface.name, None
    if z < max(physics.world.kinds[name].size) / 2 + ON_TOLERANCE:
        return "floor", None
    return None, None
