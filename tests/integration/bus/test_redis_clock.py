"""A clock of Redis that has stepped back: what it wrote before lies in the future."""

import asyncio
import dataclasses
import struct
import time

import pytest

from quartet_bus import Bus, BusOptions
from quartet_contracts import JournalEvent, Skill
from quartet_contracts.journal import Note
from support.store import KEYS, command

STEP_S = 3600


def crc64(data: bytes) -> int:
    """CRC-64/REDIS, with which DUMP ends."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
    return crc


async def step_back(bus: Bus, stream: str) -> None:
    """Leave the stream, its leases and the presence of its consumers as they are after the clock has stepped back."""
    info = await command(bus, "XINFO", "STREAM", stream, "FULL")
    group = info[info.index(b"groups") + 1][0]
    delivered = group[group.index(b"pending") + 1][0][2]
    dump = (await command(bus, "DUMP", stream))[:-8]
    assert dump.count(struct.pack("<q", delivered)) >= 1
    moved = dump.replace(struct.pack("<q", delivered), struct.pack("<q", delivered + STEP_S * 1000))
    await command(bus, "RESTORE", stream, 0, moved + struct.pack("<Q", crc64(moved)), "REPLACE")
    for consumer in await command(bus, "ZRANGE", KEYS.present(stream), 0, -1):
        await command(bus, "ZINCRBY", KEYS.present(stream), STEP_S, consumer)


@pytest.fixture
def bus_options():
    return BusOptions(lease_s=0.5, block_ms=100)


async def test_a_dead_consumers_entry_is_reclaimed_all_the_same(bus, other, a_request, eventually):
    """And the dead consumer is not counted for the length of the step."""
    await bus.skills(Skill.PICK).submit(a_request())
    dying = other.skills(Skill.PICK)
    await dying.take(60)
    await dying.close()
    await step_back(bus, KEYS.skill_stream(Skill.PICK))
    again = await bus.skills(Skill.PICK).take(20)
    assert again is not None
    assert again.redelivered

    async def only_the_living_one():
        return await bus.skills(Skill.PICK).alive() == 1

    await eventually(only_the_living_one, 20)


async def test_a_robots_lease_outlives_its_holder_by_one_lease_at_most(bus, other, a_task, eventually):
    holding = asyncio.create_task(other.robot_tasks("summit").take())
    await eventually(lambda: other.robot_tasks("summit").owned)
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)
    renewer = other.robot_tasks("summit")._robot_renewer
    renewer.cancel()
    await asyncio.gather(renewer, return_exceptions=True)
    await command(bus, "PEXPIRE", KEYS.robot_lease("summit"), STEP_S * 1000)
    await bus.tasks.submit(a_task())
    delivery = await asyncio.wait_for(bus.robot_tasks("summit").take(), 20)
    assert delivery.task.task_id == "t1"


@pytest.mark.parametrize("ahead_s", [30.0, -5.0])
async def test_the_clock_of_an_agent_is_told_by_the_events_that_it_writes(bus, redis_url, a_request, ahead_s):
    """An event that was late by its writing does not make the clock look behind."""
    async with await Bus.connect(redis_url) as writer:
        writer.journal._context = dataclasses.replace(writer.journal._context, agent="pick")
        for late_s in (0.0, 60.0):
            at = time.time() + ahead_s - late_s
            event = JournalEvent(task_id="t1", actor="pick", at=at, event=Note(text="x"), request_id="r1")
            await writer.journal.append(event)
    await bus.journal.copy_agent_events(a_request("r1"), None)
    assert bus.journal.agent_clocks == {"pick": pytest.approx(ahead_s, abs=0.5)}
