"""The tools get_surroundings and get_map: what a person who watches sees on the map."""

import asyncio

from quartet_contracts.tools import CommonCode
from quartet_contracts.tools.perception import MapResult, SurroundingsResult
from quartet_perception.surroundings import WatchedTopic, laser_points, occupancy_map, path_points
from quartet_robot_link import LATCHED, SENSOR, CallTimeoutError, Robot, TransformUnavailableError, stamp_of
from quartet_tool_server import ToolError, ToolServer

FRESH_S = 3.0
"""Wall time: an older scan or path is not shown. Nav2 plans anew every second while it drives."""
TRANSFORM_WAIT_S = 0.3
MAP_WAIT_S = 2.0


def add_surroundings_tools(server: ToolServer, robot: Robot) -> None:
    """Add get_surroundings and get_map."""
    topics, frames = robot.file.topics, robot.file.frames
    scan = WatchedTopic(robot.link, topics.scan, "sensor_msgs/msg/LaserScan", SENSOR, period_ms=500)
    plan = WatchedTopic(robot.link, topics.plan, "nav_msgs/msg/Path", SENSOR, period_ms=500)

    async def laser() -> list[tuple[float, float]]:
        seen = scan.newest(FRESH_S)
        if seen is None:
            return []
        try:
            located = await robot.transform(
                frames.map, seen["header"]["frame_id"], stamp=stamp_of(seen), timeout_s=TRANSFORM_WAIT_S
            )
        except TransformUnavailableError:
            return []
        return laser_points(seen, located)

    @server.tool(read_only=True)
    async def get_surroundings() -> SurroundingsResult:
        """Return the battery's charge, what the laser meets and the way that Nav2 plans to drive, in the map frame.

        What the robot does not publish, or has not yet, is empty or null. Failures: BRIDGE_UNAVAILABLE.
        """
        robot.battery.start()
        path = plan.newest(FRESH_S)
        return SurroundingsResult(
            battery=robot.battery.ratio,
            laser=await laser(),
            path=[] if path is None else path_points(path, frames.map),
        )

    @server.tool(read_only=True)
    async def get_map() -> MapResult:
        """Return the occupied cells of the robot's map (nav_msgs/OccupancyGrid); null for a robot that has none.

        Failures: BRIDGE_UNAVAILABLE, ROS_ERROR (the map says another size than it has).
        """
        async with robot.link.subscribe(
            topics.map, "nav_msgs/msg/OccupancyGrid", qos=LATCHED, compression="cbor", keep=1
        ) as subscription:
            try:
                grid = await subscription.next(MAP_WAIT_S)
            except CallTimeoutError:
                return MapResult(message=f"nothing came on {topics.map}")
        try:
            return MapResult(map=await asyncio.to_thread(occupancy_map, grid))
        except ValueError as error:
            raise ToolError(f"{topics.map}: {error}", code=CommonCode.ROS_ERROR) from error
