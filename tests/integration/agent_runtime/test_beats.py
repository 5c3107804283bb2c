"""While a tool moves the robot for an agent, the agent's own event loop tells the server that it lives."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
import uvicorn
from fastmcp import FastMCP
from mcp_types import ToolAnnotations
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from quartet_agent_runtime import Toolbox

PATIENCE_S = 60.0


@dataclass
class Mover:
    """A server whose tools run until the test lets them end."""

    url: str = ""
    status: int = 200
    """Of the answers to heartbeats."""
    beats: list[str] = field(default_factory=list)
    """Bearer token of each."""
    running: asyncio.Event = field(default_factory=asyncio.Event)
    end: asyncio.Event = field(default_factory=asyncio.Event)


@pytest.fixture
async def mover() -> AsyncIterator[Mover]:
    state, server = Mover(), FastMCP("legs")

    async def work() -> str:
        state.running.set()
        await state.end.wait()
        return "done"

    server.tool(work, name="walk")
    server.tool(work, name="watch", annotations=ToolAnnotations(read_only_hint=True))

    @server.custom_route("/control/beat", methods=["POST"])
    async def beat(request: Request) -> Response:
        state.beats.append(request.headers.get("authorization", ""))
        return JSONResponse({"motions": 1}, state.status)

    config = uvicorn.Config(server.http_app(path="/mcp"), port=0, log_level="warning", lifespan="on", ws="none")
    serving = uvicorn.Server(config)
    running = asyncio.create_task(serving._serve())
    while not serving.started:
        assert not running.done(), running.exception()
        await asyncio.sleep(0.01)
    state.url = f"http://127.0.0.1:{serving.servers[0].sockets[0].getsockname()[1]}/mcp"
    yield state
    serving.should_exit = serving.force_exit = True
    await running


async def silent(*_: object) -> None:
    return None


async def test_it_beats_with_its_grant_as_long_as_the_tool_runs(mover, eventually):
    async with Toolbox({"legs": mover.url}, "grant-1", [], PATIENCE_S) as tools:
        call = asyncio.create_task(tools.call("legs__walk", {}, silent))
        await eventually(lambda: len(mover.beats) >= 4)
        assert not call.done()
        mover.end.set()
        assert (await call).ok
        assert set(mover.beats) == {"Bearer grant-1"}
        assert tools._servers["legs"]._beats._task is None, "nobody is vouched for any longer"


async def test_two_motions_at_once_share_the_beats_and_the_last_ends_them(mover, eventually):
    async with Toolbox({"legs": mover.url}, "g", [], PATIENCE_S) as tools:
        beats = tools._servers["legs"]._beats
        async with beats.during():
            async with beats.during():
                task = beats._task
            assert beats._task is task
            heard = len(mover.beats)
            await eventually(lambda: len(mover.beats) > heard + 1)
        assert beats._task is None


async def test_a_tool_that_only_reads_needs_none(mover, eventually):
    async with Toolbox({"legs": mover.url}, "g", [], PATIENCE_S) as tools:
        call = asyncio.create_task(tools.call("legs__watch", {}, silent))
        await asyncio.wait_for(mover.running.wait(), 30)
        assert tools._servers["legs"]._beats._task is None
        mover.end.set()
        assert (await call).ok
    assert mover.beats == []


async def test_a_call_that_is_given_up_beats_no_more(mover, eventually):
    async with Toolbox({"legs": mover.url}, "g", [], PATIENCE_S) as tools:
        call = asyncio.create_task(tools.call("legs__walk", {}, silent))
        await eventually(lambda: mover.beats)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert tools._servers["legs"]._beats._task is None


async def test_somebody_elses_server_is_not_bothered_further(mover, eventually):
    mover.status = 404
    async with Toolbox({"legs": mover.url}, "g", [], PATIENCE_S) as tools:
        call = asyncio.create_task(tools.call("legs__walk", {}, silent))
        beats = tools._servers["legs"]._beats
        await eventually(lambda: mover.beats)
        await eventually(lambda: beats._task is not None and beats._task.done())
        mover.end.set()
        assert (await call).ok
        async with beats.during():
            assert beats._task is None
    assert len(mover.beats) == 1
