"""Objects that clients added to the planning scene: obstacles beside what the sensors see, and attached objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import mujoco
import numpy as np

from quartet_simulation.errors import SceneObjectError

TAG = "added:"
"""Begins the names of the geoms of such objects in the planning model."""
FARTHEST_M = 100.0

Kind = Literal["box", "sphere", "cylinder"]
_KINDS: dict[Kind, tuple[mujoco.mjtGeom, int]] = {
    "box": (mujoco.mjtGeom.mjGEOM_BOX, 3),
    "sphere": (mujoco.mjtGeom.mjGEOM_SPHERE, 1),
    "cylinder": (mujoco.mjtGeom.mjGEOM_CYLINDER, 2),
}


@dataclass(frozen=True)
class Solid:
    """One shape at `pose` (4x4) of its object.

    `size` [m] is as in shape_msgs/SolidPrimitive: box x, y, z; sphere radius; cylinder height, radius.

    Raises:
        SceneObjectError: the sizes are wrong in number, not positive, or too large.
    """

    kind: Kind
    size: tuple[float, ...]
    pose: np.ndarray

    def __post_init__(self) -> None:
        wanted = _KINDS[self.kind][1]
        if len(self.size) != wanted or not all(0 < value <= FARTHEST_M for value in self.size):
            raise SceneObjectError(
                f"a {self.kind} needs {wanted} dimensions above 0 and up to {FARTHEST_M:g} m, got {list(self.size)}"
            )

    @property
    def half_size(self) -> list[float]:
        """MuJoCo's geom size."""
        if self.kind == "box":
            return [value / 2 for value in self.size]
        if self.kind == "cylinder":
            return [self.size[1], self.size[0] / 2, 0.0]
        return [self.size[0], 0.0, 0.0]


@dataclass(frozen=True)
class SceneObject:
    """An object at `pose` (4x4): in the world, or in arm_tool0 when it is attached."""

    name: str
    pose: np.ndarray
    solids: tuple[Solid, ...]
    attached: bool = False
    touch_links: tuple[str, ...] = ()
    """Links that may touch it while it is attached."""


class SceneObjects:
    """The objects by name. Changing them makes a new instance, so that a change is whole or not at all."""

    def __init__(self, objects: Iterable[SceneObject] = ()) -> None:
        self._objects = {item.name: item for item in objects}

    def __iter__(self) -> Iterator[SceneObject]:
        return iter(self._objects.values())

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, name: str) -> SceneObject | None:
        """Return the object of a name, None where there is none."""
        return self._objects.get(name)

    def put(self, item: SceneObject) -> SceneObjects:
        """With an object that is new or takes the place of its namesake. Raises SceneObjectError."""
        if not item.name or not item.name.isprintable():
            raise SceneObjectError(f"'{item.name!r}' cannot be an object's id; use printable text")
        if not item.solids:
            raise SceneObjectError(f"'{item.name}' has no shapes; give at least one primitive")
        if not np.abs(item.pose[:3, 3]).max() <= FARTHEST_M:
            raise SceneObjectError(f"'{item.name}' is too far away; valid: up to {FARTHEST_M:g} m")
        return SceneObjects([*(other for other in self if other.name != item.name), item])

    def without(self, name: str) -> SceneObjects:
        """Return the objects without one of them."""
        return SceneObjects(item for item in self if item.name != name)

    def attach(self, name: str, tool: np.ndarray, touch_links: Iterable[str] = ()) -> SceneObjects:
        """`name` of the world moves with the tool, whose pose in the world is `tool`. Raises SceneObjectError."""
        item = self.get(name)
        if item is None or item.attached:
            known = ", ".join(sorted(other.name for other in self if not other.attached)) or "none"
            raise SceneObjectError(f"'{name}' is not an object of the world; valid: {known}")
        pose = np.linalg.inv(tool) @ item.pose
        return self.put(replace(item, pose=pose, attached=True, touch_links=tuple(touch_links)))

    def detach(self, name: str, tool: np.ndarray) -> SceneObjects:
        """`name` stays where the tool is now. Raises SceneObjectError."""
        item = self.get(name)
        if item is None or not item.attached:
            known = ", ".join(sorted(other.name for other in self if other.attached)) or "none"
            raise SceneObjectError(f"'{name}' is not attached; valid: {known}")
        return self.put(replace(item, pose=tool @ item.pose, attached=False, touch_links=()))

    @property
    def may_touch(self) -> frozenset[frozenset[str]]:
        """Pairs of an attached object and a link that may touch it."""
        return frozenset(frozenset((item.name, link)) for item in self if item.attached for link in item.touch_links)

    def build(
        self, spec: mujoco.MjSpec, obstacle: tuple[int, int], carried: tuple[int, int], tool: str = "arm_tool0"
    ) -> None:
        """Add them to a planning model, what is attached to the body `tool`; the pairs are contype and conaffinity."""
        for item in self:
            body = spec.body(tool) if item.attached else spec.worldbody
            contype, conaffinity = carried if item.attached else obstacle
            for number, solid in enumerate(item.solids):
                pose = item.pose @ solid.pose
                turn = np.zeros(4)
                mujoco.mju_mat2Quat(turn, pose[:3, :3].flatten())
                body.add_geom(
                    name=f"{TAG}{number}:{item.name}",
                    type=_KINDS[solid.kind][0],
                    size=solid.half_size,
                    pos=pose[:3, 3],
                    quat=turn,
                    contype=contype,
                    conaffinity=conaffinity,
                    group=0,
                    mass=0.0,
                )


def name_in(geom: str) -> str | None:
    """The object whose geom this is, None for another geom."""
    return geom.removeprefix(TAG).partition(":")[2] if geom.startswith(TAG) else None
