"""Quartet as a tool: the stock MCP client at the orchestrator's /mcp, over HTTP."""

import asyncio
import base64
import contextlib
import json

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quartet_contracts import State
from quartet_orchestrator.mcp import following
from quartet_orchestrator.stop_client import StopClient, describe_stop
from quartet_process import REGISTRY
from support.http_server import serve_app

SENTENCE = {"sentence": "put the red coke can on the sofa table"}
ASK = ("ask_person", {"question": "Which table?"})
LONG_S = 60
MODES = ["auto", "legacy"]
"""The newest protocol, and the handshake that desktop assistants still speak."""
in_both = pytest.mark.parametrize("mcp", MODES, indirect=True)


@contextlib.asynccontextmanager
async def connected(at, **options):
    """A client with the credential of `at`, a person's client of the HTTP API."""
    headers = {"authorization": at.http.headers["authorization"]}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=LONG_S) as http,
        Client(streamable_http_client(f"{at.http.base_url}/mcp", http_client=http), **options) as client,
    ):
        yield client


async def call(mcp, tool, **arguments):
    """The structured result of a call that must work."""
    result = await mcp.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    assert json.loads(result.content[0].text) == result.structured_content, "older clients read the text"
    return result.structured_content


async def refusal(mcp, tool, **arguments):
    result = await mcp.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return result.content[0].text


async def until_asked(mcp, task_id):
    view = await call(mcp, "task_status", task_id=task_id, wait_s=LONG_S)
    assert view["question"] is not None, view
    return view["question"]


@pytest.fixture
async def mcp(request, client):
    """Held by one task from its beginning to its end, as the client wants it; a fixture is run by two."""
    made, done = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def hold():
        async with connected(client, mode=getattr(request, "param", MODES[0])) as connection:
            made.set_result(connection)
            await done.wait()

    holding = asyncio.create_task(hold())
    await asyncio.wait({holding, made}, return_when=asyncio.FIRST_COMPLETED)
    yield made.result() if made.done() else await holding
    done.set()
    await holding


@in_both
async def test_a_task_is_run_to_its_end(mcp, model, do):
    model.say(do.approach(), do.pick(), do.place(), do.report(True, ("red coke can", "wooden coffee table", True)))
    begun = await call(mcp, "run_task", **SENTENCE)
    assert (begun["ended"], begun["robot"], begun["sentence"]) == (False, "summit", SENTENCE["sentence"])
    view = await call(mcp, "task_status", task_id=begun["task_id"], wait_s=LONG_S)
    assert (view["state"], view["ended"], view["report"]["success"]) == ("SUCCEEDED", True, True)
    assert view["report"]["objects"][0]["completed"]


@pytest.mark.parametrize(("chosen", "timeout_s"), [({}, 7200.0), ({"timeout_s": 60}, 60.0)])
async def test_a_task_has_the_deployment_s_time_unless_a_caller_names_one(start, chosen, timeout_s):
    async with start(task_timeout_s=7200.0) as client:
        async with connected(client, mode=MODES[0]) as mcp:
            tasks = [(await call(mcp, "run_task", **SENTENCE, **chosen))["task_id"]]
        tasks.append(await client.submit("put the red coke can on the sofa table", **chosen))
        arguments = {"object_name": "red coke can"}
        answer = await client.http.post("/skills/pick", json=arguments, params={"robot": "summit", **chosen})
        tasks.append(answer.json()["task"]["task_id"])
        assert [(await client.status(task)).task.timeout_s for task in tasks] == [timeout_s] * 3


@in_both
async def test_who_waits_hears_the_steps(mcp, model, do, monkeypatch):
    monkeypatch.setattr(following, "STILL_S", 1e9)
    model.say(do.approach(), do.report(False, summary="nothing was there"))
    told = []

    async def hear(progress, _total, message):
        told.append((progress, message))

    result = await mcp.call_tool("run_task", {**SENTENCE, "wait_s": LONG_S}, progress_callback=hear)
    assert result.structured_content["ended"]
    assert [number for number, _ in told] == list(range(1, len(told) + 1))
    lines = [line for _, line in told]
    assert any(line.startswith("orchestrator: → approach: go to the red coke can") for line in lines), lines
    assert any(line.startswith("approach: ✓") for line in lines), lines
    assert not any("thinks" in line or "waits for the agent" in line for line in lines), "steps, and no more"


async def test_who_waits_for_a_long_step_hears_that_it_goes_on(mcp, model, do, agents, monkeypatch):
    monkeypatch.setattr(following, "STILL_S", 0.05)
    go, heard = agents.hold("approach"), asyncio.Event()
    model.say(do.approach(), do.report(False))

    async def hear(_progress, _total, message):
        if message == "approach: waits for the agent":
            heard.set()

    running = asyncio.create_task(mcp.call_tool("run_task", {**SENTENCE, "wait_s": LONG_S}, progress_callback=hear))
    async with asyncio.timeout(LONG_S):
        await heard.wait()
    go.set()
    assert (await running).structured_content["ended"]


async def test_waiting_ends_when_its_time_is_over(mcp, model, do, agents):
    go = agents.hold("approach")
    model.say(do.approach(), do.report(False))
    begun = await call(mcp, "run_task", **SENTENCE, wait_s=0.3)
    assert not begun["ended"]
    go.set()
    assert (await call(mcp, "task_status", task_id=begun["task_id"], wait_s=LONG_S))["ended"]


async def test_the_same_key_is_the_same_task(mcp, model, do):
    model.say(do.report(False))
    first = await call(mcp, "run_task", **SENTENCE, key="k-1")
    assert (await call(mcp, "run_task", **SENTENCE, key="k-1"))["task_id"] == first["task_id"]
    assert "Idempotency key reused" in await refusal(mcp, "run_task", sentence="fetch the bottle", key="k-1")


async def test_a_task_is_canceled(mcp, client, model, do, agents):
    agents.answers["approach"] = [agents.until_canceled]
    model.say(do.approach())
    begun = await call(mcp, "run_task", **SENTENCE)
    await agents.started.wait()
    await call(mcp, "cancel_task", task_id=begun["task_id"], reason="the guest left")
    view = await call(mcp, "task_status", task_id=begun["task_id"], wait_s=LONG_S)
    assert view["state"] == "CANCELED"
    assert "the guest left" in view["report"]["summary"]


@in_both
async def test_a_question_ends_the_waiting_and_takes_the_persons_words(mcp, model, do):
    model.say(ASK, do.report(False))
    view = await call(mcp, "run_task", **SENTENCE, wait_s=LONG_S)
    assert (view["question"]["text"], view["question"]["needs_a_person"]) == ("Which table?", False)
    assert "answer" in view["next"]
    task_id = view["task_id"]
    assert "text: pass the person's answer" in await refusal(mcp, "answer", task_id=task_id)
    await call(mcp, "answer", task_id=task_id, text="the wooden one")
    assert (await call(mcp, "task_status", task_id=task_id, wait_s=LONG_S))["ended"]
    assert model.results() == [{"ok": True, "answer": "the wooden one"}]


class Person:
    """At a client that can ask: gives the answers in order, and keeps what it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    async def __call__(self, _context, form):
        self.asked.append(form)
        return self.answers.pop(0)


def says(text):
    return ElicitResult(action="accept", content={"answer": text})


async def test_a_client_that_can_ask_has_its_person_answer(client, model, do):
    model.say(ASK, do.report(False))
    person = Person(says("the wooden one"))
    async with connected(client, elicitation_callback=person) as mcp:
        view = await call(mcp, "run_task", **SENTENCE, wait_s=LONG_S)
    assert view["ended"]
    assert [form.message for form in person.asked] == ["Which table?"]
    assert model.results() == [{"ok": True, "answer": "the wooden one"}]
    assert len((await client.http.get("/tasks")).json()["tasks"]) == 1, "the call with the answer is no second task"


async def test_a_person_who_puts_a_question_aside_leaves_it_open(client, model, do):
    model.say(ASK, do.report(False))
    person = Person(ElicitResult(action="cancel"))
    async with connected(client, elicitation_callback=person) as mcp:
        view = await call(mcp, "run_task", **SENTENCE, wait_s=LONG_S)
        assert view["question"]["text"] == "Which table?"
        person.answers.append(says("any"))
        await call(mcp, "answer", task_id=view["task_id"])
        assert (await call(mcp, "task_status", task_id=view["task_id"], wait_s=LONG_S))["ended"]
    assert model.results() == [{"ok": True, "answer": "any"}]


@in_both
async def test_no_model_gives_a_persons_yes(mcp, client, model, do, asking):
    asking()
    model.say(do.approach(), do.report(False))
    begun = await call(mcp, "run_task", **SENTENCE)
    question = await until_asked(mcp, begun["task_id"])
    assert question["needs_a_person"]
    for words in ({"text": "yes"}, {}):
        assert "A person must answer" in await refusal(mcp, "answer", task_id=begun["task_id"], **words)
    assert (await until_asked(mcp, begun["task_id"])) == question, "it is still open"
    answer = await client.http.post(f"/tasks/{begun['task_id']}/answer", json={"text": "no"})
    assert answer.status_code == 200, "a person answers elsewhere"
    assert (await call(mcp, "task_status", task_id=begun["task_id"], wait_s=LONG_S))["ended"]
    assert not asking.decision.allowed


@pytest.mark.parametrize(
    ("word", "allowed"),
    [(says("yes"), True), (says("no"), False), (ElicitResult(action="decline"), False)],
)
async def test_a_persons_word_on_a_call_comes_through_the_client(client, model, do, asking, word, allowed):
    asking()
    model.say(do.approach(), do.report(False))
    person = Person(word)
    async with connected(client, elicitation_callback=person) as mcp:
        assert (await call(mcp, "run_task", **SENTENCE, wait_s=LONG_S))["ended"]
    (form,) = person.asked
    assert form.message.startswith("May approach of robot summit do this once")
    assert form.requested_schema["properties"]["answer"]["enum"] == ["yes", "no"]
    assert asking.decision.allowed is allowed


WRONG = [
    ("run_task", {"sentence": "   "}, "sentence: "),
    ("run_task", {"sentence": "?!"}, "the sentence has no words"),
    ("run_task", {}, "sentence: Field required"),
    ("run_task", {**SENTENCE, "robot": "nobody"}, "there is no robot 'nobody'; valid: summit"),
    ("run_task", {**SENTENCE, "wait_s": -1}, "wait_s: "),
    ("run_task", {**SENTENCE, "timeout_s": "soon"}, "timeout_s: "),
    ("run_task", {**SENTENCE, "speed": 3}, "speed: Extra inputs"),
    ("run_task", {**SENTENCE, "robot_name": "summit", "sessionId": "s"}, "robot_name: Extra inputs"),
    ("run_task", {"sentence": "", "chatInput": "hi"}, "sentence: "),
    ("run_task", {"sentence": None}, "sentence: "),
    ("run_task", {**SENTENCE, "key": "two words"}, "Idempotency key not valid"),
    ("task_status", {"task_id": "t-none"}, "there is no task 't-none'"),
    ("task_status", {"task_id": "../../etc"}, "task_id: "),
    ("answer", {"task_id": "t-none", "text": "yes"}, "there is no task 't-none'"),
    ("cancel_task", {"task_id": "t-none"}, "there is no task 't-none'"),
    ("look", {"robot": "nobody"}, "there is no robot 'nobody'; valid: summit"),
    ("look", {"camera": "rear"}, "camera: "),
    ("look", {}, "No picture"),
    ("list_robots", {"all": True}, "list_robots takes: nothing"),
    ("dance", {}, "there is no tool 'dance'; valid: run_task"),
    ("stop", {}, "there is no tool 'stop'"),
]


async def test_wrong_calls_are_told_what_is_right(mcp, client):
    for tool, arguments, words in WRONG:
        assert words in await refusal(mcp, tool, **arguments), (tool, arguments)
    assert (await client.http.get("/tasks")).json()["tasks"] == []


OF_CLIENTS = [
    {"toolCallId": "call_x", "sessionId": "s", "action": "sendMessage", "chatInput": "hi"},
    {"tool": "run_task", "tool_call_id": "x", "_meta": {}, "__user__": {"id": 1}, "thread_id": 7, "metadata": None},
    {"headers": {}, "params": {}, "query": {}, "body": {}, "webhookUrl": "http://x", "executionMode": "test"},
]


@in_both
@pytest.mark.parametrize("extra", OF_CLIENTS)
async def test_fields_that_a_client_adds_are_ignored_and_mentioned(mcp, model, do, extra):
    model.say(do.report(False))
    before = repaired("extra")
    result = await mcp.call_tool("run_task", {**SENTENCE, **extra, "wait_s": LONG_S})
    assert not result.is_error, result.content[0].text
    assert result.structured_content["ended"]
    note = str(result.content[-1])
    assert all(name in note for name in extra)
    assert repaired("extra") == before + 1
    assert not (await mcp.call_tool("list_robots", extra)).is_error


async def test_optional_arguments_that_are_empty_are_left_out(mcp, model, do):
    model.say(do.report(False))
    before = repaired("empty")
    given = {**SENTENCE, "wait_s": None, "robot": "", "key": "", "timeout_s": ""}
    result = await mcp.call_tool("run_task", given)
    assert not result.is_error, result.content[0].text
    task_id = result.structured_content["task_id"]
    assert "key" in str(result.content[-1])
    result = await mcp.call_tool("task_status", {"task_id": task_id, "wait_s": str(LONG_S)})
    assert result.structured_content["ended"]
    assert not (await mcp.call_tool("cancel_task", {"task_id": task_id, "reason": None})).is_error
    assert repaired("empty") == before + 2


def repaired(kind):
    labels = {"agent": "mcp_client", "kind": kind}
    return REGISTRY.get_sample_value("quartet_repaired_calls_total", labels) or 0.0


async def test_a_task_that_asks_nothing_takes_no_answer(mcp, model, do):
    model.say(do.report(False))
    view = await call(mcp, "run_task", **SENTENCE, wait_s=LONG_S)
    assert "is FAILED and asks nothing now" in await refusal(mcp, "answer", task_id=view["task_id"], text="yes")


async def test_without_the_credential_nothing_is_served(client):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with httpx2.AsyncClient(headers={"Accept": "application/json, text/event-stream"}) as http:
        for token in ("", "Bearer wrong", f"Bearer {'x' * 40}", "Basic eDp5"):
            answer = await http.post(f"{client.http.base_url}/mcp", json=body, headers={"Authorization": token})
            assert answer.status_code == 401, token
            assert answer.headers["www-authenticate"].startswith("Bearer")
        with pytest.raises((MCPError, httpx2.HTTPError, ExceptionGroup)):
            async with Client(streamable_http_client(f"{client.http.base_url}/mcp", http_client=http)) as mcp:
                await mcp.list_tools()


async def test_the_robots_are_listed(mcp):
    (robot,) = (await call(mcp, "list_robots"))["robots"]
    assert (robot["name"], robot["task"]) == ("summit", None)


async def test_cameras_are_looked_through(start, settings, perception, motion):
    async with serve_app(perception.mcp.http_app(path="/mcp"), lifespan="on") as url:
        servers = {"summit": {**settings.servers["summit"], "perception": f"{url}/mcp"}}
        async with start(servers=servers) as client, connected(client) as mcp:
            result = await mcp.call_tool("look", {"camera": "both"})
            assert result.structured_content == {"robot": "summit", "cameras": ["front", "arm"], "area": "kitchen"}
            pictures = [base64.b64decode(block.data) for block in result.content if block.type == "image"]
            assert pictures == [b"jpeg of front", b"jpeg of arm"]
            # What was seen a moment ago may be shown once more, so this is another orchestrator.
            perception.broken = True
        async with start(servers=servers) as client, connected(client) as mcp:
            assert "CAMERA_UNAVAILABLE: no camera" in await refusal(mcp, "look")


class StopService:
    """Two robots; summit brakes for a moment, the other's guard is out of reach."""

    TOKEN = "a-token-that-only-stops"

    def __init__(self):
        self.orders, self.looks, self.gone = [], 0, False
        self.app = Starlette(routes=[Route("/stop", self._stop, methods=["POST"]), Route("/state", self._state)])

    def _states(self):
        done = self.looks >= 2
        return {
            "summit": {"stopped": True, "standstill": True if done else None, "guard": {}},
            "second": {"stopped": False, "standstill": None, "guard": {"error": "it did not answer within 2 s"}},
        }

    async def _stop(self, request: Request):
        if request.headers.get("authorization") != f"Bearer {self.TOKEN}":
            return JSONResponse({"title": "Unauthorized", "status": 401, "detail": "send a token"}, 401)
        order = await request.json()
        self.orders.append(order)
        if order.get("robot") == "nobody":
            return JSONResponse({"title": "No such robot", "status": 404, "detail": "valid: second, summit"}, 404)
        named = order.get("robot")
        found = {name: state for name, state in self._states().items() if named in (None, name)}
        return JSONResponse({"stopped": named == "summit", "robots": found}, 200 if named == "summit" else 502)

    async def _state(self, request: Request):
        self.looks += 1
        if self.gone:
            return Response("bad gateway", 502)
        return JSONResponse({"robots": self._states()})


async def test_stop_goes_to_the_stop_service_with_a_credential_of_its_own(start):
    service = StopService()
    async with serve_app(service.app) as url:
        async with start(stop_url=url, stop_button_token=StopService.TOKEN) as client, connected(client) as mcp:
            one = await call(mcp, "stop", robot="summit", reason="somebody is in the way")
            assert service.orders == [{"robot": "summit", "reason": "somebody is in the way"}]
            assert (one["stopped"], one["robots"]) == (True, {"summit": "stopped, at standstill"})
            assert "quartet reset" in one["next"]
            everyone = await call(mcp, "stop")
            assert not everyone["stopped"]
            assert "it did not answer within 2 s" in everyone["robots"]["second"]
        token = "a-token-of-nobody-at-all"
        async with start(stop_url=url, stop_button_token=token) as client, connected(client) as mcp:
            assert "refused (401)" in await refusal(mcp, "stop")


ALL, SUMMIT = None, "summit"
STOPS = [
    ({"robot": "summit", "toolCallId": "x", "speed": 3}, SUMMIT),
    ({"robot": "summit", "reason": None}, SUMMIT),
    ({"robot": "summit", "reason": "x" * 5000}, SUMMIT),
    ({"robot": "summit", "reason": {"why": "a child"}}, SUMMIT),
    ({"robot": "", "sessionId": "s"}, ALL),
    ({"robot": None}, ALL),
    ({"robot": "nobody"}, ALL),
    ({"robot": "../summit"}, ALL),
    ({"robot": ["summit"]}, ALL),
    ({"robot": 7}, ALL),
    ({"robot": "summit", "robots": ["summit", "second"]}, ALL),
    ({"robot_name": "summit"}, ALL),
]


async def test_a_stop_is_never_rejected_for_its_arguments(start):
    service = StopService()
    service.looks = 2
    async with (
        serve_app(service.app) as url,
        start(stop_url=url, stop_button_token=StopService.TOKEN) as client,
        connected(client) as mcp,
    ):
        for arguments, robot in STOPS:
            for tool in ("stop", "mcp__quartet__stop"):
                result = await mcp.call_tool(tool, arguments)
                assert not result.is_error, (arguments, result.content)
                assert service.orders.pop().get("robot") == robot, arguments


async def test_a_sentence_that_orders_to_stop_stops_and_is_no_task(start):
    service = StopService()
    async with (
        serve_app(service.app) as url,
        start(stop_url=url, stop_button_token=StopService.TOKEN) as client,
        connected(client) as mcp,
    ):
        answer = await client.http.post("/tasks", json={"sentence": "Halt, sofort!", "robot": "summit"})
        assert (answer.status_code, answer.json()["title"]) == (409, "Stopped")
        assert "summit: stopped, at standstill" in answer.json()["detail"]
        assert [order["robot"] for order in service.orders] == ["summit"]
        said = await refusal(mcp, "run_task", sentence="stop")
        assert "Not stopped: second: its guard has not confirmed" in said
        assert "robot" not in service.orders[1], "all of them"
        assert (await client.http.get("/tasks")).json()["tasks"] == []


async def test_an_order_to_stop_without_a_stop_service_is_told_loudly(client):
    answer = await client.http.post("/tasks", json={"sentence": "stop"})
    assert (answer.status_code, answer.json()["title"]) == (503, "Not stopped")
    assert "NOTHING was stopped" in answer.json()["detail"]


async def test_a_press_that_worked_counts_though_the_service_is_gone_then():
    service = StopService()
    service.gone = True
    async with serve_app(service.app) as url:
        found = await StopClient(url, lambda: StopService.TOKEN).stop("summit", "somebody is in the way")
    assert service.looks == 1
    assert {name: describe_stop(state) for name, state in found.items()} == {"summit": "stopped, not yet at standstill"}


async def test_a_stop_service_that_is_away_is_told_as_such(start):
    changes = {"stop_url": "http://127.0.0.1:9", "stop_button_token": StopService.TOKEN}
    async with start(**changes) as client, connected(client) as mcp:
        assert "was not reached" in await refusal(mcp, "stop")


async def test_what_the_tools_say_of_themselves(client):
    async with connected(client) as mcp:
        tools = {tool.name: tool for tool in (await mcp.list_tools()).tools}
    assert set(tools) == {"run_task", "task_status", "answer", "cancel_task", "look", "list_robots"}
    reading = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
    assert reading == {"task_status", "look", "list_robots"}
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())


async def test_state_of_a_task_that_another_way_began(mcp, client, model, do):
    model.say(do.report(False))
    task_id = await client.submit()
    await client.until_state(task_id, State.FAILED)
    assert (await call(mcp, "task_status", task_id=task_id))["state"] == "FAILED"
