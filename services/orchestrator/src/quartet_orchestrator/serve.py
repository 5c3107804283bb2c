"""Builds everything of one orchestrator process and runs it."""

import asyncio
import contextlib
import importlib
import logging
from collections.abc import AsyncGenerator

from quartet_agent_runtime import GatewayClient
from quartet_bus import Bus, Credentials
from quartet_orchestrator.api import Authenticator, create_app
from quartet_orchestrator.callers import fault_of_owner
from quartet_orchestrator.grants import GrantSigner
from quartet_orchestrator.mcp import McpEndpoint, McpTaskService
from quartet_orchestrator.observation import Fleet, ObserverSessions, RobotMonitor
from quartet_orchestrator.page import Sessions
from quartet_orchestrator.recovery import FenceClient, StoreLossRecovery
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_orchestrator.stop_client import StopClient
from quartet_orchestrator.tasks import RunContext, TaskRunner, TaskService, make_briefs
from quartet_process import (
    BACKGROUND,
    MIN_TOKEN_LENGTH,
    Exposition,
    find_secret,
    metrics_secret,
    require_credential,
    unless_stopped,
    write_ready_file,
)
from quartet_process.health import Health, health_app
from quartet_process.serving import HttpServer, listen

log = logging.getLogger(__name__)


async def serve(settings: OrchestratorSettings, stop: asyncio.Event) -> None:
    """Serve until `stop` is set. Raises before it listens when a setting or a credential is missing."""
    signer = GrantSigner.from_settings(settings)
    authenticator = _authenticator(settings)
    briefs = make_briefs(settings.known_robots(), settings.architecture, settings.results)
    key, credentials = settings.secret("gateway_key"), Credentials.of(settings, "orchestrator")
    async with contextlib.AsyncExitStack() as stack:
        health, server = await stack.enter_async_context(_opened_port(settings))
        opening = Bus.wait_for(settings.redis_url, credentials=credentials, tell=health.waits)
        bus = await unless_stopped(stop, opening)
        if bus is None:
            return
        await stack.enter_async_context(bus)
        stack.callback(BACKGROUND.start("bus-consumers", bus.watch_consumers).cancel)
        replies = await stack.enter_async_context(bus.replies())
        fences = FenceClient(bus, signer, settings)
        stack.push_async_callback(fences.close)
        observer_sessions = ObserverSessions(bus, signer, settings)
        loss_recovery = StoreLossRecovery(bus, fences, observer_sessions)
        fleet = Fleet(bus, settings, loss_recovery.problem)
        stack.push_async_callback(fleet.close)
        monitor = RobotMonitor(observer_sessions)
        stack.push_async_callback(monitor.close)
        model = GatewayClient(settings.gateway_url, "orchestrator", key, settings.gateway_patience_s)
        stack.push_async_callback(model.close)
        runner = TaskRunner(
            RunContext(
                bus=bus,
                replies=replies,
                model=model,
                signer=signer,
                fences=fences,
                sessions=observer_sessions,
                settings=settings,
                briefs=briefs,
                fleet=fleet,
                monitor=monitor,
                loss_recovery=loss_recovery,
            )
        )
        sessions = Sessions(bus, authenticator.tokens, settings.session_s)
        service = TaskService(bus, fleet, _stop_client(settings), settings.task_timeout_s, briefs)
        mcp = McpEndpoint(McpTaskService(service, fleet, monitor, stop))
        server.app = create_app(service, settings, stop, authenticator, monitor, sessions, mcp)
        await _run(server, runner, mcp, settings, stop)


@contextlib.asynccontextmanager
async def _opened_port(settings: OrchestratorSettings) -> AsyncGenerator[tuple[Health, HttpServer]]:
    """Answer /health and /metrics until the server gets another application. Raises SecretError, ListenError."""
    exposition = Exposition("orchestrator", token=metrics_secret(settings, settings.host))
    health = Health()
    app = health_app("orchestrator", health, exposition)
    async with HttpServer(app, listen(settings.host, settings.port)) as server:
        yield health, server


def _authenticator(settings: OrchestratorSettings) -> Authenticator:
    """Raises SecretError where others could call without a credential."""
    tokens = find_secret(settings, "api_token", least=MIN_TOKEN_LENGTH, fault_of=fault_of_owner)
    require_credential(settings.host, tokens, "api_token", what="the HTTP API", anonymous=settings.allow_anonymous)
    return Authenticator(tokens, settings.secret("assistant_token", least=MIN_TOKEN_LENGTH))


def _stop_client(settings: OrchestratorSettings) -> StopClient | None:
    """Raises SecretError for a stop service without its credential."""
    if settings.stop_url is None:
        log.info("QUARTET_STOP_URL is not set: MCP clients have no tool `stop`")
        return None
    token = settings.needed_secret("stop_button_token", "the stop service has the same", least=MIN_TOKEN_LENGTH)
    return StopClient(settings.stop_url, lambda: token.first)


async def _run(
    server: HttpServer, runner: TaskRunner, mcp: McpEndpoint, settings: OrchestratorSettings, stop: asyncio.Event
) -> None:
    """All until `stop` or until one of them fails; then end the tasks, then the answers."""
    log.info("the orchestrator listens at %s for robots %s", server.url, ", ".join(settings.servers))
    write_ready_file(settings.ready_file, {"url": server.url})
    serving = asyncio.create_task(server.serve_until(stop), name="serving")
    running = asyncio.create_task(runner.serve(stop), name="runner")
    tools = asyncio.create_task(_preload(mcp, stop), name="mcp")
    try:
        await asyncio.wait({serving, running, tools}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.set()
        await asyncio.wait({running}, timeout=settings.shutdown_s)
        running.cancel()
        # Before the bus, which the answers need.
        await server.close()
        await asyncio.wait({serving, running, tools})
    for task in (serving, running, tools):
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


async def _preload(mcp: McpEndpoint, stop: asyncio.Event) -> None:
    """Import what the first task needs while the process waits for it, then serve MCP, which needs the same."""
    for name in ("jsonschema", "mcp.client.session", "mcp.client.streamable_http"):
        await asyncio.to_thread(importlib.import_module, name)
    await mcp.run(stop)
