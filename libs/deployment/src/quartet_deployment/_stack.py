"""The supervisor: starts, watches and ends every process of a deployment on this machine."""

import atexit
import contextlib
import itertools
import shutil
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import psutil

from quartet_bus.access import ADMIN
from quartet_deployment._environment import public_environment
from quartet_deployment._forks import ForkServer
from quartet_deployment._grants import sign_grant
from quartet_deployment._options import StackOptions
from quartet_deployment._orchestrator_client import OrchestratorClient
from quartet_deployment._ports import hold_ports, require_free
from quartet_deployment._process import TERM_GRACE_S, ManagedProcess, ProcessSpec
from quartet_deployment._project import project_root
from quartet_deployment._robots import metrics
from quartet_deployment._secrets.folder import ADMIN_FILE, SecretsFolder
from quartet_deployment._secrets.layout import SERVERS
from quartet_deployment._specs import Addresses, choose_addresses, models, replica, specs
from quartet_deployment._state import (
    end_left_processes,
    lock_folder,
    note_process,
    remove_description,
    write_description,
)
from quartet_deployment._world import site_folder, with_robot, with_world
from quartet_deployment.errors import ProcessDiedError, StackError, StartTimeoutError

POLL_S = 0.02


class Stack:
    """Whole deployment on the loopback interface, for `quartet up`, the demo, tests and benchmarks.

    Use it as a context manager, from a thread that lives as long as the stack. Raises StackError and its kinds, and
    SiteFileError for a robot or site file that cannot be used.
    """

    def __init__(self, options: StackOptions) -> None:
        self.options = options = with_robot(with_world(options))
        self.models = models(options)
        """The model of each agent, followed by its fallbacks: provider/model, or "scripted"."""
        self.secrets = SecretsFolder(options.state_dir / "secrets")
        """The keys and tokens of its processes."""
        self._at: Addresses = choose_addresses(options)
        self._processes: dict[str, ManagedProcess] = {}
        self._fork_servers: list[ForkServer] = []
        """The one in use last; those before have died."""
        self._lock: IO[str] | None = None
        self._ports = contextlib.ExitStack()

    def __enter__(self) -> "Stack":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def model_names(self) -> list[str]:
        """The models that any agent uses, each once."""
        return list(dict.fromkeys(name for chain in self.models.values() for name in chain))

    @property
    def url(self) -> str:
        """The orchestrator's HTTP API."""
        return self._at.url("orchestrator")

    @property
    def scoring_url(self) -> str:
        """The simulation's scoring interface (truth, overhead picture, reset)."""
        return self._at.url("scoring")

    @property
    def overhead_url(self) -> str:
        """A picture of the whole world from above; empty where there is no simulation."""
        return f"{self.scoring_url}/overhead.jpg" if self.options.guard_url is None else ""

    @property
    def stop_token(self) -> str:
        """Token that a person's stop must carry."""
        return self.secrets.text("cli", "stop_token")

    @property
    def api_token(self) -> str:
        """Token that a request to the orchestrator must carry."""
        return self.secrets.text("cli", "api_token")

    @property
    def metrics_token(self) -> str:
        """Token that a request to any process's /metrics must carry."""
        return self.secrets.text("prometheus", "metrics_token")

    def api(self) -> OrchestratorClient:
        """Return a client of the orchestrator."""
        return OrchestratorClient(self.url, self.api_token)

    @property
    def redis_url(self) -> str:
        """Address of Redis with the administrator's password, to inspect what the processes write."""
        return self._at.redis.replace("redis://", f"redis://{ADMIN}:{self.secrets.text(*ADMIN_FILE)}@")

    @property
    def bridge_url(self) -> str:
        """Address of the first robot's rosbridge."""
        return self._at.robots[0].bridge

    @property
    def robot(self) -> str:
        """Name of the first robot."""
        return self._at.robots[0].name

    @property
    def robots(self) -> list[str]:
        return [robot.name for robot in self._at.robots]

    @property
    def site_dir(self) -> Path:
        """The folder with robot.yaml and site.yaml."""
        return site_folder(self.options)

    @property
    def log_dir(self) -> Path:
        return self.options.state_dir / "logs"

    def url_of(self, name: str) -> str:
        """Return the HTTP address of a process, without a path."""
        return self._at.url(name)

    def metrics_url(self, name: str) -> str:
        """Return the address of a process's metrics; "simulation" is the process of the first home."""
        return f"{self.url_of(metrics(0) if name == 'simulation' else name)}/metrics"

    def servers(self, robot: str | None = None) -> dict[str, str]:
        """Return the MCP endpoint of each server of a robot, None for the first robot."""
        return {name: self._at.mcp(name, robot or self.robot) for name in SERVERS}

    def grant(self, tools: Iterable[str], **claims: Any) -> str:
        """Return a token for a client of one's own; `claims` are the keyword arguments of sign_grant."""
        pem = self.secrets.path("orchestrator", "grant_private_key").read_text()
        return sign_grant(pem, self.robot, tools, **claims)

    def start(self) -> None:
        """Start everything at once and wait until all processes are ready; on an error end them all."""
        self._lock = lock_folder(self.options.state_dir)
        try:
            end_left_processes(self.options.state_dir, TERM_GRACE_S)
            if self.options.orchestrator_port:
                require_free(
                    self.options.orchestrator_port,
                    "the orchestrator",
                    "end the program that listens there, or choose another port with --port",
                )
        except BaseException:
            self.stop()
            raise
        if self.options.fresh:
            shutil.rmtree(self.options.state_dir, ignore_errors=True)
        # Other users of this machine must not read its journals, grants and logs.
        self.options.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.options.state_dir.chmod(0o700)
        atexit.register(self.stop)
        try:
            self._ports = hold_ports(self._at.ports.values())
            self.secrets.init()
            # First, and Redis and the simulation next: they start while it imports.
            self._fork_server()
            for spec in specs(self.options, self._at, self.secrets):
                self._processes[spec.name] = self._started(spec)
            self._wait_until_ready(list(self._processes.values()))
        except BaseException:
            self.stop()
            raise
        self._write_description()

    def stop(self) -> None:
        """End every process; those that do not end in time are killed. Idempotent."""
        atexit.unregister(self.stop)
        if self._lock is None:
            return
        running = list(reversed(self._processes.values()))
        for process in running:
            if process.name != "redis":
                process.ask_to_end()
        deadline = time.monotonic() + TERM_GRACE_S
        for process in running:
            if process.name != "redis":
                process.wait_for_end(deadline)
        redis = self._processes.get("redis")
        if redis is not None:
            # Last, so that the others can still record how they ended.
            redis.ask_to_end()
            redis.wait_for_end(time.monotonic() + TERM_GRACE_S)
        for server in self._fork_servers:
            server.end()
        self._fork_servers.clear()
        self._processes.clear()
        self._ports.close()
        remove_description(self.options.state_dir)
        self._lock.close()
        self._lock = None

    def kill(self, name: str) -> None:
        """Kill one process (signal 9), as a crash would."""
        self._process(name).kill()

    def restart(self, *names: str, **env: str) -> None:
        """Start processes again at their old addresses, with `env` added, and wait until they are ready."""
        for name in names:
            old = self._process(name)
            if old.status is None:
                old.ask_to_end()
                old.wait_for_end(time.monotonic() + TERM_GRACE_S)
        # The store first: nothing else starts without it.
        for some in ([name for name in names if name == "redis"], [name for name in names if name != "redis"]):
            for name in some:
                old = self._process(name)
                spec = replace(old.spec, env={**old.spec.env, **env})
                self._processes[name] = self._started(spec)
            self._wait_until_ready([self._processes[name] for name in some])

    def replicate(self, name: str) -> tuple[str, str]:
        """Start one more replica of a process at a port of its own and return its name and address."""
        number = next(n for n in itertools.count(2) if f"{name}-{n}" not in self._processes)
        spec = replica(self.options, self._process(name).spec, number)
        self._processes[spec.name] = new = self._started(spec)
        self._wait_until_ready([new])
        return spec.name, str(new.ready_content()["url"])

    def end(self, name: str) -> None:
        """End one process for good."""
        process = self._process(name)
        process.ask_to_end()
        process.wait_for_end(time.monotonic() + TERM_GRACE_S)
        del self._processes[name]

    def died(self) -> list[ProcessDiedError]:
        """Return an error for each process that ended without being asked to."""
        found: list[ProcessDiedError] = []
        for process in (*self._fork_servers[-1:], *self._processes.values()):
            try:
                process.raise_if_dead()
            except ProcessDiedError as error:
                found.append(error)
        return found

    def running(self) -> dict[str, bool]:
        """Return whether each process runs."""
        return {name: process.status is None for name, process in self._processes.items()}

    def memory_mb(self) -> dict[str, float]:
        """Return the proportional set size of each process with its children [MB]; shared pages are divided.

        Beside those of `pids` there is the fork server.
        """
        found = {name: _memory_mb(pid, children=True) for name, pid in self.pids().items()}
        for server in self._fork_servers[-1:]:
            # Its children are the others.
            found["fork_server"] = _memory_mb(server.pid, children=False)
        return found

    def pids(self) -> dict[str, int]:
        return {name: process.pid for name, process in self._processes.items()}

    def _fork_server(self) -> ForkServer:
        """Return the fork server, a new one if there is none that runs."""
        if not self._fork_servers or self._fork_servers[-1].is_dead:
            self._fork_servers.append(ForkServer(public_environment(), self.log_dir / "fork_server.log"))
            note_process(self.options.state_dir, self._fork_servers[-1].pid)
        return self._fork_servers[-1]

    def _started(self, spec: ProcessSpec) -> ManagedProcess:
        process = ManagedProcess(spec, public_environment(), self.log_dir / f"{spec.name}.log", self._fork_server())
        note_process(self.options.state_dir, process.pid)
        return process

    def _process(self, name: str) -> ManagedProcess:
        try:
            return self._processes[name]
        except KeyError:
            raise StackError(f"no process '{name}' in this stack; there are: {', '.join(self._processes)}") from None

    def _wait_until_ready(self, processes: list[ManagedProcess]) -> None:
        deadline = time.monotonic() + self.options.start_timeout_s
        waiting = processes
        while waiting := [process for process in waiting if not process.is_ready()]:
            if time.monotonic() > deadline:
                late = waiting[0]
                raise StartTimeoutError(late.name, self.options.start_timeout_s, late.log, late.tail())
            time.sleep(POLL_S)

    def _write_description(self) -> None:
        """Write what another terminal needs to find this stack."""
        write_description(
            self.options.state_dir,
            {
                "url": self.url,
                "overhead_url": self.overhead_url,
                "redis_url": self._at.redis,
                "robot": self.robot,
                "robots": self.robots,
                "world": self.options.world,
                "site_dir": str(self.site_dir.resolve()),
                "bridge_url": self.bridge_url,
                "secrets_dir": str(self.secrets.root.resolve()),
                "private_key": str(self.secrets.path("orchestrator", "grant_private_key")),
                "stop_url": self.url_of("stop"),
                "servers": self._at.servers(self.options.without),
                "root": str(project_root()),
            },
        )


def _memory_mb(pid: int, *, children: bool) -> float:
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        top = psutil.Process(pid)
        for one in (top, *(top.children(recursive=True) if children else ())):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += one.memory_full_info().pss
    return total / 1e6
