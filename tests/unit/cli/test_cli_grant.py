"""`quartet grant`: what the token says."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from quartet_cli.main import main

KEY = Ed25519PrivateKey.generate()


@pytest.fixture
def key_file(tmp_path):
    file = tmp_path / "key.pem"
    file.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return str(file)


@pytest.fixture
def grant(key_file, capsys):
    """Run `quartet grant` and return exit status, the claims of the token and what it said."""

    def run(*options):
        with pytest.raises(SystemExit) as end:
            main(["grant", *options, "--robot", "summit", "--key", key_file])
        said = capsys.readouterr()
        token = said.out.strip()
        claims = jwt.decode(token, KEY.public_key(), algorithms=["EdDSA"], audience="robot:summit") if token else None
        return end.value.code or 0, claims, said.err

    return run


@pytest.fixture
def health():
    """A server whose `answers` are the bodies of GET by path; also its address."""
    answers = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path in answers else 404)
            self.end_headers()
            if answers.get(self.path) == "endless":
                with contextlib.suppress(ConnectionError):
                    while True:
                        self.wfile.write(b" " * 65_536)
            self.wfile.write(json.dumps(answers.get(self.path, {})).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield answers, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(("options", "beats"), [((), False), (("--beats",), True)])
def test_a_client_beats_only_if_it_says_so(grant, options, beats):
    status, claims, _ = grant("nav2__spin_robot", "--fence", "8", *options)
    assert status == 0
    assert (claims["beats"], claims["fence"], claims["tools"]) == (beats, 8, ["nav2__spin_robot"])


def test_the_fence_is_one_above_that_of_the_servers(grant, health, monkeypatch):
    answers, url = health
    answers |= {"/summit/health": {"fence": 7}, "/health": {"fence": 11}}
    servers = {"summit": {"nav2": f"{url}/summit/mcp", "moveit": f"{url}/mcp", "ros": "http://127.0.0.1:9/mcp"}}
    monkeypatch.setenv("QUARTET_SERVERS", json.dumps(servers))
    assert grant("nav2__spin_robot")[1]["fence"] == 8
    assert grant("nav2__spin_robot", "moveit__get_scene")[1]["fence"] == 12


def test_a_fence_that_cannot_be_read_is_told(grant, health, monkeypatch):
    answers, url = health
    answers |= {"/old/health": {"status": "ok"}}
    servers = {"nav2": "http://127.0.0.1:9/mcp", "moveit": f"{url}/old/mcp", "perception": f"{url}/mcp"}
    monkeypatch.setenv("QUARTET_SERVERS", json.dumps({"summit": servers}))
    for tool, said in (
        ("nav2__spin_robot", "nav2 does not answer at http://127.0.0.1:9/health"),
        ("moveit__get_scene", f"what answers at {url}/old/health tells no fence"),
        ("perception__look", "tells no fence"),
        ("ros__get_topics", "no address of its server 'ros' is known here (known: moveit, nav2, perception)"),
    ):
        status, claims, error = grant(tool)
        assert (status, claims) == (2, None)
        assert "the fence of 'summit' cannot be read" in error
        assert said in error.replace("\n", " ")
        assert "--fence N" in error


def test_a_token_for_the_gateway_is_for_no_robot(key_file, capsys):
    with pytest.raises(SystemExit) as end:
        main(["grant", "--gateway", "--seconds", "60", "--key", key_file])
    assert not end.value.code
    claims = jwt.decode(capsys.readouterr().out.strip(), KEY.public_key(), algorithms=["EdDSA"], audience="gateway")
    assert (claims["tools"], claims["exp"] - claims["iat"]) == ([], 60)


@pytest.mark.parametrize("options", [[], ["nav2__get_robot_pose", "--gateway"]])
def test_a_grant_is_either_for_tools_or_for_the_gateway(options, grant):
    status, claims, said = grant(*options)
    assert (status, claims) == (2, None)
    assert "name the tools that the client may call" in said


@pytest.mark.parametrize(
    "tool", ["nav3__spin_robot", "nav2__", "nav2__spin__robot__x-y", "spin_robot", "control__stop"]
)
def test_a_name_that_is_none_of_a_tool_is_refused_with_the_servers(tool, grant):
    status, claims, said = grant(tool, "--fence", "1")
    assert (status, claims) == (2, None)
    assert "servers: nav2, moveit, perception, ros" in said.replace("\n", " ")


def test_a_tool_that_a_server_does_not_have_is_refused_with_those_that_it_has(grant, health, monkeypatch):
    answers, url = health
    answers |= {"/health": {"fence": 1, "tools": ["spin_robot", "get_robot_pose"]}}
    monkeypatch.setenv("QUARTET_SERVERS", json.dumps({"summit": {"nav2": f"{url}/mcp"}}))
    assert grant("nav2__spin_robot")[0] == 0
    status, claims, said = grant("nav2__spin_robots")
    assert (status, claims) == (2, None)
    assert "'nav2' has no tool 'spin_robots'; it has: nav2__get_robot_pose, nav2__spin_robot" in said.replace("\n", " ")


def test_an_answer_without_end_is_given_up(grant, health, monkeypatch):
    """Whatever answers at the address."""
    answers, url = health
    answers |= {"/health": "endless"}
    monkeypatch.setenv("QUARTET_SERVERS", json.dumps({"summit": {"nav2": f"{url}/mcp"}}))
    status, _, said = grant("nav2__spin_robot")
    assert status == 2
    assert "longer than 1048576 bytes" in said.replace("\n", " ")
