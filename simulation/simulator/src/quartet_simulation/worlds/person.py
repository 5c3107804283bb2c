"""A person as a MuJoCo body: legs, trunk and head, which stand and move upright."""

from __future__ import annotations

import mujoco

from quartet_simulation.names import person_name

AWAY = (60.0, 80.0)
"""Where people are who are not in the episode: far outside every view. Their joints count from here [m]."""
RADIUS = 0.22
"""Of the circle around a person on the floor plan [m]."""
MASS = 70.0
"""[kg]"""
FIRMNESS = 100.0
"""Push that a person withstands without a step [N]."""
SKIN, SHIRT, TROUSERS = (0.78, 0.60, 0.50, 1.0), (0.36, 0.42, 0.52, 1.0), (0.20, 0.21, 0.25, 1.0)


def add_person(spec: mujoco.MjSpec, name: str) -> None:
    """Add a person, who is AWAY; the joints are `<body> x` and `<body> y` [m]."""
    body_name = person_name(name)
    body = spec.worldbody.add_body(name=body_name, pos=(*AWAY, 0.0))
    for axis, along in (("x", (1, 0, 0)), ("y", (0, 1, 0))):
        joint, kind = f"{body_name} {axis}", mujoco.mjtJoint.mjJNT_SLIDE
        body.add_joint(name=joint, type=kind, axis=along, frictionloss=FIRMNESS)
    parts = (
        ("left leg", (0.0, 0.10, 0.10), (0.0, 0.10, 0.80), 0.08, TROUSERS),
        ("right leg", (0.0, -0.10, 0.10), (0.0, -0.10, 0.80), 0.08, TROUSERS),
        ("trunk", (0.0, 0.0, 0.95), (0.0, 0.0, 1.30), 0.19, SHIRT),
        ("head", (0.0, 0.0, 1.58), (0.0, 0.0, 1.62), 0.10, SKIN),
    )
    for part, low, high, radius, rgba in parts:
        body.add_geom(
            name=f"{body_name}/{part}",
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            fromto=[*low, *high],
            size=[radius, 0, 0],
            rgba=rgba,
            mass=MASS / len(parts),
        )
