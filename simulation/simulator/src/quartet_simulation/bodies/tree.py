"""The links of a body as an indented tree."""

from __future__ import annotations

import mujoco

from quartet_simulation.bodies.body import FLOOR, Body
from quartet_simulation.bodies.fit import joints_of

_TYPES = {
    int(mujoco.mjtJoint.mjJNT_HINGE): "revolute",
    int(mujoco.mjtJoint.mjJNT_SLIDE): "prismatic",
    int(mujoco.mjtJoint.mjJNT_BALL): "spherical",
    int(mujoco.mjtJoint.mjJNT_FREE): "free",
}


def tree_of(body: Body) -> str:
    """Return the names of links, each indented below the one that carries it, with the types of its joints.

    Cameras are links, with fixed joints.
    """
    return "\n".join(_lines(body, body.foot, 0))


def _lines(body: Body, link: int, level: int) -> list[str]:
    model = body.model
    joints = [_TYPES[int(model.jnt_type[joint])] for joint in joints_of(model, link)]
    # A line break in a name would add a line to the tree, which a language model reads.
    name = " ".join(model.body(link).name.split()) or f"link {link}"
    lines = [f"{'  ' * level}{name}" + ("" if level == 0 else f" ({', '.join(joints) or 'fixed'})")]
    cameras = [" ".join(camera.split()) for camera, one in body.cameras.items() if one.link == link]
    lines += [f"{'  ' * (level + 1)}{camera} camera (fixed)" for camera in cameras]
    for child in range(1, model.nbody):
        if int(model.body_parentid[child]) == link and child != link and model.body(child).name != FLOOR:
            lines += _lines(body, child, level + 1)
    return lines
