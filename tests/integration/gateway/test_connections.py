"""Connections to providers that lead nowhere."""

import contextlib
import socket

import httpx
import pytest

from quartet_gateway import AGENTS, connections
from support.http_server import ENDLESS_BYTES, serve_endless_answers

pytestmark = pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")
WAITING = 16


@pytest.fixture
def nowhere():
    """Address of a listener whose queue is full: the operating system drops each attempt to connect to it."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(WAITING):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                waiting.connect(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


def with_fallback(gateway, provider, model, url):
    """Return a gateway whose agents have `model` at `url`, and the provider where that fails."""
    return gateway(
        {
            "models": {
                "main": {"model": model, "api_base": url, "api_key_env": "MAIN_KEY"},
                "second": {"model": "hosted_vllm/double", "api_base": provider.url},
            },
            "agents": {agent: {"model": "main", "fallbacks": ["second"]} for agent in AGENTS},
            "retries": {"timeout_s": 60, "total_s": 60},
        },
        env={"MAIN_KEY": "sk-0123456789abcdef"},
    )


@pytest.mark.parametrize("family", ["hosted_vllm", "openai", "anthropic"])
async def test_a_provider_that_cannot_be_reached_leaves_time_for_its_fallback(
    gateway, provider, nowhere, monkeypatch, family
):
    """A try may last as long as all of the request; making a connection may not."""
    monkeypatch.setattr(connections, "CONNECT_S", 0.1)
    made = with_fallback(gateway, provider, f"{family}/nowhere", nowhere)
    response = await made.ask()
    assert response.status_code == 200, response.text
    assert response.json()["quartet"]["model"] == "hosted_vllm/double"


@pytest.mark.parametrize("family", ["hosted_vllm", "openai", "anthropic", "ollama_chat"])
async def test_an_answer_without_end_is_given_up(gateway, provider, monkeypatch, family):
    """A provider that was taken over must not fill the memory of the process that holds the keys of all."""
    monkeypatch.setattr(connections, "MOST_BYTES", 1024 * 1024)
    async with serve_endless_answers() as (url, sent):
        made = with_fallback(gateway, provider, f"{family}/endless", f"{url}/v1")
        response = await made.ask()
    assert response.status_code == 200, response.text
    assert response.json()["quartet"]["model"] == "hosted_vllm/double"
    # What the operating system holds of a connection comes on top.
    assert sent
    assert max(sent) < ENDLESS_BYTES / 2


async def test_a_connection_asks_whether_its_peer_is_there(provider):
    async with httpx.AsyncClient(transport=connections.ProviderTransport()) as client:
        response = await client.post(f"{provider.url}/chat/completions", json={})
        opened = response.extensions["network_stream"].get_extra_info("socket")
        values = [opened.getsockopt(level, option) for level, option, _ in connections.socket_options()]
    assert values == [value for _, _, value in connections.socket_options()]
    assert len(values) == 5
