"""MCP server for the base: navigation tools over Nav2."""
