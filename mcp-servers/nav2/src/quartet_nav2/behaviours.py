"""spin_robot, drive_on_heading, backup_robot."""

import math
from functools import partial

from quartet_contracts.tools.nav2 import MotionResult
from quartet_nav2.motion import (
    check_length,
    check_speed,
    drive,
    drive_progress,
    limit_for,
    spin_goal,
    straight_goal,
    turn_progress,
    verdict,
    where,
)
from quartet_robot_link import Message
from quartet_tool_server import Finite, ToolServer

MAX_TURN_RAD = 4 * math.pi
MAX_DRIVE_M = 5.0
"""Longer ways are for navigate_to_pose, which goes around obstacles."""


def register(server: ToolServer) -> None:
    """Add spin_robot, drive_on_heading and backup_robot."""
    robot, names = server.robot, server.robot.file

    def turn_limits(angle: float) -> None:
        check_length("angle", angle, MAX_TURN_RAD, "rad", signed=True)

    def drive_limits(distance: float, speed: float) -> None:
        check_length("distance", distance, MAX_DRIVE_M, "m", instead="; backup_robot drives backward")
        check_speed(speed, robot)

    def backup_limits(distance: float, speed: float) -> None:
        check_length("distance", distance, MAX_DRIVE_M, "m", instead="; drive_on_heading drives forward")
        check_speed(speed, robot)

    def turn_goal(angle: float) -> tuple[str, Message]:
        return "Spin", spin_goal(angle, limit_for(angle, names.base.angular_speed_rad_s))

    def drive_goal(kind: str, distance: float, speed: float) -> tuple[str, Message]:
        return kind, straight_goal(distance, speed, limit_for(distance, speed))

    @server.tool(moves="base", limits=turn_limits, goal=turn_goal)
    async def spin_robot(angle: Finite) -> MotionResult:
        """Turn the base on the spot by an angle in radians relative to where it looks now, positive to the left.

        60 degrees are 1.047 rad; valid: -12.57 to 12.57. Failures: NAVIGATION_FAILED (SPIN_COLLISION_AHEAD: something
        is too close; back up first), NAVIGATION_CANCELED, NAV2_NOT_ACTIVE, BUSY, TIMEOUT or BRIDGE_UNAVAILABLE
        (outcome unknown: look first), STOPPED (report it).
        """
        limit_s = limit_for(angle, names.base.angular_speed_rad_s)
        async with server.leases.acquire("base", "spin_robot") as lease:
            outcome = await drive(
                server,
                lease,
                names.actions.spin,
                "Spin",
                spin_goal(angle, limit_s),
                limit_s=limit_s,
                progress=turn_progress(angle),
            )
            return MotionResult(pose=await where(robot), **verdict(outcome))

    @server.tool(moves="base", limits=drive_limits, goal=partial(drive_goal, "DriveOnHeading"))
    async def drive_on_heading(distance: Finite, speed: Finite = 0.2) -> MotionResult:
        """Drive straight forward by a distance in metres at a speed in m/s, without planning around obstacles.

        It stops before an obstacle (NAVIGATION_FAILED with DRIVE_COLLISION_AHEAD; what was driven is kept). distance:
        above 0, at most 5; use backup_robot to go backward and navigate_to_pose for longer ways. Other failures:
        INVALID_PARAMETERS, NAVIGATION_CANCELED, NAV2_NOT_ACTIVE, BUSY, TIMEOUT or BRIDGE_UNAVAILABLE (outcome unknown:
        get_robot_pose first), STOPPED (report it).
        """
        return await straight("drive_on_heading", names.actions.drive_on_heading, "DriveOnHeading", distance, speed)

    @server.tool(moves="base", limits=backup_limits, goal=partial(drive_goal, "BackUp"))
    async def backup_robot(distance: Finite, speed: Finite = 0.2) -> MotionResult:
        """Drive straight backward by a distance in metres (a positive number) at a speed in m/s.

        It stops before an obstacle (NAVIGATION_FAILED with BACKUP_COLLISION_AHEAD). distance: above 0, at most 5.
        Other failures as of drive_on_heading.
        """
        return await straight("backup_robot", names.actions.backup, "BackUp", distance, speed)

    async def straight(tool: str, action: str, kind: str, distance: float, speed: float) -> MotionResult:
        limit_s = limit_for(distance, speed)
        async with server.leases.acquire("base", tool) as lease:
            outcome = await drive(
                server,
                lease,
                action,
                kind,
                straight_goal(distance, speed, limit_s),
                limit_s=limit_s,
                progress=drive_progress(distance),
            )
            return MotionResult(pose=await where(robot), **verdict(outcome))
