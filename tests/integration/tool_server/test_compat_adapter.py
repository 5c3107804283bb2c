"""Rules of a compatibility file over servers of a test's own, whose answers and faults are scripted."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from fastmcp import Client, FastMCP
from fastmcp.tools import ToolResult
from fastmcp.utilities.types import Image

from quartet_tool_server.compat import Adapter, load_compat
from quartet_tool_server.errors import StartError
from support.http_server import serve_app

JPEG = b"\xff\xd8\xff\xe0"
PATIENCE_S = 60


class Ours:
    """A server with the tools that the rules call; it notes what comes."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.tokens: set[str] = set()
        self.started, self.canceled = asyncio.Event(), asyncio.Event()
        self.mcp: FastMCP[Any] = FastMCP(name="ours")
        for tool in (self.measure, self.name, self.look, self.blur, self.drive):
            self.mcp.tool(tool)

    def measure(self, width: float = 0.0) -> dict[str, Any]:
        """Measure."""
        self.calls.append(("measure", width))
        if width < 0:
            return {"ok": False, "error_code": "TOO_NARROW", "message": "too narrow"}
        return {"ok": True, "error_code": "NONE", "width_m": width, "state": "FULL" if width > 1 else "EMPTY"}

    def name(self, width: float) -> dict[str, Any]:
        """Name it."""
        self.calls.append(("name", width))
        return {"ok": True, "label": "cup"}

    def look(self) -> ToolResult:
        """Look."""
        picture = Image(data=JPEG, format="jpeg").to_image_content()
        return ToolResult(content=[picture], structured_content={"ok": True, "cameras": ["front"]})

    def blur(self) -> ToolResult:
        """Look through a camera whose pictures are none."""
        self.calls.append(("blur", None))
        picture = Image(data=b"no picture", format="jpeg").to_image_content()
        return ToolResult(content=[picture], structured_content={"ok": True})

    async def drive(self) -> dict[str, Any]:
        """Drive until canceled."""
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.canceled.set()
        raise AssertionError


CM: dict[str, Any] = {"from": "cm", "as": {"scaled": 0.01}}
NAME: dict[str, Any] = {"tool": "ros__name", "arguments": {"width": "width_m"}}
HELD: dict[str, Any] = {"from": "$named.label", "as": {"prefixed": "a "}}
RULES: dict[str, Any] = {
    "measure": {
        "ignores": ["colour"],
        "cases": [
            {"when": {"where": {"cm": 13}}, "result": {"fields": {"said": {"constant": "no"}}}},
            {
                "when": {"has": ["cm"]},
                "tool": "ros__measure",
                "arguments": {"width": CM},
                "then": {"named": NAME | {"when": {"where": {"state": "FULL"}}}},
                "otherwise": {
                    "when": {"where": {"error_code": "TOO_NARROW"}},
                    "tool": "ros__measure",
                    "arguments": {"width": {"constant": 0.5}},
                    "result": {"fields": {"instead": "width_m"}},
                },
                "result": [
                    {"when": {"has": ["$named.label"]}, "fields": {"held": HELD}},
                    {"fields": {"cm": {"from": "width_m", "as": {"scaled": 100}}, "asked": "$arguments.cm"}},
                ],
            },
        ],
    },
    "plain": {"tool": "ros__measure"},
    "picture": {"tool": "ros__look", "images": True, "result": {"fields": {"cameras": "cameras"}}},
    "blind": {"tool": "ros__look", "result": {"fields": {"cameras": "cameras"}}},
    "misread": {"tool": "ros__measure", "result": {"from": "state", "as": "number"}},
    "lacking": {"tool": "ros__measure", "result": "pose.x"},
    "blurred": {"tool": "ros__blur", "images": True},
    "drive": {"tool": "ros__drive"},
}


@pytest.fixture
def ours() -> Ours:
    return Ours()


@pytest.fixture
def adapter(tmp_path: Path) -> Callable[..., Adapter]:
    def make(url: str, tools: dict[str, Any] = RULES) -> Adapter:
        path = tmp_path / "rules.yaml"
        path.write_text(yaml.safe_dump({"servers": {"theirs": tools}}))
        return Adapter(load_compat(path), {"ros": f"{url}/mcp"}, lambda: "token")

    return make


@contextlib.asynccontextmanager
async def adapted(ours: Ours, adapter: Any) -> AsyncIterator[str]:
    """Endpoint of the adapter over `ours`."""
    async with serve_app(ours.mcp.http_app(), lifespan="on", force=True) as url:
        apps = await adapter(url).apps()
        async with serve_app(apps["theirs"], lifespan="on", force=True) as served:
            yield f"{served}/mcp"


async def read(client: Any, tool: str, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments, raise_on_error=False)
    return json.loads(answer.content[0].text)


async def test_rules_choose_calls_and_shape_results(ours, adapter):
    async with adapted(ours, adapter) as url, Client(url) as client:
        assert await read(client, "measure", cm=20, colour="red") == {"cm": 20.0, "asked": 20}
        assert await read(client, "measure", cm=200) == {"held": "a cup"}
        assert ours.calls == [("measure", 0.2), ("measure", 2.0), ("name", 2.0)]
        assert await read(client, "measure", cm=13) == {"said": "no"}
        assert len(ours.calls) == 3, "nothing is called"
        assert await read(client, "measure", cm=-1) == {"instead": 0.5}
        assert (await read(client, "plain", width=0.3))["width_m"] == 0.3
        assert (await read(client, "plain", width=-1))["error_code"] == "TOO_NARROW"


async def test_pictures_follow_only_where_the_rules_say(ours, adapter):
    async with adapted(ours, adapter) as url, Client(url) as client:
        for tool, kinds in (("picture", ["text", "image"]), ("blind", ["text"])):
            answer = await client.call_tool(tool, {})
            assert [block.type for block in answer.content] == kinds
            assert await read(client, tool) == {"cameras": ["front"]}


async def test_what_cannot_be_understood_is_a_failure_in_words(ours, adapter):
    async with adapted(ours, adapter) as url, Client(url) as client:
        for arguments, words in (
            ({"size": 1}, "unknown argument 'size'; valid: cm, colour"),
            ({}, "no case for these arguments"),
            ({"cm": "wide"}, "cm cannot be converted"),
        ):
            failed = await read(client, "measure", **arguments)
            assert (failed["ok"], failed["error_code"]) == (False, "INVALID_PARAMETERS")
            assert words in failed["message"]
        assert ours.calls == []
        failed = await read(client, "misread", width=0.1)
        assert failed["error_code"] == "UNKNOWN", "it was called"
        assert "ros__measure was called" in failed["message"]
        for tool, words in (
            ("lacking", "ros__measure was called, but its result does not fit: pose.x is missing"),
            ("blurred", "ros__blur was called, but it answered an image that is neither JPEG nor PNG"),
        ):
            failed = await read(client, tool)
            assert (failed["ok"], failed["error_code"]) == (False, "UNKNOWN")
            assert words in failed["message"]


async def test_arguments_are_described_as_ours_are(ours, adapter):
    async with adapted(ours, adapter) as url, Client(url) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        assert tools["plain"].input_schema["properties"]["width"]["type"] == "number"
        assert set(tools["measure"].input_schema["properties"]) == {"cm", "colour"}
        assert tools["plain"].description == "Measure."


async def test_a_motion_ends_when_its_client_is_gone(ours, adapter):
    """The connection is closed without a word, as by a killed process."""

    def said(method: str, **more: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "method": method, **more}

    who = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    headers = {"Accept": "application/json, text/event-stream"}
    async with adapted(ours, adapter) as url, httpx2.AsyncClient(timeout=PATIENCE_S, trust_env=False) as http:
        opened = await http.post(url, json=said("initialize", id=1, params=who), headers=headers)
        headers["mcp-session-id"] = opened.headers["mcp-session-id"]
        await http.post(url, json=said("notifications/initialized"), headers=headers)
        call = said("tools/call", id=2, params={"name": "drive", "arguments": {}})
        async with http.stream("POST", url, json=call, headers=headers):
            await asyncio.wait_for(ours.started.wait(), PATIENCE_S)
            assert not ours.canceled.is_set()
        await asyncio.wait_for(ours.canceled.wait(), PATIENCE_S)


async def test_servers_that_do_not_answer_are_named(ours, adapter):
    with pytest.raises(StartError, match="no address of the server 'nav2' is known here"):
        await adapter("http://127.0.0.1:1", {"go": {"tool": "nav2__navigate_to_pose"}}).apps()
    with pytest.raises(StartError, match=r"ros at http://127\.0\.0\.1:1/mcp lists no tools"):
        await adapter("http://127.0.0.1:1").apps()
    async with serve_app(ours.mcp.http_app(), lifespan="on", force=True) as url:
        apps = await adapter(url).apps()
    async with serve_app(apps["theirs"], lifespan="on", force=True) as served, Client(f"{served}/mcp") as client:
        failed = await read(client, "plain", width=0.1)
        assert failed["error_code"] == "UPSTREAM_UNAVAILABLE"
        assert "ros was not reached, or lost during measure" in failed["message"]
