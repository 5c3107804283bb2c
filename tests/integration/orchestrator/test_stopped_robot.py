"""A task for a robot that is stopped is refused at once, and a task that a stop ends says so."""

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from quartet_contracts import State, TaskCode
from support.http_server import serve_app

TOKEN = "a-token-that-only-stops"
SENTENCE = {"sentence": "pick up the red coke can"}


class StopService:
    """The robots' states, as the stop service has them."""

    def __init__(self):
        self.latched, self.url = {"summit": True}, ""
        self.app = Starlette(routes=[Route("/state", self._state)])

    async def _state(self, _request):
        states = {
            name: {"latched": latched, "stopped": latched, "standstill": True, "reason": "the child came in"}
            for name, latched in self.latched.items()
        }
        return JSONResponse({"robots": states})


@pytest.fixture
async def stop_service():
    service = StopService()
    async with serve_app(service.app) as url:
        service.url = url
        yield service


async def test_a_task_for_a_stopped_robot_is_refused_with_what_to_do(start, stop_service, model, do):
    model.say(do.report(False))
    async with start(stop_url=stop_service.url, stop_button_token=TOKEN) as client:
        for body in (SENTENCE, {**SENTENCE, "robot": "summit"}):
            refused = await client.http.post("/tasks", json=body)
            assert refused.status_code == 409, refused.text
            assert "summit: stopped (the child came in)" in refused.json()["detail"]
            assert "`quartet reset`" in refused.json()["detail"]
        assert (await client.http.get("/tasks")).json()["tasks"] == []
        assert model.requests == []
        stop_service.latched["summit"] = False
        assert (await client.http.post("/tasks", json=SENTENCE)).status_code == 202


async def test_a_free_robot_takes_a_task_for_any_and_a_task_that_was_accepted_stays_so(start, stop_service, model, do):
    model.say(do.report(False), do.report(False))
    stop_service.latched = {"summit": True, "second": False}
    key = {"Idempotency-Key": "k1"}
    async with start(stop_url=stop_service.url, stop_button_token=TOKEN) as client:
        accepted = await client.http.post("/tasks", json=SENTENCE, headers=key)
        assert accepted.status_code == 202
        stop_service.latched["second"] = True
        again = await client.http.post("/tasks", json=SENTENCE, headers=key)
        assert again.json()["task"]["task_id"] == accepted.json()["task"]["task_id"]


async def test_a_stop_service_that_does_not_answer_refuses_nothing(start, model, do):
    model.say(do.report(False))
    async with start(stop_url="http://127.0.0.1:9", stop_button_token=TOKEN) as client:
        assert (await client.http.post("/tasks", json=SENTENCE)).status_code == 202


@pytest.mark.parametrize("code", [TaskCode.AMBIGUOUS, TaskCode.NOT_UNDERSTOOD, TaskCode.STOPPED, TaskCode.NONE])
async def test_the_model_says_what_it_did_not_understand_and_not_who_stopped_it(client, model, do, code):
    name, arguments = do.report(False)
    model.say((name, {**arguments, "error_code": str(code)}))
    status = await client.run()
    own = code in {TaskCode.AMBIGUOUS, TaskCode.NOT_UNDERSTOOD}
    assert (status.state, status.report.error_code) == (State.FAILED, code if own else TaskCode.UNKNOWN)


async def test_a_canceled_task_has_a_code_of_its_own(client, model):
    model.say(("ask_person", {"question": "Which?"}))
    task_id = await client.submit()
    await client.until_state(task_id, State.PAUSED)
    await client.http.post(f"/tasks/{task_id}/cancel")
    await client.until_state(task_id, State.CANCELED)
    assert (await client.status(task_id)).report.error_code == TaskCode.CANCELED


@pytest.mark.parametrize(("holds", "asked"), [("EMPTY", False), ("HOLDING", True)])
async def test_the_gripper_is_looked_at_before_it_is_asked_where_to_put_it(client, model, do, world, holds, asked):
    world.grasp = holds
    model.say(("ask_person", {"question": "Where shall I put it?"}), do.report(False))
    task_id = await client.submit(sentence="put it back, please")
    if asked:
        await client.until_state(task_id, State.PAUSED)
        await client.http.post(f"/tasks/{task_id}/cancel")
        return
    await client.events(task_id)
    (result,) = model.results()
    assert result["error_code"] == "NOTHING_HELD"
    assert result["message"].startswith("the gripper holds nothing, and the sentence does not name what is to be put\n")
