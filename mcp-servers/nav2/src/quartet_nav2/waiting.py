"""wait: let the robot's time go by where it stands."""

from quartet_contracts.tools.nav2 import WaitResult
from quartet_nav2.motion import check_length, run_without_lease, verdict
from quartet_robot_link import duration
from quartet_robot_link import seconds as in_seconds
from quartet_tool_server import Finite, ToolServer

MAX_WAIT_S = 60.0
LATE_S = 10.0
"""ROS time after which a wait that does not end is given up."""


def register(server: ToolServer) -> None:
    """Add wait."""
    robot = server.robot

    def limits(seconds: float) -> None:
        check_length("seconds", seconds, MAX_WAIT_S, "s")

    @server.tool(read_only=True, limits=limits)
    async def wait(seconds: Finite) -> WaitResult:
        """Let some seconds of the robot's time go by, so that somebody who is in the way can leave; nothing moves.

        seconds: above 0, at most 60. It holds no motion up, and none ends it. Failures: INVALID_PARAMETERS,
        NAVIGATION_FAILED, NAVIGATION_CANCELED (by somebody else), NAV2_NOT_ACTIVE, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        goal = {"time": duration(seconds)}
        outcome = await run_without_lease(robot, robot.file.actions.wait, "Wait", goal, limit_s=seconds + LATE_S)
        ended = verdict(outcome)
        told = {name: ended[name] for name in ("ok", "error_code", "message") if name in ended}
        spent = outcome.values.get("total_elapsed_time")
        return WaitResult(waited_s=None if spent is None else in_seconds(spent), **told)
