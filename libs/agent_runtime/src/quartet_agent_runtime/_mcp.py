"""What an agent uses of the mcp package. Imported with the first session, since it takes a third of a second.

The packages mcp and mcp.client import MCP's server side, its web framework and cryptography, 12 MB that no client
needs.
"""

from quartet_process.packages import defer_package

defer_package("mcp")
defer_package("mcp.client")
from mcp.client.session import ClientSession  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402
from mcp.shared.exceptions import MCPError  # noqa: E402

__all__ = ["ClientSession", "MCPError", "streamable_http_client"]
