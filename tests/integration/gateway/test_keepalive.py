"""Signs of life of a gateway whose model takes its time."""

import json

import httpx
import pytest

from quartet_contracts import KEEPALIVE_HEADER
from quartet_gateway import AGENTS, keepalive
from support.http_server import serve_app

pytestmark = pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")
ASKS = {KEEPALIVE_HEADER: "1"}


def content(provider, timeout_s=60.0):
    """A gateway's file with one model, which is asked once."""
    return {
        "models": {"main": {"model": "hosted_vllm/double", "api_base": provider.url}},
        "agents": {agent: {"model": "main"} for agent in AGENTS},
        "retries": {"timeout_s": timeout_s, "timeout_attempts": 1},
    }


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(keepalive, "KEEPALIVE_S", 0.05)


async def test_while_a_model_thinks_the_caller_hears_that_the_gateway_lives(gateway, provider):
    provider.plan = ["hang"]
    made = gateway(content(provider))
    body = {"model": "pick", "messages": [{"role": "user", "content": "hi"}]}
    async with (
        serve_app(made.app) as url,
        httpx.AsyncClient(timeout=60, trust_env=False) as http,
        http.stream("POST", f"{url}/v1/chat/completions", json=body, headers=ASKS) as response,
    ):
        assert float(response.headers[KEEPALIVE_HEADER]) == 0.05
        chunks = aiter(response.aiter_bytes())
        heard = await anext(chunks)
        while len(heard) < 3:
            heard += await anext(chunks)
        assert heard.isspace()
        provider.release()
        answer = json.loads(heard + b"".join([chunk async for chunk in chunks]))
    assert answer["choices"][0]["message"]["content"] == "I pick."


async def test_a_model_that_fails_late_is_an_error_in_the_body(gateway, provider):
    provider.plan = ["hang"] * 9
    response = await gateway(content(provider, timeout_s=1.0)).ask(headers=ASKS)
    assert response.status_code == 200
    assert response.json()["error"]["code"] == "model_timeout"


async def test_an_answer_in_time_has_its_own_status_and_says_how_often_a_byte_comes(gateway, provider, monkeypatch):
    monkeypatch.setattr(keepalive, "KEEPALIVE_S", 60.0)
    made = gateway(content(provider))
    assert (await made.ask(headers=ASKS)).headers[KEEPALIVE_HEADER] == "60"
    assert (await made.ask("nobody", headers=ASKS)).status_code == 400


async def test_who_does_not_ask_gets_the_status_however_long_it_takes(gateway, provider):
    provider.plan = ["hang"] * 9
    response = await gateway(content(provider, timeout_s=1.0)).ask()
    assert response.status_code == 504
    assert KEEPALIVE_HEADER not in response.headers
