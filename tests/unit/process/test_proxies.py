"""A proxy of the environment is asked for hosts outside the site only, whatever client asks."""

import ast
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from quartet_process.bounded_answers import blocking_client
from quartet_process.proxies import uses_proxy

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("benchmarks", "cli", "deploy", "libs", "mcp-servers", "research", "services", "simulation")
CLIENTS = {"Client", "AsyncClient", "get", "post", "put", "delete", "head", "request", "stream"}


@pytest.fixture(autouse=True)
def proxy(monkeypatch):
    """A proxy that is not there, as the only one of the environment."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    return monkeypatch


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1.2.3", "[::1]", "localhost", "LOCALHOST", "localhost.", "172.17.0.1", "10.0.0.5",
        "192.168.1.20", "169.254.1.1", "100.64.0.7", "[fe80::1]", "[fd00::7]", "ollama", "robot.local",
        "host.docker.internal", "gpu.lan",
    ],
)  # fmt: skip
def test_a_host_inside_is_asked_directly(host):
    assert not uses_proxy(f"http://{host}:8000/v1")


@pytest.mark.parametrize("url", ["http://1.1.1.1/", "https://[2606:4700::1111]/", "https://api.provider.invalid/v1"])
def test_a_host_outside_is_asked_through_the_proxy(url):
    assert uses_proxy(url)


def test_a_name_inside_is_known_by_its_addresses(monkeypatch):
    found = {"gpu.lab.example": ["10.1.2.3", "fd00::7"], "both.lab.example": ["10.1.2.3", "1.1.1.1"]}
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *_, **__: [(0, 0, 0, "", (address, 0)) for address in found[host]]
    )
    assert not uses_proxy("http://gpu.lab.example:8000")
    assert uses_proxy("http://both.lab.example:8000")


def test_no_proxy_of_the_environment_counts(proxy):
    proxy.setenv("NO_PROXY", "provider.invalid")
    assert not uses_proxy("https://api.provider.invalid/")


def test_without_a_proxy_no_name_is_resolved(proxy):
    proxy.delenv("HTTPS_PROXY")
    proxy.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("resolved"))
    assert not uses_proxy("https://api.provider.invalid/")


class Answering(BaseHTTPRequestHandler):
    """Answers each request with what it was asked for: a path, or as a proxy a whole URL."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_message(self, *_):
        """Do not log."""


def test_a_client_that_blocks_follows_the_decision(proxy):
    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        proxy.setenv("HTTP_PROXY", url)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with blocking_client(base_url=url) as inside, blocking_client(base_url="http://there.invalid") as outside:
            assert inside.get("/truth").text == "/truth"
            assert outside.get("/tasks").text == "http://there.invalid/tasks"
        with blocking_client() as of_the_site:
            assert of_the_site.get(f"{url}/health").text == "/health"
        server.shutdown()


def _calls():
    """Yield the place and the arguments of each call that opens an HTTP or WebSocket client."""
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            if "site-packages" in path.parts or "escapes" in path.parts:
                continue
            tree = ast.parse(path.read_text())
            sockets = {
                name.name
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("websockets")
                for name in node.names
            }
            for node in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
                given = {word.arg: word.value for word in node.keywords}
                where = f"{path.relative_to(ROOT)}:{node.lineno}"
                match node.func:
                    case ast.Attribute(ast.Name("httpx" | "httpx2"), name) if name in CLIENTS:
                        yield where, given, "trust_env"
                    case ast.Name("connect") if "connect" in sockets:
                        yield where, given, "proxy"
                    case _:
                        pass


def test_each_client_states_that_it_uses_no_proxy_or_asks():
    """`blocking_client` asks. urllib, requests and aiohttp occur where the decision is made, and in the chart's job."""
    calls = list(_calls())
    assert len(calls) > 20
    undecided = [where for where, given, word in calls if word not in given and "bounded_answers.py" not in where]
    assert not undecided, f"these clients may use HTTP_PROXY for a host inside: {undecided}"
