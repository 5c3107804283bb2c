"""The scripted model in every role, and processes that speak for robots and run their programs."""

import asyncio

import pytest
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from quartet_agent_runtime import GatewayClient
from quartet_agent_runtime._participant import answer_team, speak
from quartet_bus import Bus, BusOptions
from quartet_executor.calculate import calculate
from quartet_scripted_model.answer import answer
from quartet_scripted_model.app import completion
from quartet_scripted_model.conversation import text_of
from support.http_server import serve_app


@pytest.fixture
def model(model):
    """The scripted model in every role; `model.instead` maps a part of a prompt to what is said once in its place."""
    model.instead, model.prompts = {}, []

    async def complete(request):
        body = await request.json()
        text = text_of(body["messages"][-1])
        if not body.get("tools"):
            model.prompts.append(text)
            for part in [part for part in model.instead if part in text]:
                said = model.instead.pop(part)
                if callable(said):
                    said = await said()
                if said is not None:
                    return JSONResponse({"choices": [{"message": {"role": "assistant", "content": said}}]})
        return JSONResponse(completion(body, answer(body["messages"], body.get("tools") or [])))

    model.complete = complete
    return model


@pytest.fixture
async def around(model, motion, world):
    """As the other tests' `around`, with the scripted model."""
    complete = Mount("/model", routes=[Route("/v1/chat/completions", model.complete, methods=["POST"])])
    async with serve_app(world.app(motion, [complete]), lifespan="on") as url:
        yield url


@pytest.fixture
async def speakers(redis_url, settings):
    """`await speakers()`: one more process that speaks for robots."""
    running = []
    stop = asyncio.Event()
    model = GatewayClient(settings.gateway_url, "approach")

    async def begin():
        bus = await Bus.connect(redis_url, BusOptions(lease_s=1.0, block_ms=200))
        running.append((bus, asyncio.create_task(speak(bus.turns, model, 30, stop))))

    begin.gateway_url = settings.gateway_url
    yield begin
    for bus, task in running:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await bus.close()
    await model.close()


@pytest.fixture
async def working(agents, speakers):
    """Agents for both robots, and somebody who speaks for them."""
    agents.start()
    agents.start()
    await speakers()


@pytest.fixture
async def calculating(redis_url):
    """`await calculating()`: one more process that runs the programs of participants."""
    running = []

    async def begin():
        bus = await Bus.connect(redis_url, BusOptions(lease_s=1.0, block_ms=200))
        running.append((bus, asyncio.create_task(answer_team(bus.programs, calculate, asyncio.Event()))))

    yield begin
    for bus, task in running:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await bus.close()
