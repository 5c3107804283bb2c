"""While a tool moves the robot for an agent, the agent's own event loop tells the server that it lives."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastmcp import FastMCP
from mcp_types import ToolAnnotations
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from quartet_agent_runtime import Toolbox, ToolSpec
from quartet_agent_runtime._heartbeats import Heartbeats
from quartet_agent_runtime._kept_listings import KeptListings, Listing
from support.http_server import serve_app

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

    async with serve_app(server.http_app(path="/mcp"), force=True) as url:
        state.url = f"{url}/mcp"
        yield state


def beating() -> set[asyncio.Task[Any]]:
    """The running tasks that send heartbeats."""
    return {task for task in asyncio.all_tasks() if task.get_name() == "heartbeats"}


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
        assert not beating(), "nobody is vouched for any longer"


@pytest.mark.parametrize("listed", ["walk", "other"])
async def test_it_beats_also_where_a_kept_list_does_not_tell_that_the_tool_only_reads(mover, eventually, listed):
    kept = KeptListings()
    kept.keep(
        mover.url, Listing([ToolSpec(listed, "", {"type": "object"}), ToolSpec("watch", "", {}, reads=True)]), 300.0
    )
    async with Toolbox({"legs": mover.url}, "g", [], PATIENCE_S, kept=kept) as tools:
        call = asyncio.create_task(tools.call("legs__walk", {}, silent))
        await eventually(lambda: mover.beats)
        mover.end.set()
        assert (await call).ok


async def test_two_motions_at_once_share_the_beats_and_the_last_ends_them(mover, eventually):
    beats = Heartbeats(mover.url, "g")
    async with beats.during():
        async with beats.during():
            task = beating()
            assert len(task) == 1
        assert beating() == task
        heard = len(mover.beats)
        await eventually(lambda: len(mover.beats) > heard + 1)
    assert not beating()
    await beats.close()


async def test_a_tool_that_only_reads_needs_none(mover, eventually):
    async with Toolbox({"legs": mover.url}, "g", [], PATIENCE_S) as tools:
        call = asyncio.create_task(tools.call("legs__watch", {}, silent))
        await asyncio.wait_for(mover.running.wait(), 30)
        assert not beating()
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
        assert not beating()


async def test_somebody_elses_server_is_not_bothered_further(mover, eventually):
    mover.status = 404
    async with Toolbox({"legs": mover.url}, "g", [], PATIENCE_S) as tools:
        call = asyncio.create_task(tools.call("legs__walk", {}, silent))
        await eventually(lambda: mover.beats)
        await eventually(lambda: not beating())
        mover.end.set()
        assert (await call).ok
        mover.running.clear()
        mover.end.clear()
        again = asyncio.create_task(tools.call("legs__walk", {}, silent))
        await asyncio.wait_for(mover.running.wait(), 30)
        assert not beating()
        mover.end.set()
        assert (await again).ok
    assert len(mover.beats) == 1
