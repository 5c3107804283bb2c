"""The simulation's thread by itself: the latch, errors of commands, ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.errors import InvalidCommandError, StoppedError, UnknownNameError
from quartet_simulation.mobile.build import SUMMIT
from quartet_simulation.ros.engine import Engine
from quartet_simulation.ros.world import World
from quartet_simulation.simulation import Simulation


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World(lambda: Simulation("studio", 0, sensors="clean"))
    await world.start()
    yield world
    await world.close()


async def test_nothing_starts_behind_a_stop(world: World) -> None:
    """Also what was accepted before the stop, such as the motion of a plan that took its time."""
    world.is_stopped = lambda: True
    world.halt_base()
    world.hold_arm()
    late = world.run_goal(lambda sim: sim.spin(1.0))
    world.command_velocity(0.5, 0.0, 0.0)
    assert await asyncio.to_thread(world.taken, 30)
    with pytest.raises(StoppedError, match="a person has to reset it"):
        await late.done
    with pytest.raises(asyncio.CancelledError):
        await world.wait(1.0)
    before = world.time
    await world.call(lambda sim: None)
    assert world.time == before
    world.is_stopped = lambda: False
    goal = await world.run_goal(lambda sim: sim.spin(0.1)).done
    assert goal.status == "SUCCEEDED"


async def test_a_stop_overtakes_what_waits(world: World) -> None:
    order: list[str] = []
    world.call(lambda sim: order.append("first"))
    reads = [world.call(lambda sim, n=n: order.append(f"read {n}")) for n in range(50)]
    halted = asyncio.create_task(asyncio.to_thread(world.taken, 30))
    assert (await asyncio.gather(halted, *reads))[0]
    urgent = world.call(lambda sim: order.append("urgent"), urgent=True)
    await urgent
    assert order[-1] == "urgent"
    waiting, before = world.wait(1_000_000.0), world.time
    while world.time < before + 1.0:
        await world.call(lambda sim: None)
    world.halt_base()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_errors_reach_who_asked_and_the_thread_goes_on(world: World) -> None:
    def fail(sim: Simulation) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await world.call(fail)
    with pytest.raises(InvalidCommandError):
        await world.run_goal(lambda sim: sim.execute_trajectory(["knee"], [(0.0, [1.0])])).done
    assert (await world.run_goal(lambda sim: sim.spin(0.1)).done).status == "SUCCEEDED"


async def test_a_goal_cancelled_before_it_starts_ends_canceled(world: World) -> None:
    running = world.run_goal(lambda sim: sim.spin(100.0))
    running.cancel()
    assert (await running.done).status == "CANCELED"


class _Paced(Engine):
    """Engine that notes whether the world needed time when it was let follow the wall clock."""

    def __init__(self) -> None:
        super().__init__(lambda: Simulation("studio", 0, sensors="clean"))
        self.needed = list[bool]()

    def _pace(self, sim: ArmSimulation, due: float, chunk_s: float) -> float:
        self.needed.append(any(world.needs_time(sim) for world in self.worlds))
        return super()._pace(sim, due, chunk_s)


async def test_only_a_world_that_moves_without_a_goal_follows_the_wall_clock() -> None:
    """After a goal the world stands, so that nothing is waited for before the next one may begin."""
    engine = _Paced()
    world = World(lambda: Simulation("studio", 0), engine=engine)
    await engine.start()
    try:
        assert (await world.run_goal(lambda sim: sim.spin(0.1)).done).status == "SUCCEEDED"
        await world.call(lambda sim: None)
        assert not engine.needed
        world.command_velocity(0.1, 0.0, 0.0)
        while not engine.needed:
            await world.call(lambda sim: None)
        assert all(engine.needed)
    finally:
        await engine.close()


async def test_an_unknown_world_is_told_to_who_starts_it() -> None:
    world = World(lambda: Simulation("castle", 0))
    with pytest.raises(UnknownNameError, match="castle"):
        await world.start()


async def test_it_ends_in_the_middle_of_a_motion() -> None:
    world = World(lambda: Simulation("studio", 0, sensors="clean"))
    await world.start()
    running = world.run_goal(lambda sim: sim.spin(10_000.0))
    while world.time == 0.0:
        await world.call(lambda sim: None)
    await world.close()
    assert not running.done.done()


async def test_thinking_takes_no_more_world_time_than_wall_time_where_it_is_to_count() -> None:
    """While one robot moves and another is between two goals, world time follows the wall clock; else it runs ahead."""
    engine = Engine(lambda: Simulation("studio", 0, builds=[SUMMIT] * 2, sensors="clean"), realtime_thinking=True)
    one, other = (World(engine._make, engine=engine, place=place) for place in range(2))
    await engine.start()
    try:
        moving = one.wait(1_000.0)
        await other.wait(0.1)
        began, ended = time.monotonic(), other.time
        while time.monotonic() < began + 0.5:
            await other.call(lambda sim: None)
        passed = time.monotonic() - began
        assert other.time - ended <= passed + 0.2
        assert not moving.done()
        began = time.monotonic()
        await other.wait(20.0)
        assert time.monotonic() - began < 20.0, "both move: nobody has to be waited for"
    finally:
        await engine.close()
