"""Writes the resume of a body."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.bodies.body import FLOOR, Body
from quartet_simulation.bodies.contacts import Contacts
from quartet_simulation.bodies.reach import reach_of
from quartet_simulation.bodies.workspace import sample
from quartet_simulation.described.reading import data_of
from quartet_simulation.described.structure import lineage, pose_of
from quartet_site.resume import Box, CameraInfo, Manipulation, Perception, Resume, ResumeBody, Sphere, Summary

DIGITS = 3
"""Of lengths [m]."""
_TYPES = {
    int(mujoco.mjtJoint.mjJNT_HINGE): "revolute",
    int(mujoco.mjtJoint.mjJNT_SLIDE): "prismatic",
    int(mujoco.mjtJoint.mjJNT_BALL): "spherical",
    int(mujoco.mjtJoint.mjJNT_FREE): "free",
}


def resume_of(body: Body, seed: int = 0) -> Resume:
    """Return the resume of a body without summaries; equal seeds give equal resumes.

    Raises SimulationError if its hand reaches nothing.
    """
    file, reach, workspace, sampled = body.file, None, None, dict[str, Any]()
    if body.arm is not None:
        samples = sample(Contacts(body, body.arm), seed)
        points = samples.points[:, (0, 2, 1)]
        centre = points.mean(axis=0)
        radius = float(np.linalg.norm(points - centre, axis=1).max())
        sphere = Sphere(center=centre.round(DIGITS).tolist(), radius=round(radius, DIGITS))
        box = Box(
            min_bound=points.min(axis=0).round(DIGITS).tolist(), max_bound=points.max(axis=0).round(DIGITS).tolist()
        )
        slides = int(body.arm.chain.slides.sum())
        workspace = box if 2 * slides >= len(body.arm.joints) else sphere
        sampled = {"sphere": sphere, "box": box, "poses": samples.sampled, "free": len(samples.joints)}
        reach = reach_of(samples, seed)
    return Resume(
        robot_id=file.name,
        robot_type=file.type or file.name,
        mobility=Summary(),
        perception=Perception(cameras_info=cameras_of(body)),
        manipulation=Manipulation(arm_workspace=workspace),
        body=ResumeBody(
            role=file.role,
            tree="\n".join(_tree(body, body.foot)),
            mobility=file.mobility,
            camera_tilt={name: round(math.degrees(camera.tilt_rad), 1) for name, camera in file.cameras.items()},
            seed=seed,
            **sampled,
        ),
        reach=reach,
    )


def cameras_of(body: Body) -> dict[str, CameraInfo]:
    """Return height, field of view and kind of each camera: articulated if a hinge is between the foot and its link."""
    model, data, inverse = body.model, data_of(body.model, body.posture), np.linalg.inv(body.base)
    hinges = model.jnt_bodyid[model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE]
    found: dict[str, CameraInfo] = {}
    for name, link in body.cameras.items():
        camera = body.file.cameras[name]
        at = inverse @ pose_of(data, link) @ np.array([*camera.position_m, 1.0])
        height = round(float(at[2]) + body.file.mobility.flying_height_m, DIGITS)
        above = set(lineage(model, link)) - set(lineage(model, body.foot))
        moved = not above.isdisjoint(hinges.tolist()) if camera.moved is None else camera.moved
        found[name] = CameraInfo(
            height=height, hfov=round(camera.hfov_deg, 1), type="articulated" if moved else "fixed"
        )
    return found


def _tree(body: Body, link: int, level: int = 0) -> Iterator[str]:
    """Yield the names of links, each indented below the one that carries it, with the types of its joints.

    Cameras are links, with fixed joints.
    """
    model, indent = body.model, "  " * level
    joints = [_TYPES[int(kind)] for kind in model.jnt_type[model.jnt_bodyid == link]]
    # A line break in a name would add a line to the tree, which a language model reads.
    name = " ".join(model.body(link).name.split()) or f"link {link}"
    yield f"{indent}{name}" + ("" if level == 0 else f" ({', '.join(joints) or 'fixed'})")
    cameras = [" ".join(camera.split()) for camera, carrier in body.cameras.items() if carrier == link]
    yield from (f"{indent}  {camera} camera (fixed)" for camera in cameras)
    for child in np.flatnonzero(model.body_parentid == link).tolist():
        if child != link and model.body(child).name != FLOOR:
            yield from _tree(body, child, level + 1)
