"""Shapes of a compiled model, as another specification gets them."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

SHAPES = {
    int(kind): kind
    for kind in (
        mujoco.mjtGeom.mjGEOM_SPHERE,
        mujoco.mjtGeom.mjGEOM_CAPSULE,
        mujoco.mjtGeom.mjGEOM_ELLIPSOID,
        mujoco.mjtGeom.mjGEOM_CYLINDER,
        mujoco.mjtGeom.mjGEOM_BOX,
        mujoco.mjtGeom.mjGEOM_MESH,
    )
}
"""Types of geoms that are taken over."""
SHOWN_GROUPS = 3
"""Geoms of this group and above are not drawn, as in MuJoCo's viewer."""
_PLAIN = (0.5, 0.5, 0.5, 1.0)
"""Colour of a geom that has none."""


def collides(model: mujoco.MjModel, geom: int) -> bool:
    """Return whether a geom collides and is not only to be seen."""
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def colour_of(model: mujoco.MjModel, geom: int) -> Any:
    """Return the RGBA in which a geom is drawn; its body's own drawn geoms hide those that are for collisions alone.

    Those are of group 3 and above, or of group 0 where the body has others of group 1 or 2 that are only to be seen.
    """
    material, group = int(model.geom_matid[geom]), int(model.geom_group[geom])
    body = int(model.geom_bodyid[geom])
    if group >= SHOWN_GROUPS and _is_drawn(model, body):
        return (0.0, 0.0, 0.0, 0.0)
    if group == 0 and collides(model, geom) and _has_its_looks(model, body):
        return (0.0, 0.0, 0.0, 0.0)
    own = model.geom_rgba[geom]
    return model.mat_rgba[material] if material >= 0 and np.allclose(own, _PLAIN) else own


def _is_drawn(model: mujoco.MjModel, body: int) -> bool:
    return bool(((model.geom_bodyid == body) & (model.geom_group < SHOWN_GROUPS)).any())


def _has_its_looks(model: mujoco.MjModel, body: int) -> bool:
    """Return whether a body has geoms in a group of their own that do not collide, as robosuite's models have."""
    groups = (model.geom_group > 0) & (model.geom_group < SHOWN_GROUPS)
    solid = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    return bool(((model.geom_bodyid == body) & groups & ~solid).any())


def vertices_of(model: mujoco.MjModel, mesh: int) -> np.ndarray:
    """Return the vertices of a mesh (N, 3) in the frame of its geoms [m]."""
    first = int(model.mesh_vertadr[mesh])
    return model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])]


def add_mesh(spec: mujoco.MjSpec, model: mujoco.MjModel, mesh: int, name: str) -> None:
    """Add a mesh of a model to a specification under a name."""
    faces = int(model.mesh_faceadr[mesh])
    spec.add_mesh(
        name=name,
        uservert=vertices_of(model, mesh).flatten(),
        userface=model.mesh_face[faces : faces + int(model.mesh_facenum[mesh])].flatten(),
        # Masses are those of the model's bodies, and a mesh that is not closed has a surface as well.
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
    )
