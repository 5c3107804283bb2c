"""A person's word on a call of an agent: asked over the API in plain words, given back signed."""

import asyncio
import shutil
import time

import jwt
import pytest
import yaml

from quartet_bus import Question
from quartet_contracts import ALGORITHM, State
from quartet_contracts.approvals import CONFIRM_OBJECT, RUN_PROGRAM, ApprovalClaims, approval_audience, arguments_digest

PICK = ("approach", {"target_area": "kitchen", "object_name": "red coke can", "next_action": "pick"})


def read(decision, key):
    raw = jwt.decode(decision.token, key.public_key(), algorithms=[ALGORITHM], audience=approval_audience("summit"))
    return ApprovalClaims.model_validate(raw)


@pytest.mark.parametrize(
    ("answer", "allowed"), [("yes", True), (" Yes. ", True), ("ok", True), ("no", False), ("yes, but slowly", False)]
)
async def test_the_persons_word_comes_back_signed(client, agents, model, do, key, asking, answer, allowed):
    asking()
    model.say(PICK, do.report(False))
    task_id = await client.submit()
    status = await client.until_state(task_id, State.PAUSED)
    assert status.question == (
        'May approach of robot summit do this once: navigate to pose (nav2; x 9.8, y 2.1, names ["red\\ncan"])? Asked '
        "because: people work there (policy rule approval). Answer yes to allow it; anything else refuses it."
    )
    given = await client.http.post(f"/tasks/{task_id}/answer", json={"text": answer})
    assert given.status_code == 200, given.text
    events = await client.events(task_id)
    claims = read(asking.decision, key)
    assert (claims.decision, asking.decision.allowed) == ("allow" if allowed else "deny", allowed)
    assert (claims.sub, claims.tool) == ("approach", "nav2__navigate_to_pose")
    assert claims.arguments_sha256 == arguments_digest(asking.ARGUMENTS)
    assert claims.request_id.startswith(f"{task_id}-01-approach-")
    assert claims.jti == f"a-{claims.request_id}"
    assert answer in claims.reason
    asked = [event for event in events if event.event.kind in {"question", "answer"}]
    assert [event.event.text for event in asked] == [status.question, answer]
    assert {event.request_id for event in asked} == {claims.request_id}, "no question of the orchestrator's own model"
    states = [event.event.state for event in events if event.event.kind == "state"]
    assert states == ["INITIALIZING", "RUNNING", "PAUSED", "INITIALIZING", "RUNNING", "FAILED"]


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"because": "all is\x1b[2Kwell"}, "because: all is<U+001B>[2Kwell."),
        ({"arguments": {"x": "\u202e9"}}, 'x "<U+202E>9"'),
        (
            {"tool": RUN_PROGRAM, "arguments": {"code": "open_gripper()" + "\n \n" * 200 + "x = 1\r#"}},
            "run this program?\nopen_gripper()\n[399 empty lines]\nx = 1<U+000D>#\n",
        ),
    ],
    ids=["escape sequence", "direction", "program"],
)
async def test_nothing_of_what_a_person_allows_is_hidden(client, agents, model, do, asking, changes, shown):
    """An agent or a model that was manipulated wrote it, and a display obeys such characters."""
    asking(**changes)
    model.say(PICK, do.report(False))
    task_id = await client.submit()
    status = await client.until_state(task_id, State.PAUSED)
    assert shown in status.question
    await client.http.post(f"/tasks/{task_id}/answer", json={"text": "no"})


@pytest.mark.parametrize(("answer", "allowed"), [("yes", True), ("2", False), ("not sure", False)])
async def test_a_person_says_whether_it_is_the_object_in_the_picture(
    client, agents, model, do, asking, answer, allowed
):
    """Names come from the sentence and pictures from the agent: neither hides anything, nor is longer than a line."""
    task_id = await client.submit()
    image = await agents.bus.images.put(task_id, b"jpeg", "image/jpeg")
    name = "red\x1b[2K can " + "x" * 500
    asking(tool=CONFIRM_OBJECT, arguments={"object_name": name, "area": "kitchen", "image": image})
    model.say(PICK, do.report(False))
    status = await client.until_state(task_id, State.PAUSED)
    assert status.question.startswith("Is this 'red<U+001B>[2K can xxx")
    assert status.question.endswith("'? summit sees it in the kitchen and is not sure.")
    assert len(status.question) < 300
    assert status.choices == ["yes", "no", "not sure"]
    assert (await client.http.post(f"/tasks/{task_id}/answer", json={"text": answer})).status_code == 200
    (asked,) = [event.event for event in await client.events(task_id) if event.event.kind == "question"]
    assert (asked.image, asked.approval) == (image, False)
    assert (asking.decision.allowed, asking.decision.answer) == (allowed, "no" if answer == "2" else answer)


async def test_a_picture_that_the_task_does_not_have_is_not_shown(client, agents, model, do, asking):
    asking(tool=CONFIRM_OBJECT, arguments={"object_name": "can", "area": "kitchen", "image": "image-9"})
    model.say(PICK, do.report(False))
    task_id = await client.submit()
    await client.until_state(task_id, State.PAUSED)
    await client.http.post(f"/tasks/{task_id}/answer", json={"text": "no"})
    (asked,) = [event.event for event in await client.events(task_id) if event.event.kind == "question"]
    assert asked.image is None


async def test_who_has_not_answered_is_asked_about_no_further_object(start, agents, model, do, asking):
    asking(tool=CONFIRM_OBJECT, arguments={"object_name": "can", "area": "kitchen", "image": "none"})
    agents.answers["approach"] *= 2
    agents.start()
    model.say(PICK, PICK, do.report(False))
    async with start(question_timeout_s=0.3) as client:
        status = await client.run()
        events = await client.events(status.task.task_id)
    assert len([event for event in events if event.event.kind == "question"]) == 1
    assert asking.decision.answer is None


async def test_nobody_answers(start, agents, model, do, key, asking):
    asking()
    agents.start()
    model.say(PICK, do.report(False))
    async with start(question_timeout_s=0.3) as client:
        status = await client.run()
    assert read(asking.decision, key).decision == "deny"
    assert asking.decision.reason == "nobody answered in time"
    assert status.report is not None
    assert "Nobody answered the question: " in status.report.summary


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task_id": "another"}, "request of another task, robot or agent"),
        ({"robot": "second"}, "request of another task, robot or agent"),
        ({"agent": "place"}, "request of another task, robot or agent"),
        ({"arguments": {"x": "9" * 3000}}, "cannot be shown"),
    ],
)
async def test_what_cannot_be_shown_as_it_is_is_refused(client, agents, model, do, asking, changes, words):
    asking(**changes)
    model.say(PICK, do.report(False))
    task_id = await client.submit()
    events = await client.events(task_id)
    assert not asking.decision.allowed
    assert words in asking.decision.reason
    assert not [event for event in events if event.event.kind == "question"]


async def test_a_canceled_task_asks_no_longer(client, agents, model, asking):
    asked = asyncio.Event()

    async def ask(agents, delivery):
        waiting = asyncio.create_task(agents.bus.approvals.ask(asking.question(delivery.request), 60))
        asked.set()
        answer = await agents.until_canceled(agents, delivery)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return answer

    agents.answers["approach"] = [ask]
    model.say(PICK)
    task_id = await client.submit()
    await client.until_state(task_id, State.PAUSED)
    assert await agents.bus.questions.current(task_id) is not None
    await client.http.post(f"/tasks/{task_id}/cancel")
    assert (await client.until_state(task_id, State.CANCELED)).question is None
    assert await agents.bus.questions.current(task_id) is None


async def test_another_question_stays_open(agents):
    """Closing is by id: the question of a later call is not closed with it."""
    first, later = (Question(name, "?", time.time() + 60) for name in ("a-1", "a-2"))
    await agents.bus.questions.put("t", later, 60)
    await agents.bus.questions.close("t", first)
    assert (await agents.bus.questions.current("t")).question_id == "a-2"
    await agents.bus.questions.close("t", later)
    assert await agents.bus.questions.current("t") is None


@pytest.mark.parametrize("asks", [True, False])
async def test_a_request_has_time_for_an_approval_on_top_of_its_time_of_work(
    start, settings, agents, model, do, tmp_path, asks
):
    """Only where the site's policy asks for one, and a minute for questions about objects: no grant lives longer."""
    for name in ("robot.yaml", "site.yaml"):
        shutil.copy(settings.site_file.parent / name, tmp_path / name)
    rules = [{"tool": "nav2__spin_robot", "then": "ask", "because": "cables"}] if asks else []
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({"approval": rules, "approval_wait_s": 120}))
    agents.start()
    model.say(PICK, do.report(False))
    files = {"robot_file": tmp_path / "robot.yaml", "site_file": tmp_path / "site.yaml"}
    async with start(**files, skill_timeout_s=50.0) as client:
        await client.run()
    request = agents.requests[0]
    assert request.budget.wall_s == pytest.approx(50, abs=0.1)
    assert request.deadline - request.created_at == pytest.approx(230 if asks else 110, abs=0.1)
