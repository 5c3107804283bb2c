"""Builds everything of one orchestrator process and runs it."""

import asyncio
import contextlib
import importlib
import json
import logging
import os
import socket
from collections.abc import Generator
from pathlib import Path

import uvicorn

from quartet_agent_runtime import GatewayClient, HealthServer, unless_stopped
from quartet_bus import Bus, Credentials
from quartet_orchestrator.api import Access, Sessions, create_app
from quartet_orchestrator.api.tasks import TaskDesk
from quartet_orchestrator.briefs import make_briefs
from quartet_orchestrator.context import Context
from quartet_orchestrator.fencing import Fencer
from quartet_orchestrator.fleet import Fleet
from quartet_orchestrator.grants import Signer
from quartet_orchestrator.lookout import Lookout
from quartet_orchestrator.mcp import McpDesk, McpEndpoint
from quartet_orchestrator.runner import Runner
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_orchestrator.stop_button import StopButton
from quartet_process import LEAST, REGISTRY, Exposition, metrics_secret, require_credential

log = logging.getLogger(__name__)


async def serve(settings: OrchestratorSettings, stop: asyncio.Event) -> None:
    """Serve until `stop`. Raises before it listens for anything that makes it useless."""
    signer = Signer.from_settings(settings)
    access = _access(settings)
    sessions = Sessions(settings.secret("api_token"), settings.session_s)
    briefs = make_briefs(settings.known_robots())
    key, credentials = settings.secret("gateway_key"), Credentials.of(settings, "orchestrator")
    async with contextlib.AsyncExitStack() as stack:
        listener = stack.enter_context(contextlib.closing(_listen(settings)))
        bus = await _open_bus(settings, credentials, listener, stop)
        if bus is None:
            return
        await stack.enter_async_context(bus)
        replies = await stack.enter_async_context(bus.replies())
        fleet = Fleet(bus, settings)
        stack.push_async_callback(fleet.close)
        fencer = Fencer(bus, signer, settings)
        stack.push_async_callback(fencer.close)
        lookout = Lookout(bus, signer, settings)
        stack.push_async_callback(lookout.close)
        model = GatewayClient(settings.gateway_url, "orchestrator", key, settings.gateway_patience_s)
        stack.push_async_callback(model.close)
        runner = Runner(
            Context(
                bus=bus,
                replies=replies,
                model=model,
                signer=signer,
                fencer=fencer,
                settings=settings,
                briefs=briefs,
                fleet=fleet,
            )
        )
        desk = TaskDesk(bus, fleet)
        mcp = McpEndpoint(McpDesk(desk, fleet, lookout, _button(settings), stop))
        server = _Server(
            uvicorn.Config(
                create_app(desk, settings, stop, access, lookout, sessions, mcp),
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=2,
                timeout_keep_alive=75,
            )
        )
        await _run(server, runner, mcp, listener, settings, stop)


async def _open_bus(
    settings: OrchestratorSettings, credentials: Credentials | None, listener: socket.socket, stop: asyncio.Event
) -> Bus | None:
    """Once Redis answers; until then /health says what is waited for. None when `stop` came first."""
    token = metrics_secret(settings, settings.host)
    health = HealthServer("orchestrator", Exposition("orchestrator", REGISTRY, token=token))
    health.waits("starting")
    await health.share(listener)
    try:
        opening = Bus.wait_for(settings.redis_url, credentials=credentials, tell=health.waits)
        return await unless_stopped(stop, opening)
    finally:
        await health.close()


def _access(settings: OrchestratorSettings) -> Access:
    """Raises SecretProblem where others could call without a credential."""
    tokens = settings.secret("api_token", least=LEAST)
    require_credential(settings.host, tokens, "api_token", what="the HTTP API", anonymous=settings.allow_anonymous)
    return Access(tokens)


def _button(settings: OrchestratorSettings) -> StopButton | None:
    """Raises SecretProblem for a stop service without its credential."""
    if settings.stop_url is None:
        log.info("QUARTET_STOP_URL is not set: MCP clients have no tool `stop`")
        return None
    token = settings.needed_secret("stop_button_token", "the stop service has the same", least=LEAST)
    return StopButton(settings.stop_url, lambda: token.first)


async def _run(
    server: "_Server",
    runner: Runner,
    mcp: McpEndpoint,
    listener: socket.socket,
    settings: OrchestratorSettings,
    stop: asyncio.Event,
) -> None:
    """All until `stop` or until one of them fails; then end the tasks, then the answers."""
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="http")
    running = asyncio.create_task(runner.serve(stop), name="runner")
    stopping = asyncio.create_task(stop.wait())
    tools: asyncio.Task[None] | None = None
    try:
        await server.up(serving)
        _say_ready(settings, listener)
        tools = asyncio.create_task(_preload(mcp, stop), name="mcp")
        await asyncio.wait({serving, running, stopping, tools}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.set()
        await asyncio.wait({running}, timeout=settings.shutdown_s)
        running.cancel()
        server.should_exit = True
        await asyncio.wait({task for task in (serving, running, stopping, tools) if task is not None})
    for task in (serving, running, tools):
        if task is not None and not task.cancelled() and (error := task.exception()) is not None:
            raise error


async def _preload(mcp: McpEndpoint, stop: asyncio.Event) -> None:
    """Import what the first task needs while the process waits for it, then serve MCP, which needs the same."""
    for name in ("jsonschema", "mcp.client.session", "mcp.client.streamable_http"):
        await asyncio.to_thread(importlib.import_module, name)
    await mcp.run(stop)


class _Server(uvicorn.Server):
    """Leaves the signals to the process, which also has tasks to end."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def up(self, serving: "asyncio.Task[None]") -> None:
        """Returns when requests are answered, or when that has failed."""
        ready = asyncio.create_task(self.ready.wait())
        await asyncio.wait({serving, ready}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()


def _listen(settings: OrchestratorSettings) -> socket.socket:
    """A bound socket. Raises OSError naming the port that is taken."""
    listener = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise OSError(
            f"port {settings.port} of {settings.host} cannot be used: {error.strerror}; "
            "stop who listens there or set QUARTET_PORT"
        ) from error
    listener.listen(128)
    listener.setblocking(False)
    return listener


def _say_ready(settings: OrchestratorSettings, listener: socket.socket) -> None:
    url = f"http://{settings.host}:{listener.getsockname()[1]}"
    log.info("the orchestrator listens at %s for robots %s", url, ", ".join(settings.servers))
    if settings.ready_file is not None:
        _write_whole(settings.ready_file, json.dumps({"url": url}))


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
