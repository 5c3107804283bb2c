"""The task pauses until a person answers, or the time is over."""

import asyncio

import pytest

from quartet_contracts import State

ASK = ("ask_person", {"question": "Which table?"})


async def test_the_answer_reaches_the_model(client, model, do):
    model.say(ASK, do.report(False))
    task_id = await client.submit()
    status = await client.until_state(task_id, State.PAUSED)
    assert status.question == "Which table?"
    answer = await client.http.post(f"/tasks/{task_id}/answer", json={"text": "the wooden one"})
    assert answer.status_code == 200, answer.text
    events = await client.events(task_id)
    assert model.results() == [{"ok": True, "answer": "the wooden one"}]
    states = [e.event.state for e in events if e.event.kind == "state"]
    assert states == ["INITIALIZING", "RUNNING", "PAUSED", "INITIALIZING", "RUNNING", "FAILED"]
    assert [e.event.text for e in events if e.event.kind in {"question", "answer"}] == [
        "Which table?",
        "the wooden one",
    ]
    assert (await client.status(task_id)).question is None


async def test_nobody_answers(start, agents, model, do):
    model.say(ASK, do.report(False))
    async with start(question_timeout_s=0.3) as client:
        await client.run()
    assert model.results()[0]["error_code"] == "NO_ANSWER"


async def test_a_paused_task_can_be_canceled(client, model):
    model.say(ASK)
    task_id = await client.submit()
    await client.until_state(task_id, State.PAUSED)
    await client.http.post(f"/tasks/{task_id}/cancel")
    assert (await client.until_state(task_id, State.CANCELED)).question is None


@pytest.mark.parametrize("question_id", ["q-other", None])
async def test_an_answer_to_no_question_is_refused(client, model, do, question_id):
    gate = asyncio.Event()

    async def wait():
        await gate.wait()
        return ASK

    model.say(lambda _: wait(), do.report(False))
    task_id = await client.submit()
    if question_id is not None:
        gate.set()
        await client.until_state(task_id, State.PAUSED)
    answer = await client.http.post(f"/tasks/{task_id}/answer", json={"text": "yes", "question_id": question_id})
    assert (answer.status_code, answer.headers["content-type"]) == (409, "application/problem+json")
    gate.set()
    await client.until_state(task_id, State.PAUSED)
    assert (await client.http.post(f"/tasks/{task_id}/answer", json={"text": "yes"})).status_code == 200
    await client.until_state(task_id, State.FAILED)
    late = await client.http.post(f"/tasks/{task_id}/answer", json={"text": "yes"})
    assert (late.status_code, "asks nothing" in late.json()["detail"]) == (409, True)
