"""The stop service: reaches everybody at once, waits for nobody, and holds until a reset."""

import asyncio
import json
import os
import subprocess
import sys
import threading

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from quartet_contracts import RESET_SCOPE, STOP_ISSUER, STOP_SCOPE
from quartet_safety.guard import LatchFile

BUTTON = "a-token-that-may-only-stop"


async def test_a_stop_reaches_the_guard_and_every_server(start, eventually):
    async with start() as service:
        answer = await service.ask("POST", "/stop", {"robot": "summit", "reason": "smoke"})
        assert answer.status_code == 200
        body = answer.json()
        assert body["stopped"] is True
        state = body["robots"]["summit"]
        assert (state["latched"], state["reason"], state["stopped"], state["standstill"]) == (True, "smoke", True, None)
        await eventually(lambda: all(server.latched for server in service.servers.values()))
        assert service.guard.orders("/stop") == [{"reason": "smoke"}]
        for server in service.servers.values():
            assert server.orders("/control/stop")[0] == {"reason": "smoke", "latch": True}

        service.guard.standstill = True
        await eventually(lambda: standstill_of(service))
        assert (await service.state())["servers"] == {"moveit": "stopped", "nav2": "stopped"}


async def standstill_of(service) -> bool:
    return (await service.state())["standstill"] is True


async def test_each_is_shown_its_own_credential(start, eventually):
    async with start() as service:
        await service.ask("POST", "/stop")
        await eventually(lambda: service.servers["nav2"].orders("/control/stop"))
        assert {token for *_, token in service.guard.received} == {"token-of-the-guard"}
        tokens = [token for _, path, _, token in service.servers["nav2"].received if path == "/control/stop"]
        public = service.key.public_key()
        claims = jwt.decode(tokens[0], public, algorithms=["EdDSA"], audience="robot:summit", issuer=STOP_ISSUER)
        assert claims["tools"] == [RESET_SCOPE, STOP_SCOPE]
        assert claims["exp"] - claims["iat"] < 3600


async def test_a_hung_server_holds_nobody_up_and_is_stopped_when_it_wakes(start, eventually):
    async with start() as service:
        hung = service.servers["nav2"]
        hung.hung = asyncio.Event()
        answer = await asyncio.wait_for(service.ask("POST", "/stop", {"reason": "smoke"}), 30)
        assert answer.json()["stopped"] is True
        assert service.guard.latched
        await eventually(lambda: service.servers["moveit"].latched)
        assert not hung.latched
        assert (await service.state())["servers"]["nav2"] != "stopped"
        hung.hung.set()
        hung.hung = None
        await eventually(lambda: nav2_is(service, "stopped"), 30)
        assert hung.latched


async def nav2_is(service, text: str) -> bool:
    return (await service.state())["servers"]["nav2"] == text


async def test_an_answer_without_end_is_given_up_and_the_others_are_stopped(start, eventually):
    """A server that was taken over must not fill the memory of the process that stops robots."""
    async with start() as service:
        service.servers["nav2"].endless = True
        assert (await service.ask("POST", "/stop", {"reason": "smoke"})).json()["stopped"] is True

        async def told():
            servers = (await service.state())["servers"]
            return "longer than" in servers["nav2"] and servers["moveit"] == "stopped"

        await eventually(told)


async def test_a_connection_that_hangs_is_passed_by_another(start, eventually):
    """A kept connection may be dead without anybody knowing."""
    async with start() as service:
        await eventually(lambda: service.guard.received)
        service.guard.hung = asyncio.Event()
        stopping = asyncio.create_task(service.ask("POST", "/stop", {"reason": "smoke"}))
        before = service.guard.connections
        await eventually(lambda: service.guard.connections > before, 30)
        # The connections that hang go on hanging; a new one is served.
        service.guard.hung = None
        assert (await stopping).json()["stopped"] is True


async def test_a_guard_that_cannot_be_reached_is_told_and_stopped_once_it_is_back(start, eventually, monkeypatch):
    async with start() as service:
        monkeypatch.setattr("quartet_stop.robot.GUARD_S", 0.3)
        await service.guard.stop()
        answer = await service.ask("POST", "/stop", {"reason": "smoke"})
        assert answer.status_code == 502
        state = answer.json()["robots"]["summit"]
        assert (state["latched"], state["stopped"], state["standstill"]) == (True, False, None)
        assert service.guard.url in state["guard"]["error"]
        await eventually(lambda: all(server.latched for server in service.servers.values()))
        monkeypatch.setattr("quartet_stop.robot.GUARD_S", 30.0)
        await service.guard.start()
        await eventually(lambda: service.guard.latched, 30)
        await eventually(lambda: stopped(service), 30)


async def stopped(service) -> bool:
    return (await service.state())["stopped"]


async def test_a_stop_outlasts_the_service_and_is_enforced_by_the_next(start, eventually):
    async with start() as service:
        await service.ask("POST", "/stop", {"reason": "smoke"})
    service.guard.latched = False
    for server in service.servers.values():
        server.latched = False
    async with start() as service:
        assert (await service.state())["latched"] is True
        await eventually(lambda: service.guard.latched and service.guard.reason == "smoke", 30)
        await eventually(lambda: all(server.latched for server in service.servers.values()), 30)


async def test_a_stop_is_answered_when_it_is_on_disk(start, eventually, monkeypatch):
    on_disk = threading.Event()
    write = LatchFile.write

    def slow(self, latch):
        on_disk.wait(60)
        write(self, latch)

    async with start() as service:
        monkeypatch.setattr(LatchFile, "write", slow)
        stopping = asyncio.create_task(service.robot.stop("smoke"))
        await eventually(lambda: service.robot.state()["stopped"])
        assert not stopping.done()
        on_disk.set()
        assert (await stopping)["stopped"]


async def test_a_guard_that_came_back_without_its_latch_is_stopped_again(start, eventually):
    async with start() as service:
        await service.ask("POST", "/stop", {"reason": "smoke"})
        service.guard.latched = False
        await eventually(lambda: service.guard.latched, 30)


async def test_a_reset_releases_everybody_and_lasts(start, eventually):
    async with start() as service:
        await service.ask("POST", "/stop")
        answer = await service.ask("POST", "/reset")
        assert answer.status_code == 200
        assert answer.json()["reset"] is True
        order = [path for _, path, _, _ in service.guard.received if path in {"/stop", "/reset"}]
        assert order[-1] == "/reset"
        looks = len(service.guard.orders("/state"))
        await service.state()
        assert len(service.guard.orders("/state")) > looks
        assert not service.guard.latched
        assert not any(server.latched for server in service.servers.values())
    async with start() as service:
        state = await service.state()
        assert (state["latched"], state["stopped"]) == (False, False)
        assert not service.guard.latched


async def test_a_reset_that_misses_somebody_says_whom(start):
    async with start() as service:
        await service.ask("POST", "/stop")
        service.servers["nav2"].status = 500
        answer = await service.ask("POST", "/reset")
        assert answer.status_code == 502
        (missed,) = answer.json()["robots"]["summit"]["missed"]
        assert service.servers["nav2"].url in missed
        assert "500" in missed
        service.servers["nav2"].status = 200
        assert (await service.ask("POST", "/reset")).json()["reset"] is True


async def test_a_server_that_is_down_at_the_reset_is_told_and_released_when_it_comes_back(start, eventually):
    async with start() as service:
        nav2 = service.servers["nav2"]
        await service.ask("POST", "/stop")
        await eventually(lambda: nav2_is(service, "stopped"))
        await nav2.stop()
        answer = await service.ask("POST", "/reset")
        assert answer.status_code == 200, "all that run are released, and who does not run moves nothing"
        state = answer.json()["robots"]["summit"]
        assert (state["reset"], state["absent"], state["missed"]) == (True, ["nav2"], [])
        assert not service.guard.latched
        assert nav2.latched, "it keeps its latch in a file of its own"
        await nav2.start()
        await eventually(lambda: not nav2.latched, 30)


async def test_who_comes_back_after_another_stop_is_not_released(start, eventually):
    async with start() as service:
        nav2 = service.servers["nav2"]
        await service.ask("POST", "/stop")
        await eventually(lambda: nav2_is(service, "stopped"))
        await nav2.stop()
        await service.ask("POST", "/reset")
        await service.ask("POST", "/stop", {"reason": "again"})
        resets = len(nav2.orders("/control/reset"))
        await nav2.start()
        await eventually(lambda: nav2.reason == "again", 30)
        assert len(nav2.orders("/control/reset")) == resets


async def test_a_stop_that_comes_during_a_reset_prevails(start, eventually):
    async with start() as service:
        await service.ask("POST", "/stop")
        await eventually(lambda: service.servers["nav2"].latched)
        service.servers["nav2"].hung = asyncio.Event()
        resetting = asyncio.create_task(service.ask("POST", "/reset"))
        await eventually(lambda: not service.servers["moveit"].latched)
        assert (await service.ask("POST", "/stop", {"reason": "again"})).json()["stopped"] is True
        service.servers["nav2"].hung.set()
        service.servers["nav2"].hung = None
        answer = await resetting
        assert answer.json()["reset"] is False
        assert service.guard.latched
        assert (await service.state())["latched"] is True
        await eventually(lambda: all(server.latched for server in service.servers.values()), 30)


@pytest.mark.parametrize("path", ["/stop", "/reset", "/state"])
@pytest.mark.parametrize("token", [None, "", "wrong", "a-token-for-the-perso"])
async def test_only_who_has_the_token_is_served(start, path, token):
    async with start() as service:
        method = "GET" if path == "/state" else "POST"
        answer = await service.ask(method, path, token=token)
        assert answer.status_code == 401
        assert "Bearer" in answer.json()["detail"]
        assert service.guard.orders("/stop") == []
        assert (await service.ask("GET", "/health", token=None)).json() == {"status": "ok", "robots": ["summit"]}


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({"robot": "tiago"}, 404, "valid: summit"),
        ({"force": True}, 422, "force"),
        ({"reason": 5}, 422, "reason"),
        ({"reason": "x" * 20_000}, 413, "10000"),
        ([], 422, "valid: robot, reason"),
    ],
)
async def test_an_order_that_is_not_understood_says_what_is(start, body, status, word):
    async with start() as service:
        answer = await service.ask("POST", "/stop", body)
        assert answer.status_code == status
        assert word in answer.json()["detail"]
        assert service.guard.orders("/stop") == []


async def test_the_token_of_a_button_stops_and_looks_and_does_not_reset(start):
    async with start() as service:
        assert (await service.ask("POST", "/stop", token=BUTTON)).json()["stopped"] is True
        assert (await service.ask("GET", "/state", token=BUTTON)).json()["robots"]["summit"]["stopped"] is True
        answer = await service.ask("POST", "/reset", token=BUTTON)
        assert answer.status_code == 403
        assert "QUARTET_STOP_TOKEN" in answer.json()["detail"]
        assert service.guard.latched


async def test_a_stop_is_not_refused_for_its_words(start):
    async with start() as service:
        assert (await service.ask("POST", "/stop", {"reason": "x" * 5000})).json()["stopped"] is True
        assert service.guard.reason == "x" * 300


async def test_metrics_say_who_was_reached(start, eventually, monkeypatch):
    async with start() as service:
        await service.ask("POST", "/stop")
        await eventually(lambda: nav2_is(service, "stopped"))
        text = (await service.ask("GET", "/metrics", token=None)).text
        assert 'quartet_stops_total{robot="summit"} 1.0' in text
        assert 'quartet_stop_latched{robot="summit"} 1.0' in text
        assert 'quartet_stop_reached_seconds_count{robot="summit",target="guard"} 1.0' in text
        await service.ask("POST", "/reset")
        monkeypatch.setattr("quartet_stop.robot.GUARD_S", 0.3)
        await service.guard.stop()
        await service.ask("POST", "/stop")
        text = (await service.ask("GET", "/metrics", token=None)).text
        assert 'quartet_stop_missed_total{robot="summit",target="guard"}' in text


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"QUARTET_STOP_TOKEN": ""}, ("QUARTET_STOP_TOKEN", "quartet secrets init")),
        ({"QUARTET_STOP_TOKEN": "short"}, ("QUARTET_STOP_TOKEN", "16")),
        ({"QUARTET_STOP_TOKEN": "", "QUARTET_STOP_TOKEN_FILE": "/no/file"}, ("/no/file", "cannot be read")),
        ({"QUARTET_GUARDS": ""}, ("QUARTET_GUARDS",)),
        ({"QUARTET_GUARDS": "{}"}, ("QUARTET_GUARDS", "valid:")),
        ({"QUARTET_GUARDS": "nonsense"}, ("JSON",)),
        ({"QUARTET_GUARDS": '{"summit": "ws://x"}'}, ("QUARTET_GUARDS.summit", "ws://x")),
        ({"QUARTET_SERVERS": '{"tiago": {}}'}, ("tiago", "summit")),
        ({"QUARTET_STOP_PRIVATE_KEY_FILE": "/no/key"}, ("/no/key", "cannot be read")),
        (
            {"QUARTET_HOST": "203.0.113.7", "QUARTET_METRICS_TOKEN": "a-token-of-the-metrics"},
            ("203.0.113.7", "QUARTET_PORT"),
        ),
        ({"QUARTET_HOST": "203.0.113.7"}, ("203.0.113.7", "QUARTET_METRICS_TOKEN")),
    ],
)
def test_a_service_that_cannot_start_says_what_to_set(monkeypatch, capsys, tmp_path, changed, words):
    from quartet_stop.__main__ import main

    key = tmp_path / "key.pem"
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    key.write_bytes(pem)
    settings = {
        "QUARTET_GUARDS": '{"summit": "http://127.0.0.1:9"}',
        "QUARTET_STOP_TOKEN": "a-token-that-is-long-enough",
        "QUARTET_STOP_PRIVATE_KEY_FILE": str(key),
    }
    for name, value in (settings | changed).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("quartet_process._running.set_up_logging", lambda process, style, level: None)
    assert main() == 2
    text = capsys.readouterr().err
    for word in words:
        assert word in text


def test_the_process_serves_and_ends(tmp_path, until_process):
    key = tmp_path / "key.pem"
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    key.write_bytes(pem)
    ready = tmp_path / "ready.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "quartet_stop"],
        env=os.environ
        | {
            "QUARTET_GUARDS": '{"summit": "http://127.0.0.1:9"}',
            "QUARTET_STOP_TOKEN": "a-token-that-is-long-enough",
            "QUARTET_STOP_PRIVATE_KEY_FILE": str(key),
            "QUARTET_STATE_DIR": str(tmp_path / "state"),
            "QUARTET_READY_FILE": str(ready),
            "QUARTET_LOG_FORMAT": "json",
        },
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until_process(ready.exists, process)
        assert json.loads(ready.read_text())["url"].startswith("http://127.0.0.1:")
    finally:
        process.terminate()
        log = process.communicate(timeout=30)[1]
    assert process.returncode == 0
    assert "Traceback" not in log
    assert all(json.loads(line)["process"] == "stop" for line in log.splitlines())


async def test_an_order_that_fails_unexpectedly_is_told_by_health_and_metrics(start, eventually, monkeypatch):
    async with start() as service:
        assert (await service.ask("GET", "/health")).json()["status"] == "ok"

        def broken(_: object, robot: str, target: str, seconds: float | None) -> None:
            if target != "guard":
                raise RuntimeError("no disk")

        monkeypatch.setattr("quartet_stop.metrics.Metrics.reached", broken)
        assert (await service.ask("POST", "/stop")).json()["stopped"] is True
        await eventually(lambda: unhealthy(service))
        assert "no disk" in (await service.ask("GET", "/health")).json()["problem"]
        metrics = (await service.ask("GET", "/metrics", token=None)).text
        assert 'quartet_background_failures_total{background_task="stop-order"}' in metrics


async def unhealthy(service) -> bool:
    return (await service.ask("GET", "/health")).status_code == 503
