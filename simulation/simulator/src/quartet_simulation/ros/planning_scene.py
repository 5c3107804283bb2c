"""MoveIt's planning scene messages: applies the changes of a client, describes the scene.

Objects are kept in the world, so that they stay where they are when the robot drives; they are told in odom, the
planning frame of a mobile robot.
"""

from __future__ import annotations

import numpy as np

from quartet_simulation.arm.collision import OCTOMAP
from quartet_simulation.arm.objects import Kind, SceneObject, SceneObjects, Solid
from quartet_simulation.arm.octomap import RESOLUTION
from quartet_simulation.arm_simulation import FIXED_FRAME, ArmSimulation
from quartet_simulation.errors import SceneObjectError, UnknownFrameError
from quartet_simulation.ros import frames
from quartet_simulation.ros.messages import header
from quartet_simulation.ros.types import Message

ADD, REMOVE, APPEND, MOVE = range(4)
"""Operations of moveit_msgs/msg/CollisionObject."""
OPERATIONS = ("ADD", "REMOVE", "APPEND", "MOVE")
ATTACHED, NAMES, GEOMETRY, OCTREE, MATRIX = 4, 8, 16, 32, 128
"""Components of moveit_msgs/msg/PlanningSceneComponents; 0 asks for all."""
TO_SHAPE: dict[int, Kind] = {1: "box", 2: "sphere", 3: "cylinder"}
FROM_SHAPE = {name: number for number, name in TO_SHAPE.items()}
"""Types of shape_msgs/msg/SolidPrimitive."""


def apply(sim: ArmSimulation, scene: Message) -> str | None:
    """Apply a change of the planning scene as a whole or not at all; return the fault, None after success."""
    places = _Places(sim)
    state, objects = scene["robot_state"], sim.scene_objects
    attached = state["attached_collision_objects"]
    if not scene["is_diff"]:
        objects = SceneObjects()
    elif attached and not state["is_diff"]:
        objects = SceneObjects(item for item in objects if not item.attached)
    try:
        for message in scene["world"]["collision_objects"]:
            objects = _change_world(objects, message, places)
        for message in attached:
            objects = _change_attached(objects, message, places)
        allowed = _allowed(scene["allowed_collision_matrix"])
    except (SceneObjectError, UnknownFrameError, ValueError) as error:
        return str(error)
    if objects is not sim.scene_objects:
        sim.set_scene_objects(objects)
    if allowed is not None:
        sim.allow_contacts(allowed)
    return None


def octomap(components: int) -> Message:
    """Return the octomap's description as far as `components` asks for it; its voxels are not told."""
    if components and not components & OCTREE:
        return {}
    return {"header": {"frame_id": FIXED_FRAME}, "octomap": {"binary": True, "id": "OcTree", "resolution": RESOLUTION}}


def matrix(sim: ArmSimulation, components: int) -> Message:
    """Return the allowed collision matrix as far as `components` asks for it."""
    if components and not components & MATRIX:
        return {}
    arm, allowed = sim.arm, sim.allowed_contacts
    own = (arm.base, arm.mount, *arm.hand, *arm.fingers, *(item.name for item in sim.scene_objects), OCTOMAP)
    names = list(dict.fromkeys([*own, *sorted(name for pair in allowed for name in pair)]))
    rows = [[frozenset((one, other)) in allowed for other in names] for one in names]
    return {"entry_names": names, "entry_values": [{"enabled": row} for row in rows]}


def _allowed(message: Message) -> frozenset[frozenset[str]] | None:
    """Pairs that an allowed collision matrix allows; None where it is empty, which changes nothing."""
    names, rows = message["entry_names"], [row["enabled"] for row in message["entry_values"]]
    if not names:
        return None
    if len(rows) != len(names) or any(len(row) != len(names) for row in rows):
        raise ValueError(f"the allowed collision matrix has {len(names)} names and needs as many rows and columns")
    return frozenset(
        frozenset((one, other))
        for one, row in zip(names, rows, strict=True)
        for other, enabled in zip(names, row, strict=True)
        if enabled and one != other
    )


def describe(sim: ArmSimulation, components: int) -> tuple[list[Message], list[Message]]:
    """Return the objects of the world and the attached ones, as far as `components` asks for them."""
    places = _Places(sim)
    world: list[Message] = []
    held: list[Message] = []
    for item in sim.scene_objects:
        if item.attached and (not components or components & ATTACHED):
            held.append(
                {
                    "link_name": sim.arm.tool,
                    "object": _message(item, sim.arm.tool, item.pose, sim.time),
                    "touch_links": list(item.touch_links),
                    "weight": 1.0,
                }
            )
        elif not item.attached and (not components or components & GEOMETRY):
            world.append(_message(item, FIXED_FRAME, places.told(item.pose), sim.time))
        elif not item.attached and components & NAMES:
            world.append({"id": item.name})
    return world, held


class _Places:
    """Poses of frames in the world as planning has it."""

    def __init__(self, sim: ArmSimulation) -> None:
        self.arm = sim.arm
        self._tree, self._base = sim.frame_tree(), sim.base_in_world()
        self.tool = self._base @ sim.arm.forward(sim.believed_joints())

    def of(self, frame: str) -> np.ndarray:
        """Raises UnknownFrameError."""
        return self._base @ self._tree.between(self.arm.base, frame or self.arm.base)

    def told(self, pose: np.ndarray) -> np.ndarray:
        """Return a pose of the world in the planning frame."""
        return np.linalg.inv(self.of(FIXED_FRAME)) @ pose


def _change_world(objects: SceneObjects, message: Message, places: _Places) -> SceneObjects:
    name, operation = message["id"], message["operation"]
    known = objects.get(name)
    if operation == REMOVE:
        # As in MoveIt: without an id all are removed, and an unknown id is no fault.
        if not name:
            return SceneObjects(item for item in objects if item.attached)
        return objects if known is not None and known.attached else objects.without(name)
    if operation == MOVE:
        if known is None or known.attached:
            raise SceneObjectError(f"'{name}' is not an object of the world and cannot be moved")
        return objects.put(SceneObject(name, _pose(message, places), known.solids))
    if operation not in (ADD, APPEND):
        raise SceneObjectError(f"operation {operation} of '{name}' is not known; valid: {', '.join(OPERATIONS)}")
    if known is not None and known.attached:
        raise SceneObjectError(f"'{name}' is attached; detach it first")
    pose, solids = _pose(message, places), _solids(message)
    if operation == APPEND and known is not None:
        step = np.linalg.inv(known.pose) @ pose
        more = tuple(Solid(solid.kind, solid.size, step @ solid.pose) for solid in solids)
        return objects.put(SceneObject(name, known.pose, known.solids + more))
    return objects.put(SceneObject(name, pose, solids))


def _change_attached(objects: SceneObjects, message: Message, places: _Places) -> SceneObjects:
    item = message["object"]
    name, link = item["id"], message["link_name"]
    if item["operation"] == REMOVE:
        names = [name] if name else [other.name for other in objects if other.attached]
        for each in names:
            objects = objects.detach(each, places.tool)
        return objects
    arm = places.arm
    if link not in (arm.tool, arm.tip):
        raise SceneObjectError(f"nothing can be attached to '{link}'; valid: {arm.tool}, {arm.tip}")
    if item["operation"] not in (ADD, APPEND):
        raise SceneObjectError(
            f"operation {item['operation']} of the attached '{name}' is not known; valid: ADD, REMOVE"
        )
    if item["primitives"]:
        objects = objects.put(SceneObject(name, _pose(item, places), _solids(item)))
    # As the message has it, the link itself is among them.
    return objects.attach(name, places.tool, (link, *message["touch_links"]))


def _pose(message: Message, places: _Places) -> np.ndarray:
    return places.of(message["header"]["frame_id"]) @ frames.from_pose(message["pose"])


def _solids(message: Message) -> tuple[Solid, ...]:
    name, shapes, poses = message["id"], message["primitives"], message["primitive_poses"]
    if message["meshes"] or message["planes"]:
        raise SceneObjectError(f"'{name}' has meshes or planes; valid: primitives {', '.join(FROM_SHAPE)}")
    if len(poses) not in (0, len(shapes)):
        raise SceneObjectError(f"'{name}' has {len(shapes)} primitives and {len(poses)} poses for them")
    solids: list[Solid] = []
    for number, shape in enumerate(shapes):
        kind = TO_SHAPE.get(shape["type"])
        if kind is None:
            raise SceneObjectError(f"primitive type {shape['type']} of '{name}' is not known; valid: {TO_SHAPE}")
        pose = frames.from_pose(poses[number]) if poses else np.eye(4)
        solids.append(Solid(kind, tuple(shape["dimensions"]), pose))
    return tuple(solids)


def _message(item: SceneObject, frame: str, pose: np.ndarray, time: float) -> Message:
    return {
        "header": header(time, frame),
        "pose": frames.to_pose(pose),
        "id": item.name,
        "primitives": [
            {"type": FROM_SHAPE[solid.kind], "dimensions": [float(value) for value in solid.size]}
            for solid in item.solids
        ],
        "primitive_poses": [frames.to_pose(solid.pose) for solid in item.solids],
    }
