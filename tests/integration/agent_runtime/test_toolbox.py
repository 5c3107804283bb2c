"""The toolbox against real MCP servers over streamable HTTP."""

import asyncio
import socket
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp.server.lowlevel import Server as LowLevelServer
from mcp_types import CallToolResult, ListToolsResult, Tool

from quartet_agent_runtime import Cause, Toolbox, ToolSpec, ToolsUnavailableError, failure
from quartet_agent_runtime import _toolbox as toolbox
from quartet_agent_runtime._kept_listings import KeptListings, Listing
from quartet_agent_runtime._server import Server
from quartet_agent_runtime.errors import ServerUnavailableError
from quartet_benchmarks.chaos.tcp_proxy import TcpProxy
from quartet_process.tool_lists import MAX_PAGES, MAX_TOOLS
from support.http_server import ENDLESS_BYTES, serve_app, serve_endless_answers

PATIENCE_S = 60.0
"""For calls that come back, however busy the machine is."""


async def test_only_shown_tools_are_listed_with_their_schemas(host):
    async with Toolbox({"arm": host.url}, "grant-1", ["arm__slow", "arm__add"], PATIENCE_S) as tools:
        specs = await tools.list()
    assert [spec.name for spec in specs] == ["arm__slow", "arm__add"]
    assert specs[1].schema["required"] == ["a"]
    assert specs[1].description == "Adds two numbers."
    assert set(host.tokens) == {"Bearer grant-1"}


async def test_tools_are_listed_once_however_often_they_are_called(host, progress):
    async with Toolbox({"arm": host.url}, "g", ["arm__add"], PATIENCE_S) as tools:
        await tools.list()
        for number in range(10):
            outcome = await tools.call("arm__add", {"a": number}, progress)
            assert outcome.content["total"] == number + 1
    assert host.listed == 1


def listing(*names: str) -> Listing:
    return Listing([ToolSpec(name, "", {"type": "object"}) for name in names])


async def test_a_list_that_may_be_kept_is_asked_for_once_by_all_requests(host, progress):
    now = [0.0]
    kept = KeptListings(lambda: now[0])

    async def request():
        async with Toolbox({"arm": host.url}, "g", ["arm__add"], PATIENCE_S, kept=kept) as tools:
            specs = await tools.list()
            assert (await tools.call("arm__add", {"a": 1}, progress)).ok
            return specs

    listed = await request()
    now[0] = host.kept_s - 1
    assert await request() == listed
    assert host.listed == 1
    now[0] = host.kept_s + 1
    assert await request() == listed
    assert host.listed == 2


async def test_a_list_that_may_not_be_kept_is_asked_for_by_each_request(mortal):
    kept = KeptListings()
    async with Toolbox({"arm": mortal.url}, "g", ["arm__works"], PATIENCE_S, kept=kept) as tools:
        await tools.list()
    assert kept.get(mortal.url) is None


def test_no_list_is_kept_for_longer_than_an_hour():
    now = [0.0]
    kept = KeptListings(lambda: now[0])
    kept.keep("http://arm/mcp", listing("add"), 1e9)
    assert kept.get("http://arm/mcp") == listing("add")
    now[0] = 3601.0
    assert kept.get("http://arm/mcp") is None


async def test_a_tool_that_is_not_in_a_kept_list_is_asked_for_once_more(host):
    """The server is another one since, or the grant covers more."""
    kept = KeptListings()
    kept.keep(host.url, listing("slow"), 300.0)
    async with Toolbox({"arm": host.url}, "g", ["arm__add"], PATIENCE_S, kept=kept) as tools:
        assert [spec.name for spec in await tools.list()] == ["arm__add"]
    assert host.listed == 1
    for asked in (1, 2):
        # Of a list that was kept, and of one that was not.
        async with Toolbox({"arm": host.url}, "g", ["arm__juggle"], PATIENCE_S, kept=kept) as tools:
            with pytest.raises(ToolsUnavailableError, match="arm__juggle"):
                await tools.list()
        assert host.listed == 1 + asked
        kept.forget(host.url)


async def test_a_server_that_is_gone_is_known_before_a_call_also_where_its_list_was_kept(free_port, progress, soon):
    """Else a call would be made whose effect is not known."""
    url, kept = f"http://127.0.0.1:{free_port}/mcp", KeptListings()
    kept.keep(url, listing("add"), 300.0)
    async with Toolbox({"arm": url}, "g", ["arm__add"], PATIENCE_S, kept=kept) as tools:
        with pytest.raises(ToolsUnavailableError, match="'arm'"):
            await tools.list()
        outcome = await tools.call("arm__add", {"a": 1}, progress)
    assert (outcome.error_code, outcome.interrupted) == ("SERVER_UNAVAILABLE", False)


async def test_a_kept_list_is_forgotten_when_its_server_refuses(progress):
    """Another one may answer there by now, such as one that knows no calls."""

    async def list_tools(_: Any, __: Any) -> ListToolsResult:
        return ListToolsResult(tools=[])

    server, kept = LowLevelServer("arm", on_list_tools=list_tools), KeptListings()
    async with serve_app(server.streamable_http_app(stateless_http=True), force=True) as url:
        kept.keep(f"{url}/mcp", listing("add"), 300.0)
        async with Toolbox({"arm": f"{url}/mcp"}, "g", [], PATIENCE_S, kept=kept) as tools:
            assert (await tools.call("arm__add", {}, progress)).error_code == "TOOL_ERROR"
        assert kept.get(f"{url}/mcp") is None


@pytest.mark.parametrize("tool", ["slow", "long_thought"])
async def test_a_server_whose_list_was_kept_and_that_vanishes_in_a_call_is_lost_and_its_list_forgotten(
    host, progress, until, tool
):
    host.keepalive = "0.2"
    kept = KeptListings()
    with TcpProxy("the arm") as proxy:
        proxy.forward_to(urlsplit(host.url).port)
        url = f"http://{proxy.address}/mcp"
        kept.keep(url, listing("slow", "long_thought"), 300.0)
        async with Toolbox({"arm": url}, "g", [], PATIENCE_S, kept=kept) as tools:
            calling = asyncio.create_task(tools.call(f"arm__{tool}", {"seconds": 3600}, progress))
            await until(lambda: host.called == [tool])
            assert (host.listed, kept.get(url)) == (0, listing("slow", "long_thought"))
            proxy.drop_connections()
            lost = await calling
            assert (lost.error_code, lost.interrupted) == ("SERVER_LOST", True)
            assert kept.get(url) is None


async def test_a_tool_may_be_surrounded_with_what_has_to_happen_before_its_calls(host, progress):
    seen = []

    async def twice(arguments, tell, call):
        seen.append(dict(arguments))
        await call(tell)
        return await call(tell)

    async with Toolbox({"arm": host.url}, "g", ["arm__add"], PATIENCE_S) as tools:
        tools.surround("arm__add", twice)
        outcome = await tools.call("arm__add", {"a": 1}, progress)
    assert (outcome.content["total"], seen) == (2, [{"a": 1}])


async def test_calls_one_after_the_other_share_a_connection(host, progress):
    """A new client per call would cost ten times as much."""
    async with Toolbox({"arm": host.url}, "g", ["arm__add"], PATIENCE_S) as tools:
        await tools.list()
        await tools.call("arm__add", {"a": 0}, progress)
        opened = set(host.clients)
        for number in range(30):
            await tools.call("arm__add", {"a": number}, progress)
        # Some more on a busy machine: for heartbeats of calls that take long, and after pauses that end a connection.
        assert len(set(host.clients) - opened) < 10


async def test_expected_failures_and_exceptions(host, progress):
    async with Toolbox({"arm": host.url}, "g", [], PATIENCE_S) as tools:
        expected = await tools.call("arm__fails", {}, progress)
        raised = await tools.call("arm__breaks", {}, progress)
        absent = await tools.call("arm__nothing", {}, progress)
        nowhere = await tools.call("legs__walk", {}, progress)
    assert (expected.ok, expected.error_code, expected.message) == (False, "PLANNING_FAILED", "no way there")
    assert raised.error_code == "TOOL_ERROR"
    assert "the arm fell off" in raised.message
    assert absent.error_code == "TOOL_ERROR"
    assert "nothing" in absent.message
    assert nowhere.error_code == "UNKNOWN_TOOL"
    assert "servers: arm" in nowhere.message


async def test_a_call_that_only_reads_waits_for_a_bridge_that_restarts(host, progress):
    """A motion is not repeated: what it did is not known."""
    host.bridge_back_at = time.monotonic() + 1.2
    async with Toolbox({"arm": host.url}, "g", [], PATIENCE_S, bridge_wait_s=PATIENCE_S) as tools:
        moved = await tools.call("arm__move_over_bridge", {}, progress)
        assert (moved.error_code, host.called) == ("BRIDGE_UNAVAILABLE", ["move"])
        assert (await tools.call("arm__read_over_bridge", {}, progress)).ok
        assert host.called.count("read") > 2
        assert (await tools.call("arm__move_over_bridge", {}, progress)).ok


async def test_a_bridge_that_stays_away_is_waited_for_once(host, progress):
    host.bridge_back_at = None
    async with Toolbox({"arm": host.url}, "g", [], PATIENCE_S, bridge_wait_s=0.7) as tools:
        assert (await tools.call("arm__read_over_bridge", {}, progress)).error_code == "BRIDGE_UNAVAILABLE"
        asked = len(host.called)
        assert asked > 1
        assert (await tools.call("arm__read_over_bridge", {}, progress)).error_code == "BRIDGE_UNAVAILABLE"
        assert len(host.called) == asked + 1
        host.bridge_back_at = 0.0
        assert (await tools.call("arm__read_over_bridge", {}, progress)).ok
        host.bridge_back_at = time.monotonic() + 0.3
        assert (await tools.call("arm__read_over_bridge", {}, progress)).ok, "lost again, it is waited for again"


async def test_images_and_progress(host):
    steps = []

    async def progress(fraction, message):
        steps.append((fraction, message))

    async with Toolbox({"arm": host.url}, "g", [], PATIENCE_S) as tools:
        picture = await tools.call("arm__picture", {}, progress)
        await tools.call("arm__slow", {"seconds": 0.2}, progress)
    assert picture.images[0].data == b"jpeg"
    assert picture.content["message"] == "a picture"
    assert steps[0] == (0.0, "step 0")
    assert 0 < steps[-1][0] <= 1


async def test_a_slow_call_is_canceled_at_its_time_out(host, progress, until):
    async with Toolbox({"arm": host.url}, "g", [], PATIENCE_S) as tools:
        outcome = await tools.call("arm__slow", {"seconds": 3600}, progress, 0.3)
        assert outcome.error_code == "TIMEOUT"
        assert outcome.interrupted
        assert "'arm'" in outcome.message
        await until(lambda: host.canceled == ["slow"])
        assert (await tools.call("arm__add", {"a": 1}, progress)).ok


async def test_canceling_the_caller_cancels_the_tool(host, progress, until):
    async with Toolbox({"arm": host.url}, "g", [], PATIENCE_S) as tools:
        task = asyncio.create_task(tools.call("arm__slow", {"seconds": 3600}, progress))
        await until(lambda: host.called == ["slow"])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: host.canceled == ["slow"])


@pytest.fixture
def soon(monkeypatch):
    """Servers that do not come are given up at once."""
    monkeypatch.setattr(toolbox, "RESTART_S", 0.0)


async def test_a_server_that_is_down_is_named_with_the_remedy(free_port, progress, soon):
    url = f"http://127.0.0.1:{free_port}/mcp"
    async with Toolbox({"arm": url}, "g", ["arm__add"], PATIENCE_S) as tools:
        outcome = await tools.call("arm__add", {"a": 1}, progress)
        assert outcome.error_code == "SERVER_UNAVAILABLE"
        assert f"'arm' at {url}" in outcome.message
        assert "QUARTET_SERVERS" in outcome.message
        assert not outcome.interrupted
        with pytest.raises(ToolsUnavailableError, match="'arm'"):
            await tools.list()


async def test_an_answer_without_end_is_given_up(progress, monkeypatch):
    """A server that was taken over must not fill the memory of those who call it."""
    monkeypatch.setattr("quartet_agent_runtime._server.MAX_EVENT_BYTES", 1024 * 1024)
    async with (
        serve_endless_answers() as (url, sent),
        Toolbox({"arm": f"{url}/mcp"}, "g", ["arm__add"], PATIENCE_S) as tools,
    ):
        outcome = await tools.call("arm__add", {"a": 1}, progress)
    assert outcome.error_code == "SERVER_UNAVAILABLE"
    # What the operating system holds of a connection comes on top.
    assert sent
    assert max(sent) < ENDLESS_BYTES / 2


async def test_a_list_of_tools_without_end_is_given_up(progress):
    pages = []

    async def list_tools(_: Any, __: Any) -> ListToolsResult:
        pages.append(1)
        return ListToolsResult(tools=[], next_cursor="more")

    server = LowLevelServer("arm", on_list_tools=list_tools)
    async with (
        serve_app(server.streamable_http_app(stateless_http=True), force=True) as url,
        Toolbox({"arm": f"{url}/mcp"}, "g", ["arm__add"], PATIENCE_S) as tools,
    ):
        outcome = await tools.call("arm__add", {"a": 1}, progress)
    assert outcome.error_code == "TOOL_ERROR"
    assert "pages" in outcome.message
    assert len(pages) == MAX_PAGES


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


HOSTILE = {
    "too many": (
        [Tool(name=f"t{n}", input_schema={"type": "object"}) for n in range(MAX_TOOLS + 1)],
        "more than 1000 tools",
    ),
    "too long": ([Tool(name="add", description="x" * 300_000, input_schema={"type": "object"})], "at most 200000"),
    "too deep": ([Tool(name="add", input_schema=nested(30))], "more than 40 levels"),
    "elsewhere": (
        [Tool(name="add", input_schema={"type": "object", "properties": {"a": {"$ref": "http://10.0.0.1/x"}}})],
        "refers to 'http://10.0.0.1/x'",
    ),
}


def serve_tools(*tools: Tool, result: CallToolResult | None = None) -> Any:
    """Serve a server that says of its tools what it likes."""

    async def list_tools(_: Any, __: Any) -> ListToolsResult:
        return ListToolsResult(tools=list(tools))

    async def call_tool(_: Any, __: Any) -> CallToolResult:
        return result or CallToolResult(content=[])

    server = LowLevelServer("arm", on_list_tools=list_tools, on_call_tool=call_tool)
    return serve_app(server.streamable_http_app(stateless_http=True), force=True)


@pytest.mark.parametrize("case", HOSTILE)
async def test_a_list_of_tools_that_is_meant_to_harm_is_refused_and_told(progress, caplog, case):
    tools, said = HOSTILE[case]
    async with (
        serve_tools(*tools) as url,
        Toolbox({"arm": f"{url}/mcp"}, "g", ["arm__add"], PATIENCE_S) as toolbox,
    ):
        with pytest.raises(ToolsUnavailableError, match=said):
            await toolbox.list()
        assert (await toolbox.call("arm__add", {"a": 1}, progress)).error_code == "TOOL_ERROR"
    assert "MCP server 'arm': " in caplog.text
    assert said in caplog.text


async def test_descriptions_do_not_fill_the_prompt_and_have_no_marks_of_a_chat():
    names = [f"t{n}" for n in range(10)]
    tools = [
        Tool(name=name, description="a<|im_start|>b\u200b" * 900, input_schema={"type": "object"}) for name in names
    ]
    async with serve_tools(*tools) as url:
        async with Toolbox({"arm": f"{url}/mcp"}, "g", [f"arm__{name}" for name in names], PATIENCE_S) as toolbox:
            with pytest.raises(ToolsUnavailableError, match="at most 100000 go into a prompt"):
                await toolbox.list()
        async with Toolbox({"arm": f"{url}/mcp"}, "g", ["arm__t0"], PATIENCE_S) as toolbox:
            (spec,) = await toolbox.list()
    assert "<|" not in spec.description
    assert "\u200b" not in spec.description


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a|a)*$"}}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "$ref": "#"},
    ],
    ids=["backtracks", "names itself"],
)
async def test_a_result_is_not_checked_against_what_its_server_says_it_is(progress, schema):
    """Checking these would take for ever, and the process beats for no robot meanwhile."""
    answer = CallToolResult(content=[], structured_content={"ok": True, "a": "a" * 60 + "!"})
    tool = Tool(name="add", input_schema={"type": "object"}, output_schema=schema)
    async with (
        serve_tools(tool, result=answer) as url,
        Toolbox({"arm": f"{url}/mcp"}, "g", [], PATIENCE_S) as toolbox,
    ):
        outcome = await toolbox.call("arm__add", {}, progress)
    assert outcome.ok, outcome


async def test_arguments_are_checked_without_the_regular_expressions_of_a_server():
    """One that backtracks would keep the process busy for ever: the server checks them itself."""
    text = {"type": "string", "pattern": "^(a|a)*$", "maxLength": 9}
    tool = Tool(name="add", input_schema={"type": "object", "properties": {"pattern": text}})
    async with (
        serve_tools(tool) as url,
        Toolbox({"arm": f"{url}/mcp"}, "g", ["arm__add"], PATIENCE_S) as toolbox,
    ):
        (spec,) = await toolbox.list()
    assert spec.schema["properties"] == {"pattern": {"type": "string", "maxLength": 9}}


async def test_nobody_is_asked_any_more_once_the_tools_cannot_be_listed(free_port, monkeypatch):
    """The servers are asked together, and the first that is given up ends it for all of them."""
    monkeypatch.setattr(toolbox, "RESTART_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = {
            "arm": f"http://127.0.0.1:{free_port}/mcp",
            "legs": f"http://127.0.0.1:{silent.getsockname()[1]}/mcp",
        }
        async with Toolbox(servers, "g", ["arm__add", "legs__walk"], PATIENCE_S) as tools:
            with pytest.raises(ToolsUnavailableError, match="'arm'"):
                await tools.list()
            running = asyncio.all_tasks()
            assert "mcp-legs" in {task.get_name() for task in running}
            names = [getattr(task.get_coro(), "__qualname__", "") for task in running]
            assert [name for name in names if name.startswith("Toolbox.")] == []


@pytest.mark.parametrize("turns", range(8))
async def test_a_session_that_is_closed_by_two_at_once_is_closed(free_port, turns):
    """Whoever fails to open it closes it, also while its toolbox is left."""
    server = Server("arm", f"http://127.0.0.1:{free_port}/mcp", "g", KeptListings())
    opening = asyncio.create_task(server.list())
    await asyncio.sleep(0)
    await asyncio.wait([task for task in asyncio.all_tasks() if task.get_name() == "mcp-arm"])
    for _ in range(turns):
        await asyncio.sleep(0)
    await server.close()
    with pytest.raises(ServerUnavailableError):
        await opening


async def test_a_tool_that_no_server_has(host):
    async with Toolbox({"arm": host.url}, "g", ["arm__add", "arm__juggle"], PATIENCE_S) as tools:
        with pytest.raises(ToolsUnavailableError, match="do not offer arm__juggle"):
            await tools.list()


async def test_a_server_without_url(host):
    async with Toolbox({"arm": host.url}, "g", ["legs__walk"], PATIENCE_S) as tools:
        with pytest.raises(ToolsUnavailableError, match="no URL for MCP server legs; QUARTET_SERVERS has: arm"):
            await tools.list()


async def test_a_server_that_dies_mid_call_and_comes_back(mortal, progress, soon):
    async with Toolbox({"arm": mortal.url}, "g", ["arm__works"], PATIENCE_S) as tools:
        assert (await tools.call("arm__works", {}, progress)).ok
        lost = await tools.call("arm__dies", {}, progress)
        assert lost.error_code == "SERVER_LOST"
        assert lost.interrupted
        assert "'arm'" in lost.message
        mortal.process.wait()
        assert (await tools.call("arm__works", {}, progress)).error_code == "SERVER_UNAVAILABLE"
        await mortal.start()
        assert (await tools.call("arm__works", {}, progress)).ok


@pytest.mark.parametrize("tool", ["slow", "long_thought"])
async def test_a_server_that_vanishes_mid_call_and_closes_nothing_is_lost(host, progress, until, tool):
    """Also one that had answered nothing yet."""
    host.keepalive = "0.2"
    with TcpProxy("the arm") as proxy:
        proxy.forward_to(urlsplit(host.url).port)
        async with Toolbox({"arm": f"http://{proxy.address}/mcp"}, "g", [], PATIENCE_S) as tools:
            calling = asyncio.create_task(tools.call(f"arm__{tool}", {"seconds": 3600}, progress))
            await until(lambda: host.called == [tool])
            proxy.drop_connections()
            lost = await calling
            assert (lost.error_code, lost.interrupted) == ("SERVER_LOST", True)
            assert (await tools.call("arm__add", {"a": 1}, progress)).ok


async def test_a_server_that_is_started_again_is_waited_for_once(mortal, progress, monkeypatch):
    """Nothing was called that far, so that the call can be made when it is back."""
    monkeypatch.setattr(toolbox, "RESTART_S", 120.0)
    async with Toolbox({"arm": mortal.url}, "g", ["arm__works"], PATIENCE_S) as tools:
        assert (await tools.call("arm__dies", {}, progress)).error_code == "SERVER_LOST"
        mortal.process.wait()
        calling = asyncio.create_task(tools.call("arm__works", {}, progress))
        await mortal.start()
        assert (await calling).ok
        monkeypatch.setattr(toolbox, "RESTART_S", 0.0)
        mortal.stop()
        await tools.call("arm__works", {}, progress)
        assert (await tools.call("arm__works", {}, progress)).error_code == "SERVER_UNAVAILABLE"
        monkeypatch.setattr(toolbox, "RESTART_S", 120.0)
        async with asyncio.timeout(60):
            assert (await tools.call("arm__works", {}, progress)).error_code == "SERVER_UNAVAILABLE"


async def test_it_notes_what_took_the_robot_away(host, progress):
    async with Toolbox({"arm": host.url}, "g", ["arm__add"], PATIENCE_S) as tools:
        noted = []
        for code in ("PLANNING_FAILED", "FENCED", "DENIED", "", "STOPPED", ""):
            await tools.call(*(("arm__refuses", {"code": code}) if code else ("arm__add", {"a": 1})), progress)
            noted.append(tools.withdrawn)
    assert noted == [None, None, "DENIED", None, "STOPPED", "STOPPED"]


async def test_a_void_grant_ends_the_loop_with_its_work_in_doubt(model, memory, make_loop, talk):
    """The server was started anew, or somebody newer has the robot: there is nothing left to try."""

    class Fenced:
        async def list(self):
            return [ToolSpec("moveit__open_gripper", "Open.", {"type": "object"})]

        async def call(self, name, arguments, progress):
            return failure("FENCED", "this server has started anew and moves nothing")

    model.script = [talk.calls(("moveit__open_gripper", {})), talk.report()]
    ending = await make_loop(Fenced()).run("system", "user")
    assert (ending.cause, ending.report, ending.uncertain) == (Cause.FENCED, None, True)
    assert "started anew" in ending.reason


class ImpatientWithHangs(Toolbox):
    async def call(self, name, arguments, progress, timeout_s=None):
        return await super().call(name, arguments, progress, 0.5 if name == "arm__hangs" else timeout_s)


async def test_a_loop_survives_a_hung_and_a_dying_server(mortal, model, memory, make_loop, talk, soon):
    """Both are tool errors that the model reads; afterwards it can still report."""
    model.script = [
        talk.calls(("arm__hangs", {})),
        talk.calls(("arm__dies", {})),
        talk.calls(("arm__works", {})),
        talk.report(False, "UNKNOWN", "the server is gone"),
    ]
    shown = ["arm__hangs", "arm__dies", "arm__works"]
    async with ImpatientWithHangs({"arm": mortal.url}, "g", shown, PATIENCE_S) as tools:
        ending = await make_loop(tools).run("system", "user")
    assert ending.cause is Cause.REPORTED
    codes = [event.event.error_code for event in memory.events if event.event.kind == "tool_result"]
    assert codes == ["TIMEOUT", "SERVER_LOST", "SERVER_UNAVAILABLE"]


async def test_a_motion_server_that_stays_away_ends_the_loop_with_its_work_in_doubt(
    mortal, model, make_loop, talk, soon
):
    """Without it nobody can tell what is held or where the arm is, so no report is asked for."""
    model.script = [talk.calls(("moveit__dies", {})), talk.calls(("moveit__works", {})), talk.report()]
    async with Toolbox({"moveit": mortal.url}, "g", ["moveit__dies", "moveit__works"], PATIENCE_S) as tools:
        ending = await make_loop(tools).run("system", "user")
    assert (ending.cause, ending.report, ending.uncertain) == (Cause.TOOLS_UNAVAILABLE, None, True)
    assert "'moveit'" in ending.reason


async def test_a_missing_server_ends_the_loop_with_the_reason(free_port, memory, make_loop, soon):
    async with Toolbox({"arm": f"http://127.0.0.1:{free_port}/mcp"}, "g", ["arm__add"], PATIENCE_S) as tools:
        ending = await make_loop(tools).run("system", "user")
    assert ending.cause is Cause.TOOLS_UNAVAILABLE
    assert "'arm'" in ending.reason


async def test_long_results_and_images_over_the_wire(host, model, memory, make_loop, talk):
    model.takes_images = True
    model.script = [talk.calls(("arm__long_text", {}), ("arm__picture", {})), talk.report()]
    async with Toolbox({"arm": host.url}, "g", ["arm__long_text", "arm__picture"], PATIENCE_S) as tools:
        await make_loop(tools).run("system", "user")
    roles = [message["role"] for message in model.last()]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    assert "characters left out]" in model.last()[3]["content"]
    assert memory.pictures == {"image-0": b"jpeg"}


async def test_a_connection_that_idled_is_not_used_again(host, progress, monkeypatch):
    """The server may be closing it just then: the effect of the call would not be known."""
    monkeypatch.setattr("quartet_agent_runtime._http.IDLE_S", 0.2)
    async with Toolbox({"arm": host.url}, "g", ["arm__add"], PATIENCE_S) as tools:
        await tools.call("arm__add", {"a": 1}, progress)
        await tools.call("arm__add", {"a": 2}, progress)
        busy = set(host.clients)
        await asyncio.sleep(0.25)
        assert (await tools.call("arm__add", {"a": 3}, progress)).content["total"] == 4
    assert host.clients[-1] not in busy
    assert len(host.clients) > len(busy)
