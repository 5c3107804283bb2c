"""A success that an agent made up: what is measured counts, also for a result that is taken over."""

import pytest

from quartet_contracts import ApproachResult, PlaceResult, Skill, State
from quartet_orchestrator.recovery.confirmation import LOOKS
from support.store import KEYS, command

HELD = {"success": True, "error_code": "NONE", "reason": "it lies there", "state": State.SUCCEEDED}


def results(events, skill):
    return [
        (e.event.success, e.event.state) for e in events if e.event.kind == "skill_result" and e.event.skill == skill
    ]


@pytest.mark.parametrize("skill", ["pick", "place"])
async def test_a_success_that_the_gripper_does_not_confirm_is_none(client, model, agents, do, skill):
    agents.answers[skill] = [agents.FORGED]
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.look, do.report(True, do.delivered))
    task_id = await client.submit()
    events = await client.events(task_id)
    status = await client.status(task_id)
    assert status.state is State.FAILED, status.report
    assert results(events, skill)[0] == (False, State.UNCERTAIN)
    assert any("the gripper's sensors say" in r.get("reason", "") for r in model.results())


async def test_a_success_is_measured_after_the_grant_is_void(client, model, agents, motion, world, do):
    """An agent that holds the object until the look is over has nothing left to hold it with."""
    seen = []
    read = world.read

    def look():
        seen.append({server.fence for server in motion.values()})
        return read()

    world.read = look
    model.say(do.approach(), do.pick(), do.report(False))
    await client.run()
    assert seen == [{4}], "the grant of the pick had fence 3"


async def test_a_forged_result_that_is_taken_over_is_none_either(start, model, agents, do, eventually):
    """Written while no orchestrator ran, by an agent in its own name for a request that it was given."""
    agents.answers["place"] = [agents.until_canceled]
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.look, do.report(True, do.delivered))
    async with start() as client:
        task_id = await client.submit()
        await eventually(lambda: agents.requests and agents.requests[-1].skill is Skill.PLACE)
    request = agents.requests[-1]
    forged = PlaceResult(request_id=request.request_id, task_id=task_id, **HELD)
    await command(agents.bus, "SET", KEYS.done("skill:place", request.request_id), forged.model_dump_json())
    async with start() as client:
        events = await client.events(task_id)
        status = await client.status(task_id)
    assert status.state is State.FAILED, status.report
    assert results(events, "place") == [(False, State.UNCERTAIN)]


CAN, TABLE = "red coke can", "wooden coffee table"
IN_THE_KITCHEN = {"x": 9.85, "y": 2.1, "yaw": 0.0}
FORGED = [
    # The robot stayed where it was.
    ("approach", {}, {}, "outside of kitchen"),
    # It is in the kitchen and nowhere near the can.
    ("approach", {"pose": IN_THE_KITCHEN, "in_view": {CAN: (2.0, 0.0, 0.5)}}, {}, "2.00 m away, not at most"),
    ("approach", {"pose": IN_THE_KITCHEN}, {}, "not in view"),
    # The can was let go beside the table, and elsewhere out of view.
    ("place", {"grasp": "EMPTY", "in_view": {TABLE: (0.9, 0.0, 0.5), CAN: (0.5, 0.6, 0.06)}}, {}, "seen elsewhere"),
    ("place", {"grasp": "EMPTY", "in_view": {TABLE: (0.9, 0.0, 0.5)}}, {CAN: (0.5, 0.6, 0.06)}, "not seen"),
    ("place", {"grasp": "EMPTY", "in_view": {TABLE: (0.9, 0.0, 0.5)}}, {}, "not seen"),
    ("place", {"grasp": "EMPTY", "in_view": {}}, {CAN: (0.9, 0.0, 0.56)}, "not in view"),
]


@pytest.mark.parametrize(("skill", "left", "remembered", "why"), FORGED)
async def test_a_success_that_the_world_does_not_confirm_is_none(
    start, with_cameras, model, agents, world, do, skill, left, remembered, why
):
    async def forge(*_):
        for name, value in left.items():
            setattr(world, name, value)
        world.remembered = remembered
        return agents.FORGED

    agents.answers[skill] = [forge]
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.look, do.report(True, do.delivered))
    async with start(servers=with_cameras) as client:
        events = await client.events(await client.submit())
    assert results(events, skill)[0] == (False, State.UNCERTAIN)
    assert any(why in r.get("reason", "") for r in model.results()), [r.get("reason") for r in model.results()]


async def test_a_job_that_the_world_confirms_succeeds(start, with_cameras, model, agents, world, do):
    """Also where the thing lies out of view in the end, such as in a bin: perception saw it there from above."""

    async def drop(*_):
        world.grasp, world.in_view = "EMPTY", {TABLE: (0.9, 0.0, 0.5)}
        world.remembered = {CAN: (0.95, 0.05, 0.55)}
        return agents.FORGED

    agents.answers["place"] = [drop]
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.report(True, do.delivered))
    async with start(servers=with_cameras) as client:
        status = await client.run()
    assert status.state is State.SUCCEEDED, status.report


@pytest.mark.parametrize(("in_hand", "tucked", "success"), [(CAN, True, True), ("", True, False), (CAN, False, False)])
async def test_a_pick_without_effort_is_confirmed_by_the_wrist_camera(
    start, with_cameras, model, agents, world, do, in_hand, tucked, success
):
    """The fingers are half open, and their driver measures no effort; what they have not lifted merely stands there."""
    world.tucked = tucked
    world.read = lambda: "UNKNOWN" if world.grasp == "HOLDING" else world.grasp
    world.in_hand = in_hand
    agents.start()
    model.say(do.approach(), do.pick(), do.report(False))
    async with start(servers=with_cameras) as client:
        events = await client.events(await client.submit())
    assert results(events, "pick")[0] == (success, State.SUCCEEDED if success else State.UNCERTAIN)
    grasps = [e.event.grasp for e in events if e.event.kind == "skill_settled"]
    assert grasps == ([] if success else ["UNKNOWN"])


@pytest.mark.parametrize(("missed", "state"), [(LOOKS - 1, State.SUCCEEDED), (LOOKS, State.FAILED)])
async def test_a_target_that_a_picture_does_not_show_is_looked_for_in_the_next(
    start, with_cameras, model, agents, world, do, missed, state
):
    async def drop(*_):
        world.grasp, world.in_view = "EMPTY", {TABLE: (0.9, 0.0, 0.5), CAN: (0.95, 0.05, 0.55)}
        world.missed = {TABLE: missed}
        return agents.FORGED

    agents.answers["place"] = [drop]
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.look, do.report(True, do.delivered))
    async with start(servers=with_cameras) as client:
        status = await client.run()
    assert status.state is state, status.report


@pytest.mark.parametrize(("missed", "confirmed"), [(LOOKS - 1, True), (LOOKS, False)])
async def test_a_thing_that_a_picture_does_not_show_is_looked_for_in_the_next(
    start, with_cameras, model, agents, world, do, missed, confirmed
):
    async def arrive(*_):
        world.pose, world.in_view = IN_THE_KITCHEN, {CAN: (0.7, 0.0, 0.5)}
        world.missed = {CAN: missed}
        return agents.FORGED

    agents.answers["approach"] = [arrive]
    agents.start()
    model.say(do.approach(), do.report(False))
    async with start(servers=with_cameras) as client:
        events = await client.events(await client.submit())
    assert results(events, "approach")[0] == (confirmed, State.SUCCEEDED if confirmed else State.UNCERTAIN)


BIN = "kitchen bin"
INSIDE, NEXT_TO_IT, BEHIND_IT = (0.9, 0.05, 0.1), (0.9, 0.45, 0.06), (1.3, 0.05, 0.06)


@pytest.mark.parametrize(
    ("released", "in_view", "why"),
    [
        ((0.9, 0.05, 0.6), {}, ""),
        (None, {}, "one may have lain there"),
        ((0.9, 0.45, 0.3), {}, "one may have lain there"),
        ((0.9, 0.05, 0.6), {CAN: NEXT_TO_IT}, "another one beside it"),
        ((0.9, 0.05, 0.6), {"behind": BEHIND_IT}, "another one beside it"),
    ],
    ids=["over it", "nowhere", "beside it", "over it, and one lies beside it", "over it, and one was seen behind it"],
)
async def test_a_thing_in_a_bin_that_nobody_looked_into_confirms_only_what_was_let_go_over_it(
    start, with_cameras, model, agents, world, do, released, in_view, why
):
    """What lies there may have lain there before the task."""

    async def drop(*_):
        world.grasp, world.released = "EMPTY", released
        world.in_view, world.remembered = {BIN: (0.9, 0.0, 0.2)}, {CAN: INSIDE}
        world.in_view |= {name: at for name, at in in_view.items() if name == CAN}
        # From above, by the agent: it is out of view from where the robot stands.
        world.remembered_too = [(CAN, at) for name, at in in_view.items() if name == "behind"]
        return agents.FORGED

    agents.answers["place"] = [drop]
    agents.start()
    place = do.place(target=BIN)
    model.say(do.approach(), do.pick(), do.drop, place, do.look, do.report(True, do.delivered))
    async with start(servers=with_cameras) as client:
        events = await client.events(await client.submit())
    assert results(events, "place")[0] == ((False, State.UNCERTAIN) if why else (True, State.SUCCEEDED))
    assert any(why in r.get("reason", "") for r in model.results()), [r.get("reason") for r in model.results()]


@pytest.mark.parametrize(
    ("standing_m", "released", "age_s", "why"),
    [
        (0.05, (0.9, 0.1, 0.8), 0.0, ""),
        (0.05, (0.9, 0.1, 0.8), 60.0, "not known whether anything stands"),
        (0.0, (0.9, 0.1, 0.8), 0.0, "nothing higher than 1.5 cm stands"),
        (None, (0.9, 0.1, 0.8), 0.0, "not known whether anything stands"),
        (0.05, (0.9, 0.7, 0.8), 0.0, "was not measured"),
        (0.05, (0.9, 0.1, 1.3), 0.0, "was not measured"),
        (0.05, None, 0.0, "was not measured"),
    ],
    ids=["stands there", "stood there before", "nothing does", "out of view", "elsewhere", "from high", "not measured"],
)
async def test_what_has_no_name_is_confirmed_by_what_stands_where_it_was_let_go(
    start, with_cameras, model, agents, world, do, standing_m, released, age_s, why
):
    """The robot held it when the task came, and no camera knows what it is."""

    async def drop(*_):
        world.grasp, world.released, world.standing_m = "EMPTY", released, standing_m
        world.in_view, world.spot_age_s = {TABLE: (0.9, 0.0, 0.5)}, age_s
        return agents.FORGED

    world.grasp = "HOLDING"
    agents.answers["pick"], agents.answers["place"] = [do.failing("PICK_HOLDING_ALREADY")], [drop]
    agents.start()
    model.say(do.pick("held object"), do.drop, do.place("held object"), do.look, do.report(not why))
    async with start(servers=with_cameras) as client:
        events = await client.events(await client.submit("put what you hold on the wooden coffee table"))
    assert results(events, "place")[0] == ((False, State.UNCERTAIN) if why else (True, State.SUCCEEDED))
    assert any(why in r.get("reason", "") for r in model.results()), [r.get("reason") for r in model.results()]


BESIDE = (0.9, 0.3, 0.56)


def with_another_on_the_table(world):
    """The approach to the table ends where another can like the one in the gripper is in view on it."""

    async def arrive(agents, delivery):
        world.do(Skill.APPROACH, delivery.request.arguments)
        if delivery.request.arguments.object_name == TABLE:
            world.in_view[TABLE], world.alike = (0.9, 0.0, 0.5), [(CAN, BESIDE)]
        return agents.FORGED

    return arrive


@pytest.mark.parametrize("dropped", [{}, {CAN: (0.5, 0.9, 0.06)}], ids=["out of view", "on the floor"])
async def test_another_thing_that_lay_at_the_target_before_confirms_no_place(
    start, with_cameras, model, agents, world, do, dropped
):
    async def lose(*_):
        world.grasp = "EMPTY"
        world.in_view |= dropped
        return agents.FORGED

    agents.answers["approach"] = [with_another_on_the_table(world)] * 2
    agents.answers["place"] = [lose]
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.look, do.report(True, do.delivered))
    async with start(servers=with_cameras) as client:
        task_id = await client.submit()
        events = await client.events(task_id)
        status = await client.status(task_id)
    assert status.state is State.FAILED, status.report
    assert results(events, "place") == [(False, State.UNCERTAIN)]
    assert any("was there before" in r.get("reason", "") for r in model.results())


async def test_a_thing_put_down_beside_one_that_looks_like_it_is_confirmed(
    start, with_cameras, model, agents, world, do
):
    async def put(*_):
        world.grasp, world.in_view[CAN] = "EMPTY", (0.9, 0.12, 0.56)
        return agents.FORGED

    agents.answers["approach"] = [with_another_on_the_table(world)] * 2
    agents.answers["place"] = [put]
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.report(True, do.delivered))
    async with start(servers=with_cameras) as client:
        status = await client.run()
    assert status.state is State.SUCCEEDED, status.report


async def test_another_thing_that_lay_at_the_target_confirms_no_place_that_is_taken_over(
    start, with_cameras, model, agents, world, do, eventually
):
    """What the first orchestrator saw before the place is in the journal."""

    agents.answers["approach"] = [with_another_on_the_table(world)] * 2
    agents.answers["place"] = [agents.until_canceled]
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.look, do.report(True, do.delivered))
    async with start(servers=with_cameras) as client:
        task_id = await client.submit()
        await eventually(lambda: agents.requests and agents.requests[-1].skill is Skill.PLACE)
    request, world.grasp = agents.requests[-1], "EMPTY"
    forged = PlaceResult(request_id=request.request_id, task_id=task_id, **HELD)
    await command(agents.bus, "SET", KEYS.done("skill:place", request.request_id), forged.model_dump_json())
    async with start(servers=with_cameras) as client:
        events = await client.events(task_id)
        status = await client.status(task_id)
    assert status.state is State.FAILED, status.report
    assert results(events, "place") == [(False, State.UNCERTAIN)]


async def test_a_forged_approach_that_is_taken_over_is_none(start, with_cameras, model, agents, do, eventually):
    """Its result is in the store when the orchestrator starts, and the robot has not moved."""
    agents.answers["approach"] = [agents.until_canceled]
    agents.start()
    model.say(do.approach(), do.look, do.report(False))
    async with start(servers=with_cameras) as client:
        task_id = await client.submit()
        await eventually(lambda: agents.requests)
    request = agents.requests[-1]
    forged = ApproachResult(request_id=request.request_id, task_id=task_id, **HELD)
    await command(agents.bus, "SET", KEYS.done("skill:approach", request.request_id), forged.model_dump_json())
    async with start(servers=with_cameras) as client:
        events = await client.events(task_id)
    assert results(events, "approach")[0] == (False, State.UNCERTAIN)


@pytest.mark.parametrize(
    ("left", "completed", "told"),
    [
        ({"grasp": "EMPTY", "in_view": {TABLE: (0.9, 0.0, 0.5), CAN: (0.95, 0.05, 0.56)}}, True, "Done before"),
        ({"grasp": "EMPTY", "in_view": {TABLE: (0.9, 0.0, 0.5), CAN: (0.5, 0.6, 0.06)}}, False, ""),
        ({"grasp": "HOLDING"}, False, "keeps holding the red coke can"),
    ],
    ids=["it lies there", "it lies elsewhere", "it is held"],
)
async def test_what_a_failed_place_has_let_go_is_looked_for_when_no_further_step_can_be(
    start, with_cameras, model, agents, motion, world, do, left, completed, told
):
    """The arm could not return after the release, then no server installs a fence: the task ends without a report."""

    async def drop(*_):
        for name, value in left.items():
            setattr(world, name, value)
        motion["moveit"].broken = True
        return do.failing("PLACE_PLAN_FAILED", reason="the can was released")

    agents.answers["place"] = [drop]
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.drop, do.report(True, do.delivered))
    async with start(servers=with_cameras) as client:
        status = await client.run()
    assert status.state is State.FAILED, status.report
    assert "refused the fence" in status.report.summary
    assert ("keeps holding" in status.report.summary) == (world.grasp == "HOLDING"), status.report.summary
    assert told in status.report.summary
    (row,) = status.report.objects
    assert (row.completed, row.error_code) == ((True, "NONE") if completed else (False, "PLACE_PLAN_FAILED")), row


async def test_without_a_perception_server_an_empty_gripper_is_no_delivery(start, model, agents, motion, world, do):
    async def drop(*_):
        world.grasp = "EMPTY"
        motion["moveit"].broken = True
        return do.failing("PLACE_PLAN_FAILED", reason="the can was released")

    agents.answers["place"] = [drop]
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.drop, do.report(True, do.delivered))
    async with start() as client:
        status = await client.run()
    assert "keeps holding" not in status.report.summary
    (row,) = status.report.objects
    assert (row.completed, row.error_code) == (False, "PLACE_PLAN_FAILED"), row
