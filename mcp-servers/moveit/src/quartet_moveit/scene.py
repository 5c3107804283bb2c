"""clear_planning_scene."""

from quartet_contracts.tools.moveit import SceneResult
from quartet_moveit.objects import REMOVE, WORLD_OBJECT_NAMES, apply
from quartet_robot_link import Message
from quartet_tool_server import ToolServer


def register(server: ToolServer) -> None:
    """Add clear_planning_scene."""
    robot, services = server.robot, server.robot.file.services

    @server.tool
    async def clear_planning_scene() -> SceneResult:
        """Make the arm's planner forget obstacles that were seen or added; furniture that is seen comes back.

        Do this before descending onto an object that must be touched, and once after PLANNING_FAILED or
        START_IN_COLLISION. What is in the gripper stays known. Failures: ROS_ERROR (MoveIt is not running), TIMEOUT,
        BRIDGE_UNAVAILABLE.
        """
        await robot.link.call_service(services.clear_octomap)
        response = await robot.link.call_service(
            services.get_planning_scene, {"components": {"components": WORLD_OBJECT_NAMES}}
        )
        objects: list[Message] = response.get("scene", {}).get("world", {}).get("collision_objects", [])
        names = sorted(str(item["id"]) for item in objects)
        if names:
            await apply(robot, world=[{"id": name, "operation": REMOVE} for name in names], octomap_cleared=True)
        return SceneResult(removed_objects=names, octomap_cleared=True)
