"""What an agent uses of the mcp package. Imported with the first session, since it takes a third of a second.

The packages mcp and mcp.client import MCP's server side, its web framework and cryptography, 12 MB that no client
needs.
"""

from collections.abc import Generator
from contextlib import contextmanager

from pydantic import BaseModel

from quartet_process.packages import defer_package


@contextmanager
def _built_when_used() -> Generator[None]:
    """Let pydantic build the validators of models that are imported here when they are first used: few of 700 are."""
    before = dict(BaseModel.model_config)
    BaseModel.model_config["defer_build"] = True
    try:
        yield
    finally:
        BaseModel.model_config.clear()
        BaseModel.model_config.update(before)


defer_package("mcp")
defer_package("mcp.client")
with _built_when_used():
    from mcp.client.session import ClientSession
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.exceptions import MCPError

__all__ = ["ClientSession", "MCPError", "streamable_http_client"]
