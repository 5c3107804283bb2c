"""Answers to the requests of teams: what a robot's participant says by a model of its own, or what a program prints."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from quartet_agent_runtime._protocols import TeamSource
from quartet_agent_runtime.errors import ModelUnavailableError
from quartet_agent_runtime.gateway import GatewayClient
from quartet_contracts import MAX_SPOKEN, ProgramAnswer, TeamRequest, TurnAnswer, TurnRequest, Usage
from quartet_process import correlation_ids, unless_stopped

log = logging.getLogger(__name__)
RETRY_S = 0.5
Asked = TypeVar("Asked", bound=TeamRequest)
Told = TypeVar("Told", TurnAnswer, ProgramAnswer)


async def speak(
    source: TeamSource[TurnRequest, TurnAnswer], model: GatewayClient, timeout_s: float, stop: asyncio.Event
) -> None:
    """Answer the turns of teams by the model until `stop` is set."""

    async def answer(request: TurnRequest, left_s: float) -> TurnAnswer:
        return await answer_turn(request, model, min(timeout_s, left_s))

    await answer_team(source, answer, stop)


async def answer_team(
    source: TeamSource[Asked, Told], answer: Callable[[Asked, float], Coroutine[Any, Any, Told]], stop: asyncio.Event
) -> None:
    """Answer requests of teams until `stop` is set: one after the other, while the agent does its own work.

    `answer` takes a request and the time that is left for it [s].
    """
    while not stop.is_set():
        try:
            delivery = await unless_stopped(stop, source.take())
            if delivery is None:
                continue
            request = delivery.message
            with correlation_ids(task_id=request.task_id, request_id=request.request_id, robot=request.robot):
                told = await unless_stopped(stop, answer(request, delivery.left_s))
                # Left unanswered at the end of this process: another one takes it once the lease expires.
                if told is not None:
                    await source.finish(delivery, told)
        except Exception as error:
            log.error("a request of a team was not answered: %s", error)
            await asyncio.sleep(RETRY_S)


async def answer_turn(request: TurnRequest, model: GatewayClient, timeout_s: float) -> TurnAnswer:
    """Return what the model says in the name of the robot; a model that cannot be reached is an answer with a code."""
    try:
        said = await model.for_task(request.task_id, request.request_id, lambda: request.grant).answer(
            [{"role": "user", "content": request.prompt}], [], max(0.1, timeout_s)
        )
    except ModelUnavailableError as error:
        return TurnAnswer(request_id=request.request_id, error_code="MODEL_UNAVAILABLE", text=str(error)[:MAX_SPOKEN])
    usage = Usage(
        turns=1,
        prompt_tokens=said.prompt_tokens,
        completion_tokens=said.completion_tokens,
        cost_usd=said.cost_usd,
    )
    text = said.text or said.refusal or ""
    return TurnAnswer(request_id=request.request_id, text=text[:MAX_SPOKEN], usage=usage)
