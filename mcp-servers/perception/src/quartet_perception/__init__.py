"""MCP server for the cameras: segmentation, grasp and placing poses."""
