"""MoveIt's planning scene over its services: its objects, and changes of it."""

from typing import Any

from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import CollisionObject
from quartet_contracts.tools.results import CommonCode
from quartet_robot_link import Message, Robot
from quartet_robot_link.geometry import Rigid, unit
from quartet_tool_server import ToolError

ADD, REMOVE = 0, 1
"""Operations of moveit_msgs/msg/CollisionObject."""
BOX, SPHERE, CYLINDER = 1, 2, 3
"""Types of shape_msgs/msg/SolidPrimitive."""
ATTACHED_OBJECTS, WORLD_OBJECT_NAMES, WORLD_OBJECT_GEOMETRY, ALLOWED_COLLISION_MATRIX = 4, 8, 16, 128
"""Components of moveit_msgs/msg/PlanningSceneComponents."""
HELD_ID = "held_object"
"""Name of what the gripper holds, or was opened on last."""


async def apply(
    robot: Robot,
    *,
    world: list[Message] | None = None,
    attached: list[Message] | None = None,
    matrix: Message | None = None,
    **fields: Any,
) -> None:
    """Change objects or the allowed collision matrix of MoveIt's planning scene.

    Raises ToolError ROS_ERROR with `fields`, CallTimeoutError, BridgeUnavailableError.
    """
    scene: Message = {
        "is_diff": True,
        "robot_state": {"is_diff": True, "attached_collision_objects": attached or []},
        "world": {"collision_objects": world or []},
    }
    if matrix is not None:
        scene["allowed_collision_matrix"] = matrix
    answer = await robot.link.call_service(robot.file.services.apply_planning_scene, {"scene": scene})
    if not answer.get("success"):
        names = [item["id"] for item in world or []] + [item["object"]["id"] for item in attached or []]
        what = ", ".join(names) or "the allowed collision matrix"
        raise ToolError(f"MoveIt refused the change of {what}; its log says why", code=CommonCode.ROS_ERROR, **fields)


async def scene_objects(robot: Robot) -> list[CollisionObject]:
    """Return the collision objects of MoveIt's planning scene, by name. Raises RobotLinkError."""
    components = ATTACHED_OBJECTS | WORLD_OBJECT_NAMES | WORLD_OBJECT_GEOMETRY
    response = await robot.link.call_service(
        robot.file.services.get_planning_scene, {"components": {"components": components}}
    )
    scene: Message = response.get("scene") or {}
    found = [await _read(robot, item, None) for item in (scene.get("world") or {}).get("collision_objects") or []]
    for item in (scene.get("robot_state") or {}).get("attached_collision_objects") or []:
        found.append(await _read(robot, item["object"], str(item["link_name"])))
    return sorted(found, key=lambda item: item.object_id)


async def _read(robot: Robot, message: Message, link: str | None) -> CollisionObject:
    base, frame = robot.file.frames.base, str(message["header"]["frame_id"])
    placed = _rigid(message["pose"])
    shapes, poses = message.get("primitives") or [], message.get("primitive_poses") or []
    fields: dict[str, Any] = {"object_id": str(message["id"]), "attached_to": link}
    if len(shapes) == 1:
        placed = placed @ _rigid(poses[0]) if poses else placed
        kind = {BOX: "box", SPHERE: "sphere", CYLINDER: "cylinder"}.get(int(shapes[0]["type"]))
        if kind is not None:
            fields |= {"shape": kind, "dimensions_m": [float(value) for value in shapes[0]["dimensions"]]}
    if frame not in {"", base}:
        placed = (await robot.transform(base, frame, timeout_s=1.0)).rigid @ placed
    fields["pose"] = Pose3D(frame_id=base, position=placed.translation, orientation=unit(placed.rotation))
    return CollisionObject.model_validate(fields)


def _rigid(pose: Message) -> Rigid:
    position, q = pose["position"], pose["orientation"]
    return Rigid((position["x"], position["y"], position["z"]), unit((q["x"], q["y"], q["z"], q["w"])))
