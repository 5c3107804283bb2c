"""MCP server for ROS introspection: topics and messages."""
