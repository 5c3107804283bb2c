"""Connections to providers that lead nowhere."""

import asyncio
import contextlib
import gzip
import json
import socket
import struct
import zlib

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from quartet_gateway import AGENTS, connections, litellm_settings
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


def client() -> httpx.AsyncClient:
    """Return a client with the transport that LiteLLM is given."""
    litellm_settings.load()
    return httpx.AsyncClient(transport=litellm_settings.provider_transport())


async def test_a_connection_asks_whether_its_peer_is_there(provider, monkeypatch):
    opened = []

    def note(address):
        opened.append(open_socket(address))
        return opened[-1]

    open_socket = connections.open_socket
    monkeypatch.setattr(connections, "open_socket", note)
    async with client() as http:
        await http.post(f"{provider.url}/chat/completions", json={})
        values = [opened[0].getsockopt(level, option) for level, option, _ in connections.socket_options()]
    assert len(opened) == 1
    assert values == [value for _, _, value in connections.socket_options()]
    assert len(values) == 5


async def test_a_connection_that_breaks_is_none_that_could_not_be_made(gateway, provider):
    async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async with await asyncio.start_server(reset, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with client() as http:
            with pytest.raises(httpx.ReadError):
                await http.post(url, content=b"{}")
            server.close()
            await server.wait_closed()
            with pytest.raises(httpx.ConnectError):
                await http.post(url, content=b"{}")


async def test_what_comes_through_a_proxy_of_the_environment_has_the_same_limit(monkeypatch):
    bomb = Response(gzip.compress(bytes(50_000_000)), headers={"Content-Encoding": "gzip"})
    async with serve_app(bomb, lifespan="off", force=True) as url, client() as http:
        monkeypatch.setenv("HTTP_PROXY", url)
        with pytest.raises(httpx.RemoteProtocolError, match="longer than"):
            await http.get("http://provider.invalid/")


@pytest.mark.parametrize("family", ["hosted_vllm", "openai"])
async def test_a_model_inside_the_site_is_asked_without_the_proxy_of_the_environment(
    gateway, provider, monkeypatch, family
):
    """Case 23: an image of a company sets HTTP_PROXY, which does not reach this machine."""
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    made = gateway(
        {
            "models": {"main": {"model": f"{family}/double", "api_base": provider.url, "api_key_env": "MAIN_KEY"}},
            "agents": {agent: {"model": "main"} for agent in AGENTS},
        },
        env={"MAIN_KEY": "sk-0123456789abcdef"},
    )
    response = await made.ask()
    assert response.status_code == 200, response.text


async def test_no_cookie_is_sent_back():
    asked = []

    async def answer(request: Request) -> Response:
        asked.append(request.headers.get("cookie"))
        return Response("{}", headers={"Set-Cookie": "session=1; Path=/"})

    async with serve_app(Starlette(routes=[Route("/", answer)]), force=True) as url:
        handler = litellm_settings.load().AsyncHTTPHandler()
        for _ in range(2):
            await handler.get(url)
        await handler.close()
    assert asked == [None, None]


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
        client() as http,
    ):
        response = await http.get(url)
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
        client() as http,
    ):
        with pytest.raises(httpx.RemoteProtocolError) as given_up:
            await http.get(url)
    assert said in str(given_up.value)
