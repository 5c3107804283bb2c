"""Quartet as a tool of other agents: MCP at /mcp, over the same functions as the HTTP API."""

from quartet_orchestrator.mcp.desk import McpDesk
from quartet_orchestrator.mcp.endpoint import McpEndpoint

__all__ = ["McpDesk", "McpEndpoint"]
