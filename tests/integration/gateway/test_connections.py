"""Connections to providers that lead nowhere."""

import contextlib
import gzip
import json
import socket
import zlib

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from quartet_gateway import AGENTS, connections
from support.http_server import ENDLESS_BYTES, serve_app, serve_endless_answers

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


def answering(body: bytes, encoding: str) -> Starlette:
    async def answer(_: Request) -> Response:
        return Response(body, media_type="application/json", headers={"Content-Encoding": encoding})

    return Starlette(routes=[Route("/", answer)])


PACK = {"gzip": gzip.compress, "deflate": zlib.compress}


@pytest.mark.parametrize("encoding", PACK)
async def test_an_answer_that_is_compressed_though_nobody_asked_is_unpacked(encoding):
    """Some proxy in front of a provider does so."""
    said = json.dumps({"said": "x" * 300_000}).encode()
    async with (
        serve_app(answering(PACK[encoding](said), encoding), force=True) as url,
        httpx.AsyncClient(transport=connections.ProviderTransport()) as client,
    ):
        response = await client.get(url)
    assert response.content == said
    assert response.request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("body", "encoding", "said"),
    [
        (gzip.compress(bytes(50_000_000)), "gzip", "longer than 16777216 bytes"),
        (gzip.compress(b"x" * 1000)[:-9], "gzip", "breaks off"),
        (b"no gzip at all", "gzip", "cannot be unpacked"),
        (b"x", "br", "compressed (br)"),
        (gzip.compress(gzip.compress(bytes(1000))), "gzip, gzip", "compressed (gzip, gzip)"),
    ],
    ids=["bomb", "torn", "none", "other", "twice"],
)
async def test_an_answer_that_would_grow_beyond_the_limit_is_given_up(body, encoding, said):
    async with (
        serve_app(answering(body, encoding), force=True) as url,
        httpx.AsyncClient(transport=connections.ProviderTransport()) as client,
    ):
        with pytest.raises(httpx.RemoteProtocolError) as given_up:
            await client.get(url)
    assert said in str(given_up.value)
