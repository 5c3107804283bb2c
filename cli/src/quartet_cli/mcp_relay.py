"""Relay between an assistant's MCP over stdin and stdout and the orchestrator's MCP over HTTP."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from quartet_deployment import UnreachableError
from quartet_process.bounded_answers import BoundedTransport

CALL_S = 3700.0
"""Longer than a tool waits at most."""
MOST_BYTES = 32 * 1024 * 1024
"""Of an answer or an event: pictures of two cameras fit."""


async def relay(url: str, token: str | None) -> None:
    """Serve until stdin ends. Raises UnreachableError when no orchestrator answers at the start."""
    try:
        async with _connected(url, token) as upstream:
            instructions = upstream.instructions
    except _LOST as error:
        raise UnreachableError(
            f"no orchestrator answers at {url}: {_reason(error)}; start one with: quartet up"
        ) from None

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        async with _connected(url, token) as upstream:
            return await upstream.list_tools()

    async def call_tool(context: Any, given: types.CallToolRequestParams) -> Any:
        async def pass_on(progress: float, total: float | None, message: str | None) -> None:
            await context.session.report_progress(progress, total, message)

        modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        try:
            async with _connected(url, token, _elicitation(context)) as upstream:
                if not modern:
                    return await upstream.call_tool(given.name, given.arguments, progress_callback=pass_on)
                # A client of the current protocol gets a question as a result and calls again with the answer.
                return await upstream.session.call_tool(
                    given.name,
                    given.arguments,
                    progress_callback=pass_on,
                    input_responses=given.input_responses,
                    request_state=given.request_state,
                    allow_input_required=True,
                )
        except _LOST as error:
            text = f"the orchestrator at {url} did not answer: {_reason(error)}; a task that has started goes on"
            return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)

    server: Server[Any] = Server("quartet", instructions=instructions, on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


_LOST = (httpx2.HTTPError, MCPError, OSError, ExceptionGroup)
"""Errors of an orchestrator that is not there or refuses."""


@contextlib.asynccontextmanager
async def _connected(url: str, token: str | None, ask: Any = None) -> AsyncIterator[Client]:
    """Connect for one call; the orchestrator may have been restarted since the last one."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(CALL_S, connect=10.0),
            transport=BoundedTransport(httpx2.AsyncHTTPTransport(), MOST_BYTES, event_streams=True),
            trust_env=False,
        ) as http,
        Client(
            streamable_http_client(url, http_client=http, max_sse_event_size=MOST_BYTES),
            elicitation_callback=ask,
            cache=None,
        ) as client,
    ):
        yield client


def _elicitation(context: Any) -> Any:
    """Return a callback that asks the assistant's person, None for a client that cannot ask."""
    able = context.session.client_capabilities
    if able is None or able.elicitation is None:
        return None

    async def ask(_: Any, form: Any) -> types.ElicitResult:
        return await context.session.elicit_form(form.message, form.requested_schema)

    return ask


def _reason(error: BaseException) -> str:
    """Return the first error of a group in words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
