"""Connections that pass nothing any more, of which nobody is told: the first silence replaces them all."""

import asyncio
from urllib.parse import urlsplit

import pytest

from quartet_benchmarks.chaos.redis_proxy import RedisProxy
from quartet_bus import Bus, BusOptions
from quartet_contracts import Skill
from support.store import command

OPEN_AT_ONCE = 8
"""More than the links, so that connections of the client's pool stand idle too."""


@pytest.fixture
def proxy(redis_url):
    port = urlsplit(redis_url).port
    assert port is not None
    with RedisProxy(seed=1) as started:
        started.forward_to(port)
        yield started


async def test_the_first_silent_connection_replaces_all_of_them(proxy):
    """One after the other, each would cost the time without an answer, and an agent would count as gone meanwhile."""
    options = BusOptions(answer_s=1.5)
    async with await Bus.connect(proxy.url, options) as bus:

        async def use_all():
            await asyncio.gather(*(bus.skills(Skill.PICK).alive() for _ in range(OPEN_AT_ONCE)))
            await asyncio.gather(*(command(bus, "PING") for _ in range(OPEN_AT_ONCE)))

        await use_all()
        proxy.drop_connections()
        assert await command(bus, "PING") is True
        async with asyncio.timeout(options.answer_s):
            await use_all()


async def test_a_consumer_is_back_before_its_callers_give_it_up(proxy, a_request, a_result):
    """Its reading connection and the one that renews its presence are silent at the same time."""
    options = BusOptions(answer_s=0.5, block_ms=100)
    async with await Bus.connect(proxy.url, options) as agent, await Bus.connect(proxy.url, options) as caller:

        async def work():
            while True:
                request = await agent.skills(Skill.PICK).take(0.1)
                if request is not None:
                    await agent.skills(Skill.PICK).finish(request, a_result(request.request))

        worker = asyncio.create_task(work())
        try:
            async with caller.replies() as replies:
                queue = caller.skills(Skill.PICK)
                for number in range(2):
                    request = a_request(f"r{number}", reply_to=replies.stream(Skill.PICK))
                    answer = await replies.ask(queue, request, absent_after_s=6 * options.answer_s)
                    assert answer.success
                    proxy.drop_connections()
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
