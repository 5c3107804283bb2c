"""Structured results of the MCP tools, one module per server: moveit, nav2, perception, ros."""

from quartet_contracts.tools.results import CommonCode, PolicyCode, Pose2D, Pose3D, ToolResult

__all__ = ["CommonCode", "PolicyCode", "Pose2D", "Pose3D", "ToolResult"]
