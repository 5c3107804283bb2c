"""Routes that robots announce: their order, and when they are forgotten."""

from quartet_bus import Bus, _routes
from quartet_contracts import Route


def route(x=1.0, *, waiting=True):
    return Route(points=((0.0, 0.0), (x, 0.0)), radius_m=0.5, waiting=waiting)


async def test_routes_are_numbered_in_the_order_in_which_they_are_announced(bus, other):
    first = await bus.routes.announce("home", "ada", None, route(1.0))
    second = await other.routes.announce("home", "bob", None, route(2.0))
    assert first.others == ()
    assert [(one.robot, one.number, one.route) for one in second.others] == [("ada", first.number, route(1.0))]
    assert second.number > first.number
    again = await bus.routes.announce("home", "ada", first.number, route(1.0, waiting=False))
    assert (again.number, [one.robot for one in again.others]) == (first.number, ["bob"])
    assert (await bus.routes.announce("elsewhere", "eve", None, route())).others == ()


async def test_another_drive_gets_a_number_of_its_own(bus):
    first = await bus.routes.announce("home", "ada", None, route())
    later = await bus.routes.announce("home", "ada", None, route())
    assert later.number > first.number
    await bus.routes.withdraw("home", "ada", first.number)
    assert [one.robot for one in (await bus.routes.announce("home", "bob", None, route())).others] == ["ada"]
    await bus.routes.withdraw("home", "ada", later.number)
    assert (await bus.routes.announce("home", "bob", None, route())).others == ()


async def test_a_robot_that_falls_silent_blocks_nobody_and_comes_back_behind_the_others(
    bus, other, eventually, monkeypatch
):
    monkeypatch.setattr(_routes, "EXPIRY_S", 0.05)
    first = await bus.routes.announce("home", "ada", None, route())
    monkeypatch.setattr(_routes, "EXPIRY_S", 60.0)

    async def forgotten():
        turn = await other.routes.announce("home", "bob", None, route())
        return turn.number if turn.others == () else 0

    number = await eventually(forgotten)
    assert (await bus.routes.announce("home", "ada", first.number, route())).number > number


async def test_without_a_store_a_robot_drives_as_if_it_were_alone(redis_url, bus_options, monkeypatch):
    bus = Bus("redis://127.0.0.1:1/0", bus_options, "nobody")
    try:
        assert (await bus.routes.announce("home", "ada", None, route())).others == ()
        await bus.routes.withdraw("home", "ada", 1)
    finally:
        await bus.close()
