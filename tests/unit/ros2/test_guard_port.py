"""The guard's HTTP port: who is let in, and what it is not opened with."""

import http.client
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from quartet_bringup.guard.http_port import DEFAULT_REASON, MAX_REASON, GuardPort, PortProblem, token_source
from quartet_bringup.guard.state import State


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
    def state(self) -> State:
        return State(bool(self.stops), self.stops[-1] if self.stops else "running", None, 12.3456, None)


@pytest.fixture
def controls() -> Controls:
    return Controls()


@pytest.fixture
def opened(controls: Controls) -> Iterator[Callable[..., GuardPort]]:
    ports: list[GuardPort] = []

    def make(**environment: str) -> GuardPort:
        ports.append(GuardPort(controls, "127.0.0.1", 0, token_source(environment)))
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


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "robot.example"])
def test_beyond_this_machine_a_token_is_needed(controls: Controls, host: str) -> None:
    with pytest.raises(PortProblem, match=f"would be open on {host} to everyone"):
        GuardPort(controls, host, 0, token_source({}))


def test_a_token_file_that_cannot_be_read_is_told(controls: Controls, tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(PortProblem, match=f"QUARTET_GUARD_TOKEN_FILE: the token cannot be read: .*{path}"):
        GuardPort(controls, "127.0.0.1", 0, token_source({"QUARTET_GUARD_TOKEN_FILE": str(path)}))
    path.write_text("\n")
    with pytest.raises(PortProblem, match=f"{path} is empty"):
        GuardPort(controls, "127.0.0.1", 0, token_source({"QUARTET_GUARD_TOKEN_FILE": str(path)}))


def test_a_port_that_is_taken_is_named(opened: Any, controls: Controls) -> None:
    taken = int(opened().url.rpartition(":")[2])
    with pytest.raises(PortProblem, match=f"http_host, http_port: 127.0.0.1:{taken} cannot be listened on"):
        GuardPort(controls, "127.0.0.1", taken, token_source({}))
