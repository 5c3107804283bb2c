"""The whole life of an agent process: take requests, run them one at a time, end well."""

import asyncio
import contextlib
import importlib
import logging
import os
import signal
import socket
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, TypeVar

from opentelemetry.trace import SpanKind

from quartet_agent_runtime import metrics
from quartet_agent_runtime.definition import AgentDefinition
from quartet_agent_runtime.gateway import GatewayClient
from quartet_agent_runtime.health import HealthServer
from quartet_agent_runtime.ports import Delivery, SkillSource, Store
from quartet_agent_runtime.settings import AgentSettings
from quartet_agent_runtime.skill_run import Outside, SkillRun, end_of
from quartet_contracts import SkillResult, State
from quartet_contracts.rescue import unknown_result
from quartet_process import REGISTRY, Exposition, metrics_secret, tracing, work

log = logging.getLogger(__name__)

Result = TypeVar("Result")

TAKE_TIMEOUT_S = 5.0
RETRY_S = 0.5
SETTLE_S = 4.0
"""Kept of the grace time for standstill, observation and the answer."""


async def serve_agent(
    definition: AgentDefinition,
    settings: AgentSettings,
    open_store: Callable[[Callable[[str], None]], Coroutine[Any, Any, Store]],
    stop: asyncio.Event | None = None,
) -> None:
    """Serve requests of `definition.skill` until SIGTERM, SIGINT or `stop`.

    `open_store` waits for the store and tells its argument what it waits for; the agent's port answers meanwhile.
    Raises FileProblem for a bad file, SecretProblem, OSError, and what `open_store` raises.

    One request at a time. A request that somebody had started is never run again: the robot is brought to rest,
    looked at, and the answer is UNKNOWN in state UNCERTAIN. On the signal no more is taken; the running request may
    end within the grace time, after that it is cut off in the same way.
    """
    stop = stop or stop_on_signals()
    skill = definition.skill
    robots = settings.known_robots()
    metrics.begin(skill.value)
    async with contextlib.AsyncExitStack() as own:
        health = await own.enter_async_context(_opened_port(skill.value, settings))
        store = await unless_stopped(stop, open_store(health.waits))
        if store is None:
            return
        await own.enter_async_context(store)
        health.ready(settings.ready_file)
        model = GatewayClient(
            settings.gateway_url, skill.value, settings.secret("gateway_key"), settings.gateway_patience_s
        )
        own.push_async_callback(model.close)
        outside = Outside(
            definition=definition,
            robots=robots,
            model=model,
            journal=store.journal,
            images=store.images,
            transcripts=store.transcripts,
            settings=settings,
            replica=f"{socket.gethostname()[:30]}-{os.getpid()}",
            approvals=store.approvals,
        )
        own.push_async_callback(end_of, asyncio.create_task(asyncio.to_thread(_preload)))
        await _Agent(outside, store.skills(skill), stop, health).work()


@contextlib.asynccontextmanager
async def _opened_port(name: str, settings: AgentSettings) -> AsyncGenerator[HealthServer]:
    """/health and /metrics of a process that may have to wait before it can work. Raises SecretProblem, OSError."""
    token = metrics_secret(settings, settings.host)
    health = HealthServer(name, Exposition(name, REGISTRY, token=token))
    health.waits("starting")
    await health.start(settings.host, settings.port)
    try:
        yield health
    finally:
        await health.close()


async def unless_stopped(stop: asyncio.Event, work: Coroutine[Any, Any, Result]) -> Result | None:
    """What `work` gives, or None when `stop` came first and ended it."""
    task = asyncio.create_task(work)
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for one in (task, stopped):
            one.cancel()
        await asyncio.gather(task, stopped, return_exceptions=True)


class _Agent:
    def __init__(self, outside: Outside, source: SkillSource, stop: asyncio.Event, health: HealthServer) -> None:
        self._outside = outside
        self._source = source
        self._stop = stop
        self._health = health

    async def work(self) -> None:
        while not self._stop.is_set():
            try:
                delivery = await unless_stopped(self._stop, self._source.take(TAKE_TIMEOUT_S))
            except Exception as error:
                self._health.problem = f"{type(error).__name__}: {error}"
                log.error("no requests can be taken: %s", error)
                await asyncio.sleep(RETRY_S)
                continue
            self._health.problem = None
            if delivery is not None:
                request = delivery.request
                agent = request.skill.value
                with (
                    work(task_id=request.task_id, request_id=request.request_id, robot=request.robot, agent=agent),
                    tracing.span(
                        f"invoke_agent {agent}",
                        parent=request.traceparent,
                        kind=SpanKind.SERVER,
                        attributes={tracing.OPERATION: "invoke_agent", tracing.ATTEMPT: request.attempt},
                    ),
                ):
                    await self._handle(delivery)
        self._health.problem = "stopping"

    async def _handle(self, delivery: Delivery) -> None:
        request = delivery.request
        skill = request.skill.value
        began = time.monotonic()
        log.info("request %s of task %s: %s", request.request_id, request.task_id, request.arguments)
        if not delivery.started:
            metrics.REQUEST_WAIT.labels(skill).observe(max(0.0, time.time() - request.created_at))
        with metrics.RUNNING.labels(skill).track_inprogress():
            result = await self._result(delivery)
        if result is None:
            return
        metrics.REQUESTS.labels(skill, str(result.error_code), metrics.attempt(request.attempt)).inc()
        tracing.note({tracing.CODE: str(result.error_code)})
        metrics.REQUEST_SECONDS.labels(skill).observe(time.monotonic() - began)
        log.info("request %s: %s %s", request.request_id, result.error_code, result.reason)
        await self._finish(delivery, result)

    async def _result(self, delivery: Delivery) -> SkillResult | None:
        request = delivery.request
        run = SkillRun(request, self._outside)
        if delivery.started:
            return await self._settle(
                run, delivery, "another replica had started this request and did not end it", None
            )
        if request.deadline <= time.time():
            return unknown_result(request, "the request's deadline had passed before it was started; nothing moved")
        try:
            await self._source.mark_started(delivery)
        except Exception as error:
            log.error("request %s was not started: %s", request.request_id, error)
            if delivery.lost.is_set():
                return None
            # Answered, so that nobody waits for a request that this replica holds and does not run.
            return unknown_result(request, f"the request could not be marked as started: {error}; nothing moved")
        return await self._run(run, delivery)

    async def _run(self, run: SkillRun, delivery: Delivery) -> SkillResult | None:
        """The result of the run, or of what ended it from outside."""
        work = asyncio.create_task(run.run())
        canceled = asyncio.create_task(self._source.canceled(delivery.request.request_id))
        lost = asyncio.create_task(delivery.lost.wait())
        stopped = asyncio.create_task(self._stop.wait())
        watched: set[asyncio.Task[Any]] = {work, canceled, lost, stopped}
        try:
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done() and not (work.done() or canceled.done() or lost.done()):
                grace = max(0.0, self._outside.settings.grace_s - SETTLE_S)
                await asyncio.wait(watched - {stopped}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return _outcome(work, delivery)
            work.cancel()
            await end_of(work)
            if lost.done():
                # Whoever took the request over settles it as UNCERTAIN; the orchestrator then raises the fence.
                log.error("request %s was taken over by another replica", delivery.request.request_id)
                return None
            if canceled.done():
                return await self._settle(run, delivery, "canceled; the robot was brought to rest", State.CANCELED)
            return await self._settle(run, delivery, "the agent was shut down while it worked", None)
        finally:
            for task in watched:
                task.cancel()
            await asyncio.gather(*watched, return_exceptions=True)

    async def _settle(self, run: SkillRun, delivery: Delivery, reason: str, state: State | None) -> SkillResult:
        try:
            return await run.settle(reason, state)
        except Exception as error:
            log.exception("request %s could not be settled", delivery.request.request_id)
            text = f"{reason}; standstill was not confirmed: {type(error).__name__}: {error}"
            return unknown_result(delivery.request, text, State.UNCERTAIN)

    async def _finish(self, delivery: Delivery, result: SkillResult) -> None:
        """Answer; a store that is away for a moment must not lose the result."""
        while True:
            try:
                await self._source.finish(delivery, result)
                return
            except Exception as error:
                self._health.problem = f"{type(error).__name__}: {error}"
                log.error("result of %s is not stored yet: %s", delivery.request.request_id, error)
                if self._stop.is_set() or isinstance(error, ValueError):
                    return
                await asyncio.sleep(RETRY_S)


def _outcome(work: "asyncio.Task[SkillResult]", delivery: Delivery) -> SkillResult:
    error = work.exception()
    if error is None:
        return work.result()
    log.error("request %s", delivery.request.request_id, exc_info=error)
    text = f"{type(error).__name__}: {error}; whether the robot rests is not known"
    return unknown_result(delivery.request, text, State.UNCERTAIN)


def stop_on_signals() -> asyncio.Event:
    """Set when the process is told to end."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def _preload() -> None:
    """Import what the first request needs while the process waits for it."""
    for name in ("jinja2.sandbox", "jsonschema", "httpcore2", "mcp.client.session", "mcp.client.streamable_http"):
        importlib.import_module(name)
