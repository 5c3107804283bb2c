"""The fork server: what its processes are given, how they end, and what is left when something dies."""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from quartet_deployment import ProcessDiedError, Stack, StackError, StackOptions
from quartet_deployment._forks import ForkServer
from quartet_deployment._process import MODULE, ManagedProcess, ProcessSpec
from quartet_deployment._specs import MODULES

Start = Callable[..., ManagedProcess]


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose modules the fork server can run."""
    return tmp_path_factory.mktemp("modules")


@pytest.fixture(scope="module")
def shared(modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    server = started(modules, tmp_path_factory.mktemp("shared"))
    yield server
    server.end()


@pytest.fixture
def start(shared: ForkServer, modules: Path, tmp_path: Path) -> Iterator[Start]:
    yield from starting(shared, modules, tmp_path)


@pytest.fixture
def server(modules: Path, tmp_path: Path) -> Iterator[ForkServer]:
    """One that the test may kill."""
    server = started(modules, tmp_path)
    yield server
    server.end()


def started(modules: Path, folder: Path) -> ForkServer:
    return ForkServer({"PATH": os.environ["PATH"], "PYTHONPATH": str(modules)}, folder / "fork_server.log")


def starting(server: ForkServer, modules: Path, folder: Path) -> Iterator[Start]:
    """Yield what starts a process that runs `code`; all are killed at the end."""
    running: list[ManagedProcess] = []

    def start(code: str, *arguments: str, **env: str) -> ManagedProcess:
        name = f"module_{secrets.token_hex(8)}"
        (modules / f"{name}.py").write_text(code)
        spec = ProcessSpec(name, [*MODULE, name, *arguments], env=env, forked=True)
        running.append(ManagedProcess(spec, {}, folder / f"{name}.log", server))
        return running[-1]

    yield start
    for process in running:
        process.kill()


def wait_until(condition: Callable[[], object], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.01)


def ended(process: ManagedProcess) -> str:
    """Wait for the end of a process and return what it wrote."""
    wait_until(lambda: process.status is not None)
    return process.log.read_text()


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_process_gets_its_arguments_and_its_environment_only(start: Start) -> None:
    code = "import os, sys; print(__name__, sys.argv[1:], dict(os.environ), flush=True); print('told', file=sys.stderr)"
    process = start(code, "--port", "7", QUARTET_PORT="7")
    assert ended(process) == "__main__ ['--port', '7'] {'QUARTET_PORT': '7'}\ntold\n"
    assert process.status == 0


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        ("raise SystemExit(3)", 3, ""),
        ("import sys; sys.exit('no port')", 1, "no port\n"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, ""),
        ("import atexit; atexit.register(print, 'at the end')", 0, "at the end\n"),
    ],
    ids=["status", "text", "error", "signal", "atexit"],
)
def test_a_process_ends_as_one_of_its_own_does(start: Start, code: str, status: int, told: str) -> None:
    process = start(code)
    assert told in ended(process)
    assert process.status == status


def test_a_process_is_shown_with_its_own_command(start: Start) -> None:
    process = start("print('on', flush=True); import time; time.sleep(60)", "--seed", "1")
    wait_until(lambda: "on" in process.tail())
    shown = " ".join(psutil.Process(process.pid).cmdline()).rstrip("\0 ")
    assert shown == f"{sys.executable} -m {process.name} --seed 1"


def test_a_process_that_ignores_the_request_to_end_is_killed(start: Start) -> None:
    ignoring = "import signal, time; signal.signal(15, signal.SIG_IGN); print('on', flush=True); time.sleep(60)"
    process = start(ignoring)
    wait_until(lambda: "on" in process.tail())
    process.ask_to_end()
    process.wait_for_end(time.monotonic() + 0.2)
    assert process.status == -signal.SIGKILL


def test_what_a_process_started_ends_with_it(start: Start) -> None:
    process = start("import subprocess; p = subprocess.Popen(['/bin/sleep', '60']); print(p.pid, flush=True); p.wait()")
    wait_until(lambda: process.tail().strip().isdigit())
    child = int(process.tail())
    process.kill()
    wait_until(lambda: gone(child))


def test_a_long_environment_is_given_whole(start: Start) -> None:
    # Longer than a pipe or a message takes.
    process = start("import os; print(len(os.environ['QUARTET_ROBOTS']))", QUARTET_ROBOTS="x" * 1_000_000)
    assert ended(process) == "1000000\n"


def test_a_process_can_be_killed_right_after_its_start(start: Start) -> None:
    for _ in range(50):
        process = start("import time; time.sleep(60)")
        process.kill()
        assert process.status == -signal.SIGKILL


def test_a_signal_reaches_no_process_of_others(start: Start, shared: ForkServer) -> None:
    with subprocess.Popen(["/bin/sleep", "60"], start_new_session=True) as other:
        shared.signal(other.pid, signal.SIGKILL)
        assert ended(start("print('still serving')")) == "still serving\n"
        assert other.poll() is None
        other.kill()


def test_each_process_gets_the_environment_that_is_its_own(start: Start) -> None:
    code = "import os; print(os.environ['QUARTET_SECRETS_DIR'], len(os.environ))"
    processes = {name: start(code, QUARTET_SECRETS_DIR=name) for name in ("approach", "pick", "place")}
    assert {name: ended(process) for name, process in processes.items()} == {name: f"{name} 1\n" for name in processes}


def test_a_fork_that_fails_is_told_and_ends_nothing_else(server: ForkServer, modules: Path, tmp_path: Path) -> None:
    starts = starting(server, modules, tmp_path)
    start = next(starts)
    first = start("print('on', flush=True); import time; time.sleep(60)")
    wait_until(lambda: "on" in first.tail())
    # Fewer descriptors than a start hands over: the kernel drops those that do not fit.
    soft, hard = psutil.Process(server.pid).rlimit(psutil.RLIMIT_NOFILE)
    open_now = psutil.Process(server.pid).num_fds()
    psutil.Process(server.pid).rlimit(psutil.RLIMIT_NOFILE, (open_now, hard))
    with pytest.raises(StackError, match=r"module_\w+ cannot be started: "):
        start("pass")
    psutil.Process(server.pid).rlimit(psutil.RLIMIT_NOFILE, (soft, hard))
    assert ended(start("print('again')")) == "again\n"
    assert first.status is None
    assert [*starts] == []


def test_the_signal_to_a_stopped_process_is_sent_again_when_the_fork_server_is_dead(
    server: ForkServer, modules: Path, tmp_path: Path
) -> None:
    starts = starting(server, modules, tmp_path)
    process = next(starts)("print('on', flush=True); import time; time.sleep(60)")
    wait_until(lambda: "on" in process.tail())
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(server.pid, signal.SIGSTOP)
    process.signal(signal.SIGKILL)
    os.kill(server.pid, signal.SIGKILL)
    process.kill()
    assert gone(process.pid)
    assert [*starts] == []


def test_only_the_owner_reads_what_a_process_writes(start: Start, tmp_path: Path) -> None:
    process = start("import sys; open(sys.argv[1], 'w').close()", str(tmp_path / "written"))
    ended(process)
    assert (tmp_path / "written").stat().st_mode & 0o777 == 0o600
    assert process.log.stat().st_mode & 0o777 == 0o600


def test_before_the_fork_no_service_of_ours_is_imported_and_no_thread_runs(start: Start, shared: ForkServer) -> None:
    code = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    imported = ended(start(code)).split()
    assert {"fastmcp", "mcp", "uvicorn"} <= {*imported}
    ours = [name for name in imported if name.startswith("quartet_")]
    assert ours == ["quartet_contracts", "quartet_deployment", "quartet_process"]
    assert len(list(Path(f"/proc/{shared.pid}/task").iterdir())) == 1


SEARCH = """
import re, sys
wanted = sys.argv[1][::-1].encode()
found = 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps:
        begin, end, mode = re.match(r"(\\w+)-(\\w+) (\\S+)", line).groups()
        if mode.startswith("rw") and "[v" not in line:
            memory.seek(int(begin, 16))
            found += memory.read(int(end, 16) - int(begin, 16)).count(wanted)
# The search itself holds it once.
print(found - 1 > 0)
"""


def test_the_key_of_one_process_is_not_in_the_memory_of_the_next(start: Start) -> None:
    key = secrets.token_hex(24)
    holder = start("import time; print('on', flush=True); time.sleep(60)", PROVIDER_KEY=key)
    wait_until(lambda: "on" in holder.tail())
    assert ended(start(SEARCH, key[::-1], PROVIDER_KEY=key)) == "True\n", "the search finds one that is there"
    assert ended(start(SEARCH, key[::-1])) == "False\n"


def test_a_variable_that_python_reads_at_its_start_has_its_effect(start: Start) -> None:
    process = start("pass", PYTHONINSPECT="", PYTHONPATH="/nowhere")
    wait_until(lambda: process.status is not None)
    assert "No module named" in process.log.read_text(), "it was started by itself, where this module is not known"


def test_the_end_of_the_fork_server_is_told_and_ends_its_processes(
    server: ForkServer, modules: Path, tmp_path: Path
) -> None:
    starts = starting(server, modules, tmp_path)
    start = next(starts)
    process = start("print('on', flush=True); import time; time.sleep(60)")
    wait_until(lambda: "on" in process.tail())
    os.kill(server.pid, signal.SIGKILL)
    wait_until(lambda: process.status is not None)
    assert process.status == -signal.SIGTERM
    assert gone(process.pid)
    with pytest.raises(ProcessDiedError, match="the fork server was killed by signal 9"):
        server.raise_if_dead()
    with pytest.raises(ProcessDiedError, match="the fork server was killed by signal 9"):
        start("pass")
    assert [*starts] == []


def test_a_fork_server_that_cannot_start_says_why(modules: Path, tmp_path: Path) -> None:
    (tmp_path / "fastmcp.py").write_text("raise ImportError('this one is broken')")
    server = ForkServer({"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)}, tmp_path / "fork_server.log")
    start = next(starting(server, modules, tmp_path))
    with pytest.raises(ProcessDiedError, match=r"(?s)the fork server exited with status 1.*this one is broken"):
        start("pass")
    server.end()


def test_an_interrupted_start_leaves_no_process_that_nobody_knows_of(
    server: ForkServer, modules: Path, tmp_path: Path
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    starts = starting(server, modules, tmp_path)
    start = next(starts)
    os.kill(server.pid, signal.SIGSTOP)
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            start("pass")
    finally:
        signal.signal(signal.SIGALRM, before)
    wait_until(lambda: server.is_dead)
    assert [*starts] == []


def test_a_fork_server_that_hangs_is_killed_at_the_end(
    modules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quartet_deployment._forks.END_GRACE_S", 0.1)
    server = started(modules, tmp_path)
    os.kill(server.pid, signal.SIGSTOP)
    server.end()
    assert gone(server.pid)


def test_nothing_is_left_when_the_supervisor_is_killed(modules: Path, tmp_path: Path) -> None:
    (modules / "sleeper.py").write_text("import time; time.sleep(60)")
    code = f"""
import os, time
from pathlib import Path
from quartet_deployment._forks import ForkServer
from quartet_deployment._process import MODULE, ManagedProcess, ProcessSpec
from quartet_deployment._specs import MODULES
server = ForkServer(dict(os.environ), Path({str(tmp_path / "fork_server.log")!r}))
spec = ProcessSpec("sleeper", [*MODULE, "sleeper"], forked=True)
print(server.pid, ManagedProcess(spec, {{}}, Path({str(tmp_path / "s.log")!r}), server).pid, flush=True)
time.sleep(60)
"""
    environment = {**os.environ, "PYTHONPATH": str(modules)}
    supervisor = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    assert supervisor.stdout is not None
    pids = [int(pid) for pid in supervisor.stdout.readline().split()]
    supervisor.kill()
    supervisor.wait()
    supervisor.stdout.close()
    assert len(pids) == 2
    wait_until(lambda: all(gone(pid) for pid in pids))


def test_a_stack_starts_processes_again_after_its_fork_server_died(tmp_path: Path) -> None:
    # Only two processes: the rest of a stack takes long.
    without = frozenset({"simulation", *MODULES} - {"stop"})
    with Stack(StackOptions(state_dir=tmp_path / "state", without=without)) as stack:
        server = psutil.Process(stack.pids()["stop"]).ppid()
        assert server != os.getpid()
        assert set(stack.memory_mb()) == {"redis", "stop", "fork_server"}
        os.kill(server, signal.SIGKILL)
        wait_until(lambda: not stack.running()["stop"])
        assert [error.name for error in stack.died()] == ["the fork server", "stop"]
        stack.restart("stop")
        assert stack.running() == {"redis": True, "stop": True}
        assert stack.died() == []
