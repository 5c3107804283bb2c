"""MCP server of the tools: lists schemas, checks arguments, turns every failure into a result for the model."""

import base64
import logging
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from quartet_agent_runtime import ArgumentsError, Image, note_repairs, resolve_name
from quartet_contracts import describe
from quartet_orchestrator.api.responses import as_request_error
from quartet_orchestrator.errors import StopServiceError
from quartet_orchestrator.mcp.arguments import read_call
from quartet_orchestrator.mcp.service import McpCaller, McpTaskService
from quartet_orchestrator.mcp.tools import INSTRUCTIONS, Tool, tools_of

log = logging.getLogger(__name__)


def build_server(service: McpTaskService) -> Server[Any]:
    """Return a server of the tools of `service`."""
    tools = tools_of(service)
    listing = types.ListToolsResult(tools=[_listed(tool) for tool in tools.values()])

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return listing

    async def call_tool(context: Any, given: types.CallToolRequestParams) -> Any:
        tool = tools.get(resolve_name(given.name, tools) or "")
        if tool is None:
            return _failed(f"there is no tool '{given.name[:64]}'; valid: {', '.join(tools)}")
        try:
            arguments, repairs = read_call(tool.arguments, given.arguments or {})
            note = note_repairs("mcp_client", repairs)
            return _result(await tool.run(arguments, _caller(context, given)), note)
        except (ArgumentsError, ValidationError) as error:
            wrong = describe(error) if isinstance(error, ValidationError) else str(error)
            return _failed(f"{wrong}; {tool.name} takes: {', '.join(tool.arguments.model_fields) or 'nothing'}")
        except StopServiceError as error:
            return _failed(str(error))
        except Exception as error:
            expected = as_request_error(error)
            if expected is None:
                log.exception("tool %s", tool.name)
                return _failed(f"{type(error).__name__}; this is a fault of the orchestrator, its log has the details")
            return _failed(f"{expected.title}: {expected.detail}")

    return Server("quartet", instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.arguments.model_json_schema(),
        output_schema=tool.result.model_json_schema(mode="serialization"),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads,
            destructive_hint=not tool.reads,
            idempotent_hint=tool.reads or tool.repeatable,
            open_world_hint=True,
        ),
    )


def _caller(context: Any, given: types.CallToolRequestParams) -> McpCaller:
    told = 0

    async def tell(line: str) -> None:
        nonlocal told
        told += 1
        await context.session.report_progress(told, None, line)

    able = context.session.client_capabilities
    # The question goes back as a result, which older protocols do not know.
    can_ask = context.protocol_version in MODERN_PROTOCOL_VERSIONS and able is not None and able.elicitation is not None
    return McpCaller(tell, can_ask, given.request_state, dict(given.input_responses or {}))


def _result(outcome: Any, note: str) -> types.CallToolResult | types.InputRequiredResult:
    if isinstance(outcome, types.InputRequiredResult):
        return outcome
    view, images = outcome if isinstance(outcome, tuple) else (outcome, [])
    assert isinstance(view, BaseModel)
    texts = [view.model_dump_json(), *([f"The call was repaired: {note}"] if note else [])]
    return types.CallToolResult(
        content=[
            *(types.TextContent(type="text", text=text) for text in texts),
            *(_picture(image) for image in images),
        ],
        structured_content=view.model_dump(mode="json"),
    )


def _picture(image: Image) -> types.ImageContent:
    return types.ImageContent(type="image", data=base64.b64encode(image.data).decode(), mime_type=image.media_type)


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
