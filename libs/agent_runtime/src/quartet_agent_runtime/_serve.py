"""The whole life of an agent process: take requests, run them one at a time, end well."""

import asyncio
import contextlib
import functools
import gc
import importlib
import logging
import os
import socket
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from opentelemetry.trace import SpanKind

from quartet_agent_runtime import _metrics as metrics
from quartet_agent_runtime._agent import AgentContext, AgentDefinition, CodedAgent
from quartet_agent_runtime._participant import answer_team, speak
from quartet_agent_runtime._protocols import Delivery, SkillSource, Store
from quartet_agent_runtime._settings import AgentSettings, load_settings
from quartet_agent_runtime._skill_run import SkillRun
from quartet_agent_runtime.errors import AgentError
from quartet_agent_runtime.gateway import GatewayClient
from quartet_contracts import SkillResult, State
from quartet_contracts.skills import unknown_result
from quartet_process import (
    Exposition,
    correlation_ids,
    metrics_secret,
    run_process,
    tracing,
    unless_stopped,
    write_ready_file,
)
from quartet_process.health import Health, health_app
from quartet_process.serving import HttpServer, listen
from quartet_site import SiteFileError

log = logging.getLogger(__name__)

TAKE_TIMEOUT_S = 5.0
RETRY_S = 0.5
SETTLE_S = 4.0
"""Kept of the grace time for standstill, observation and the answer."""
SETTLE_LIMIT_S = 10.0
"""The most that standstill and observation may take once the process is to end; they seldom take SETTLE_S."""
LEAVE_S = 1.0
"""Time that work which was canceled has to leave its connections, once the process is to end."""


def run_agent(
    definition: AgentDefinition | CodedAgent,
    open_store: Callable[[AgentSettings, str, Callable[[str], None]], Coroutine[Any, Any, Store]],
    expected: tuple[type[Exception], ...] = (),
) -> int:
    """Run the process of an agent until SIGTERM or SIGINT, and return its exit status.

    `open_store` takes the settings, the agent's name and what `serve_agent` gives to its own. `expected` are errors of
    the store whose text is all that a person needs.
    """
    name = definition.skill.value

    async def serve(settings: AgentSettings, stop: asyncio.Event) -> None:
        await serve_agent(definition, settings, functools.partial(open_store, settings, name), stop)

    return run_process(name, load_settings, serve, (AgentError, SiteFileError, OSError, *expected))


async def serve_agent(
    definition: AgentDefinition | CodedAgent,
    settings: AgentSettings,
    open_store: Callable[[Callable[[str], None]], Coroutine[Any, Any, Store]],
    stop: asyncio.Event,
) -> None:
    """Serve requests of `definition.skill` until `stop` is set.

    `open_store` waits for the store and tells its argument what it waits for; the agent's port answers meanwhile.
    Raises SiteFileError for a bad file, SecretError, ListenError, and what `open_store` raises.

    One request at a time. A request that somebody had started is never run again: the robot is brought to rest,
    looked at, and the answer is UNKNOWN in state UNCERTAIN. After `stop` no more is taken; the running request may
    end within the grace time, after that it is cut off in the same way.
    """
    skill = definition.skill
    robots = settings.known_robots()
    metrics.begin(skill.value)
    async with contextlib.AsyncExitStack() as own:
        health, url = await own.enter_async_context(_opened_port(skill.value, settings))
        store = await unless_stopped(stop, open_store(health.waits))
        if store is None:
            return
        await own.enter_async_context(store)
        health.works()
        write_ready_file(settings.ready_file, {"url": url})
        model = GatewayClient(
            settings.gateway_url, skill.value, settings.secret("gateway_key"), settings.gateway_patience_s
        )
        own.push_async_callback(model.close)
        context = AgentContext(
            definition=definition,
            robots=robots,
            model=model,
            journal=store.journal,
            images=store.images,
            transcripts=store.transcripts,
            settings=settings,
            replica=f"{socket.gethostname()[:30]}-{os.getpid()}",
            approvals=store.approvals,
            routes=store.routes,
        )
        own.push_async_callback(end_of, asyncio.create_task(asyncio.to_thread(_preload)))
        if definition.speaks:
            speaking = asyncio.create_task(speak(store.turns, model, settings.model_timeout_s, stop))
            own.push_async_callback(_cancel, speaking)
        if isinstance(definition, CodedAgent) and definition.calculate:
            calculating = asyncio.create_task(answer_team(store.programs, definition.calculate, stop))
            own.push_async_callback(_cancel, calculating)
        await _Agent(context, store.skills(skill), stop, health).work()


@contextlib.asynccontextmanager
async def _opened_port(name: str, settings: AgentSettings) -> AsyncGenerator[tuple[Health, str]]:
    """Serve /health and /metrics of a process that may have to wait before it can work, and yield health and URL."""
    exposition = Exposition(name, token=metrics_secret(settings, settings.host))
    health = Health()
    async with HttpServer(health_app(name, health, exposition), listen(settings.host, settings.port)) as server:
        yield health, server.url


class _Agent:
    def __init__(self, context: AgentContext, source: SkillSource, stop: asyncio.Event, health: Health) -> None:
        self._context = context
        self._source = source
        self._stop = stop
        self._health = health

    async def work(self) -> None:
        while not self._stop.is_set():
            try:
                delivery = await unless_stopped(self._stop, self._source.take(TAKE_TIMEOUT_S, begin=True))
            except Exception as error:
                self._health.own_problem = f"{type(error).__name__}: {error}"
                log.error("no requests can be taken: %s", error)
                await asyncio.sleep(RETRY_S)
                continue
            self._health.own_problem = None
            if delivery is not None:
                request = delivery.request
                agent = request.skill.value
                with (
                    correlation_ids(
                        task_id=request.task_id, request_id=request.request_id, robot=request.robot, agent=agent
                    ),
                    tracing.span(
                        f"invoke_agent {agent}",
                        parent=request.traceparent,
                        kind=SpanKind.SERVER,
                        attributes={tracing.OPERATION: "invoke_agent", tracing.ATTEMPT: request.attempt},
                    ),
                ):
                    await self._handle(delivery)
        self._health.own_problem = "stopping"

    async def _handle(self, delivery: Delivery) -> None:
        request = delivery.request
        skill = request.skill.value
        began = time.monotonic()
        log.info("request %s of task %s: %s", request.request_id, request.task_id, request.arguments)
        if not delivery.started:
            metrics.REQUEST_WAIT.labels(skill).observe(max(0.0, delivery.age_s - request.age_s))
        with metrics.RUNNING.labels(skill).track_inprogress():
            result = await self._result(delivery)
        if result is None:
            return
        metrics.REQUESTS.labels(skill, str(result.error_code), metrics.attempt(request.attempt)).inc()
        tracing.add_attributes({tracing.CODE: str(result.error_code)})
        metrics.REQUEST_SECONDS.labels(skill).observe(time.monotonic() - began)
        log.info("request %s: %s %s", request.request_id, result.error_code, result.reason)
        await self._finish(delivery, result)
        # Sessions and tasks refer to each other. Nothing waits now.
        gc.collect()

    async def _result(self, delivery: Delivery) -> SkillResult | None:
        request = delivery.request
        run = SkillRun(request, self._context, delivery.age_s)
        if delivery.started:
            return await self._settle(
                run, delivery, "another replica had started this request and did not end it", None
            )
        if delivery.age_s >= request.deadline - request.created_at:
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
        """The result of the run, or of what ended it from context."""
        work = asyncio.create_task(run.run())
        canceled = asyncio.create_task(self._source.canceled(delivery.request.request_id))
        lost = asyncio.create_task(delivery.lost.wait())
        stopped = asyncio.create_task(self._stop.wait())
        watched: set[asyncio.Task[Any]] = {work, canceled, lost, stopped}
        try:
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done() and not (work.done() or canceled.done() or lost.done()):
                grace = max(0.0, self._context.settings.grace_s - SETTLE_S)
                await asyncio.wait(watched - {stopped}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return _outcome(work, delivery)
            work.cancel()
            await self._ended(work, LEAVE_S)
            if lost.done() and delivery.forgotten:
                reason = "the store has lost its data and does not know this request any more; its work was ended"
                return await self._settle(run, delivery, reason, None)
            if lost.done():
                # Whoever took the request over settles it as UNCERTAIN; the orchestrator then raises the fence.
                log.error("request %s was taken over by another replica", delivery.request.request_id)
                return None
            if canceled.done() and (error := canceled.exception()) is not None:
                log.error("request %s: nobody could cancel it any more", delivery.request.request_id, exc_info=error)
                reason = f"nobody could cancel it any more ({type(error).__name__}: {error}); its work was ended"
                return await self._settle(run, delivery, reason, None)
            if canceled.done():
                return await self._settle(run, delivery, "canceled; the robot was brought to rest", State.CANCELED)
            return await self._settle(run, delivery, "the agent was shut down while it worked", None)
        finally:
            for task in watched:
                task.cancel()
            await asyncio.gather(*(watched - {work}), return_exceptions=True)

    async def _ended(self, task: "asyncio.Task[Any]", limit_s: float) -> bool:
        """Wait until `task` has ended, but not longer than `limit_s` once the process is to end; return whether it has.

        A server that neither answers nor closes its connection must not keep the process. Its robot is halted by the
        guard, since its heartbeats cease.
        """
        stopped = asyncio.create_task(self._stop.wait())
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        await asyncio.wait({task}, timeout=limit_s)
        return task.done()

    async def _settle(self, run: SkillRun, delivery: Delivery, reason: str, state: State | None) -> SkillResult:
        settling = asyncio.create_task(run.settle(reason, state))
        try:
            if await self._ended(settling, SETTLE_LIMIT_S):
                return settling.result()
            settling.cancel()
            await self._ended(settling, LEAVE_S)
            why = "no answer before the agent had to end"
        except Exception as error:
            log.exception("request %s could not be settled", delivery.request.request_id)
            why = f"{type(error).__name__}: {error}"
        finally:
            settling.cancel()
        return unknown_result(delivery.request, f"{reason}; standstill was not confirmed: {why}", State.UNCERTAIN)

    async def _finish(self, delivery: Delivery, result: SkillResult) -> None:
        """Answer; a store that is away for a moment must not lose the result."""
        while True:
            try:
                await self._source.finish(delivery, result)
                return
            except Exception as error:
                self._health.own_problem = f"{type(error).__name__}: {error}"
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


async def end_of(task: "asyncio.Task[Any]") -> None:
    """Wait until a canceled task has ended, with any outcome."""
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await end_of(task)


def _preload() -> None:
    """Import what the first request needs while the process waits for it."""
    for name in ("jinja2.sandbox", "jsonschema", "httpcore2", "quartet_agent_runtime._session"):
        importlib.import_module(name)
    # What is there by now stays: the collector need not look through it again, which would take 0.1 s of some request.
    gc.collect()
    gc.freeze()
