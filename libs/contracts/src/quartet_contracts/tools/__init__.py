"""Structured results of the MCP tools, one module per server: moveit, nav2, perception, ros."""

from quartet_contracts.tools._direction import PITCH, Direction, advanced, fingers, withdrawn
from quartet_contracts.tools.results import CommonCode, PolicyCode, Pose2D, Pose3D, ToolResult

__all__ = [
    "PITCH",
    "CommonCode",
    "Direction",
    "PolicyCode",
    "Pose2D",
    "Pose3D",
    "ToolResult",
    "advanced",
    "fingers",
    "withdrawn",
]
