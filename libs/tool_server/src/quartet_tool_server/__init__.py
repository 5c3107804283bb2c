"""Library of the tool servers: FastMCP factory, grant and fence check, motion leases, error map, metrics.

    def register(server: ToolServer) -> None:
        @server.tool
        async def get_robot_pose() -> RobotPoseResult:
            '''Return where the robot stands.'''
            pose = await server.robot.base_pose()
            ...

    if __name__ == "__main__":
        run(ServerSpec("nav2", register))

A tool raises ToolError(message, code=...) or lets a RobotLinkError through; both become a failed result of its model.
A tool that returns images: `@server.tool(result=LookResult)` and `return as_tool_result(LookResult(...), images)`.
A tool that moves the robot is registered with `moves=` and owns the motion lease while it does:

    async with server.leases.acquire("base", "spin_robot") as lease:
        outcome = await server.run_goal(lease, action, action_type, goal, limit_s=30)
"""

from quartet_tool_server._goal_runner import REPORT_EVERY_S, Progress, report_progress, run_goal
from quartet_tool_server._grants import GrantVerifier, caller_token, current_grant
from quartet_tool_server._safety_controller import SafetyController, lease_terms
from quartet_tool_server._server import ServerSpec, ToolServer
from quartet_tool_server._tool_entry import Finite, Orientation, Position, Positive, as_tool_result, numbers
from quartet_tool_server.errors import (
    DeniedError,
    InvalidArgumentsError,
    StartError,
    ToolError,
    ToolServerError,
    failure,
)
from quartet_tool_server.metrics import Metrics
from quartet_tool_server.run import make_server, run
from quartet_tool_server.settings import ServerSettings

__all__ = [
    "REPORT_EVERY_S",
    "DeniedError",
    "Finite",
    "GrantVerifier",
    "InvalidArgumentsError",
    "Metrics",
    "Orientation",
    "Position",
    "Positive",
    "Progress",
    "SafetyController",
    "ServerSettings",
    "ServerSpec",
    "StartError",
    "ToolError",
    "ToolServer",
    "ToolServerError",
    "as_tool_result",
    "caller_token",
    "current_grant",
    "failure",
    "lease_terms",
    "make_server",
    "numbers",
    "report_progress",
    "run",
    "run_goal",
]
