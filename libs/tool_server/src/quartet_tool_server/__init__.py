"""How an MCP server serves: factory, grant and fence check, error map, metrics."""
