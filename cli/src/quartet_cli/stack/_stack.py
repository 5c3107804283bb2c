"""The supervisor: every process of Quartet on this machine, started together and ended together."""

import atexit
import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO

import psutil

from quartet_bus.access import ADMIN
from quartet_cli._root import project_root
from quartet_cli.api import Api
from quartet_cli.grants import sign_grant
from quartet_cli.secrets import SecretsFolder
from quartet_cli.secrets.folder import ADMIN_FILE
from quartet_cli.secrets.layout import SERVERS
from quartet_cli.stack._environment import public_environment
from quartet_cli.stack._lock import lock_folder
from quartet_cli.stack._ports import hold_ports, require_free
from quartet_cli.stack._process import TERM_GRACE_S, ManagedProcess
from quartet_cli.stack._robots import metrics, scoring
from quartet_cli.stack._specs import Addresses, choose_addresses, models, site_folder, specs
from quartet_cli.stack.errors import ProcessDied, StackError, StartTimeout
from quartet_cli.stack.options import StackOptions

POLL_S = 0.02


class Stack:
    """A whole deployment on the loopback interface, for the demo, the tests and the benchmarks.

    Use it as a context manager, from a thread that lives as long as the stack. Raises StackError and its kinds,
    FileProblem for a robot or site file that cannot be used, FileNotFoundError for a world that is not there.
    """

    def __init__(self, options: StackOptions) -> None:
        self.options = options
        self.models = models(options)
        """The settings that chose another model than the scripted one, {} for the scripted one."""
        self.secrets = SecretsFolder(options.state_dir / "secrets")
        """The keys and tokens of its processes."""
        self._at: Addresses = choose_addresses(options)
        self._processes: dict[str, ManagedProcess] = {}
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
    def url(self) -> str:
        """The orchestrator's HTTP API."""
        return self._at.url("orchestrator")

    @property
    def scoring_url(self) -> str:
        """The simulation's scoring interface (truth, overhead picture, reset)."""
        return self._at.url("scoring")

    def scoring_of(self, robot: str) -> str:
        """The scoring interface of the home that a robot is in."""
        home = next(one.home for one in self._at.robots if one.name == robot)
        return self._at.url(scoring(home))

    @property
    def overhead_url(self) -> str:
        """A picture of the whole world from above; empty where there is no simulation."""
        return f"{self.scoring_url}/overhead.jpg" if self.options.guard_url is None else ""

    @property
    def stop_token(self) -> str:
        """What a person's stop must carry."""
        return self.secrets.text("cli", "stop_token")

    @property
    def api_token(self) -> str:
        """What a request to the orchestrator must carry."""
        return self.secrets.text("cli", "api_token")

    @property
    def metrics_token(self) -> str:
        """What a request to any process's /metrics must carry."""
        return self.secrets.text("prometheus", "metrics_token")

    def api(self) -> Api:
        """A client of the orchestrator."""
        return Api(self.url, self.api_token)

    @property
    def redis_url(self) -> str:
        """With the administrator's password, for who looks at what the processes leave there."""
        return self._at.redis.replace("redis://", f"redis://{ADMIN}:{self.secrets.text(*ADMIN_FILE)}@")

    @property
    def bridge_url(self) -> str:
        """The robot's rosbridge, which is the simulation's where there is one."""
        return self._at.robots[0].bridge

    @property
    def robot(self) -> str:
        """The first robot, mostly the only one."""
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
        """The HTTP address of a process, without a path."""
        return self._at.url(name)

    def metrics_url(self, name: str) -> str:
        """Where a process serves its metrics; "simulation" is the process of the first home."""
        return f"{self.url_of(metrics(0) if name == 'simulation' else name)}/metrics"

    def servers(self, robot: str | None = None) -> dict[str, str]:
        """MCP endpoint of each server of a robot; None: the first."""
        return {name: self._at.mcp(name, robot or self.robot) for name in SERVERS}

    def grant(self, tools: Iterable[str], *, name: str = "client", fence: int = 0, beats: bool = False) -> str:
        """A token for a client of one's own, see grants.sign_grant."""
        pem = self.secrets.path("orchestrator", "grant_private_key").read_text()
        return sign_grant(pem, self.robot, tools, name=name, fence=fence, beats=beats)

    def start(self) -> None:
        """Start everything at once and wait until all of it serves; on an error nothing stays behind."""
        if self.options.orchestrator_port:
            require_free(
                self.options.orchestrator_port, "the orchestrator", "stop who uses it or name another with --port"
            )
        self._lock = lock_folder(self.options.state_dir)
        if self.options.fresh:
            shutil.rmtree(self.options.state_dir, ignore_errors=True)
        atexit.register(self.stop)
        try:
            self._ports = hold_ports(self._at.ports.values())
            self.secrets.init()
            base = public_environment()
            for spec in specs(self.options, self._at, self.secrets):
                log = self.log_dir / f"{spec.name}.log"
                self._processes[spec.name] = ManagedProcess(spec, base, log)
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
            # Last, so that the others can still write down how they ended.
            redis.ask_to_end()
            redis.wait_for_end(time.monotonic() + TERM_GRACE_S)
        self._processes.clear()
        self._ports.close()
        (self.options.state_dir / "stack.json").unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def kill(self, name: str) -> None:
        """Kill one process (signal 9), as a crash would."""
        self._process(name).kill()

    def restart(self, *names: str, **env: str) -> None:
        """Start processes again at their old addresses, with `env` added, and wait until they serve."""
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
                self._processes[name] = ManagedProcess(spec, public_environment(), old.log)
            self._wait_until_ready([self._processes[name] for name in some])

    def replicate(self, name: str) -> tuple[str, str]:
        """Start one more replica of a process at a port of its own; the name it has here, and its address."""
        spec, number = self._process(name).spec, 2
        while (replica := f"{name}-{number}") in self._processes:
            number += 1
        ready = self.options.state_dir / "ready" / f"{replica}.json"
        env = {**spec.env, "QUARTET_PORT": "0", "QUARTET_READY_FILE": str(ready)}
        new = ManagedProcess(
            replace(spec, name=replica, env=env, ready_file=ready),
            public_environment(),
            self.log_dir / f"{replica}.log",
        )
        self._processes[replica] = new
        self._wait_until_ready([new])
        return replica, str(new.ready_content()["url"])

    def end(self, name: str) -> None:
        """End one process for good, in order."""
        process = self._process(name)
        process.ask_to_end()
        process.wait_for_end(time.monotonic() + TERM_GRACE_S)
        del self._processes[name]

    def died(self) -> list[ProcessDied]:
        """The processes that have ended without being asked to."""
        found: list[ProcessDied] = []
        for process in self._processes.values():
            try:
                process.raise_if_dead()
            except ProcessDied as error:
                found.append(error)
        return found

    def running(self) -> dict[str, bool]:
        """Which processes run now."""
        return {name: process.status is None for name, process in self._processes.items()}

    def start_times_s(self) -> dict[str, float]:
        """From start to ready, by process [s]."""
        return {name: p.ready_after_s for name, p in self._processes.items() if p.ready_after_s is not None}

    def memory_mb(self) -> dict[str, float]:
        """Proportional set size (shared pages divided among their users) by process with its children [MB]."""
        found: dict[str, float] = {}
        for name, process in self._processes.items():
            total = 0
            with contextlib.suppress(psutil.NoSuchProcess):
                top = psutil.Process(process.pid)
                for one in (top, *top.children(recursive=True)):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        total += one.memory_full_info().pss
            found[name] = total / 1e6
        return found

    def pids(self) -> dict[str, int]:
        return {name: process.pid for name, process in self._processes.items()}

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
                raise StartTimeout(late.name, self.options.start_timeout_s, late.log, late.tail())
            time.sleep(POLL_S)

    def _write_description(self) -> None:
        """What another terminal needs to find this stack."""
        text = json.dumps(
            {
                "pid": os.getpid(),
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
                "root": str(project_root()),
            },
            indent=1,
        )
        (self.options.state_dir / "stack.json").write_text(text)
