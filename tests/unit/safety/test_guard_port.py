"""The guard's HTTP port: who is let in, and what it is not opened with."""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quartet_bringup.errors import ParameterError
from quartet_bringup.guard.parameters import listen
from quartet_safety.errors import GuardPortError
from quartet_safety.guard import MAX_REASON, GuardPort, GuardStatus, _http_port, token_source
from quartet_safety.guard._http_port import DEFAULT_REASON


@dataclass
class Controls:
    """Notes what it is told."""

    stops: list[str] = field(default_factory=list)
    resets: int = 0

    def stop(self, reason: str) -> str:
        self.stops.append(reason)
        return "stopped"

    def reset(self) -> str:
        self.resets += 1
        return "reset"

    @property
    def status(self) -> GuardStatus:
        return GuardStatus(bool(self.stops), self.stops[-1] if self.stops else "running", None, 12.3456, None)


@pytest.fixture
def controls() -> Controls:
    return Controls()


@pytest.fixture
def opened(controls: Controls) -> Iterator[Callable[..., GuardPort]]:
    ports: list[GuardPort] = []

    def make(**environment: str) -> GuardPort:
        tokens = token_source(environment)
        ports.append(GuardPort(controls, listen("127.0.0.1", 0, tokens), tokens))
        ports[-1].open()
        return ports[-1]

    yield make
    for port in ports:
        port.close()


def ask(port: GuardPort, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection(port.url.removeprefix("http://"), timeout=30)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_without_a_token_everybody_on_this_machine_may_stop(opened: Any, controls: Controls) -> None:
    port = opened()
    assert ask(port, "POST", "/stop", b'{"reason": "a person"}')[0] == 200
    assert ask(port, "GET", "/state") == (
        200,
        {
            "latched": True,
            "reason": "a person",
            "standstill": None,
            "since": 12.346,
            "last_heartbeat_age_s": None,
        },
    )
    assert ask(port, "POST", "/reset?now")[1]["message"] == "reset"
    assert (controls.stops, controls.resets) == (["a person"], 1)


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer ", "Bearer wrong", "secret", "Basic secret", "Bearer secre\u0167"]
)
def test_with_one_nobody_else_may(opened: Any, controls: Controls, given: str) -> None:
    port = opened(QUARTET_GUARD_TOKEN="secret")
    status, answer = ask(port, "POST", "/stop", b"{}", Authorization=given.encode().decode("latin-1"))
    assert (status, controls.stops) == (401, [])
    assert "Authorization: Bearer" in answer["error"]
    assert ask(port, "POST", "/stop", b"{}", Authorization="Bearer secret")[0] == 200


@pytest.mark.parametrize("length", ["-1", "many", "99999999999"])
def test_a_length_that_is_none_stops_all_the_same(opened: Any, controls: Controls, length: str) -> None:
    status, answer = ask(opened(), "POST", "/stop", **{"Content-Length": length})
    assert (status, answer["reason"]) == (200, DEFAULT_REASON)


def test_a_long_reason_is_cut(opened: Any, controls: Controls) -> None:
    assert ask(opened(), "POST", "/stop", json.dumps({"reason": "x" * 9999}).encode())[0] == 200
    assert controls.stops == ["x" * MAX_REASON]


def test_a_stop_that_fails_is_told(opened: Any, controls: Controls, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(reason: str) -> str:
        raise RuntimeError("the context is gone")

    monkeypatch.setattr(controls, "stop", fails)
    status, answer = ask(opened(), "POST", "/stop", b"{}")
    assert status == 500
    assert "the context is gone" in answer["error"]
    assert "use the emergency stop" in answer["error"]


def test_connections_are_kept_open(opened: Any, controls: Controls) -> None:
    connection = http.client.HTTPConnection(opened().url.removeprefix("http://"), timeout=30)
    try:
        for _ in range(3):
            connection.request("POST", "/stop", b"{}")
            assert connection.getresponse().read()
        assert len(controls.stops) == 3
    finally:
        connection.close()


def test_a_flood_of_open_connections_keeps_no_stop_out(opened: Any, controls: Controls, monkeypatch: Any) -> None:
    """Each one costs a thread and a file; those that have shown the token stay."""
    monkeypatch.setattr(_http_port, "REQUEST_S", 1000.0)
    port = opened(QUARTET_GUARD_TOKEN="secret")
    address = port.url.removeprefix("http://")
    host, number = address.split(":")
    trusted = http.client.HTTPConnection(address, timeout=30)
    with contextlib.ExitStack() as stack:
        stack.callback(trusted.close)
        trusted.request("POST", "/stop", b"{}", {"Authorization": "Bearer secret"})
        assert trusted.getresponse().read()
        before = threading.active_count()
        flood = [
            stack.enter_context(socket.create_connection((host, int(number)), timeout=10))
            for _ in range(3 * _http_port.MOST_CONNECTIONS)
        ]
        assert ask(port, "POST", "/stop", b"{}", Authorization="Bearer secret")[0] == 200
        assert flood[0].recv(1) == b"", "the one that is open for longest is closed"
        for one in flood[: 2 * _http_port.MOST_CONNECTIONS]:
            assert one.recv(1) == b""
        end = time.monotonic() + 30
        while threading.active_count() > before + _http_port.MOST_CONNECTIONS:
            assert time.monotonic() < end, "threads of closed connections stay"
            time.sleep(0.01)
        trusted.request("POST", "/stop", b"{}", {"Authorization": "Bearer secret"})
        assert trusted.getresponse().read()
    assert len(controls.stops) == 3


@pytest.mark.parametrize("origin", ["https://foreign.example", "null", "http://127.0.0.1:8000"])
@pytest.mark.parametrize(("method", "path"), [("POST", "/stop"), ("POST", "/reset"), ("GET", "/state")])
def test_a_web_page_is_not_served(opened: Any, controls: Controls, method: str, path: str, origin: str) -> None:
    status, answer = ask(opened(), method, path, b"", Origin=origin)
    assert (status, controls.stops, controls.resets) == (403, [], 0)
    assert origin in answer["error"]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "robot.example"])
def test_beyond_this_machine_a_token_is_needed(host: str) -> None:
    with pytest.raises(GuardPortError, match=f"would be open on {host} to everyone"):
        listen(host, 0, token_source({}))


def test_a_socket_that_is_open_to_others_is_not_served_without_a_token(controls: Controls) -> None:
    with (
        socket.create_server(("0.0.0.0", 0)) as bound,
        pytest.raises(GuardPortError, match=r"would be open on 0\.0\.0\.0 to everyone"),
    ):
        GuardPort(controls, bound, token_source({}))


def test_a_token_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(GuardPortError, match=f"QUARTET_GUARD_TOKEN_FILE: the token cannot be read: .*{path}"):
        listen("127.0.0.1", 0, token_source({"QUARTET_GUARD_TOKEN_FILE": str(path)}))
    path.write_text("\n")
    with pytest.raises(GuardPortError, match=f"{path} is empty"):
        listen("127.0.0.1", 0, token_source({"QUARTET_GUARD_TOKEN_FILE": str(path)}))


def test_a_port_that_is_taken_is_named(opened: Any) -> None:
    taken = int(opened().url.rpartition(":")[2])
    with pytest.raises(ParameterError, match=f"http_host, http_port: 127.0.0.1:{taken} cannot be listened on"):
        listen("127.0.0.1", taken, token_source({}))


@pytest.mark.parametrize(
    "begin", [b"", b"POST /stop HTTP/1.1\r\n", b"POST /stop HTTP/1.1\r\nContent-Length: 9000\r\n\r\n"]
)
@pytest.mark.parametrize("before", [0, 1], ids=["first", "second"])
def test_a_request_that_drips_is_ended(opened: Any, monkeypatch: Any, begin: bytes, before: int) -> None:
    monkeypatch.setattr(_http_port, "REQUEST_S", 0.3)
    monkeypatch.setattr(_http_port, "IDLE_S", 0.5)
    port = opened()
    host, _, number = port.url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(number)), timeout=10) as connection:
        answers = connection.makefile("rb")
        for _ in range(before):
            connection.sendall(b"GET /state HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answers.readline().split()[1] == b"200"
        connection.sendall(begin)
        ended = threading.Event()
        dripping = threading.Thread(target=_drip, args=(connection, ended))
        dripping.start()
        try:
            # What is left of the answers, and then the end.
            answers.read()
        except ConnectionError:
            pass
        finally:
            ended.set()
            dripping.join()


def _drip(connection: socket.socket, ended: threading.Event) -> None:
    while not ended.wait(0.05):
        try:
            connection.sendall(b"x")
        except OSError:
            return


def test_a_stop_whose_body_never_comes_stops_all_the_same(opened: Any, controls: Controls, monkeypatch: Any) -> None:
    monkeypatch.setattr(_http_port, "REQUEST_S", 0.2)
    host, _, number = opened().url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(number)), timeout=10) as connection:
        connection.sendall(b"POST /stop HTTP/1.1\r\nContent-Length: 5\r\n\r\n")
        assert connection.makefile("rb").readline().split()[1] == b"200"
    assert controls.stops == [DEFAULT_REASON]
