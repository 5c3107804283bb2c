"""A session of the mcp package that trusts no schema of its server.

Imported when a session is opened: the mcp package costs half of the time in which an agent must be ready.
"""

from mcp_types import CallToolResult

from quartet_agent_runtime._mcp import ClientSession


class UncheckedSession(ClientSession):
    """ClientSession that does not check results against the schema that the same server gave for them.

    Such a check says nothing about a server that was taken over, and a schema can make it last for ever: with a pattern
    that backtracks, or definitions that name each other.
    """

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """Take any result."""
