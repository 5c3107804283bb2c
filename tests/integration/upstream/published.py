"""The published MCP servers, by name, arguments and answers, over a robot of ours: `python published.py nav2 ...`.

Their surface and their habits are those of ajtudela/nav2_mcp_server, michaljohnson/moveit-mcp-server,
michaljohnson/perception_mcp_server and robotmcp/ros-mcp-server as published in 2026: answers in words or loose
objects, motions that go on when their caller is gone, an arm whose stop stops only the bookkeeping. What moves the
robot underneath is this project's own code over a rosbridge connection of its own.
"""

# ruff: noqa: ASYNC109  the published arguments

import argparse
import asyncio
import json
import math
import time
import uuid
from pathlib import Path
from types import ModuleType
from typing import Any

import uvicorn
from fastmcp import Client, FastMCP
from fastmcp.tools import ToolResult

import quartet_moveit
import quartet_nav2
import quartet_perception.server as quartet_perception
import quartet_ros
from quartet_contracts import GrantClaims, audience
from quartet_robot_link import Robot
from quartet_site import SiteFile, load_robot, load_site
from quartet_tool_server import make_server

FAR_FUTURE = 4_000_000_000


class Hands:
    """Tools of one of our servers, called in this process and kept running whatever becomes of who asked."""

    def __init__(self, package: ModuleType, robot: Robot, site: SiteFile, state: Path) -> None:
        self.tools: list[str] = []
        self._server = make_server(package.SERVER, robot, site, state, None, caller=self._grant)
        self._name, self._robot = package.SERVER.name, robot
        self._client = Client(self._server.mcp)
        self._tasks: set[asyncio.Task[Any]] = set()

    def _grant(self) -> GrantClaims:
        return GrantClaims(
            sub="published", aud=audience(self._robot.file.name), iat=0, exp=FAR_FUTURE, jti="published", fence=0,
            tools=[f"{self._name}__{tool}" for tool in self.tools],
        )  # fmt: skip

    async def open(self) -> None:
        self.tools = [tool.name for tool in await self._server.mcp.list_tools(run_middleware=False)]
        await self._client.__aenter__()

    def begin(self, tool: str, **arguments: Any) -> "asyncio.Task[Any]":
        task = asyncio.create_task(self._call(tool, arguments))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return (await asyncio.shield(self.begin(tool, **arguments))).structured_content

    async def images(self, tool: str, **arguments: Any) -> list[Any]:
        answer = await self.begin(tool, **arguments)
        return [block for block in answer.content if block.type == "image"]

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return await self._client.call_tool(tool, arguments, raise_on_error=False)


def nav2(mcp: FastMCP, hands: Hands) -> None:
    """Words for a success; for a failure an object, as JSON in a text."""

    async def run(tool: str, done: str, **arguments: Any) -> str:
        result = await hands.call(tool, **arguments)
        if result["ok"]:
            return done
        known = ("NAVIGATION_FAILED", "NAVIGATION_CANCELED", "NAV2_NOT_ACTIVE", "TRANSFORM_UNAVAILABLE", "TIMEOUT")
        code = result["error_code"]
        code = {"INVALID_PARAMETERS": "ROS_ERROR"}.get(code, code if code in known else "UNKNOWN")
        return json.dumps(
            {"error": "NavigationError", "message": result["message"], "error_code": code, "details": {}}, indent=2
        )

    @mcp.tool
    async def navigate_to_pose(x: float, y: float, yaw: float = 0.0) -> str:
        return await run("navigate_to_pose", f"Successfully navigated to pose ({x:.2f}, {y:.2f}, {yaw:.2f})",
                         x=x, y=y, yaw=yaw)  # fmt: skip

    @mcp.tool
    async def spin_robot(angle: float) -> str:
        return await run("spin_robot", f"Successfully spun robot by {angle:.2f} radians", angle=angle)

    @mcp.tool
    async def backup_robot(distance: float, speed: float = 0.2) -> str:
        return await run("backup_robot", f"Successfully backed up {distance:.2f} meters",
                         distance=distance, speed=speed)  # fmt: skip

    @mcp.tool
    async def drive_on_heading(distance: float, speed: float = 0.2) -> str:
        return await run("drive_on_heading", f"Successfully drove {distance:.2f} meters",
                         distance=distance, speed=speed)  # fmt: skip

    @mcp.tool
    async def approach_target(target_x_base: float, target_y_base: float, standoff_m: float, speed: float = 0.2) -> str:
        return await run(
            "approach_target", f"Successfully approached target to {standoff_m:.2f} m",
            target_x_base=target_x_base, target_y_base=target_y_base, standoff_m=standoff_m, speed=speed,
        )  # fmt: skip

    @mcp.tool
    async def get_robot_pose() -> str:
        pose = (await hands.call("get_robot_pose"))["pose"]
        half = pose["yaw"] / 2
        quaternion = {"w": math.cos(half), "x": 0.0, "y": 0.0, "z": math.sin(half)}
        return json.dumps(
            {
                "position": {"x": pose["x"], "y": pose["y"], "z": 0.0},
                "orientation": {
                    "quaternion": quaternion, "yaw": pose["yaw"], "yaw_degrees": math.degrees(pose["yaw"])
                },
                "frame_id": pose["frame_id"], "child_frame_id": "base_footprint",
            },
            indent=2,
        )  # fmt: skip

    @mcp.tool
    async def clear_costmaps(costmap_type: str = "all") -> str:
        await hands.call("clear_costmaps", costmap_type=costmap_type)
        return "All costmaps cleared successfully" if costmap_type == "all" else f"{costmap_type} cleared successfully"

    @mcp.tool
    async def cancel_navigation() -> str:
        result = await hands.call("cancel_navigation")
        return "Navigation task cancellation requested" if result["canceled"] else "No active navigation task to cancel"


def moveit(mcp: FastMCP, hands: Hands) -> None:
    """Motions are begun, named and asked for; the published stop cancels no trajectory."""
    operations: dict[str, asyncio.Task[Any]] = {}
    canceled: set[str] = set()

    @mcp.tool
    async def plan_and_execute(
        group: str, target_type: str, target: dict[str, Any], planner_id: str = "", timeout: float = 5.0
    ) -> str:
        if target_type not in ("pose", "joint_state"):
            return f"Error: Unable to find state '{target.get('state_name')}'"
        operation = str(uuid.uuid4())
        operations[operation] = hands.begin("plan_and_execute", group=group, target=target, timeout=timeout)
        return (
            f"Plan and execute operation submitted. Operation ID: {operation}\n"
            "Use get_execution_status to monitor progress."
        )

    @mcp.tool
    async def get_execution_status(operation_id: str) -> str:
        task = operations.get(operation_id)
        if task is None:
            return f"Operation {operation_id} not found"
        if operation_id in canceled:
            return f"Operation: {operation_id}\nStatus: cancelled\nProgress: 0.0%\n"
        if not task.done():
            return f"Operation: {operation_id}\nStatus: running\nProgress: 0.0%\nExecution in progress...\n"
        result = task.result().structured_content
        if result["ok"]:
            return (
                f"Operation: {operation_id}\nStatus: completed\nProgress: 100.0%\nExecution completed successfully!\n"
            )
        if result.get("planned"):
            return f"Operation: {operation_id}\nStatus: completed\nProgress: 100.0%\nExecution failed.\n"
        return f"Operation: {operation_id}\nStatus: failed\nProgress: 0.0%\nError: Planning failed\n"

    @mcp.tool
    async def stop_execution(operation_id: str) -> str:
        canceled.add(operation_id)
        return f"Execution {operation_id} stop requested successfully."

    @mcp.tool
    async def clear_planning_scene() -> str:
        await hands.call("clear_planning_scene")
        return "Successfully cleared all collision objects from planning scene."

    @mcp.tool
    async def add_collision_box(
        object_id: str, position: list[float], dimensions: list[float], orientation: list[float], frame_id: str
    ) -> str:
        await hands.call("add_collision_box", object_id=object_id, position=position, dimensions=dimensions,
                         orientation=orientation, frame_id=frame_id)  # fmt: skip
        return f"Successfully added collision box '{object_id}' to planning scene."


def perception(mcp: FastMCP, hands: Hands) -> None:
    """A pose is that of the last segmentation, whatever name it is asked for with."""
    cache: dict[str, Any] = {}

    @mcp.tool
    async def segment_objects(prompt: str, camera: str = "arm", timeout: float = 30.0) -> dict[str, Any]:
        result = await hands.call("segment_objects", prompt=prompt, camera=camera, timeout=timeout)
        said = {"prompt": prompt, "camera": camera}
        if not result["ok"]:
            return {"error": f"Failed to get status: {result['message']}"}
        if result["status"] != "SUCCESS":
            text = f"No objects matching '{prompt}' were found in the {camera} camera view."
            return {"status": "NO_OBJECTS_FOUND", **said, "description": text}
        cache.update(said)
        return {
            "status": "SUCCESS", **said,
            "outputs": {"mask_topic": "/segmentation_mask", "pointcloud_topic": "/segmented_pointcloud"},
            "description": f"Segmentation of '{prompt}' on {camera} camera completed. Point cloud cached (900 points).",
        }  # fmt: skip

    @mcp.tool
    async def get_topdown_grasp_pose(
        object_name: str, pointcloud_topic: str = "/segmented_pointcloud", timeout: float = 10.0
    ) -> dict[str, Any]:
        if not cache:
            return {"error": "No cached point cloud and timeout (10.0s) waiting. Call segment_objects() first."}
        result = await hands.call("get_topdown_grasp_pose", object_name=cache["prompt"], camera=cache["camera"])
        if not result["ok"]:
            return {"object_name": object_name, "error": "Point cloud is empty — segmentation may have failed."}

        def xyz(values: list[float]) -> dict[str, float]:
            return {axis: round(value, 4) for axis, value in zip("xyz", values, strict=True)}

        pose = result["grasp_pose"]
        return {
            "object_name": object_name,
            "centroid_camera_frame": xyz(result["centroid_camera"]),
            "centroid_base_frame": xyz(result["centroid_base"]),
            "grasp_pose": {
                "frame_id": pose["frame_id"],
                "position": xyz(pose["position"]),
                "orientation": {n: round(v, 6) for n, v in zip("xyzw", pose["orientation"], strict=True)},
            },
            "num_points": result["num_points"],
            "gripper_offset_m": result["gripper_offset_m"],
            "oriented": result["oriented"],
        }

    @mcp.tool
    async def look(camera: str = "front") -> ToolResult:
        return ToolResult(content=await hands.images("look", camera=camera))


def ros(mcp: FastMCP, hands: Hands, robot: Robot) -> None:
    @mcp.tool
    async def get_topic_type(topic: str) -> dict[str, Any]:
        result = await hands.call("get_topic_type", topic=topic)
        if result["ok"]:
            return {"topic": topic, "type": result["type"]}
        return {"error": f"Topic {topic} does not exist or has no type"}

    @mcp.tool
    async def send_action_goal(
        action_name: str, action_type: str, goal: dict[str, Any], timeout: float = 5.0
    ) -> dict[str, Any]:
        """`success` says that an answer came, whatever it was."""
        motion = robot.start_motion(action_name, action_type, goal, limit_s=timeout)
        begun = {"action": action_name, "action_type": action_type, "goal_id": f"goal_{int(time.time() * 1000)}"}
        outcome = await motion.outcome()
        return {**begun, "success": True, "status": int(outcome.status), "result": dict(outcome.values)}


PACKAGES = {"nav2": quartet_nav2, "moveit": quartet_moveit, "perception": quartet_perception, "ros": quartet_ros}


async def make(name: str, robot: Robot, site: SiteFile, state: Path) -> FastMCP:
    mcp: FastMCP = FastMCP(name=f"published {name}")
    hands = Hands(PACKAGES[name], robot, site, state)
    await hands.open()
    if name == "ros":
        ros(mcp, hands, robot)
    else:
        {"nav2": nav2, "moveit": moveit, "perception": perception}[name](mcp, hands)
    return mcp


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("servers", nargs="+", choices=tuple(PACKAGES))
    parser.add_argument("--bridge", required=True)
    parser.add_argument("--site", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--ready-file", type=Path, help="gets {server: URL}; without it the first speaks over stdio")
    given = parser.parse_args()
    robot = await Robot.open(load_robot(given.site / "robot.yaml"), url=given.bridge, wait_s=10)
    site = load_site(given.site / "site.yaml")
    made = {name: await make(name, robot, site, given.state) for name in given.servers}
    if given.ready_file is None:
        await made[given.servers[0]].run_stdio_async(show_banner=False)
        return
    urls: dict[str, str] = {}
    serving = []
    for name, mcp in made.items():
        config = uvicorn.Config(mcp.http_app(), host="127.0.0.1", port=0, log_level="error")
        config.load()
        listening = config.bind_socket()
        urls[name] = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        serving.append(uvicorn.Server(config).serve(sockets=[listening]))
    temporary = given.ready_file.with_suffix(".new")
    temporary.write_text(json.dumps(urls))
    temporary.replace(given.ready_file)
    await asyncio.gather(*serving)


if __name__ == "__main__":
    asyncio.run(main())
