"""Furniture and scenes from model files: their shapes, which stand where the file has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from quartet_simulation.described.reading import PACKAGE, SUFFIXES, compiled, data_of, names_a_file, read_model
from quartet_simulation.described.shapes import SHAPES, collides, colour_of, vertices_of
from quartet_simulation.errors import ModelFileError
from quartet_simulation.worlds.paint import Rgb
from quartet_simulation.worlds.world import Rect

FLAT = 0.002
"""Tops whose heights differ by no more than this are one top, and a plane this near to the floor is the floor [m]."""
FARTHEST = 1000.0
"""From the model's origin to any part of it [m]."""
SHOWN = 8
"""As many names a message lists."""


@dataclass(frozen=True)
class Shape:
    """A geom of a model, in the model's frame."""

    model: mujoco.MjModel
    geom: int
    label: str
    """Name of the geom or of its body, for messages."""
    rgba: tuple[float, ...]
    position: np.ndarray
    rotation: np.ndarray

    @property
    def solid(self) -> bool:
        """Whether it collides and is not only to be seen."""
        return collides(self.model, self.geom)

    @property
    def kind(self) -> mujoco.mjtGeom:
        """Its type."""
        return SHAPES[int(self.model.geom_type[self.geom])]

    @property
    def mesh(self) -> int | None:
        """Number of its mesh, None for a primitive."""
        return int(self.model.geom_dataid[self.geom]) if self.kind == mujoco.mjtGeom.mjGEOM_MESH else None

    def extent(self, pose: np.ndarray) -> np.ndarray:
        """Return the box around it with the model at a pose (4x4): low and high corner, 2x3 [m]."""
        middle, turn = pose[:3, :3] @ self.position + pose[:3, 3], pose[:3, :3] @ self.rotation
        if self.mesh is not None:
            points = vertices_of(self.model, self.mesh) @ turn.T
            return np.array([points.min(axis=0), points.max(axis=0)]) + middle
        half = np.array([self._half(np.abs(row)) for row in turn])
        return np.array([middle - half, middle + half])

    def _half(self, along: np.ndarray) -> float:
        """Return how far a primitive reaches along a direction of its own frame, of which only the size counts [m]."""
        size = self.model.geom_size[self.geom]
        across = float(np.hypot(along[0], along[1]))
        reach = {
            mujoco.mjtGeom.mjGEOM_SPHERE: size[0],
            mujoco.mjtGeom.mjGEOM_CAPSULE: size[0] + along[2] * size[1],
            mujoco.mjtGeom.mjGEOM_CYLINDER: size[0] * across + along[2] * size[1],
            mujoco.mjtGeom.mjGEOM_ELLIPSOID: np.linalg.norm(along * size),
            mujoco.mjtGeom.mjGEOM_BOX: along @ size,
        }
        return float(reach[self.kind])


@dataclass(frozen=True)
class FixedModel:
    """The shapes of a model file without joints."""

    name: str
    """As the world file has it."""
    files: tuple[Path, ...]
    """All that were read."""
    shapes: tuple[Shape, ...]

    def pose(self, centre: tuple[float, float], yaw: float, z: float) -> np.ndarray:
        """Return the pose in map in which the middle of the outline is at `centre`, turned by `yaw`, raised by z."""
        low, high = self._around(np.eye(4))
        pose, (c, s) = np.eye(4), (np.cos(yaw), np.sin(yaw))
        pose[:2, :2] = [[c, -s], [s, c]]
        pose[:2, 3] = np.array(centre) - pose[:2, :2] @ ((low + high) / 2)[:2]
        pose[2, 3] = z
        return pose

    def outline(self, pose: np.ndarray) -> Rect:
        """Return the rectangle around its solid shapes in map [m]."""
        return _rect(self._around(pose))

    def lowest(self) -> float:
        """Return the height of its lowest solid point in its own frame [m]."""
        return float(self._around(np.eye(4))[0, 2])

    def highest(self) -> float:
        """Return the height of its highest solid point in its own frame [m]."""
        return float(self._around(np.eye(4))[1, 2])

    def top(self, pose: np.ndarray, height: float) -> tuple[Rect, Rgb] | None:
        """Return the rectangle in map around the solid shapes that end at a height [m], and their colour.

        None where none ends there.
        """
        boxes = [(shape.extent(pose), shape) for shape in self.shapes if shape.solid]
        ending = [(box, shape) for box, shape in boxes if abs(box[1, 2] - height) <= FLAT]
        if not ending:
            return None
        # What is seen may be another shape than what carries.
        shown = [(box, shape) for box, shape in ending if shape.rgba[3] > 0] or [
            (box, shape)
            for shape in self.shapes
            if shape.rgba[3] > 0 and abs((box := shape.extent(pose))[1, 2] - height) <= 5 * FLAT
        ]
        _, widest = max(shown or ending, key=lambda one: float(np.prod(np.diff(one[0], axis=0)[0, :2])))
        r, g, b = (float(value) for value in widest.rgba[:3])
        return _rect(_hull([box for box, _ in ending])), (r, g, b)

    def _around(self, pose: np.ndarray) -> np.ndarray:
        return _hull([shape.extent(pose) for shape in self.shapes if shape.solid])


class FixedModels:
    """The models that one world file names; each is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, FixedModel | ModelFileError] = {}

    def find(self, name: object) -> FixedModel:
        """Return the model of a file in the folder, or of package:PACKAGE/PATH. Raises ModelFileError."""
        if not isinstance(name, str) or not names_a_file(name):
            raise ModelFileError(
                f"this is no model file; valid: a file {', '.join(SUFFIXES)} below {self._folder}, or "
                f"{PACKAGE}NAME/PATH"
            )
        if name not in self._read:
            try:
                self._read[name] = _fixed_model(name, self._folder)
            except ModelFileError as error:
                self._read[name] = error
        found = self._read[name]
        if isinstance(found, ModelFileError):
            raise found
        return found


def _fixed_model(name: str, folder: Path) -> FixedModel:
    file = read_model(name, folder)
    model = compiled(file)
    data = data_of(model)
    _refuse_what_moves(file.path, model)
    if not (np.isfinite(data.geom_xpos).all() and (np.abs(data.geom_xpos) < FARTHEST).all()):
        raise ModelFileError(f"{file.path} has parts farther than {FARTHEST:.0f} m from its origin; move them nearer")
    shapes = tuple(_shapes(file.path, model, data))
    if not any(shape.solid for shape in shapes):
        raise ModelFileError(
            f"no geom of {file.path} collides, so a robot would drive through it; give geoms that it must not touch a "
            "contype of 1, and note that planes are left out"
        )
    return FixedModel(name, tuple(file.files), shapes)


def _refuse_what_moves(path: Path, model: mujoco.MjModel) -> None:
    moving = {
        "joints": [model.joint(n).name or f"of {model.body(int(model.jnt_bodyid[n])).name}" for n in range(model.njnt)],
        "actuators": [model.actuator(n).name or "without a name" for n in range(model.nu)],
        "flexible parts": [model.flex(n).name or "without a name" for n in range(model.nflex)],
    }
    told = [f"the {what} {', '.join(names[:SHOWN])}" for what, names in moving.items() if names]
    if told:
        raise ModelFileError(
            f"{path} has {' and '.join(told)}; valid: bodies without any, which stay where the file puts them; take "
            "them out of the file"
        )


def _shapes(path: Path, model: mujoco.MjModel, data: mujoco.MjData) -> list[Shape]:
    found: list[Shape] = []
    for geom in range(model.ngeom):
        kind = int(model.geom_type[geom])
        label = model.geom(geom).name or model.body(int(model.geom_bodyid[geom])).name
        position, rotation = data.geom_xpos[geom].copy(), data.geom_xmat[geom].reshape(3, 3).copy()
        if kind == int(mujoco.mjtGeom.mjGEOM_PLANE):
            if abs(position[2]) > FLAT or rotation[2, 2] < 1 - 1e-6:
                raise ModelFileError(
                    f"the plane '{label}' of {path} is not the floor at z 0; valid: boxes and meshes for all else"
                )
            # Every world has a floor.
            continue
        if kind not in SHAPES:
            raise ModelFileError(
                f"the geom '{label}' of {path} is of a type that is not supported; valid: box, sphere, capsule, "
                "cylinder, ellipsoid, mesh"
            )
        rgba = tuple(float(value) for value in colour_of(model, geom))
        found.append(Shape(model, geom, label, rgba, position, rotation))
    return found


def _hull(boxes: list[np.ndarray]) -> np.ndarray:
    """Return the box around boxes, each as low and high corner."""
    corners = np.array(boxes)
    return np.array([corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)])


def _rect(box: np.ndarray) -> Rect:
    x0, y0, x1, y1 = (round(float(value), 4) for value in (*box[0, :2], *box[1, :2]))
    return x0, y0, x1, y1
