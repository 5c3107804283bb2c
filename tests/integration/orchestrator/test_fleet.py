"""Several robots work side by side; each has its own fence and its own queue, and all share one more."""

import asyncio
import contextlib
from pathlib import Path

import httpx2
import pytest

from quartet_bus import Bus, BusOptions, BusUnavailableError, LeaseLostError
from quartet_contracts import ANY_ROBOT, TERMINAL, ApproachResult, Skill, State

DEPLOY = Path(__file__).parents[3] / "deploy"


@pytest.fixture
async def meeting(agents, model, do):
    """Two approaches that end only when both have begun, each done by a replica of its own."""
    both = asyncio.Barrier(2)

    async def meet(_, __):
        await both.wait()
        return agents.OK

    agents.answers["approach"] = [meet, meet]
    agents.start()
    agents.start()
    model.say(lambda messages: do.approach() if len(messages) == 2 else do.report(True))


async def test_two_robots_at_once(two, agents, meeting):
    async with two() as client:
        names = [await client.submit("go to the kitchen", robot=robot) for robot in ("summit", "second")]
        for name in names:
            status = await client.until_state(name, State.SUCCEEDED, State.FAILED)
            assert status.state is State.SUCCEEDED, status.report
    assert {r.robot for r in agents.requests} == {"summit", "second"}


async def test_tasks_that_name_no_robot_are_shared_among_the_free(two, agents, meeting):
    async with two() as client:
        names = [await client.submit("go to the kitchen") for _ in range(2)]
        ended = [await client.until_state(name, State.SUCCEEDED, State.FAILED) for name in names]
        assert [status.state for status in ended] == [State.SUCCEEDED] * 2
        assert {status.task.robot for status in ended} == {"summit", "second"}
    assert {r.robot for r in agents.requests} == {"summit", "second"}


async def test_a_stopped_robot_gets_no_task_that_another_can_do(two, agents, model, motion, do, eventually):
    agents.start()
    model.say(lambda messages: do.approach() if len(messages) == 2 else do.report(True))
    motion["nav2"].health["stopped"] = True
    async with two() as client:
        for _ in range(3):
            status = await client.run("go to the kitchen")
            assert (status.state, status.task.robot) == (State.SUCCEEDED, "second")
        motion["second/moveit"].health["bridge"] = False

        async def states():
            rows = (await client.http.get("/robots")).json()["robots"]
            return {row["name"]: row["state"] for row in rows} == {"summit": "stopped", "second": "absent"}

        await eventually(states)
        waiting = await client.submit("go to the kitchen")
        assert (await client.http.get("/robots")).json()["waiting_for_any"] == 1
        assert (await client.status(waiting)).task.robot == ANY_ROBOT
        motion["nav2"].health["stopped"] = False
        status = await client.until_state(waiting, State.SUCCEEDED, State.FAILED)
        assert (status.state, status.task.robot) == (State.SUCCEEDED, "summit")


async def test_a_server_whose_answer_never_ends_holds_up_nobody_who_asks_for_the_robots(two, motion, monkeypatch):
    monkeypatch.setattr("quartet_orchestrator.observation.fleet.ANSWER_S", 0.5)
    motion["nav2"].drips = True
    async with two() as client, asyncio.timeout(30):
        rows = {row["name"]: row for row in (await client.http.get("/robots")).json()["robots"]}
    assert (rows["summit"]["state"], rows["second"]["state"]) == ("absent", "idle")
    assert "not whole within 0.5 s" in rows["summit"]["why"]


async def test_one_that_waits_for_any_robot_can_be_canceled(two, motion):
    for name in ("nav2", "second/nav2"):
        motion[name].health["stopped"] = True
    async with two() as client:
        waiting = await client.submit("go to the kitchen")
        assert (await client.http.post(f"/tasks/{waiting}/cancel")).json()["state"] == State.CANCELED


async def test_robots_are_shown_with_what_they_do(two, agents, model, do, eventually):
    go = agents.hold("approach")
    agents.start()
    model.say(lambda messages: do.approach() if len(messages) == 2 else do.report(True))
    async with two() as client:
        first = await client.submit("go to the kitchen", robot="summit")
        second = await client.submit("go to the kitchen", robot="summit")

        async def busy():
            rows = {row["name"]: row for row in (await client.http.get("/robots")).json()["robots"]}
            return rows if rows["summit"]["state"] == "busy" else None

        rows = await eventually(busy)
        assert rows["summit"]["task"] == first
        assert rows["summit"]["waiting"] == 1
        assert rows["second"] | {"why": ""} == {
            "name": "second",
            "state": "idle",
            "why": "",
            "task": None,
            "waiting": 0,
            "servers": ["moveit", "nav2"],
        }
        go.set()
        for name in (first, second):
            assert (await client.until_state(name, State.SUCCEEDED, State.FAILED)).state is State.SUCCEEDED


async def test_a_robot_that_is_not_there_is_refused_by_name(two):
    async with two() as client:
        answer = await client.http.post("/tasks", json={"sentence": "go", "robot": "third"})
        assert answer.status_code == 422
        assert answer.json()["detail"] == (
            "robot: there is no robot 'third'; valid: second, summit, or none for the first that is free"
        )


TASKS, CRASHES = 24, 3


async def test_no_task_is_lost_while_redis_crashes(two, own_redis, model, world, agents, do, eventually):
    """Each ends, in one state, whatever was on its way when the store went."""
    model.say(lambda messages: do.approach() if len(messages) == 2 else do.report(True))
    async with await Bus.connect(own_redis.url, BusOptions(block_ms=200)) as bus:
        worlds = {"summit": world, **agents.others}
        working = [asyncio.create_task(approach_at_once(bus, worlds, eventually)) for _ in range(2)]
        async with two(redis_url=own_redis.url) as client:
            submitting = asyncio.create_task(submit_all(client, TASKS))
            for crash in range(CRASHES):
                await eventually(lambda wanted=4 * crash + 1: count_ended(client, wanted))
                own_redis.kill()
                await asyncio.to_thread(own_redis.start)
            names = await submitting
            ended = [await client.until_state(name, *TERMINAL, timeout_s=120) for name in names]
            assert len(set(names)) == TASKS
            assert {status.state for status in ended} == {State.SUCCEEDED}
            assert {status.task.robot for status in ended} == {"summit", "second"}
        for agent in working:
            agent.cancel()
        await asyncio.gather(*working, return_exceptions=True)


async def submit_all(client, count):
    """Each with a key of its own, again until it is accepted."""

    async def submit(number):
        while True:
            with contextlib.suppress(httpx2.TransportError):
                answer = await client.http.post(
                    "/tasks", json={"sentence": "go to the kitchen"}, headers={"Idempotency-Key": f"key-{number}"}
                )
                if answer.status_code == 202:
                    return answer.json()["task"]["task_id"]
                assert answer.status_code == 503, answer.text
            await asyncio.sleep(0.05)

    return await asyncio.gather(*(submit(number) for number in range(count)))


async def count_ended(client, wanted):
    answer = await client.http.get("/tasks", params={"limit": 100})
    return answer.status_code == 200 and sum(row["state"] in TERMINAL for row in answer.json()["tasks"]) >= wanted


async def approach_at_once(bus, worlds, eventually):
    """An approach agent that is there without driving; what it could not write it writes when the store is back."""
    queue = bus.skills(Skill.APPROACH)
    while True:
        delivery = await queue.take()
        request = delivery.request
        result = ApproachResult(
            request_id=request.request_id, task_id=request.task_id, success=True, error_code="NONE", reason="there"
        )
        worlds[request.robot].do(Skill.APPROACH, request.arguments)
        with contextlib.suppress(LeaseLostError):
            await eventually(lambda: _done(queue.mark_started(delivery)))  # noqa: B023 - awaited here
            await eventually(lambda: _done(queue.finish(delivery, result)))  # noqa: B023


async def _done(step):
    try:
        await step
    except BusUnavailableError:
        return False
    return True


async def test_a_pick_alone_is_of_the_robot_that_stands_there(two):
    async with two() as client:
        answer = await client.http.post("/skills/pick", json={"object_name": "red coke can"})
        assert answer.status_code == 422
        assert answer.json()["detail"] == (
            "robot: a pick happens where the robot stands already, so name the robot; valid: second, summit"
        )
        named = await client.http.post("/skills/pick?robot=second", json={"object_name": "red coke can"})
        assert named.json()["task"]["robot"] == "second"


async def test_a_task_that_names_no_robot_goes_to_one_that_is_able(unlike, agents, model, do):
    agents.start()
    model.say(lambda messages: do.report(True))
    async with unlike() as client:
        for _ in range(4):
            status = await client.run("bring the pink tissue box from the dresser to the desk")
            assert status.task.robot == "second"


async def test_a_task_that_no_robot_is_able_to_do_is_refused_with_numbers(unlike, model):
    async with unlike() as client:
        answer = await client.http.post("/tasks", json={"sentence": "put the wide crate on the desk"})
        assert answer.status_code == 422
        assert answer.json()["detail"] == (
            "sentence: no robot is able to do it. second: the wide crate is 0.300 m wide, and second grasps up to "
            "0.110 m; summit: the wide crate is 0.300 m wide, and summit grasps up to 0.072 m. "
            "Name a robot to have it do what it can"
        )
        approach = {"target_area": "kitchen", "object_name": "wide crate", "next_action": "pick"}
        step = await client.http.post("/skills/approach", json=approach)
        assert (step.status_code, "0.300 m wide" in step.json()["detail"]) == (422, True)
        put = await client.http.post("/skills/approach", json=approach | {"next_action": "floor_place"})
        assert put.status_code == 202, "what is near is not what is held"
        looks = await client.http.post("/tasks", json={"sentence": "go and look at the wide crate"})
        assert looks.status_code == 202
    assert not model.requests


async def test_a_call_and_a_step_of_a_robot_that_is_not_able_are_refused(unlike, agents, model, do):
    agents.start()
    model.say(
        lambda messages: do.approach("pink tissue box") if len(messages) == 2 else do.report(False, "it is too wide")
    )
    told = "summit is not able to do this: the pink tissue box is 0.100 m wide, and summit grasps up to 0.072 m; second"
    async with unlike() as client:
        status = await client.run("pick up the pink tissue box in the kitchen", robot="summit")
        assert status.state is State.FAILED
        assert told in str(model.requests[-1])
        crate = await client.http.post("/skills/pick?robot=summit", json={"object_name": "wide crate"})
        assert crate.status_code == 202, "a robot that is named says itself what it cannot do"
        answer = await client.http.post("/skills/pick?robot=summit", json={"object_name": "pink tissue box"})
        step = await client.until_state(answer.json()["task"]["task_id"], State.SUCCEEDED, State.FAILED)
        assert told in step.report.summary
    assert not agents.requests, "nothing moved"
