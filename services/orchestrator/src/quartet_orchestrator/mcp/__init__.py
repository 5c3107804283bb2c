"""Quartet as a tool of other agents: MCP server at /mcp, over the same functions as the HTTP API."""

from quartet_orchestrator.mcp.endpoint import McpEndpoint
from quartet_orchestrator.mcp.service import McpTaskService

__all__ = ["McpEndpoint", "McpTaskService"]
