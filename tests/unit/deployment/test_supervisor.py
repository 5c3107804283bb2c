"""The parts of the supervisor: processes, ports, keys, environments."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from quartet_contracts import TaskSubmission
from quartet_deployment import (
    FolderInUseError,
    NotInstalledError,
    OptionError,
    OrchestratorClient,
    PortTakenError,
    ProcessDiedError,
    RefusedError,
    SecretsFolder,
    Stack,
    StackError,
    StackOptions,
    StartTimeoutError,
)
from quartet_deployment._environment import (
    gateway_environment,
    public_environment,
    read_dotenv,
)
from quartet_deployment._ports import free_ports, hold_ports, redis_answers, require_free
from quartet_deployment._process import ManagedProcess, ProcessSpec
from quartet_deployment._specs import MODULES, choose_addresses, specs
from quartet_deployment._state import end_left_processes, left_processes, note_process
from quartet_site import RobotFiles, load_robots


def python(name: str, code: str, **fields: object) -> ProcessSpec:
    return ProcessSpec(name, [sys.executable, "-c", code], **fields)  # type: ignore[arg-type]


def wait_until(condition: object, timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.01)


def test_a_process_is_ready_when_its_file_is_there(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    ready.write_text("of an earlier run")
    code = (
        "import os, pathlib, time; new = pathlib.Path(os.environ['F'] + '.new'); "
        "new.write_text('{\"url\": \"u\"}'); new.replace(os.environ['F']); time.sleep(60)"
    )
    process = ManagedProcess(
        python("a", code, env={"F": str(ready)}, ready_file=ready), dict(os.environ), tmp_path / "a.log"
    )
    try:
        wait_until(process.is_ready)
        assert process.ready_content() == {"url": "u"}
        assert process.ready_after_s is not None
    finally:
        process.kill()
    process.raise_if_dead()


def test_a_process_that_dies_is_named_with_its_last_lines(tmp_path: Path) -> None:
    code = "print('first'); print('port 80 is taken'); raise SystemExit(3)"
    process = ManagedProcess(python("nav2", code), dict(os.environ), tmp_path / "nav2.log")
    wait_until(lambda: process.status is not None)
    with pytest.raises(ProcessDiedError, match=r"(?s)nav2 exited with status 3\..*nav2\.log.*port 80 is taken"):
        process.is_ready()


def test_the_last_lines_are_those_of_this_process(tmp_path: Path) -> None:
    log = tmp_path / "nav2.log"
    log.write_text("of an earlier run\n")
    process = ManagedProcess(python("nav2", "print('of this run')"), dict(os.environ), log)
    wait_until(lambda: process.status is not None)
    assert process.tail() == "  of this run"
    assert log.read_text().startswith("of an earlier run\n")


def test_a_process_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); time.sleep(60)"
    process = ManagedProcess(python("a", code), dict(os.environ), tmp_path / "a.log")
    wait_until(lambda: "on" in process.tail())
    process.ask_to_end()
    process.wait_for_end(time.monotonic() + 0.2)
    assert process.status == -signal.SIGKILL


def test_what_a_process_started_ends_with_it(tmp_path: Path) -> None:
    code = "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()"
    process = ManagedProcess(python("a", code), dict(os.environ), tmp_path / "a.log")
    wait_until(lambda: process.tail().strip().isdigit())
    child = psutil.Process(int(process.tail()))
    process.kill()
    wait_until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_nothing_is_left_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    code = f"""
import os, sys, time
from pathlib import Path
from typing import Any
from quartet_deployment._process import ManagedProcess, ProcessSpec
p = ManagedProcess(ProcessSpec("s", ["sleep", "60"]), dict(os.environ), Path({str(tmp_path / "s.log")!r}))
print(p.pid, flush=True)
time.sleep(60)
"""
    supervisor = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert supervisor.stdout is not None
    child = psutil.Process(int(supervisor.stdout.readline()))
    supervisor.kill()
    supervisor.wait()
    supervisor.stdout.close()
    wait_until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotInstalledError, match="redis needs the program no-such-redis"):
        ManagedProcess(ProcessSpec("redis", ["no-such-redis"]), dict(os.environ), tmp_path / "r.log")


def test_ports_are_different_and_a_taken_one_is_told() -> None:
    assert len(set(free_ports(20))) == 20
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(
            PortTakenError, match=rf"port {port} for the orchestrator is taken .*; name another with --port"
        ):
            require_free(port, "the orchestrator", "name another with --port")


def test_held_ports_are_given_to_nobody_but_the_process_that_is_to_have_them() -> None:
    (port,) = free_ports(1)
    with hold_ports([port]):
        assert not redis_answers(port, "admin", "x"), "nobody listens yet"
        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind(("127.0.0.1", port))
        for _ in range(2):
            with socket.create_server(("127.0.0.1", port)) as server, socket.create_connection(("127.0.0.1", port)):
                server.accept()[0].close()
        with (
            socket.create_server(("127.0.0.1", 0)) as other,
            pytest.raises(PortTakenError, match="by another program just now"),
        ):
            hold_ports([other.getsockname()[1]])
    require_free(port, "anybody", "")


HOLDER = """
import signal, socket, sys, time
with socket.create_server(("127.0.0.1", {port})):
    signal.signal(signal.SIGTERM, {at_term})
    print("ready", flush=True)
    time.sleep({seconds})
"""


@pytest.mark.parametrize(
    ("at_term", "seconds"), [("signal.SIG_DFL", 0.5), ("signal.SIG_DFL", 1000), ("signal.SIG_IGN", 1000)]
)
def test_a_start_waits_for_the_processes_of_a_killed_stack(tmp_path: Path, at_term: str, seconds: float) -> None:
    """Those that do not end by themselves are ended, and the port is free then."""
    (port,) = free_ports(1)
    code = HOLDER.format(port=port, at_term=at_term, seconds=seconds)
    held = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert held.stdout is not None
    with held.stdout:
        held.stdout.readline()
    note_process(tmp_path, held.pid)
    assert [process.pid for process in left_processes(tmp_path)] == [held.pid]
    end_left_processes(tmp_path, 0.5 if seconds > 1 else 60.0)
    require_free(port, "the orchestrator", "")
    held.wait()
    assert left_processes(tmp_path) == []


def test_a_process_that_got_the_id_of_a_killed_one_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "processes").write_text(f"{os.getpid()} 1.0\n99999999 1.0\nnonsense\n")
    assert left_processes(tmp_path) == []


def test_a_taken_port_stops_the_stack_before_anything_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        stack = Stack(StackOptions(state_dir=tmp_path, orchestrator_port=port))
        with pytest.raises(PortTakenError, match=str(port)):
            stack.start()
    assert stack.pids() == {}


def test_a_second_stack_in_the_same_folder_is_refused_and_takes_nothing_away(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    without = frozenset({"simulation", *MODULES})
    with Stack(StackOptions(state_dir=folder, without=without)) as first:
        with pytest.raises(FolderInUseError, match="another `quartet demo` runs in"):
            Stack(StackOptions(state_dir=folder, fresh=True, without=without)).start()
        assert first.running() == {"redis": True}
        about = json.loads((folder / "stack.json").read_text())
        assert (Path(about["site_dir"]) / "robot.yaml").is_file()
        assert about["bridge_url"] == first.bridge_url
    with Stack(StackOptions(state_dir=folder, fresh=True, without=without)) as second:
        assert second.running() == {"redis": True}


def test_provider_keys_reach_the_gateway_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-shell")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3")
    monkeypatch.setenv("AZURE_OPENAI_KEY", "a")
    monkeypatch.setenv("QUARTET_URL", "http://elsewhere")
    monkeypatch.setenv("QUARTET_API_TOKEN", "a-person's")
    monkeypatch.setenv("QUARTET_MODEL", "anthropic/some-model")
    file = tmp_path / ".env"
    file.write_text("ANTHROPIC_API_KEY=from-file\nOPENAI_API_KEY=o\nOPENAI_API_BASE=http://b\nQUARTET_MODEL_PICK=x/y\n")
    dotenv = read_dotenv(file)
    public = public_environment()
    providers = {"ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "AZURE_OPENAI_KEY"}
    assert not {*providers, "QUARTET_URL", "QUARTET_MODEL"} & set(public)
    assert "PATH" in public
    gateway = gateway_environment(dotenv)
    assert set(gateway) >= providers
    assert gateway["ANTHROPIC_API_KEY"] == "from-shell"
    assert gateway["OPENAI_API_KEY"] == "o"
    assert gateway["OPENAI_API_BASE"] == "http://b"
    assert not {"QUARTET_URL", "QUARTET_API_TOKEN"} & set(gateway)
    assert (gateway["QUARTET_MODEL"], gateway["QUARTET_MODEL_PICK"]) == ("anthropic/some-model", "x/y")
    assert read_dotenv(tmp_path / "none") == {}


def test_redis_has_a_limit_of_memory_and_of_values(tmp_path: Path) -> None:
    options = StackOptions(state_dir=tmp_path, use_dotenv=False)
    at, keys = choose_addresses(options), SecretsFolder(tmp_path / "secrets")
    keys.init()
    (spec,) = (spec for spec in specs(options, at, keys) if spec.name == "redis")
    with subprocess.Popen(spec.argv, stdout=subprocess.DEVNULL) as server:
        try:
            password = keys.text("redis", "admin_password")
            end = time.monotonic() + 60
            while not redis_answers(at.ports["redis"], "admin", password) and time.monotonic() < end:
                time.sleep(0.05)
            # Without the client's own retries: each sends again what is refused, later and later.
            retry, port = Retry(NoBackoff(), 0), at.ports["redis"]
            with redis.Redis(port=port, username="admin", password=password, retry=retry) as client:
                assert int(client.config_get("maxmemory")["maxmemory"]) > 0
                with pytest.raises((redis.ResponseError, redis.ConnectionError)):
                    client.set("large", b"x" * (17 * 1024 * 1024))
                client.set("small", b"x" * (8 * 1024 * 1024))
                with socket.create_connection(("127.0.0.1", at.ports["redis"])) as greedy:
                    greedy.sendall(f"AUTH admin {password}\r\n".encode() + b"GET small\r\n" * 1000)
                    while not client.info("stats")["evicted_clients"] and time.monotonic() < end:
                        time.sleep(0.01)
                assert client.info("stats")["evicted_clients"] == 1
                assert client.info("memory")["used_memory_peak"] < 256 * 1024 * 1024
        finally:
            server.terminate()


def test_each_process_has_its_own_secrets_and_no_agent_a_bridge(tmp_path: Path) -> None:
    options = StackOptions(state_dir=tmp_path, use_dotenv=False, env_of={"nav2": {"A": "1"}}, env={"B": "2"})
    at = choose_addresses(options)
    keys = SecretsFolder(tmp_path / "secrets")
    built = {spec.name: spec for spec in specs(options, at, keys)}
    folders = {name: spec.env["QUARTET_SECRETS_DIR"] for name, spec in built.items() if name != "redis"}
    assert folders == {name: str(keys.path(name)) for name in folders}, "each has its own, and sees no other's"
    assert not [value for spec in built.values() for value in spec.env.values() if "PRIVATE KEY" in value]
    assert {name for name, spec in built.items() if at.robots[0].bridge in spec.env.values()} == {
        "nav2",
        "moveit",
        "perception",
        "ros",
    }
    assert {name for name, spec in built.items() if at.redis in spec.env.values()} == {
        "orchestrator",
        "approach",
        "pick",
        "place",
        "executor",
    }
    assert (built["nav2"].env["A"], built["nav2"].env["B"]) == ("1", "2")
    assert not any(at.url("scoring") in value for spec in built.values() for value in spec.env.values())


def test_settings_of_the_user_reach_the_processes_and_secrets_and_wiring_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = {"QUARTET_PATIENCE": "4", "QUARTET_SKILL_TIMEOUT_S": "60", "QUARTET_LOG_LEVEL": "DEBUG"}
    kept = {
        "QUARTET_API_TOKEN_FILE": "/home/me/token",
        "QUARTET_GRANT_PRIVATE_KEY": "key",
        "QUARTET_ALLOW_ANONYMOUS": "true",
        "QUARTET_HEARTBEAT_TIMEOUT_S": "600",
        "QUARTET_SEGMENTER_KEY": "key",
        "QUARTET_REDIS_URL": "redis://elsewhere",
    }
    for name, value in {**passed, **kept}.items():
        monkeypatch.setenv(name, value)
    options = StackOptions(state_dir=tmp_path, env_of={"pick": {"QUARTET_PATIENCE": "2"}})
    built = {spec.name: spec.env for spec in specs(options, choose_addresses(options), SecretsFolder(tmp_path / "s"))}
    for name in MODULES:
        assert built[name].items() >= {**passed, **({"QUARTET_PATIENCE": "2"} if name == "pick" else {})}.items(), name
        of_segmenter = {"QUARTET_SEGMENTER_KEY"} if name == "perception" else set[str]()
        assert {one for one, value in kept.items() if built[name].get(one) == value} == of_segmenter, name
    monkeypatch.setenv("QUARTET_MODEL_TIMEOUT_S", "")
    alone = StackOptions(state_dir=tmp_path, use_dotenv=False)
    of_alone = [spec.env for spec in specs(alone, choose_addresses(alone), SecretsFolder(tmp_path / "s"))]
    assert not [env for env in of_alone if passed.keys() & env.keys()]
    assert "QUARTET_MODEL_TIMEOUT_S" not in built["pick"]
    assert gateway_environment({"QUARTET_PATIENCE": "3"})["QUARTET_PATIENCE"] == "4", "`quartet doctor` has it as well"


def test_the_choice_of_a_segmenter_reaches_the_perception_server_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTET_SEGMENTER", "http")
    monkeypatch.setenv("QUARTET_SEGMENTER_URL", "http://gpu:8000/segment")
    options = StackOptions(state_dir=tmp_path, use_dotenv=False)
    at = choose_addresses(options)
    built = {spec.name: spec.env for spec in specs(options, at, SecretsFolder(tmp_path / "secrets"))}
    assert built["perception"]["QUARTET_SEGMENTER_URL"] == "http://gpu:8000/segment"
    assert built["perception"]["QUARTET_GATEWAY_URL"] == at.url("gateway")
    assert {name for name, env in built.items() if "QUARTET_SEGMENTER" in env} == {"perception"}
    assert "QUARTET_GATEWAY_URL" not in built["executor"], "it asks no model"


def test_mapping_files_and_the_tokens_that_they_name_reach_their_server_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "upstreams"
    folder.mkdir()
    with pytest.raises(OptionError, match=r"nav2\.yaml, moveit\.yaml"):
        choose_addresses(StackOptions(tmp_path, use_dotenv=False, upstreams_dir=folder))
    upstream = '{rover: {url: "http://127.0.0.1:1/mcp", token_env: ROVER_TOKEN}}'
    (folder / "nav2.yaml").write_text(f"server: nav2\nupstreams: {upstream}\n")
    monkeypatch.setenv("ROVER_TOKEN", "secret")
    options = StackOptions(tmp_path, use_dotenv=False, upstreams_dir=folder)
    built = {
        spec.name: spec.env for spec in specs(options, choose_addresses(options), SecretsFolder(tmp_path / "secrets"))
    }
    assert built["nav2"]["QUARTET_UPSTREAMS_FILE"] == str(folder / "nav2.yaml")
    assert [name for name, env in built.items() if "ROVER_TOKEN" in env] == ["nav2"]
    assert [name for name, env in built.items() if "QUARTET_UPSTREAMS_FILE" in env] == ["nav2"]


def test_an_unknown_world_or_process_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"there is no world 'moon'; valid: .*home"):
        Stack(StackOptions(state_dir=tmp_path, world="moon"))
    with pytest.raises(StackError, match="no process 'x' in this stack"):
        Stack(StackOptions(state_dir=tmp_path)).kill("x")


def test_several_robots_have_files_paths_and_guards_of_their_own(tmp_path: Path) -> None:
    options = StackOptions(tmp_path, world="studio", robots=2, homes=2, use_dotenv=False)
    at = choose_addresses(options)
    assert [robot.name for robot in at.robots] == ["summit1", "summit2", "summit3", "summit4"]
    assert len({robot.bridge for robot in at.robots} | {robot.guard for robot in at.robots}) == 8
    servers = json.loads(at.servers())
    assert servers["summit3"]["nav2"] == f"{at.url('nav2')}/summit3/mcp"
    for _ in range(2):
        # Also in a folder that has them already.
        built = {spec.name: spec.env for spec in specs(options, at, SecretsFolder(tmp_path / "secrets"))}
    files = {name: RobotFiles(**one) for name, one in json.loads(built["orchestrator"]["QUARTET_ROBOTS"]).items()}
    known = load_robots(files, files, None, None)
    same = {name for name, one in known.items() if one.site is known["summit1"].site}
    assert same == {"summit1", "summit2"}, "robots of one home share a site, those of another do not"
    assert known["summit3"].site is known["summit4"].site
    assert files["summit3"].site_file.with_name("policy.yaml").is_file(), "the policy is the one beside the site file"


def test_each_robot_has_an_agent_of_each_kind_so_that_one_that_waits_holds_up_no_other(tmp_path: Path) -> None:
    def of(**more: Any) -> dict[str, Any]:
        options = StackOptions(tmp_path, world="studio", robots=3, use_dotenv=False, **more)
        built = specs(options, choose_addresses(options), SecretsFolder(tmp_path / "secrets"))
        return {spec.name: spec for spec in built if spec.name.startswith("approach")}

    built = of(env_of={"approach-2": {"QUARTET_X": "1"}})
    assert list(built) == ["approach", "approach-2", "approach-3"]
    assert len({spec.ready_file for spec in built.values()}) == 3
    assert all(spec.env["QUARTET_READY_FILE"] == str(spec.ready_file) for spec in built.values())
    assert built["approach-2"].env["QUARTET_PORT"] == "0"
    assert [spec.env.get("QUARTET_X") for spec in built.values()] == [None, "1", None]
    assert list(of(replicas=1)) == ["approach"]
    assert list(of(without={"approach-3"})) == ["approach", "approach-2"]
    assert not of(without={"approach"}), "nobody of the kind, however many robots there are"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"robots": 0}, "robots x homes = 0 x 1 is out of range; valid: 1 to 8 in each home, 20 in all"),
        ({"robots": 9}, "robots x homes = 9 x 1 is out of range"),
        ({"robots": 7, "homes": 3}, "robots x homes = 7 x 3 is out of range"),
        ({"robots": 2, "guard_url": "http://127.0.0.1:9091"}, "with --robot-dir there is one"),
    ],
)
def test_robots_that_cannot_be_had_are_told(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        choose_addresses(StackOptions(tmp_path, world="studio", use_dotenv=False, **options))


def test_a_process_that_is_not_ready_in_time_is_named_with_the_option_that_gives_it_more(tmp_path: Path) -> None:
    without = frozenset({"simulation", *MODULES} - {"scripted_model"})
    options = StackOptions(tmp_path / "up", without=without, use_dotenv=False, start_timeout_s=1e-6)
    with pytest.raises(StartTimeoutError, match=r"was not ready after 0 s; .*--start-timeout"):
        Stack(options).start()


def test_nobody_else_on_the_machine_reads_what_a_stack_writes(tmp_path: Path) -> None:
    folder = tmp_path / "up"
    folder.mkdir(mode=0o755)
    without = frozenset({"simulation", *MODULES})
    with Stack(StackOptions(state_dir=folder, without=without, use_dotenv=False)):
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "redis").stat().st_mode & 0o777 == 0o700
        written = list(folder.rglob("*"))
        assert {"redis.log", "stack.json"} <= {path.name for path in written}
        assert any(path.is_file() for path in (folder / "redis").rglob("*"))
        assert [path for path in written if path.stat().st_mode & 0o077] == []


def test_a_time_limit_beyond_the_budgets_default_is_not_cut_short_by_it() -> None:
    sent: list[dict[str, Any]] = []

    def accept(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        return httpx2.Response(400, json={"detail": "enough"})

    client = httpx2.Client(transport=httpx2.MockTransport(accept), base_url="http://x")
    with OrchestratorClient("http://x", client=client) as api, pytest.raises(RefusedError):
        api.submit(TaskSubmission(sentence="go to the kitchen", timeout_s=3000))
    assert sent == [{"sentence": "go to the kitchen", "timeout_s": 3000}]
