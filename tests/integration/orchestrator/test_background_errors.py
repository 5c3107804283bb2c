"""An unexpected error in a background task: it is told, the task starts again, nothing else ends."""

import pytest

from quartet_bus import BusServerError, RobotTasks
from quartet_bus._approvals import Approvals
from quartet_contracts import State


@pytest.fixture
def fail_once(monkeypatch):
    """`fail_once(owner, name, error)`: the next call of a method raises."""

    def arrange(owner, name, error):
        errors, method = [error], getattr(owner, name)

        async def failing(*arguments, **named):
            if errors:
                raise errors.pop()
            return await method(*arguments, **named)

        monkeypatch.setattr(owner, name, failing)

    return arrange


async def test_an_error_with_one_robot_ends_no_process(start, agents, model, do, fail_once, caplog):
    fail_once(RobotTasks, "take", ValueError("a bug"))
    agents.start()
    model.say(do.approach(), do.report(True))
    async with start() as client:
        status = await client.run("go to the kitchen")
    assert status.state is State.SUCCEEDED
    assert "the background task robot failed" in caplog.text


async def test_a_question_is_asked_though_reading_it_failed(client, asking, model, do, fail_once, eventually):
    fail_once(Approvals, "next", BusServerError("WRONGTYPE"))
    asking()
    model.say(do.approach(), do.report(True))
    task_id = await client.submit("go to the kitchen")
    status = await client.until_state(task_id, State.PAUSED)
    question = (await client.http.get(f"/tasks/{task_id}")).json()
    assert status.question, question
    answer = await client.http.post(f"/tasks/{task_id}/answer", json={"text": "yes"})
    assert answer.status_code == 200, answer.text
    assert (await client.until_state(task_id, State.SUCCEEDED, State.FAILED)).state is State.SUCCEEDED
    assert asking.decision.allowed
