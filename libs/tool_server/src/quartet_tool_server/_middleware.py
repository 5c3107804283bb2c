"""Authorization of every tool call: grant, fence, policy, error map, metrics."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult
from fastmcp.tools.base import InputRequiredToolResult

from quartet_contracts import GrantClaims
from quartet_contracts.tools.results import PolicyCode
from quartet_process import correlation_ids, tracing
from quartet_safety.motion import FencedError
from quartet_tool_server._grants import current_grant
from quartet_tool_server._tool_entry import as_tool_result
from quartet_tool_server.errors import DeniedError, failure
from quartet_tool_server.metrics import Metrics

Screen = Callable[[GrantClaims, str, dict[str, Any], Any], ToolResult | None]
"""Grant, tool, arguments as they came, and the responses to an earlier question: None, or the question to a person."""


class Admit(Protocol):
    """Refuses an outdated grant; a call that does not only read takes the robot over with a newer one."""

    async def __call__(self, grant: GrantClaims, *, reads: bool) -> None:
        """Raise FencedError for a grant that is outdated."""
        ...


class CallAuthorization(Middleware):
    """Passes on a call that its caller may make.

    The caller's grant must cover the tool and be no older than the newest fence, and the site's policy must allow the
    call. A newer fence is learned from a call that passes and does not only read: no other takes the robot over.
    """

    def __init__(
        self,
        server: str,
        metrics: Metrics,
        *,
        caller: Callable[[], GrantClaims | None],
        admit: Admit,
        screen: Screen,
        arguments: Callable[[str], tuple[str, ...] | None],
        reads: Callable[[str], bool],
    ) -> None:
        self._server, self._metrics, self._robot = server, metrics, metrics.robot
        self._caller, self._admit, self._screen = caller, admit, screen
        self._arguments, self._reads = arguments, reads

    async def on_list_tools(
        self, context: MiddlewareContext[mcp_types.ListToolsRequest], call_next: CallNext[Any, Sequence[Tool]]
    ) -> Sequence[Tool]:
        """A caller sees the tools of its grant."""
        grant = self._caller()
        granted: set[str] = set() if grant is None else set(grant.tools)
        return [tool for tool in await call_next(context) if self._scope(tool.name) in granted]

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Return the tool's result, or a failed one that says why the call was refused."""
        name, started = context.message.name, time.monotonic()
        code = "CANCELED"
        token = None
        try:
            grant = self._check(name)
            await self._admit(grant, reads=True)
            token = current_grant.set(grant)
            responses = None if context.fastmcp_context is None else context.fastmcp_context.input_responses
            asked = self._screen(grant, name, context.message.arguments or {}, responses)
            if asked is None:
                await self._admit(grant, reads=self._reads(name))
            with correlation_ids(task_id=grant.task or None, request_id=grant.jti, robot=self._robot, agent=grant.sub):
                tracing.add_current_ids()
                result = await call_next(context) if asked is None else asked
            if isinstance(result, InputRequiredToolResult):
                code = str(PolicyCode.INPUT_REQUIRED)
            else:
                code = str((result.structured_content or {}).get("error_code", "NONE"))
            return result
        except Exception as error:
            fields = failure(error, tool=name, arguments=self._arguments(name) or ())
            code = fields["error_code"]
            if isinstance(error, DeniedError | FencedError):
                self._metrics.refused(code)
            return as_tool_result(fields)
        finally:
            if token is not None:
                current_grant.reset(token)
            # Names that a caller made up must not fill the metrics.
            known = name if self._arguments(name) is not None else "unknown"
            tracing.add_attributes({tracing.CODE: code})
            self._metrics.called(known, code, time.monotonic() - started)

    def _scope(self, tool: str) -> str:
        return f"{self._server}__{tool}"

    def _check(self, tool: str) -> GrantClaims:
        grant = self._caller()
        if grant is None:
            raise DeniedError("this call carries no valid grant; get one from the orchestrator")
        if self._scope(tool) not in grant.tools:
            own = [scope for scope in grant.tools if scope.startswith(f"{self._server}__")]
            raise DeniedError(
                f"the grant of '{grant.sub}' does not cover {self._scope(tool)}; on this server it covers: "
                f"{', '.join(own) or 'nothing'}"
            )
        return grant
