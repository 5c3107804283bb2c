"""Quartet as a tool, with every process real: the stock MCP client gives a robot work over HTTP."""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from quartet_deployment import Stack, StopClient

pytestmark = pytest.mark.long

LONG_S = 240.0


@contextlib.asynccontextmanager
async def connected(stack: Stack) -> AsyncIterator[Client]:
    """As an assistant on this machine has it from docs/as-a-tool.md."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {stack.api_token}"}, timeout=LONG_S) as http,
        Client(streamable_http_client(f"{stack.url}/mcp", http_client=http)) as client,
    ):
        yield client


async def call(mcp: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await mcp.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def test_an_assistant_has_a_job_done_looks_cancels_and_stops(
    stack: Stack,
    reset: Callable[..., dict[str, Any]],
    truth: Callable[[Stack], dict[str, Any]],
    sentence_about: Callable[..., tuple[str, str, str]],
) -> None:
    sentence, name, target = sentence_about(reset(stack, 1))
    told: list[str] = []

    async def hear(_progress: float, _total: float | None, message: str | None) -> None:
        told.append(message or "")

    async with connected(stack) as mcp:
        (robot,) = (await call(mcp, "list_robots"))["robots"]
        assert robot["state"] == "idle", robot

        seen = await mcp.call_tool("look", {"camera": "both"})
        pictures = [block for block in seen.content if block.type == "image"]
        assert [picture.mime_type for picture in pictures] == ["image/jpeg", "image/jpeg"]

        arguments = {"sentence": sentence, "wait_s": LONG_S}
        done = (await mcp.call_tool("run_task", arguments, progress_callback=hear)).structured_content
        assert done["state"] == "SUCCEEDED", done
        assert truth(stack)["objects"][name]["on"] == target
        assert any(line.startswith("pick: ") for line in told), told

        # Back again, and changed one's mind.
        begun = await call(mcp, "run_task", sentence=f"Pick up the {name} from the {target}.")
        await call(mcp, "cancel_task", task_id=begun["task_id"])
        ended = await call(mcp, "task_status", task_id=begun["task_id"], wait_s=LONG_S)
        assert ended["state"] == "CANCELED", ended

        stopped = await call(mcp, "stop", reason="the test is over")
        assert stopped["robots"][robot["name"]].startswith("stopped")
        assert stopped["stopped"]
        state = httpx2.get(
            f"{stack.url_of('stop')}/state", headers={"Authorization": f"Bearer {stack.stop_token}"}
        ).json()
        assert state["robots"][robot["name"]]["reason"] == "the test is over"
        with StopClient(stack.url_of("stop"), stack.stop_token) as service:
            service.reset(robot["name"])
