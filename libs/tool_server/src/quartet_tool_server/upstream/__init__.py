"""Third-party MCP servers behind a Quartet tool server.

A mapping file says, tool by tool, which tool of which upstream does the work and how its answer is to be understood.
Grant, fence, arguments, limits, stop and metrics stay those of the tool server.
"""

from quartet_tool_server.upstream._mapping import UpstreamMapping, load_mapping
from quartet_tool_server.upstream._proxy import Proxy

__all__ = ["Proxy", "UpstreamMapping", "load_mapping"]
