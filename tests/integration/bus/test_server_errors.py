"""A Redis that answers with errors for a while: every loop goes on, every error has a type of the bus."""

import asyncio
import threading

import pytest
import redis

from quartet_bus import Bus, BusOptions, BusServerError, BusUnavailableError
from quartet_contracts import Skill
from support.store import KEYS, command


@pytest.fixture
def server(make_redis):
    return make_redis()


class BusyScript:
    """A script of another client that keeps Redis busy until `end`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with redis.Redis(port=self._port) as client, pytest.raises(redis.ResponseError, match="SCRIPT KILL"):
            client.eval("while true do end", 0)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        with redis.Redis(port=self._port) as client:
            client.script_kill()
        self._thread.join(30)


def idle_ms(server, stream, group):
    """How long ago the lease of the only entry that was taken has been renewed."""
    with redis.Redis(port=server.port) as client:
        return client.xpending_range(stream, group, "-", "+", 1)[0]["time_since_delivered"]


async def read_until_it_fails(bus):
    async with asyncio.timeout(10):
        while True:
            await bus.journal.read("t1")


async def test_leases_outlive_a_redis_that_is_busy(server, a_request, a_task, eventually):
    """The renewers of requests and of the robot end with no error of Redis."""
    options = BusOptions(lease_s=2.0, block_ms=50)
    async with await Bus.connect(server.url, options) as bus, await Bus.connect(server.url, options) as other:
        await command(bus, "CONFIG", "SET", "busy-reply-threshold", "20")
        await bus.skills(Skill.PICK).submit(a_request("r1"))
        await bus.tasks.submit(a_task())
        request = await bus.skills(Skill.PICK).take(10)
        await bus.skills(Skill.PICK).mark_started(request)
        task = await bus.robot_tasks("summit").take()
        await bus.robot_tasks("summit").mark_started(task)
        script = BusyScript(server.port)
        script.begin()
        with pytest.raises(BusUnavailableError, match="BUSY"):
            await read_until_it_fails(other)
        await asyncio.sleep(options.lease_s * 0.4)
        script.end()
        for queue in (("quartet:skill:pick", "pick"), ("quartet:tasks:summit", "orchestrator")):
            await eventually(lambda queue=queue: idle_ms(server, *queue) > 300)
            await eventually(lambda queue=queue: idle_ms(server, *queue) < 300)
        taking = asyncio.create_task(other.robot_tasks("summit").take())
        assert await other.skills(Skill.PICK).take(3 * options.lease_s) is None
        assert not taking.done()
        assert not request.lost.is_set()
        assert not task.lost.is_set()
        taking.cancel()


async def test_an_error_of_one_key_has_the_buss_type(bus):
    await command(bus, "SET", KEYS.fence("summit"), "no number")
    with pytest.raises(BusServerError, match="not an integer") as error:
        await bus.fences.next("summit")
    assert not isinstance(error.value, BusUnavailableError)
    await command(bus, "SET", KEYS.journal("t1"), "no stream")
    with pytest.raises(BusServerError) as error:
        await command(bus, "XLEN", KEYS.journal("t1"))
    assert error.value.code == "WRONGTYPE"
    with pytest.raises(BusServerError) as error:
        await bus._store.transaction(("XLEN", KEYS.journal("t1")))
    assert error.value.code == "WRONGTYPE"


async def test_a_queue_whose_stream_is_broken_goes_on_when_it_is_mended(bus, other, a_request):
    key = KEYS.skill_stream("pick")
    await command(bus, "SET", key, "no stream")
    taking = asyncio.create_task(other.skills(Skill.PICK).take())
    await asyncio.sleep(0.3)
    assert not taking.done()
    await command(bus, "DEL", key)
    await bus.skills(Skill.PICK).submit(a_request("r1"))
    assert (await asyncio.wait_for(taking, 30)).request.request_id == "r1"
