"""The gateway as a process: its start, its size, what it prints, and that it asks nobody for anything by itself."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import httpx
import psutil
import pytest

from quartet_gateway import AgentModels, SpendingLedger, litellm_settings
from quartet_gateway import __main__ as gateway_process
from quartet_gateway.__main__ import main
from quartet_gateway.config import AGENTS
from quartet_gateway.errors import ConfigurationError
from support.grants import Keys

SECRET = "plain-secret-0123456789"
KEYS = Keys()


@pytest.fixture
def start(tmp_path):
    running = []

    def run(**env):
        ready = tmp_path / f"ready{len(running)}.json"
        clean = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY") and not k.startswith("QUARTET_")}
        # Any attempt to leave this machine goes to a proxy that is not there and shows as an error.
        nowhere = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "quartet_gateway"],
            env={
                **clean,
                **nowhere,
                "QUARTET_READY_FILE": str(ready),
                "QUARTET_GATEWAY_KEY": SECRET,
                "QUARTET_GRANT_PUBLIC_KEY": KEYS.public_pem,
                **env,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
        )
        running.append(process)
        while not ready.exists() and process.poll() is None:
            time.sleep(0.01)
        return process, json.loads(ready.read_text())["url"] if ready.exists() else None

    yield run
    for process in running:
        if process.poll() is None:
            process.kill()
        if not process.stdout.closed:
            process.communicate()


@pytest.fixture
def refuse(tmp_path, monkeypatch, capsys):
    """`refuse(**env)`: what a gateway prints that must not start, run in here since a process takes seconds."""

    def run(**env):
        for name in list(os.environ):
            if name.endswith("_API_KEY") or name.startswith("QUARTET_"):
                monkeypatch.delenv(name)
        given = {"QUARTET_GATEWAY_KEY": SECRET, "QUARTET_GRANT_PUBLIC_KEY": KEYS.public_pem, "QUARTET_PORT": "0", **env}
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(litellm_settings, "load", lambda: pytest.fail("LiteLLM takes seconds: refuse before"))
        assert main() == 2
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return printed.err

    return run


async def test_a_gateway_from_start_to_end(start, provider, tmp_path):
    process, url = start(
        QUARTET_SCRIPTED_MODEL_URL=provider.url.removesuffix("/v1"),
        QUARTET_STATE_DIR=str(tmp_path / "state"),
        OPENAI_API_KEY=SECRET,
        QUARTET_GATEWAY_KEY=SECRET + "-caller",
    )
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        assert (await http.get("/health")).status_code == 200
        headers = {"Authorization": f"Bearer {SECRET}-caller", "X-Quartet-Grant": KEYS.token(task="t1")}
        for _ in range(20):
            body = {"model": "pick", "messages": [{"role": "user", "content": "hi"}]}
            response = await http.post("/v1/chat/completions", json=body, headers=headers)
            assert response.status_code == 200, response.text
    rss = psutil.Process(process.pid).memory_info().rss / 1e6
    assert rss <= 300, f"{rss:.0f} MB"
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert SECRET not in output
    assert "the-providers-newest-key" not in output
    assert "Traceback" not in output
    assert "pick: hosted_vllm/scripted" in output
    kept = SpendingLedger(tmp_path / "state")
    assert kept.of_agent("pick", AgentModels()).requests == 20
    assert kept.of_task("t1")["pick"].requests == 20


def test_without_an_endpoint_it_starts_and_says_what_is_missing(start):
    process, url = start(QUARTET_GATEWAY_KEY="", QUARTET_GRANT_PUBLIC_KEY="", QUARTET_ALLOW_ANONYMOUS="true")
    health = httpx.get(f"{url}/health", trust_env=False, timeout=60)
    assert health.status_code == 503
    assert set(health.json()["problems"]) == set(AGENTS)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert "set QUARTET_SCRIPTED_MODEL_URL" in output
    assert "only callers on this machine" in output
    assert "no grant key is set: callers name the task that they spend for" in output


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"QUARTET_MODEL": "gpt"}, "QUARTET_MODEL='gpt'"),
        ({"QUARTET_GATEWAY_FILE": "/nonexistent.yaml"}, "/nonexistent.yaml"),
        ({"QUARTET_PORT": "70000"}, "QUARTET_PORT"),
        ({"QUARTET_GRANT_PUBLIC_KEY": ""}, "QUARTET_GRANT_PUBLIC_KEY is not set"),
        ({"QUARTET_GRANT_PUBLIC_KEY": "abc"}, "QUARTET_GRANT_PUBLIC_KEY holds no '-----BEGIN PUBLIC KEY-----' block"),
        ({"QUARTET_MODEL_API_BASE": "ftp://x"}, "QUARTET_MODEL_API_BASE"),
    ],
)
def test_settings_that_make_no_sense(refuse, env, says):
    assert says in refuse(**env)


def test_a_port_that_is_taken(start):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process, url = start(QUARTET_PORT=str(taken.getsockname()[1]))
        assert url is None
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "cannot be used" in output
    assert "Traceback" not in output


def test_nothing_is_asked_at_import():
    """No connection is opened by importing the package and LiteLLM."""
    code = """
import socket, sys
def refuse(*a, **k): raise AssertionError(f"network at import: {a}")
socket.getaddrinfo = refuse
socket.create_connection = refuse
import quartet_gateway
assert "litellm" not in sys.modules, "LiteLLM is imported only when it is used"
from quartet_gateway import litellm_settings as _litellm
_litellm.load()
assert "litellm" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"QUARTET_GATEWAY_KEY": ""}, "QUARTET_ALLOW_ANONYMOUS=true serves the gateway on this machine"),
        (
            {"QUARTET_GATEWAY_KEY": "", "QUARTET_ALLOW_ANONYMOUS": "true", "QUARTET_HOST": "0.0.0.0",
             "QUARTET_METRICS_TOKEN": "a-token-of-the-metrics"},
            "the gateway is not served at 0.0.0.0",
        ),
        ({"QUARTET_HOST": "0.0.0.0"}, "QUARTET_METRICS_TOKEN is not set"),
        ({"QUARTET_GATEWAY_KEY_FILE": "/nowhere", "QUARTET_GATEWAY_KEY": ""}, "/nowhere) cannot be read"),
    ],
)  # fmt: skip
def test_it_does_not_start_open_to_everybody(refuse, changes, said):
    assert said in refuse(**changes)


@pytest.mark.long
async def test_keys_of_agents_and_providers_come_from_files_and_rotate(start, provider, tmp_path):
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "gateway_key_pick").write_text("the-newest-key-of-pick\nthe-older-key-of-pick\n")
    (folder / "gateway_key_place").write_text("the-key-of-place\n")
    (folder / "openai_api_key").write_text(SECRET)
    (tmp_path / "key_of_own").write_text("a-key-of-own-server")
    process, url = start(
        QUARTET_GATEWAY_KEY="",
        QUARTET_SECRETS_DIR=str(folder),
        QUARTET_MODEL="openai/gpt-4.1",
        QUARTET_MODEL_PLACE="hosted_vllm/own",
        HOSTED_VLLM_API_KEY_FILE=str(tmp_path / "key_of_own"),
        QUARTET_MODEL_API_BASE=provider.url,
    )
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:

        async def status(key, agent="pick"):
            body = {"model": agent, "messages": [{"role": "user", "content": "hi"}]}
            headers = {"Authorization": f"Bearer {key}", "X-Quartet-Grant": KEYS.token()}
            answer = await http.post("/v1/chat/completions", json=body, headers=headers)
            return answer.status_code

        assert await status("the-newest-key-of-pick") == 200
        assert await status("the-older-key-of-pick") == 200
        assert await status("the-key-of-place") == 403
        (tmp_path / "draft").write_text("the-newest-key-of-pick\n")
        (tmp_path / "draft").replace(folder / "gateway_key_pick")
        assert await status("the-newest-key-of-pick") == 200
        assert await status("the-older-key-of-pick") == 401
        assert provider.headers[-1]["authorization"] == f"Bearer {SECRET}"
        provider.plan = [401]
        assert await status("the-newest-key-of-pick") == 424
        (tmp_path / "draft").write_text(f"the-providers-newest-key\n{SECRET}\n")
        (tmp_path / "draft").replace(folder / "openai_api_key")
        assert await status("the-newest-key-of-pick") == 200
        assert provider.headers[-1]["authorization"] == "Bearer the-providers-newest-key"
        for key in ("a-key-of-own-server", "another-key-of-own-server"):
            (tmp_path / "draft").write_text(key)
            (tmp_path / "draft").replace(tmp_path / "key_of_own")
            assert await status("the-key-of-place", "place") == 200
            assert provider.headers[-1]["authorization"] == f"Bearer {key}"
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert SECRET not in output
    assert "the-providers-newest-key" not in output


def test_a_gateway_that_still_loads_refuses_connections(refuse, monkeypatch, free_port):
    """Whoever waits for it would take an open port that says nothing for one that is gone."""

    def load(_settings):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", free_port), timeout=30)
        raise ConfigurationError("looked")

    monkeypatch.setattr(gateway_process, "_make_gateway", load)
    assert "looked" in refuse(QUARTET_PORT=str(free_port))
