"""The scripted model over HTTP: OpenAI's format, misbehaviour on demand, its size and speed as a process."""

import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import httpx
import pytest

from quartet_process import Secret
from quartet_scripted_model import Settings, create_app
from quartet_scripted_model.misbehaviour import Draws, Kind
from support.http_server import serve_app

FACTS = {
    "robot": "summit",
    "areas": [{"name": "kitchen", "aliases": [], "landmarks": []}],
    "surfaces": [{"name": "counter", "aliases": [], "area": "kitchen"}],
    "containers": [],
    "objects": [{"name": "red can", "aliases": []}],
}


def tool(name, *properties):
    schema = {"type": "object", "properties": {p: {} for p in properties}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def request_body(sentence="put the red can on the counter", salt="") -> dict[str, Any]:
    return {
        "model": "orchestrator",
        "messages": [
            {"role": "system", "content": f"{salt}\n## Facts\n\n```json\n{json.dumps(FACTS)}\n```"},
            {"role": "user", "content": f"<sentence>{sentence}</sentence>"},
        ],
        "tools": [
            tool("approach", "target_area", "object_name", "next_action"),
            tool("pick", "object_name"),
            tool("place", "target_location", "object_name", "object_height_m"),
            tool("report_task_result", "success", "summary", "objects"),
        ],
    }


def client(**misbehave) -> httpx.AsyncClient:
    settings = Settings(misbehave=misbehave, misbehave_slow_s=0.2)
    return httpx.AsyncClient(transport=httpx.ASGITransport(create_app(settings)), base_url="http://model")


async def ask(http, body):
    response = await http.post("/v1/chat/completions", json=body)
    return response.status_code, response.json()


async def test_a_completion_in_openai_format():
    async with client() as http:
        status, body = await ask(http, request_body())
    assert status == 200
    assert body["object"] == "chat.completion"
    choice = body["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    call = choice["message"]["tool_calls"][0]
    assert call["type"] == "function"
    assert call["function"]["name"] == "approach"
    assert json.loads(call["function"]["arguments"])["object_name"] == "red can"
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["prompt_tokens"] > 100


async def test_pictures_count_as_tokens():
    body = request_body()
    async with client() as http:
        _, plain = await ask(http, body)
        picture = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}}
        body["messages"].append({"role": "user", "content": [{"type": "text", "text": "see"}, picture]})
        _, seen = await ask(http, body)
    assert seen["usage"]["prompt_tokens"] - plain["usage"]["prompt_tokens"] > 700


async def test_models_and_health():
    async with client() as http:
        assert (await http.get("/v1/models")).json()["data"][0]["id"] == "scripted"
        assert (await http.get("/health")).json()["status"] == "ok"


async def test_without_an_agents_tools_it_says_what_it_is():
    async with client() as http:
        _, body = await ask(http, {"messages": [{"role": "user", "content": "hi"}]})
    message = body["choices"][0]["message"]
    assert "not an LLM" in message["content"]
    assert body["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"{", "not JSON"),
        (b"[]", "JSON object"),
        (b"{}", "messages"),
        (b'{"messages": []}', "messages"),
        (b'{"messages": ["x"]}', "messages"),
        (b'{"messages": [{"role": "user", "content": "x"}], "stream": true}', "stream"),
        (b'{"messages": [{"role": ["user"]}]}', "role"),
        (b'{"messages": [{"role": "tool", "tool_call_id": {}, "content": "{}"}]}', "messages"),
        (b'{"messages": [{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": {}}}]}]}', "tool_calls"),
        (b'{"messages": [{"role": "user", "content": "x"}], "tools": 3}', "tools"),
        (b'{"messages": [{"role": "user", "content": "x"}], "tools": [{"function": {"name": {"x": 1}}}]}', "tools"),
        (b'{"messages": [{"role": "user"}], "tools": [{"function": {"name": "x", "parameters": 3}}]}', "tools"),
    ],
)
async def test_a_request_that_makes_no_sense(raw, says):
    async with client() as http:
        response = await http.post("/v1/chat/completions", content=raw)
    assert response.status_code == 400
    assert says in response.json()["error"]["message"]


async def test_its_figures_say_who_asked_and_what_became_of_it():
    """By agent and outcome; of those that went wrong, how; and to nobody without the token."""
    token = "a-token-of-the-metrics"
    app = create_app(Settings(misbehave={"refusal": 1}), metrics_token=Secret.fixed(token))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://model") as http:
        await ask(http, request_body())
        await ask(http, request_body() | {"tools": []})
        await http.post("/v1/chat/completions", content="no JSON")
        assert (await http.get("/metrics")).status_code == 401
        told = (await http.get("/metrics", headers={"Authorization": f"Bearer {token}"})).text
    for line in (
        'quartet_scripted_requests_total{agent="orchestrator",outcome="spoiled"} 1.0',
        'quartet_scripted_requests_total{agent="orchestrator",outcome="ok"} 0.0',
        'quartet_scripted_requests_total{agent="other",outcome="spoiled"} 1.0',
        'quartet_scripted_requests_total{agent="other",outcome="refused"} 1.0',
        'quartet_scripted_spoiled_total{kind="refusal"} 2.0',
        "process_resident_memory_bytes ",
    ):
        assert f"\n{line}" in told, line


# Misbehaviour


async def test_malformed_json():
    async with client(malformed_json=1) as http:
        _, body = await ask(http, request_body())
    arguments = body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    with pytest.raises(json.JSONDecodeError):
        json.loads(arguments)


async def test_unknown_tool():
    body = request_body()
    async with client(unknown_tool=1) as http:
        _, answer = await ask(http, body)
    name = answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"]
    assert name not in {t["function"]["name"] for t in body["tools"]}


async def test_hallucinated_object():
    async with client(hallucinated_object=1) as http:
        _, body = await ask(http, request_body())
    arguments = json.loads(body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])
    assert arguments["object_name"] not in json.dumps(FACTS)


async def test_refusal_and_empty_answer():
    async with client(refusal=1) as http:
        _, body = await ask(http, request_body())
    assert "can't help" in body["choices"][0]["message"]["content"]
    async with client(empty=1) as http:
        _, body = await ask(http, request_body())
    assert body["choices"][0]["message"] == {"role": "assistant", "content": None}


async def test_endless_repetition():
    body = request_body()
    call = {"name": "approach", "arguments": '{"target_area": "kitchen"}'}
    body["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "1", "content": '{"ok": false, "error_code": "INVALID_ARGUMENTS"}'},
    ]
    async with client(repetition=1) as http:
        _, answer = await ask(http, body)
    function = answer["choices"][0]["message"]["tool_calls"][0]["function"]
    assert (function["name"], json.loads(function["arguments"])) == ("approach", {"target_area": "kitchen"})


async def test_rate_limit():
    async with client(rate_limit=1) as http:
        status, body = await ask(http, request_body())
    assert status == 429
    assert body["error"]["code"] == "rate_limit_exceeded"


async def test_a_cut_off_call_has_no_arguments():
    async with client(cut_off=1) as http:
        _, body = await ask(http, request_body())
    choice = body["choices"][0]
    assert (choice["finish_reason"], choice["message"]["tool_calls"][0]["function"]["arguments"]) == ("length", "")


async def test_a_filtered_call():
    async with client(content_filter=1) as http:
        _, body = await ask(http, request_body())
    assert body["choices"][0]["finish_reason"] == "content_filter"
    assert body["choices"][0]["message"]["tool_calls"]


async def test_a_tool_of_another_agent():
    async with client(other_tool=1) as http:
        _, body = await ask(http, request_body())
    assert body["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "ros__call_service"


async def test_arguments_that_fit_no_tool():
    async with client(bad_arguments=1) as http:
        _, body = await ask(http, request_body())
    arguments = json.loads(body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])
    assert not {"target_area", "object_name", "next_action"} & set(arguments)


async def test_the_same_call_twice_under_one_id():
    async with client(same_id=1) as http:
        _, body = await ask(http, request_body())
    first, second = body["choices"][0]["message"]["tool_calls"]
    assert first == second


async def test_no_choices_and_a_huge_answer():
    async with client(no_choices=1) as http:
        assert (await ask(http, request_body()))[1]["choices"] == []
    async with client(huge=1) as http:
        response = await http.post("/v1/chat/completions", json=request_body())
    assert len(response.content) > 15_000_000


@pytest.fixture
def served():
    """`async with served(kind) as (http, body)`: over a real socket, since that is where these kinds go wrong."""

    @contextlib.asynccontextmanager
    async def serve(kind):
        settings = Settings(misbehave={kind: 1}, misbehave_drip_s=0.001)
        async with (
            serve_app(create_app(settings)) as url,
            httpx.AsyncClient(base_url=url, timeout=60) as http,
        ):
            yield http

    return serve


async def test_a_body_that_ends_in_the_middle(served):
    async with served("cut_body") as http:
        response = await http.post("/v1/chat/completions", json=request_body())
    assert response.status_code == 200
    with pytest.raises(json.JSONDecodeError):
        response.json()


async def test_a_connection_that_is_lost_in_the_middle(served):
    async with served("reset") as http:
        with pytest.raises(httpx.RemoteProtocolError):
            await http.post("/v1/chat/completions", json=request_body())


async def test_a_page_of_a_proxy(served):
    async with served("html") as http:
        response = await http.post("/v1/chat/completions", json=request_body())
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")


async def test_drops_that_make_a_whole(served):
    async with served("drip") as http, http.stream("POST", "/v1/chat/completions", json=request_body()) as response:
        chunks = [chunk async for chunk in response.aiter_raw()]
    assert len(chunks) > 20
    assert json.loads(b"".join(chunks))["object"] == "chat.completion"


async def test_silence(served):
    async with served("hang") as http:
        with pytest.raises(httpx.ReadTimeout):
            await http.post("/v1/chat/completions", json=request_body(), timeout=0.3)


async def test_slow():
    async with client(slow=1) as http:
        began = time.monotonic()
        status, _ = await ask(http, request_body())
    assert status == 200
    assert time.monotonic() - began >= 0.2


def test_rates_are_kept_and_a_seed_repeats_them():
    rates = {Kind.REFUSAL: 0.2, Kind.EMPTY: 0.1}
    bodies = [request_body(salt=str(i)) for i in range(2000)]

    def draw(seed):
        draws = Draws(rates, seed)
        return [draws.draw(b) for b in bodies]

    first = draw(7)
    assert first == draw(7)
    assert first != draw(8)
    counts = collections.Counter(first)
    assert counts[Kind.REFUSAL] / 2000 == pytest.approx(0.2, abs=0.03)
    assert counts[Kind.EMPTY] / 2000 == pytest.approx(0.1, abs=0.02)
    assert set(counts) == {None, Kind.REFUSAL, Kind.EMPTY}


def test_a_retry_is_a_new_draw():
    """A rate limit passes, as real ones do."""
    draws = Draws({Kind.RATE_LIMIT: 0.5}, 3)
    body = request_body()
    kinds = [draws.draw(body) for _ in range(40)]
    assert set(kinds) == {None, Kind.RATE_LIMIT}


@pytest.mark.parametrize("misbehave", [{"refusal": 1.2}, {"empty": -0.1}, {"empty": 0.6, "slow": 0.6}])
def test_rates_that_make_no_sense(misbehave):
    with pytest.raises(ValueError, match="QUARTET_MISBEHAVE"):
        create_app(Settings(misbehave=misbehave))


# The process


@pytest.fixture
def start(tmp_path):
    running: list[subprocess.Popen[str]] = []

    def run(**env):
        ready = tmp_path / f"ready{len(running)}.json"
        process = subprocess.Popen(
            [sys.executable, "-m", "quartet_scripted_model"],
            env={**os.environ, "QUARTET_READY_FILE": str(ready), **env},
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        while not ready.exists() and process.poll() is None:
            time.sleep(0.01)
        return process, json.loads(ready.read_text())["url"] if ready.exists() else None

    yield run
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_the_process_is_small(start):
    process, url = start()
    with httpx.Client(timeout=60) as http:
        http.post(f"{url}/v1/chat/completions", json=request_body())
        for i in range(30):
            body = request_body(salt=f"{i}")
            assert http.post(f"{url}/v1/chat/completions", json=body).status_code == 200
    with open(f"/proc/{process.pid}/status") as status:
        rss = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    assert rss <= 60, f"{rss:.0f} MB"
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=60)


def test_a_port_that_is_taken(start):
    _, url = start()
    process, none = start(QUARTET_PORT=url.rpartition(":")[2])
    assert none is None
    assert process.wait(timeout=60) == 2
    assert "cannot be used" in process.stderr.read()


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"QUARTET_MISBEHAVE": '{"rudeness": 1}'}, "malformed_json"),
        ({"QUARTET_MISBEHAVE": '{"refusal": 3}'}, "between 0 and 1"),
        ({"QUARTET_PORT": "99999"}, "QUARTET_PORT"),
    ],
)
def test_settings_that_make_no_sense(start, env, says):
    process, _ = start(**env)
    assert process.wait(timeout=60) == 2
    assert says in process.stderr.read()
