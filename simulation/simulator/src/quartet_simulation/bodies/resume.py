"""Writes the resume of a body."""

from __future__ import annotations

import numpy as np

from quartet_simulation.bodies.body import Body
from quartet_simulation.bodies.contacts import Contacts
from quartet_simulation.bodies.reach import reach_of
from quartet_simulation.bodies.solve import Solver
from quartet_simulation.bodies.tree import tree_of
from quartet_simulation.bodies.workspace import Samples, sample
from quartet_simulation.described.structure import pose_of
from quartet_site.resume import Box, CameraInfo, Manipulation, Perception, Reach, Resume, ResumeBody, Sphere, Summary

DIGITS = 3
"""Of lengths [m]."""


def resume_of(body: Body, seed: int = 0) -> Resume:
    """Return the resume of a body without summaries; equal seeds give equal resumes.

    Raises SimulationError if its hand reaches nothing.
    """
    reach: Reach | None = None
    sphere = box = samples = None
    if body.arm is not None:
        contacts = Contacts(body, body.arm)
        samples = sample(body, body.arm, contacts, seed)
        sphere, box = _shapes(samples)
        reach = reach_of(Solver(body.arm.chain, contacts, samples, seed), samples, body.arm.bearing)
    workspace = None if body.arm is None else box if body.arm.telescopes else sphere
    return Resume(
        robot_id=body.name,
        robot_type=body.type,
        mobility=Summary(),
        perception=Perception(cameras_info=cameras_of(body)),
        manipulation=Manipulation(arm_workspace=workspace),
        body=ResumeBody(
            role=body.role,
            tree=tree_of(body),
            mobility=body.mobility,
            camera_tilt={name: round(camera.tilt_deg, 1) for name, camera in body.cameras.items()},
            sphere=sphere,
            box=box,
            poses=0 if samples is None else samples.sampled,
            free=0 if samples is None else len(samples.joints),
            seed=seed,
        ),
        reach=reach,
    )


def _shapes(samples: Samples) -> tuple[Sphere, Box]:
    """Return sphere and box of the sampled grasp points."""
    points = samples.points[:, (0, 2, 1)]
    centre = points.mean(axis=0)
    radius = float(np.linalg.norm(points - centre, axis=1).max())
    return (
        Sphere(center=_vector(centre), radius=round(radius, DIGITS)),
        Box(min_bound=_vector(points.min(axis=0)), max_bound=_vector(points.max(axis=0))),
    )


def _vector(values: np.ndarray) -> tuple[float, float, float]:
    x, height, y = (round(float(value), DIGITS) for value in values)
    return x, height, y


def cameras_of(body: Body) -> dict[str, CameraInfo]:
    """Return height, field of view and kind of each camera."""
    data, inverse = body.at_rest(), np.linalg.inv(body.base)
    found: dict[str, CameraInfo] = {}
    for name, camera in body.cameras.items():
        at = inverse @ pose_of(data, camera.link) @ np.array([*camera.position, 1.0])
        height = round(float(at[2]) + body.mobility.flying_height_m, DIGITS)
        kind = "articulated" if camera.moved else "fixed"
        found[name] = CameraInfo(height=height, hfov=round(camera.hfov_deg, 1), type=kind)
    return found
