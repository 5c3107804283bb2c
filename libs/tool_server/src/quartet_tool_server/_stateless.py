"""fastmcp's server without the state of sessions.

For every list and call of a client with a token, fastmcp looks up which tools that client has hidden from itself, in a
store that brings 13 MB of packages (key_value, beartype). No tool of ours keeps or changes such a state.
"""

from typing import Any, NoReturn

from fastmcp import FastMCP


class _NoState:
    async def get(self, *, key: str) -> None:
        """Nothing is known of anybody."""

    async def put(self, **_: Any) -> NoReturn:
        raise NotImplementedError("these servers keep no state of sessions; keep it in the server itself")

    delete = put


class StatelessMCP(FastMCP[Any]):
    """Tools may not use `Context.set_state`, which raises NotImplementedError."""

    # fastmcp has no setting for it; the image tests see to it that this still takes effect.
    @property
    def _state_store(self) -> Any:
        return _NoState()
