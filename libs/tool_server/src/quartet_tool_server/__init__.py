"""How a server serves: FastMCP factory, grant and fence check, motions, error map, metrics.

    def register(server: ToolServer) -> None:
        @server.tool
        async def get_robot_pose() -> RobotPoseResult:
            '''Where the robot stands.'''
            pose = await server.robot.base_pose()
            ...

    if __name__ == "__main__":
        run("nav2", register)

A tool raises ToolFailure(message, code=...) or lets a LinkError through; both become a failed result of its model.
A tool that returns images: `@server.tool(result=LookResult)` and `return as_tool_result(LookResult(...), images)`.
A tool that moves: `async with server.motions.claim("base", "spin_robot") as claim: await claim.run(action, ...)`.
"""

from quartet_tool_server.arguments import Finite, Orientation, Position, Positive
from quartet_tool_server.claim import Claim
from quartet_tool_server.errors import (
    Busy,
    Canceled,
    Denied,
    Fenced,
    InvalidArguments,
    Lapsed,
    Stopped,
    ToolFailure,
    failure,
)
from quartet_tool_server.fence import FenceProblem, FenceStore
from quartet_tool_server.grants import GrantVerifier, InvalidGrant, KeyProblem, PublicKeys, read_keys
from quartet_tool_server.metrics import Metrics
from quartet_tool_server.motions import Motions
from quartet_tool_server.results import as_tool_result
from quartet_tool_server.run import make_server, run
from quartet_tool_server.server import ToolServer
from quartet_tool_server.settings import ServerSettings

__all__ = [
    "Busy",
    "Canceled",
    "Claim",
    "Denied",
    "FenceProblem",
    "FenceStore",
    "Fenced",
    "Finite",
    "GrantVerifier",
    "InvalidArguments",
    "InvalidGrant",
    "KeyProblem",
    "Lapsed",
    "Metrics",
    "Motions",
    "Orientation",
    "Position",
    "Positive",
    "PublicKeys",
    "ServerSettings",
    "Stopped",
    "ToolFailure",
    "ToolServer",
    "as_tool_result",
    "failure",
    "make_server",
    "read_keys",
    "run",
]
