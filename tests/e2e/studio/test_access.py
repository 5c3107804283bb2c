"""A whole deployment, every process telling all that it can: each one is asked for its credential, nothing listens to
others, every secret is rotated in the middle of a job, and none is found in what the deployment leaves behind."""

import os
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt
import psutil
import pytest
import redis
import redis.exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry
from typer.testing import CliRunner

from quartet_cli.main import app
from quartet_contracts import State
from quartet_contracts.journal import ToolCalled
from quartet_deployment import AGENTS, SECRETS, SERVERS, Stack, check_secrets, sign_grant

pytestmark = pytest.mark.long

JOB_S = 250.0


@pytest.fixture(scope="module")
def old() -> dict[Path, str]:
    """The files of its folder before anything was rotated."""
    return {}


@pytest.fixture(scope="module")
def seen() -> set[str]:
    """Every secret that the deployment has ever had."""
    return set()


def files_of(stack: Stack) -> dict[Path, str]:
    return {path: path.read_text() for path in stack.secrets.root.rglob("*") if path.is_file()}


def redis_address(stack: Stack) -> str:
    """Without the administrator's password."""
    return f"redis://{stack.redis_url.split('@')[1]}"


def secrets_of(stack: Stack) -> set[str]:
    """All values in its folder: tokens, passwords, and the bodies of private keys."""
    texts = [text for path, text in files_of(stack).items() if path.name != "users.acl"]
    private = [line for text in texts if "PRIVATE" in text for line in text.splitlines() if "-----" not in line]
    tokens = [line.split(" ")[0] for text in texts if "-----" not in text for line in text.splitlines()]
    return {*private, *tokens}


def quartet(stack: Stack, *arguments: str, runs: Path) -> "subprocess.Popen[str]":
    """The command as a person has it who holds the folder cli."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("QUARTET_")}
    mine |= {
        "QUARTET_URL": stack.url,
        "QUARTET_SECRETS_DIR": str(stack.secrets.path("cli")),
        "QUARTET_RUNS_DIR": str(runs),
        "COLUMNS": "200",
    }
    command = [sys.executable, "-m", "quartet_cli", *arguments]
    return subprocess.Popen(command, env=mine, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture(scope="module")
def command(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts `quartet` commands; `command.runs` is where they leave the folders of tasks."""
    started: list[subprocess.Popen[str]] = []
    runs = tmp_path_factory.mktemp("runs")

    def start(*arguments: str) -> "subprocess.Popen[str]":
        started.append(quartet(stack, *arguments, runs=runs))
        return started[-1]

    start.runs = runs
    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def refused_by_redis(stack: Stack) -> list[str]:
    with redis.Redis.from_url(stack.redis_url, protocol=2) as admin:
        return [f"{row['username']}: {row['reason']} {row['object']}" for row in admin.acl_log()]


def change(stack: Stack, how: str, secret: str) -> None:
    """`quartet secrets rotate|retire`, in this process: a new one takes a second to start."""
    arguments = ["secrets", how, str(stack.secrets.root), secret, "--redis-url", redis_address(stack)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, (done.output, done.exception)


@pytest.mark.long
def test_everything_is_rotated_in_the_middle_of_a_job(
    stack: Stack,
    reset: Callable[..., Any],
    run: Callable[..., Any],
    truth: Callable[[Stack], dict[str, Any]],
    sentence_about: Callable[..., Any],
    seen: set[str],
    old: dict[Path, str],
) -> None:
    seen |= secrets_of(stack)
    old |= {path.relative_to(stack.secrets.root): text for path, text in files_of(stack).items()}
    sentence, name, target = sentence_about(reset(stack, 1))
    rotated: list[str] = []

    def rotate_everything(event: Any) -> None:
        if isinstance(event.event, ToolCalled) and not rotated:
            for secret in SECRETS:
                change(stack, "rotate", secret)
                rotated.append(secret)

    job = run(stack, sentence, timeout_s=JOB_S, on_event=rotate_everything)
    assert rotated == list(SECRETS)
    assert job.status.state is State.SUCCEEDED, job.story()
    assert truth(stack)["objects"][name]["on"] == target
    assert check_secrets(stack.secrets) == []
    seen |= secrets_of(stack)
    assert refused_by_redis(stack) == [], "no process has sent anything that its user may not"


@pytest.mark.long
def test_a_job_after_the_old_ones_are_retired(
    stack: Stack,
    command: Callable[..., Any],
    reset: Callable[..., Any],
    truth: Callable[[Stack], dict[str, Any]],
    sentence_about: Callable[..., Any],
    old: dict[Path, str],
) -> None:
    for secret in SECRETS:
        change(stack, "retire", secret)
    assert check_secrets(stack.secrets) == []
    sentence, name, target = sentence_about(reset(stack, 2))
    job = command("run", sentence)
    said = job.communicate(timeout=JOB_S)[0]
    assert job.returncode == 0, said
    assert truth(stack)["objects"][name]["on"] == target
    assert refused_by_redis(stack) == []
    _old_ones_are_refused(stack, old)


def _old_ones_are_refused(stack: Stack, old: dict[Path, str]) -> None:
    def was(process: str, name: str) -> str:
        return old[Path(process, name)].splitlines()[0].split(" ")[0]

    def status(url: str, token: str, method: str = "GET", **options: Any) -> int:
        headers = {"Authorization": f"Bearer {token}", "X-Quartet-Grant": own}
        return httpx.request(method, url, headers=headers, timeout=60, trust_env=False, **options).status_code

    own = stack.grant([])
    gateway = {"model": "pick", "messages": [{"role": "user", "content": "hello"}]}
    asked = {
        "api_token": (f"{stack.url}/tasks", was("cli", "api_token")),
        "stop_token": (f"{stack.url_of('stop')}/state", was("cli", "stop_token")),
        "metrics_token": (f"{stack.url_of('nav2')}/metrics", was("prometheus", "metrics_token")),
        "guard_token": (f"{stack.url_of('guard')}/state",
                        was("stop", "guard_token")),
    }  # fmt: skip
    now = {
        "api_token": stack.api_token,
        "stop_token": stack.stop_token,
        "metrics_token": stack.metrics_token,
        "guard_token": stack.secrets.text("stop", "guard_token"),
    }
    for name, (url, token) in asked.items():
        assert status(url, token) == 401, name
        assert status(url, now[name]) == 200, name
    chat = f"{stack.url_of('gateway')}/v1/chat/completions"
    assert status(chat, was("pick", "gateway_key"), "POST", json=gateway) == 401
    assert status(chat, stack.secrets.text("pick", "gateway_key"), "POST", json=gateway) != 401
    own = sign_grant(old[Path("orchestrator", "grant_private_key")], stack.robot, [])
    assert status(chat, stack.secrets.text("pick", "gateway_key"), "POST", json=gateway) == 401, (
        "a grant of the old key"
    )
    fence = f"{stack.url_of('nav2')}/control/fence"
    grant = sign_grant(old[Path("orchestrator", "grant_private_key")], stack.robot, ["control__fence"])
    assert status(fence, grant, "POST") == 401
    address = urlsplit(redis_address(stack))
    for role in ("orchestrator", *AGENTS, "exporter"):
        again = redis.Redis(
            host=address.hostname,
            port=address.port, username=role, password=was(role, "redis_password"), protocol=2,
            retry=Retry(NoBackoff(), 0),
        )  # fmt: skip
        with again, pytest.raises(redis.exceptions.AuthenticationError):
            again.ping()


def _environment(stack: Stack, name: str) -> dict[str, str]:
    return psutil.Process(stack.pids()[name]).environ()


@pytest.mark.long
def test_no_secret_is_left_anywhere(stack: Stack, command: Any, seen: set[str]) -> None:
    assert len(seen) == 2 * sum(map(len, SECRETS.values())), "those of before and after"
    places = [path for path in stack.options.state_dir.rglob("*") if path.is_file()]
    # Redis' own file is looked at through Redis: it holds the requests' short-lived grants until it is rewritten.
    places = [path for path in places if stack.secrets.root not in path.parents and "appendonlydir" not in path.parts]
    left = {str(path): path.read_bytes() for path in [*places, *(p for p in command.runs.rglob("*") if p.is_file())]}
    logs = [name for name in left if "/logs/" in name]
    assert len(logs) >= 13
    assert any(b"DEBUG" in left[name] for name in logs)
    assert any("/transcripts/" in name for name in left), "the runs folder is among them"
    left |= _in_redis(stack)
    found = [f"{place}: {secret[:4]}..." for place, text in left.items() for secret in seen if secret.encode() in text]
    assert found == []
    tokens = [place for place, text in left.items() if re.search(rb"eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}", text)]
    assert tokens == [], "nor a grant"


def _in_redis(stack: Stack) -> dict[str, bytes]:
    """Everything that is kept there, by key."""
    content: dict[str, bytes] = {}
    with redis.Redis.from_url(stack.redis_url, protocol=2) as admin:
        for key in admin.scan_iter(count=1000):
            kind = admin.type(key)
            if kind == b"stream":
                value = repr(admin.xrange(key)).encode()
            elif kind == b"hash":
                fields = admin.hgetall(key)
                value = b"".join(zlib.decompress(one) if one[:1] == b"x" else one for one in fields.values())
            elif kind == b"string":
                value = admin.get(key)
            else:
                value = repr(admin.zrange(key, 0, -1)).encode()
            content[key.decode()] = value
    assert any(key.startswith("quartet:transcripts:") for key in content)
    assert any(key.startswith("quartet:journal:") for key in content)
    return content


def test_nothing_listens_to_other_machines(stack: Stack) -> None:
    listening: dict[str, list[str]] = {}
    for name, pid in stack.pids().items():
        connections = psutil.Process(pid).net_connections(kind="inet")
        listening[name] = [one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN]
    assert all(addresses for addresses in listening.values()), listening
    assert {address for addresses in listening.values() for address in addresses} == {"127.0.0.1"}, listening


PROCESSES = ("orchestrator", "gateway", "stop", "scripted_model", *SERVERS, *AGENTS)


@pytest.mark.parametrize("name", [*PROCESSES, "simulation"])
def test_metrics_are_for_who_has_their_token(stack: Stack, name: str) -> None:
    url = stack.metrics_url(name)
    with httpx.Client(timeout=60, trust_env=False) as http:
        assert http.get(url).status_code == 401
        assert http.get(url, headers={"Authorization": f"Bearer {stack.api_token}"}).status_code == 401
        mine = {"Authorization": f"Bearer {stack.metrics_token}"}
        assert "quartet_build_info" in http.get(url, headers=mine).text


@pytest.mark.parametrize("name", PROCESSES)
def test_health_is_for_all(stack: Stack, name: str) -> None:
    health = httpx.get(f"{stack.url_of(name)}/health", timeout=60, trust_env=False)
    assert health.status_code == 200
    assert not any(secret in health.text for secret in secrets_of(stack))


def test_a_process_sees_the_secrets_of_no_other(stack: Stack) -> None:
    # Of the forked processes the kernel shows the environment of the fork server; unit tests have what each is given.
    assert _environment(stack, "simulation")["QUARTET_SECRETS_DIR"] == str(stack.secrets.path("simulation"))
    values = secrets_of(stack)
    for name in stack.pids():
        shown = " ".join([*_environment(stack, name).values(), *psutil.Process(stack.pids()[name]).cmdline()])
        assert not [value for value in values if value in shown], f"{name}: neither environment nor command line"


def test_the_grants_of_a_job_are_signed_with_the_newest_key(stack: Stack) -> None:
    grant = stack.grant(["nav2__get_robot_pose"])
    key = stack.secrets.path("nav2", "grant_public_key").read_text()
    assert jwt.decode(grant, key, algorithms=["EdDSA"], audience=f"robot:{stack.robot}")["exp"] > time.time()
