"""MCP server for arm and gripper: MoveIt 2 and gripper tools."""
