"""How much waits on each stream is told as it is."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from quartet_bus import Bus, QueueDepth
from quartet_contracts import ANY_ROBOT, Skill, Task, encode
from support.store import KEYS, command


async def look(bus: Bus) -> dict[tuple[str, str], QueueDepth]:
    return {(depth.kind, depth.name): depth for depth in await bus.queue_depths.look(["summit", "rover"])}


async def test_waiting_held_and_age_follow_a_request(
    bus: Bus, a_request: Callable[..., Any], a_result: Callable[..., Any]
) -> None:
    skills = [("skill", str(skill)) for skill in Skill]
    empty = await look(bus)
    assert list(empty) == [*skills, ("tasks", "summit"), ("tasks", "rover"), ("tasks", ANY_ROBOT)]
    assert {(depth.waiting, depth.taken, depth.age_s) for depth in empty.values()} == {(0, 0, 0.0)}

    queue = bus.skills(Skill.PICK)
    for name in ("r1", "r2"):
        await queue.submit(a_request(name))
    waited = (await look(bus))["skill", "pick"]
    assert (waited.waiting, waited.taken) == (2, 0)

    delivery = await queue.take(10)
    assert delivery is not None
    held = (await look(bus))["skill", "pick"]
    assert (held.waiting, held.taken) == (1, 1)

    await queue.finish(delivery, a_result(delivery.request))
    last = await queue.take(10)
    assert last is not None
    after = (await look(bus))["skill", "pick"]
    assert (after.waiting, after.taken, after.age_s) == (0, 1, 0.0)


async def test_the_age_is_that_of_the_oldest_entry_that_waits(
    bus: Bus, a_task: Callable[..., Any], eventually: Callable[..., Awaitable[Any]]
) -> None:
    await bus.tasks.submit(a_task("t1"))

    async def aged() -> QueueDepth | None:
        depth = (await look(bus))["tasks", "summit"]
        return depth if depth.age_s > 0.2 else None

    depth = await eventually(aged)
    assert (depth.waiting, depth.taken) == (1, 0)
    assert (await look(bus))["tasks", "rover"].age_s == 0


async def test_a_task_for_any_robot_is_as_old_as_it_was_when_one_gets_it(bus: Bus, a_task: Callable[..., Any]) -> None:
    long_ago = 60_000
    for number, robot in enumerate((ANY_ROBOT, "summit")):
        entry = f"{int(time.time() * 1000) - long_ago + number}-0"
        await command(bus, "XADD", KEYS.task_stream(robot), entry, "m", encode(a_task(f"t{number}", robot=robot)))
    await command(bus, "XGROUP", "CREATE", KEYS.task_stream("summit"), "summit", "0")

    async def may_take(_task: Task) -> bool:
        return True

    assert await bus.robot_tasks("summit")._shared.assign("summit", "summit", may_take)
    depths = await look(bus)
    assert depths["tasks", ANY_ROBOT].waiting == 0
    assert depths["tasks", "summit"].waiting == 2
    assert depths["tasks", "summit"].age_s >= long_ago / 1000


async def test_dead_letters_are_counted(bus: Bus) -> None:
    assert await bus.dead_letters.count() == 0
    await command(bus, "XADD", KEYS.skill_stream(Skill.PICK), "*", "m", "not a request")
    assert await bus.skills(Skill.PICK).take(0) is None
    assert await bus.dead_letters.count() == 1


@pytest.mark.parametrize("robots", [[], [ANY_ROBOT, ANY_ROBOT]])
async def test_no_stream_is_told_twice(bus: Bus, robots: list[str]) -> None:
    names = [(depth.kind, depth.name) for depth in await bus.queue_depths.look(robots)]
    assert len(set(names)) == len(names)
