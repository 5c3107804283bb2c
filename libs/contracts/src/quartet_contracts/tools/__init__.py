"""Structured results of the MCP tools, one module per server."""

from quartet_contracts.tools import moveit, nav2, perception, ros
from quartet_contracts.tools.base import Pose2D, Pose3D, ToolResult
from quartet_contracts.tools.common_codes import CommonCode

__all__ = ["CommonCode", "Pose2D", "Pose3D", "ToolResult", "moveit", "nav2", "perception", "ros"]
