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


CHOICES = ["the wooden one", "the glass one"]
ASK_WHICH = ("ask_person", {"question": "Which table?", "choices": CHOICES})


@pytest.mark.parametrize(
    ("said", "heard"),
    [("2", "the glass one"), ("The Wooden One ", "the wooden one"), ("3", "3"), ("neither", "neither")],
)
async def test_a_question_offers_choices_and_takes_any_answer(client, model, do, said, heard):
    model.say(ASK_WHICH, do.report(False))
    task_id = await client.submit()
    assert (await client.until_state(task_id, State.PAUSED)).choices == CHOICES
    assert (await client.http.post(f"/tasks/{task_id}/answer", json={"text": said})).status_code == 200
    events = await client.events(task_id)
    assert model.results() == [{"ok": True, "answer": heard}]
    assert [e.event.choices for e in events if e.event.kind == "question"] == [CHOICES]
    assert (await client.status(task_id)).choices == []


async def test_choices_hold_nothing_that_a_person_does_not_see(client, model, do):
    """They become the person's words when one is pressed."""
    model.say(("ask_person", {"question": "Which?", "choices": ["red\u200b\u202e\n can", "red can"]}), do.report(False))
    task_id = await client.submit()
    assert (await client.until_state(task_id, State.PAUSED)).choices == ["red can"]
    await client.http.post(f"/tasks/{task_id}/cancel")
    await client.until_state(task_id, State.CANCELED)


@pytest.mark.parametrize("choices", [["x" * 101], [""], [str(n) for n in range(7)], "yes, no"])
async def test_choices_beyond_their_limits_are_not_asked(client, model, do, choices):
    model.say(("ask_person", {"question": "Which?", "choices": choices}), do.report(False))
    await client.run()
    assert model.results()[0]["error_code"] == "INVALID_ARGUMENTS"


@pytest.mark.parametrize("said", ["no", "on and on " * 399])
async def test_nobody_answers(start, agents, model, do, said):
    model.say(ASK, do.report(False, summary=said))
    async with start(question_timeout_s=0.3) as client:
        status = await client.run()
    assert model.results()[0]["error_code"] == "NO_ANSWER"
    assert "Nobody answered the question: Which table?" in status.report.summary


async def test_the_time_of_a_task_begins_when_a_robot_begins_it(client, agents, model, do):
    """And grows by what a person takes to answer."""
    model.say(ASK, do.report(False))
    task_id = await client.submit(timeout_s=3600, queue_timeout_s=7200)
    paused = await client.until_state(task_id, State.PAUSED)
    assert paused.task.timeout_s == 3600
    assert paused.task.deadline - paused.task.created_at < 3660
    await client.http.post(f"/tasks/{task_id}/answer", json={"text": "the wooden one"})
    await client.until_state(task_id, State.FAILED)
    events = await client.events(task_id)
    at = {e.event.state: e.at for e in reversed(events) if e.event.kind == "state"}
    waited = next(e.at for e in events if e.event.kind == "state" and e.at > at[State.PAUSED]) - at[State.PAUSED]
    ended = await client.status(task_id)
    assert ended.task.deadline - paused.task.deadline == pytest.approx(waited, abs=0.1)


async def test_a_budget_of_wall_time_below_the_timeout_counts(client, agents, model, do):
    model.say(do.report(False))
    task_id = await client.submit(timeout_s=900, budget={"wall_s": 60})
    assert (await client.status(task_id)).task.timeout_s == 60


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
