"""Tools over Nav2's behaviours: spin_robot, drive_on_heading, backup_robot, wait."""

import math
from functools import partial

from quartet_contracts.tools.nav2 import MotionResult, WaitResult
from quartet_nav2.motion import (
    check_length,
    check_speed,
    drive,
    drive_progress,
    limit_for,
    run_without_lease,
    spin_goal,
    straight_goal,
    turn_progress,
    verdict,
    where,
)
from quartet_robot_link import Message, duration
from quartet_robot_link import seconds as in_seconds
from quartet_tool_server import Finite, ToolServer

MAX_TURN_RAD = 4 * math.pi
MAX_DRIVE_M = 5.0
"""Longer ways are for navigate_to_pose, which goes around obstacles."""
MAX_WAIT_S = 60.0
WAIT_LATE_S = 10.0
"""ROS time after which a wait that does not end is given up."""


def register(server: ToolServer) -> None:  # noqa: C901 - a list of small functions
    """Add spin_robot, drive_on_heading, backup_robot and wait."""
    robot, names = server.robot, server.robot.file

    def turn_limits(angle: float) -> None:
        check_length("angle", angle, MAX_TURN_RAD, "rad", signed=True)

    def drive_limits(distance: float, speed: float) -> None:
        check_length("distance", distance, MAX_DRIVE_M, "m", instead="; backup_robot drives backward")
        check_speed(speed, robot)

    def backup_limits(distance: float, speed: float) -> None:
        check_length("distance", distance, MAX_DRIVE_M, "m", instead="; drive_on_heading drives forward")
        check_speed(speed, robot)

    def wait_limits(seconds: float) -> None:
        check_length("seconds", seconds, MAX_WAIT_S, "s")

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

    @server.tool(read_only=True, limits=wait_limits)
    async def wait(seconds: Finite) -> WaitResult:
        """Let some seconds of the robot's time go by, so that somebody who is in the way can leave; nothing moves.

        seconds: above 0, at most 60. It holds no motion up, and none ends it. Failures: INVALID_PARAMETERS,
        NAVIGATION_FAILED, NAVIGATION_CANCELED (by somebody else), NAV2_NOT_ACTIVE, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        goal = {"time": duration(seconds)}
        outcome = await run_without_lease(robot, names.actions.wait, "Wait", goal, limit_s=seconds + WAIT_LATE_S)
        ended = verdict(outcome)
        told = {name: ended[name] for name in ("ok", "error_code", "message") if name in ended}
        spent = outcome.values.get("total_elapsed_time")
        return WaitResult(waited_s=None if spent is None else in_seconds(spent), **told)

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
