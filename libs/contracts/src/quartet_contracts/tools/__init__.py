"""Structured results of the MCP tools, one module per server: moveit, nav2, perception, ros."""

from quartet_contracts.tools._direction import LONGEST_WAY_M, PITCH, Direction, advanced, fingers, way_out_m, withdrawn
from quartet_contracts.tools.results import CommonCode, PolicyCode, Pose2D, Pose3D, ToolResult

__all__ = [
    "LONGEST_WAY_M",
    "PITCH",
    "CommonCode",
    "Direction",
    "PolicyCode",
    "Pose2D",
    "Pose3D",
    "ToolResult",
    "advanced",
    "fingers",
    "way_out_m",
    "withdrawn",
]
