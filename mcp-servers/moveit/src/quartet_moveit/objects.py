"""Tools for MoveIt's planning scene: clear it; add, remove, list, attach and detach collision objects."""

from typing import Annotated

from pydantic import Field

from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import (
    CollisionObject,
    CollisionObjectResult,
    CollisionObjectsResult,
    MoveitCode,
    SceneResult,
)
from quartet_contracts.tools.results import CommonCode
from quartet_moveit.operations import Operations
from quartet_moveit.planning_scene import (
    ADD,
    BOX,
    HELD_ID,
    REMOVE,
    SPHERE,
    WORLD_OBJECT_NAMES,
    apply,
    scene_objects,
)
from quartet_moveit.target import in_base, pose_message
from quartet_robot_link import Message
from quartet_tool_server import Finite, InvalidArgumentsError, Orientation, Position, ToolError, ToolServer

WITHIN_M = 10.0
LEVEL = (0.0, 0.0, 0.0, 1.0)

ObjectId = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.-]{0,63}$", description="name of the object: letters, digits, ' _.-'"),
]
Length = Annotated[Finite, Field(gt=0, le=WITHIN_M)]


def register(server: ToolServer, operations: Operations) -> None:  # noqa: C901 - a list of small functions
    """Add the tools of this module: 7 in all."""
    robot = server.robot

    @server.tool
    async def add_collision_box(
        object_id: ObjectId,
        position: Position,
        dimensions: Annotated[list[Length], Field(min_length=3, max_length=3, description="extent along x, y, z [m]")],
        orientation: Orientation = LEVEL,
        frame_id: str | None = None,
    ) -> CollisionObjectResult:
        """Tell the arm's planner of a box that it must keep clear of; nothing moves.

        position: its centre [m] and orientation [x,y,z,w] in frame_id (the base frame when left out: x forward, y
        left, z up from the floor). An object of the same object_id is replaced. It stays where it is when the robot
        drives, until remove_collision_object or clear_planning_scene. Plans made before are outdated. Failures:
        INVALID_PARAMETERS, TRANSFORM_UNAVAILABLE (unknown frame_id), ROS_ERROR, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        pose = await in_base(robot, position, orientation, frame_id, within_m=WITHIN_M)
        return await add(object_id, pose, BOX, dimensions)

    @server.tool
    async def add_collision_sphere(
        object_id: ObjectId,
        position: Position,
        radius: Annotated[Length, Field(description="m")],
        frame_id: str | None = None,
    ) -> CollisionObjectResult:
        """Tell the arm's planner of a sphere that it must keep clear of; nothing moves.

        position: its centre [m] in frame_id. Otherwise as add_collision_box.
        """
        pose = await in_base(robot, position, LEVEL, frame_id, within_m=WITHIN_M)
        return await add(object_id, pose, SPHERE, [radius])

    @server.tool
    async def remove_collision_object(object_id: ObjectId) -> CollisionObjectResult:
        """Make the arm's planner forget an obstacle that was added; nothing moves.

        An attached object is first given back with detach_object. Failures: UNKNOWN_OBJECT (the message has the known
        ones), ROS_ERROR, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        item = find(await scene_objects(robot), object_id, attached=False)
        await apply(robot, world=[{"id": object_id, "operation": REMOVE}])
        return CollisionObjectResult(object=item)

    @server.tool(read_only=True)
    async def list_collision_objects() -> CollisionObjectsResult:
        """The objects that the arm's planner was told of, and those attached to the hand; poses in the base frame.

        What the sensors see is not among them. Failures: ROS_ERROR (MoveIt is not running), TRANSFORM_UNAVAILABLE,
        TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        return CollisionObjectsResult(objects=await scene_objects(robot))

    @server.tool
    async def attach_object(
        object_id: ObjectId, link_name: str | None = None, touch_links: list[str] | None = None
    ) -> CollisionObjectResult:
        """Tell the arm's planner that an added object is in the hand now and moves with it; nothing moves.

        The planner then keeps the object clear of the surroundings too. link_name: the tool flange when left out;
        touch_links: links that may touch it (the gripper's). Failures: UNKNOWN_OBJECT (add it first), ROS_ERROR (e.g.
        an unknown link), TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        item = find(await scene_objects(robot), object_id, attached=False)
        link = link_name or robot.file.frames.tool
        taken: Message = {
            "link_name": link,
            "object": {"id": object_id, "operation": ADD},
            "touch_links": sorted({link, *(touch_links or [])}),
        }
        operations.outdate("an object was attached")
        await apply(robot, attached=[taken])
        return CollisionObjectResult(object=item.model_copy(update={"attached_to": link}))

    @server.tool
    async def detach_object(object_id: ObjectId) -> CollisionObjectResult:
        """Tell the arm's planner that an attached object has left the hand; it becomes an obstacle where it is now.

        Nothing moves and the gripper does not open. Failures: UNKNOWN_OBJECT (it is not attached), ROS_ERROR,
        TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        item = find(await scene_objects(robot), object_id, attached=True)
        gone: Message = {"link_name": item.attached_to, "object": {"id": object_id, "operation": REMOVE}}
        operations.outdate("an object was detached")
        await apply(robot, attached=[gone])
        return CollisionObjectResult(object=find(await scene_objects(robot), object_id, attached=False))

    @server.tool
    async def clear_planning_scene() -> SceneResult:
        """Make the arm's planner forget obstacles that were seen or added; what is still seen comes back.

        Do this once after START_IN_COLLISION or GOAL_IN_COLLISION: what is there no more is forgotten, but so is what
        is there and out of the cameras' sight. What is in the gripper stays known. Failures: ROS_ERROR (MoveIt is not
        running), TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        await robot.link.call_service(robot.file.services.clear_octomap)
        response = await robot.link.call_service(
            robot.file.services.get_planning_scene, {"components": {"components": WORLD_OBJECT_NAMES}}
        )
        objects: list[Message] = response.get("scene", {}).get("world", {}).get("collision_objects", [])
        names = sorted(str(item["id"]) for item in objects)
        if names:
            await apply(robot, world=[{"id": name, "operation": REMOVE} for name in names], octomap_cleared=True)
        return SceneResult(removed_objects=names, octomap_cleared=True)

    async def add(object_id: str, pose: Pose3D, shape: int, dimensions: list[float]) -> CollisionObjectResult:
        if object_id == HELD_ID:
            raise InvalidArgumentsError(f"'{HELD_ID}' is the name of what the gripper holds; use another object_id")
        known = {item.object_id: item for item in await scene_objects(robot)}
        if object_id in known and known[object_id].attached_to is not None:
            raise ToolError(
                f"'{object_id}' is attached to {known[object_id].attached_to}; detach_object first, or use another id",
                code=CommonCode.INVALID_PARAMETERS,
            )
        message: Message = {
            "header": {"frame_id": pose.frame_id},
            "id": object_id,
            "pose": pose_message(pose),
            "primitives": [{"type": shape, "dimensions": dimensions}],
            "primitive_poses": [{"orientation": {"w": 1.0}}],
            "operation": ADD,
        }
        operations.outdate(f"the obstacle '{object_id}' was added")
        await apply(robot, world=[message])
        name = {BOX: "box", SPHERE: "sphere"}[shape]
        return CollisionObjectResult(
            object=CollisionObject.model_validate(
                {"object_id": object_id, "shape": name, "dimensions_m": dimensions, "pose": pose}
            )
        )


def find(objects: list[CollisionObject], object_id: str, *, attached: bool) -> CollisionObject:
    """The object of that name, attached or not. Raises ToolError UNKNOWN_OBJECT."""
    right = [item for item in objects if (item.attached_to is not None) == attached]
    for item in right:
        if item.object_id == object_id:
            return item
    where = "attached to the hand" if attached else "an obstacle of the planning scene"
    other = "; it is attached: detach_object first" if any(item.object_id == object_id for item in objects) else ""
    known = ", ".join(item.object_id for item in right) or "none"
    text = f"'{object_id}' is not {where}{'' if attached else other}; valid: {known}"
    raise ToolError(text, code=MoveitCode.UNKNOWN_OBJECT)
