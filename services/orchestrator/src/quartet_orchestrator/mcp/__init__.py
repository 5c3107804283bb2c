"""Quartet as a tool of other agents: MCP server at /mcp, over the same functions as the HTTP API."""

from quartet_orchestrator.mcp.endpoint import McpEndpoint
from quartet_orchestrator.mcp.service import McpTaskService
from quartet_orchestrator.mcp.stop_client import StopClient

__all__ = ["McpEndpoint", "McpTaskService", "StopClient"]
