"""The tools as an MCP server: schemas out, arguments in, every failure a result that a model can read."""

import base64
import logging
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from quartet_agent_runtime import Image
from quartet_contracts import describe
from quartet_orchestrator.api.problems import as_problem
from quartet_orchestrator.mcp.desk import Caller, McpDesk
from quartet_orchestrator.mcp.tools import INSTRUCTIONS, Tool, tools_of
from quartet_orchestrator.stop_button import StopProblem

log = logging.getLogger(__name__)


def build_server(desk: McpDesk) -> Server[Any]:
    tools = tools_of(desk)
    listing = types.ListToolsResult(tools=[_listed(tool) for tool in tools.values()])

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return listing

    async def call_tool(context: Any, given: types.CallToolRequestParams) -> Any:
        tool = tools.get(given.name)
        if tool is None:
            return _failed(f"there is no tool '{given.name[:64]}'; valid: {', '.join(tools)}")
        try:
            arguments = tool.arguments.model_validate(given.arguments or {})
            return _result(await tool.run(arguments, _caller(context, given)))
        except ValidationError as error:
            return _failed(
                f"{describe(error)}; {tool.name} takes: {', '.join(tool.arguments.model_fields) or 'nothing'}"
            )
        except StopProblem as problem:
            return _failed(str(problem))
        except Exception as error:
            problem = as_problem(error)
            if problem is None:
                log.exception("tool %s", tool.name)
                return _failed(f"{type(error).__name__}; this is a fault of the orchestrator, its log has the details")
            return _failed(f"{problem.title}: {problem.detail}")

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


def _caller(context: Any, given: types.CallToolRequestParams) -> Caller:
    told = 0

    async def tell(line: str) -> None:
        nonlocal told
        told += 1
        await context.session.report_progress(told, None, line)

    able = context.session.client_capabilities
    # The question goes back as a result, which older protocols do not know.
    can_ask = context.protocol_version in MODERN_PROTOCOL_VERSIONS and able is not None and able.elicitation is not None
    return Caller(tell, can_ask, given.request_state, dict(given.input_responses or {}))


def _result(outcome: Any) -> types.CallToolResult | types.InputRequiredResult:
    if isinstance(outcome, types.InputRequiredResult):
        return outcome
    view, images = outcome if isinstance(outcome, tuple) else (outcome, [])
    assert isinstance(view, BaseModel)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=view.model_dump_json()), *(_picture(image) for image in images)],
        structured_content=view.model_dump(mode="json"),
    )


def _picture(image: Image) -> types.ImageContent:
    return types.ImageContent(type="image", data=base64.b64encode(image.data).decode(), mime_type=image.media_type)


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
