"""Serves the tools of a compatibility file by calls of ours."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

from fastmcp import FastMCP
from fastmcp.tools import Tool
from fastmcp.tools import ToolResult as McpResult
from mcp_types import ImageContent, TextContent
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from starlette.applications import Starlette
from starlette.middleware import Middleware

from quartet_contracts.tools import CommonCode
from quartet_process import unless_stopped
from quartet_tool_server._disconnect import DisconnectWatch, caller_gone
from quartet_tool_server._web_pages import NoWebPages
from quartet_tool_server.compat._file import Case, CompatFile, OfferedTool, OurCall, Result
from quartet_tool_server.errors import StartError
from quartet_tool_server.upstream._answers import Answer, passes, read
from quartet_tool_server.upstream._connection import Connection, over_http
from quartet_tool_server.upstream._values import MISSING, NotUnderstoodError, take, take_all

Roots = dict[str, Any]


class Adapter:
    """The servers of `file` over ours at `endpoints`, each call with what `token` returns as its grant."""

    def __init__(self, file: CompatFile, endpoints: Mapping[str, str], token: Callable[[], str]) -> None:
        self._file, self._endpoints, self._token = file, endpoints, token

    async def apps(self, path: str = "/mcp") -> dict[str, Starlette]:
        """Return an ASGI application for each server of the file, with MCP at `path`, for clients of this machine only.

        Raises StartError where our servers do not fit the file, or do not answer.
        """
        ours: dict[str, Any] = {}
        for server in sorted({name.partition("__")[0] for name in self._file.tools}):
            if server not in self._endpoints:
                raise StartError(f"no address of the server '{server}' is known here; set QUARTET_SERVERS")
            try:
                listed = await self._ask(server, lambda client: client.list_tools())
            except Exception as error:
                raise StartError(
                    f"{server} at {self._endpoints[server]} lists no tools: {error!r}; start it"
                ) from error
            ours |= {f"{server}__{tool.name}": tool for tool in listed.tools}
        arguments = {name: tool.input_schema.get("properties", {}) for name, tool in ours.items()}
        found: dict[str, Starlette] = {}
        for server, tools in self._file.servers.items():
            mcp: FastMCP[Any] = FastMCP(name=server)
            for name, tool in tools.items():
                _check(f"{server}.{name}", tool, arguments)
                described = tool.description or (ours[last].description if (last := tool.cases[-1].tool) else name)
                valid = tool.arguments(arguments)
                parameters = {"type": "object", "properties": valid, "additionalProperties": False}
                answer = self._handler(tool, frozenset(valid))
                mcp.add_tool(_Offered(name=name, description=described, parameters=parameters, answer=answer))
            layers = [Middleware(NoWebPages, known_hosts=None), Middleware(DisconnectWatch)]
            found[server] = mcp.http_app(path=path, stateless_http=False, middleware=layers)
        return found

    def _handler(self, tool: OfferedTool, valid: frozenset[str]) -> "Handler":
        async def answer(arguments: dict[str, Any]) -> McpResult:
            if unknown := sorted(arguments.keys() - valid):
                return _failed(f"unknown argument '{unknown[0]}'; valid: {', '.join(sorted(valid))}")
            roots: Roots = {"": arguments, "$arguments": arguments}
            case = next((one for one in tool.cases if _holds(one, Answer(arguments, ""), roots)), None)
            if case is None:
                return _failed(
                    "the compatibility file has no case for these arguments; use those that its `when` lists"
                )
            # mcp runs a tool to its end also when its client has gone.
            answered = await unless_stopped(caller_gone() or asyncio.Event(), self._run(case, arguments))
            return answered or _failed("the client has gone", CommonCode.CANCELED)

        return answer

    async def _run(self, case: Case, arguments: dict[str, Any]) -> McpResult:
        """Return the result of a case in the client's shape."""
        roots: Roots = {"": arguments, "$arguments": arguments}
        result, answer = McpResult(content=[]), Answer(arguments, "")
        if case.tool is not None:
            result, answer = await self._call(case, arguments, roots)
            if answer.failed:
                other = case.otherwise
                if other is not None and _holds(other, answer, answer.roots(arguments, {})):
                    return await self._run(other, arguments)
                return result
            roots = answer.roots(arguments, {})
            for name, further in case.then.items():
                if _holds(further, answer, roots):
                    failed, more = await self._call(further, arguments, roots)
                    if more.failed:
                        return failed
                    roots[f"${name}"] = more.data
        pictures = [block for block in result.content if case.images and isinstance(block, ImageContent)]
        for shape in case.result:
            if _holds(shape, answer, roots):
                return await _shaped(case, shape, roots, pictures)
        texts = [block for block in result.content if isinstance(block, TextContent)]
        return McpResult(content=[*texts, *pictures])

    async def _call(self, case: OurCall, arguments: dict[str, Any], roots: Roots) -> tuple[McpResult, Answer]:
        """Call the tool of a case; return its result and what it says."""
        server, _, tool = str(case.tool).partition("__")
        try:
            given = arguments if case.arguments is None else await take_all(case.arguments, roots, None)
        except NotUnderstoodError as error:
            return _failed(str(error)), Answer({}, "", failed=True)
        try:
            said = await self._ask(server, lambda client: client.call_tool(tool, given))
        except Exception as error:
            text = f"{server} was not reached, or lost during {tool} ({error!r}): look before you call it again"
            return _failed(text, CommonCode.UPSTREAM_UNAVAILABLE), Answer({}, "", failed=True)
        try:
            answer = read(said)
        except NotUnderstoodError as error:
            text = f"{case.tool} was called, but it answered {error}"
            return _failed(text, CommonCode.UNKNOWN), Answer({}, "", failed=True)
        failed = answer.failed or answer.data.get("ok") is False
        return McpResult(content=said.content, is_error=answer.failed), Answer(answer.data, answer.text, failed=failed)

    async def _ask(self, server: str, work: Callable[[Any], Any]) -> Any:
        """Return what `work` returns for a client of one of our servers; canceling this cancels it there."""
        headers = {"Authorization": f"Bearer {self._token()}"}
        connection = await Connection.open(over_http(self._endpoints[server], headers))
        try:
            return await connection.ask(work)
        finally:
            await connection.close()


Handler = Callable[[dict[str, Any]], Awaitable[McpResult]]


class _Offered(Tool):
    """A tool that `answer` serves."""

    answer: Annotated[SkipJsonSchema[Handler], Field(exclude=True)]

    async def run(self, arguments: dict[str, Any]) -> McpResult:
        """Answer one call."""
        return await self.answer(arguments)


def _holds(rule: Any, answer: Answer, roots: Roots) -> bool:
    return rule.when is None or passes(rule.when, answer, roots)


async def _shaped(case: Case, shape: Result, roots: Roots, pictures: Sequence[ImageContent]) -> McpResult:
    """Return what `shape` makes of the answer of the case's tool."""
    try:
        made = await take(shape, roots, None)
        if made is MISSING:
            raise NotUnderstoodError(f"{shape.source or 'a value that the compatibility file takes'} is missing")
    except NotUnderstoodError as error:
        return _failed(f"{case.tool} was called, but its result does not fit: {error}", CommonCode.UNKNOWN)
    return McpResult(content=[TextContent(type="text", text=json.dumps(made)), *pictures])


def _failed(message: str, code: CommonCode = CommonCode.INVALID_PARAMETERS) -> McpResult:
    text = json.dumps({"ok": False, "error_code": code, "message": message})
    return McpResult(content=[TextContent(type="text", text=text)])


def _check(where: str, tool: OfferedTool, arguments: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise StartError for a tool or an argument that our servers do not have."""
    for call in (inner for one in tool.cases for inner in one.calls()):
        if call.tool is None:
            continue
        if call.tool not in arguments:
            raise StartError(f"{where}: no tool '{call.tool}'; valid: {', '.join(sorted(arguments))}")
        valid = arguments[call.tool]
        if unknown := sorted((call.arguments or {}).keys() - valid.keys()):
            raise StartError(f"{where}: {call.tool} has no argument '{unknown[0]}'; valid: {', '.join(valid)}")
