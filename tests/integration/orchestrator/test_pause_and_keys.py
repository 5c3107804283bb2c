"""A person pauses and resumes a task; a submission that comes twice is one task; a task may run out of time waiting."""

import asyncio

import pytest

from quartet_contracts import State
from support.store import KEYS, command

BODY = {"sentence": "go to the kitchen"}


async def post(client, key, body=None, path="/tasks"):
    return await client.http.post(path, json=body or BODY, headers={"Idempotency-Key": key})


async def test_a_pause_holds_before_the_next_step_and_ends_with_resume(client, agents, model, do):
    go = agents.hold("approach")
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.report(True, do.delivered))
    task_id = await client.submit()
    await agents.started.wait()
    assert (await client.http.post(f"/tasks/{task_id}/resume")).status_code == 202, "nothing to do is no error"
    for _ in range(2):
        answer = await client.http.post(f"/tasks/{task_id}/pause", json={"reason": "the floor is wet"})
        assert answer.status_code == 202, answer.text
    assert answer.json()["state"] == "RUNNING", "the step that runs is brought to its end"
    go.set()
    await client.until_state(task_id, State.PAUSED)
    assert len(agents.calls) == 1
    assert (await client.http.post(f"/tasks/{task_id}/resume")).status_code == 202
    events = await client.events(task_id)
    assert (await client.status(task_id)).state is State.SUCCEEDED
    states = [(e.event.state, e.event.reason) for e in events if e.event.kind == "state"]
    assert (State.PAUSED, "the floor is wet") in states
    assert [state for state, _ in states][-4:] == [State.PAUSED, State.INITIALIZING, State.RUNNING, State.SUCCEEDED]
    for path in ("pause", "resume"):
        late = await client.http.post(f"/tasks/{task_id}/{path}")
        assert late.status_code == 409
        assert "has ended as SUCCEEDED" in late.json()["detail"]


@pytest.mark.parametrize(("ending", "limit_s"), [(State.CANCELED, 600), (State.FAILED, 1.0)])
async def test_a_paused_task_can_be_canceled_and_ends_at_the_limit_of_a_pause(
    start, agents, model, do, ending, limit_s
):
    model.say(do.approach(), do.pick(), do.report(True))

    async def paused_meanwhile(_, delivery):
        await agents.bus.tasks.pause(delivery.request.task_id, "wait")
        return agents.OK

    agents.answers["approach"] = [paused_meanwhile]
    agents.start()
    async with start(pause_limit_s=limit_s) as client:
        task_id = await client.submit()
        if ending is State.CANCELED:
            await client.until_state(task_id, State.PAUSED)
            await client.http.post(f"/tasks/{task_id}/cancel")
        status = await client.until_state(task_id, ending)
    assert "pick" not in [skill for skill, _ in agents.calls]
    if ending is State.FAILED:
        assert "nobody let the task go on within 1 s" in status.report.summary


async def test_the_same_key_and_body_are_one_task(client, agents, model, do):
    model.say(do.approach(), do.report(True))
    first, second, *others = await asyncio.gather(*(post(client, "order-7") for _ in range(5)))
    assert {answer.status_code for answer in (first, second, *others)} == {202}
    assert len({answer.json()["task"]["task_id"] for answer in (first, second, *others)}) == 1
    assert first.headers["location"] == second.headers["location"]
    task_id = first.json()["task"]["task_id"]
    await client.until_state(task_id, State.SUCCEEDED)
    assert (await post(client, "order-7")).json()["state"] == "SUCCEEDED", "also when it has ended"
    assert len((await client.http.get("/tasks")).json()["tasks"]) == 1
    assert (await post(client, "order-8")).json()["task"]["task_id"] != task_id


async def test_the_same_key_with_another_body_is_a_conflict(client, model, do):
    model.say(do.approach(), do.report(True))
    task_id = (await post(client, "order-7")).json()["task"]["task_id"]
    wrong = [
        await post(client, "order-7", {**BODY, "timeout_s": 60}),
        await post(client, "order-7", {"object_name": "red coke can"}, "/skills/pick"),
    ]
    for answer in wrong:
        assert answer.status_code == 409
        assert f"this idempotency key stands for task '{task_id}'" in answer.json()["detail"]
    assert len((await client.http.get("/tasks")).json()["tasks"]) == 1


async def test_a_key_is_kept_as_long_as_its_task(client, agents, model, do):
    model.say(do.approach(), do.report(True))
    task_id = (await post(client, "order-7")).json()["task"]["task_id"]
    await client.until_state(task_id, State.SUCCEEDED)
    (key,) = await command(agents.bus, "KEYS", KEYS.submission("*"))
    left = [await command(agents.bus, "PTTL", name) for name in (key, KEYS.status(task_id))]
    assert left[0] == pytest.approx(left[1], abs=5_000)


async def test_a_key_that_is_none_is_refused(client):
    for word in ("", "a b", "ü".encode(), "x" * 256):
        answer = await post(client, word)
        assert answer.status_code == 422, word
        assert "it is 1 to 255 printable ASCII characters" in answer.json()["detail"]


async def test_a_task_that_waits_too_long_ends_while_it_waits(client, agents, model, do):
    """Behind one that goes on and on."""
    agents.answers["approach"] = [agents.until_canceled]
    model.say(do.approach(), do.report(False))
    first = await client.submit()
    await agents.started.wait()
    second = await client.submit(queue_timeout_s=0.5)
    status = await client.until_state(second, State.FAILED)
    assert "time was over before the robot was free" in status.report.summary
    assert (await client.status(first)).state is State.RUNNING
    assert [e.event.kind for e in await client.events(second)] == ["report", "state"]
    await client.http.post(f"/tasks/{first}/cancel")
    await client.until_state(first, State.CANCELED)
    assert len(agents.calls) == 1
