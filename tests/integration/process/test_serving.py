"""The HTTP server, health, readiness file and signals that every process shares."""

import asyncio
import contextlib
import json
import os
import signal
import socket

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT

from quartet_process import (
    BackgroundTasks,
    Exposition,
    ListenError,
    ProcessSettings,
    ServingError,
    run_process,
    serving,
    unless_stopped,
    write_ready_file,
)
from quartet_process.health import Health, health_app, metrics_route
from quartet_process.serving import HttpServer, listen
from support.socket_writes import note_writes


async def get(url: str, path: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        return await http.get(url + path)


def app(text: str) -> Starlette:
    async def say(_):
        return PlainTextResponse(text)

    return Starlette(routes=[Route("/", say)])


async def test_it_serves_inside_the_block_and_frees_the_port_behind_it():
    async with HttpServer(app("here"), listen("127.0.0.1", 0)) as server:
        assert (await get(server.url, "/")).text == "here"
    with pytest.raises(httpx.ConnectError):
        await get(server.url, "/")
    port = int(server.url.rpartition(":")[2])
    listen("127.0.0.1", port).close()


async def test_the_application_may_be_replaced_while_it_runs():
    async with HttpServer(app("starting"), listen("127.0.0.1", 0)) as server:
        assert (await get(server.url, "/")).text == "starting"
        server.app = app("started")
        assert (await get(server.url, "/")).text == "started"


async def test_an_open_request_ends_before_the_server_does():
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_):
        asked.set()
        await go_on.wait()
        return PlainTextResponse("whole")

    async with HttpServer(Starlette(routes=[Route("/", slow)]), listen("127.0.0.1", 0)) as server:
        answer = asyncio.create_task(get(server.url, "/"))
        await asked.wait()
        asyncio.get_running_loop().call_later(0.2, go_on.set)
    assert (await answer).text == "whole"


@pytest.mark.parametrize(
    "begin",
    [b"GET /", b"GET / HTTP/1.1\r\nHost: x\r\nA: ", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n"],
)
@pytest.mark.parametrize("before", [0, 1], ids=["first", "second"])
async def test_a_request_that_drips_is_ended(monkeypatch, begin, before):
    monkeypatch.setattr(serving, "REQUEST_S", 0.3)

    async def whole(request):
        return PlainTextResponse(await request.body())

    async with HttpServer(
        Starlette(routes=[Route("/", whole, methods=["GET", "POST"])]), listen("127.0.0.1", 0)
    ) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
        for _ in range(before):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        writer.write(begin)
        dripping = asyncio.create_task(_drip(writer))
        # Bytes that came after the end make the kernel say it with a reset.
        async with asyncio.timeout(10):
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
        dripping.cancel()
        writer.close()


@pytest.mark.parametrize("before", [0, 1], ids=["first", "second"])
async def test_a_head_without_end_is_refused(before):
    async with HttpServer(app("here"), listen("127.0.0.1", 0)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
        for _ in range(before):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readuntil(b"here")
        writer.write(b"GET / HTTP/1.1\r\nA: " + b"x" * serving.MOST_HEAD_BYTES)
        async with asyncio.timeout(10):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 400")
        writer.close()


async def test_a_body_may_be_longer_than_a_head():
    async def count(request):
        return PlainTextResponse(str(len(await request.body())))

    counting = Starlette(routes=[Route("/", count, methods=["POST"])])
    async with (
        HttpServer(counting, listen("127.0.0.1", 0)) as server,
        httpx.AsyncClient(trust_env=False, timeout=30) as http,
    ):
        for _ in range(2):
            said = await http.post(server.url, content=b"x" * 3 * serving.MOST_HEAD_BYTES)
            assert said.text == str(3 * serving.MOST_HEAD_BYTES)


async def test_head_and_body_of_an_answer_are_sent_at_once(monkeypatch):
    written = note_writes(monkeypatch)
    async with HttpServer(app("here"), listen("127.0.0.1", 0)) as server:
        assert (await get(server.url, "/")).text == "here"
    [answer] = [data for data in written if data.startswith(b"HTTP/1.1 200")]
    assert answer.endswith(b"here")


async def test_an_answer_that_nobody_reads_is_held_in_parts():
    """What is written before the event loop goes on counts for the flow control of the connection too."""
    parts = []

    class Inner:
        write = parts.append

    transport = serving.OneWrite(Inner, asyncio.get_running_loop())
    transport.write(b"x" * HIGH_WATER_LIMIT)
    assert parts == []
    transport.write(b"y")
    assert parts == [b"x" * HIGH_WATER_LIMIT + b"y"]


async def _drip(writer):
    while True:
        await asyncio.sleep(0.05)
        writer.write(b"x")


async def test_a_flood_of_open_connections_keeps_no_request_out(monkeypatch):
    """Those without a request go first, the oldest of them."""
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 5)
    monkeypatch.setattr(serving, "REQUEST_S", 1000.0)

    async def ok(_):
        return PlainTextResponse("ok")

    async with HttpServer(Starlette(routes=[Route("/", ok)]), listen("127.0.0.1", 0)) as server:
        port = int(server.url.rpartition(":")[2])
        kept_reader, kept = await asyncio.open_connection("127.0.0.1", port)
        request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        kept.write(request)
        await kept_reader.readuntil(b"ok")
        flood = [await asyncio.open_connection("127.0.0.1", port) for _ in range(12)]
        async with asyncio.timeout(10):
            assert (await get(server.url, "/")).text == "ok"
            for reader, _ in flood[:8]:
                with contextlib.suppress(ConnectionResetError):
                    assert await reader.read() == b""
            kept.write(request)
            await kept_reader.readuntil(b"ok")
        for _, writer in [*flood, (kept_reader, kept)]:
            writer.close()


async def test_an_answer_may_take_longer_than_a_request(monkeypatch):
    monkeypatch.setattr(serving, "REQUEST_S", 0.1)

    async def slow(_):
        await asyncio.sleep(0.3)
        return PlainTextResponse("late")

    async with HttpServer(Starlette(routes=[Route("/", slow)]), listen("127.0.0.1", 0)) as server:
        assert (await get(server.url, "/")).text == "late"


async def test_an_ipv6_address_is_served_and_named():
    try:
        listener = listen("::1", 0)
    except ListenError:
        pytest.skip("this machine has no IPv6")
    async with HttpServer(app("six"), listener) as server:
        assert server.url.startswith("http://[::1]:")
        assert (await get(server.url, "/")).text == "six"


def test_a_taken_port_is_named_with_its_setting():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=f"port {port} of 127.0.0.1 cannot be used.*--scoring-port"):
            listen("127.0.0.1", port, setting="--scoring-port")


async def test_an_application_that_cannot_start_is_an_error_and_no_exit():
    def broken(_):
        raise RuntimeError("no model")

    with pytest.raises(ServingError, match="did not start"):
        async with HttpServer(Starlette(lifespan=broken), listen("127.0.0.1", 0)):
            pass


async def test_health_tells_own_problems_and_those_of_background_tasks():
    tasks = BackgroundTasks()
    health = Health(tasks)
    async with HttpServer(health_app("pick", health, Exposition("pick")), listen("127.0.0.1", 0)) as server:
        waiting = await get(server.url, "/health")
        assert (waiting.status_code, waiting.json()["problem"]) == (503, "starting")
        assert (await get(server.url, "/tasks")).status_code == 503
        health.works()
        assert (await get(server.url, "/health")).json() == {"status": "ok", "agent": "pick"}
        assert (await get(server.url, "/tasks")).status_code == 404
        assert "quartet_build_info" in (await get(server.url, "/metrics")).text

        async def renew():
            raise OSError("the store is busy")

        await tasks.start("lease", renew, restart_s=None)
        failed = await get(server.url, "/health")
        assert (failed.status_code, failed.json()["problem"]) == (503, "lease: OSError: the store is busy")
        assert 'quartet_background_failures_total{background_task="lease"}' in (await get(server.url, "/metrics")).text


async def test_metrics_are_measured_only_for_who_may_see_them():
    from quartet_process import Secret

    measured = []
    exposition = Exposition("stop", token=Secret.fixed("the-token-of-the-metrics"))
    routes = [metrics_route(exposition, lambda: measured.append(1))]
    async with HttpServer(Starlette(routes=routes), listen("127.0.0.1", 0)) as server:
        assert (await get(server.url, "/metrics")).status_code == 401
        assert not measured
        async with httpx.AsyncClient(trust_env=False) as http:
            found = await http.get(
                f"{server.url}/metrics", headers={"Authorization": "Bearer the-token-of-the-metrics"}
            )
    assert found.status_code == 200
    assert measured == [1]


def test_the_readiness_file_is_whole(tmp_path):
    path = tmp_path / "run" / "ready.json"
    write_ready_file(path, {"url": "http://127.0.0.1:1"})
    assert json.loads(path.read_text()) == {"url": "http://127.0.0.1:1"}
    assert os.listdir(path.parent) == ["ready.json"]
    write_ready_file(None, {})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_ends_well_on_a_signal(monkeypatch, number):
    monkeypatch.setattr("quartet_process._running.set_up_logging", lambda *_: None)

    async def serve(_: ProcessSettings, stop: asyncio.Event) -> None:
        os.kill(os.getpid(), number)
        await stop.wait()

    assert run_process("test", ProcessSettings, serve) == 0


def test_nobody_else_on_the_machine_reads_what_a_process_writes(monkeypatch, tmp_path):
    """However it was started: pictures, transcripts, spendings and what its libraries keep."""
    monkeypatch.setattr("quartet_process._running.set_up_logging", lambda *_: None)

    async def serve(_: ProcessSettings, stop: asyncio.Event) -> None:
        (tmp_path / "images").mkdir()
        (tmp_path / "images" / "kitchen.jpg").write_bytes(b"")

    before = os.umask(0o022)
    try:
        assert run_process("test", ProcessSettings, serve) == 0
        after = os.umask(0o022)
    finally:
        os.umask(before)
    assert [path for path in tmp_path.rglob("*") if path.stat().st_mode & 0o077] == []
    assert after == 0o022


def test_an_expected_error_is_one_text_and_status_two(monkeypatch, capsys):
    monkeypatch.setattr("quartet_process._running.set_up_logging", lambda *_: None)

    async def serve(_: ProcessSettings, stop: asyncio.Event) -> None:
        raise KeyError("nobody expects this")

    with pytest.raises(KeyError):
        run_process("test", ProcessSettings, serve)
    assert run_process("test", ProcessSettings, serve, (KeyError,)) == 2
    assert capsys.readouterr().err == "test: 'nobody expects this'\n"


async def test_work_is_canceled_by_a_stop():
    stop, ended = asyncio.Event(), []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    asyncio.get_running_loop().call_soon(stop.set)
    assert await unless_stopped(stop, work()) is None
    assert ended == [True]
