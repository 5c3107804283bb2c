"""Fixtures for the whole suite: a real Redis, and a wall that keeps every test on this machine."""

import asyncio
import contextlib
import gc
import ipaddress
import logging
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.exceptions
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from quartet_bus import Bus, BusOptions
from quartet_process._logs import VERBOSE_LOGGERS

MODEL_KEYS = ("_API_KEY", "_AUTH_TOKEN", "QUARTET_MODEL")
PATIENCE_S = 60.0
"""For what another process or thread has to do first. Long, since it costs nothing unless a test fails; a wait without
a limit of its own ends with pytest's `timeout`."""

# The same examples on every machine, however slow it is.
hypothesis_settings.register_profile(
    "suite", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("suite")


ONE_WORKER = ("tests/e2e/studio/", "tests/integration/agents/", "tests/integration/gateway/")
"""Folders whose modules share what takes long to start: processes, LiteLLM."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Modules by module to the workers, and whole those folders."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFolder(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((folder for folder in ONE_WORKER if nodeid.startswith(folder)), super()._split_scope(nodeid))

    return ByFolder(config, log)


def pytest_collection() -> None:
    """Imports make hardly any garbage, and each worker imports every module: without the collector in half the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What the modules hold lasts as long as the suite; the collector need not look at it again and again."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()


class OutsideWorld(AssertionError):
    """A test tried to reach something beyond this machine, such as a paid model."""


def _is_local(family: int, address: Any) -> bool:
    if family not in (socket.AF_INET, socket.AF_INET6):
        return True
    host = str(address[0]).split("%")[0]
    if host in {"localhost", ""}:
        return True
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return False
    return ip.is_loopback or ip.is_unspecified


@pytest.fixture(scope="session", autouse=True)
def no_real_model_calls() -> Iterator[None]:
    """Without provider keys and without a way out, here and in child processes that inherit the environment."""
    patch = pytest.MonkeyPatch()
    for name in list(os.environ):
        if name.endswith(MODEL_KEYS[:2]) or name.startswith(MODEL_KEYS[2]):
            patch.delenv(name)
    patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded(self: socket.socket, address: Any) -> None:
        if not _is_local(self.family, address):
            raise OutsideWorld(f"tests stay on this machine: a connection to {address} was tried")
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        if not _is_local(self.family, address):
            raise OutsideWorld(f"tests stay on this machine: a connection to {address} was tried")
        return connect_ex(self, address)

    patch.setattr(socket.socket, "connect", guarded)
    patch.setattr(socket.socket, "connect_ex", guarded_ex)
    yield
    patch.undo()


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """A suite that was started in the background ignores SIGINT, and so would every process that it starts."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A process that is set up in here would set the logging of every later test too."""
    loggers = [logging.getLogger(name) for name in (None, *VERBOSE_LOGGERS)]
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:], logger.propagate = handlers, propagate
        if logger.level != level:
            logger.setLevel(level)


@contextlib.contextmanager
def hold_port() -> Iterator[int]:
    """A TCP port that refuses connections until a server of the test binds it, and that nobody else is given.

    The socket that holds it does not listen, and like those of all servers it has SO_REUSEADDR, which lets them bind
    beside it.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@pytest.fixture
def free_port() -> Iterator[int]:
    with hold_port() as port:
        yield port


class RedisServer:
    """A redis-server of our own; `kill` and `start` again keep the port and, with `durable`, the data."""

    def __init__(self, folder: Path, *, durable: bool = False, users: Path | None = None) -> None:
        """With `users`, an ACL file, nobody is let in who is not in it."""
        binary = shutil.which("redis-server")
        if binary is None:
            pytest.fail("redis-server is not installed; on Debian or Ubuntu: apt-get install redis-server")
        self._binary = binary
        self._folder = folder
        self._durable, self._users = durable, users
        self._process: subprocess.Popen[bytes] | None = None
        self._held = contextlib.ExitStack()
        self.port = self._held.enter_context(hold_port())

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder), "--save", ""]
        if self._durable:
            options += ["--appendonly", "yes", "--appendfsync", "always"]
        if self._users is not None:
            options += ["--aclfile", str(self._users)]
        self._process = subprocess.Popen([self._binary, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                # Without the client's own retries, which take seconds over a refused login too.
                with redis.Redis(port=self.port, retry=Retry(NoBackoff(), 0)) as client:
                    client.ping()
                return
            except redis.exceptions.AuthenticationError:
                # It answers, and lets nobody in without a name.
                return
            except redis.exceptions.ConnectionError:
                if self._process.poll() is not None:
                    pytest.fail(f"redis-server on port {self.port} ended with status {self._process.returncode}")
                time.sleep(0.02)
        pytest.fail(f"redis-server on port {self.port} did not answer within {PATIENCE_S:g} s")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.kill()
        self._held.close()

    def flush(self) -> None:
        with redis.Redis(port=self.port) as client:
            client.flushall()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One per session and xdist worker."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.close()


@contextlib.contextmanager
def _redis_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., RedisServer]]:
    with contextlib.ExitStack() as started:

        def make(**options: Any) -> RedisServer:
            server = RedisServer(tmp_path_factory.mktemp("redis"), **options)
            started.callback(server.close)
            server.start()
            return server

        yield make


@pytest.fixture
def make_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., RedisServer]]:
    """`make_redis(**options)`: a running RedisServer that ends with the test."""
    with _redis_servers(tmp_path_factory) as make:
        yield make


@pytest.fixture(scope="module")
def redis_maker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., RedisServer]]:
    """The same until the end of the module."""
    with _redis_servers(tmp_path_factory) as make:
        yield make


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """URL of an empty Redis."""
    redis_server.flush()
    return redis_server.url


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A durable Redis of this test alone, to be killed and started again."""
    server = RedisServer(tmp_path, durable=True)
    server.start()
    yield server
    server.close()


@pytest.fixture
def bus_options() -> BusOptions:
    """Leases that nobody loses by being slow; tests of dead consumers have shorter ones."""
    return BusOptions(lease_s=5.0, block_ms=200)


@pytest.fixture
async def bus(redis_url: str, bus_options: BusOptions) -> AsyncIterator[Bus]:
    async with await Bus.connect(redis_url, bus_options) as opened:
        yield opened


async def _eventually(condition: Callable[[], Any], timeout_s: float = PATIENCE_S) -> Any:
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if isinstance(value, Awaitable):
            value = await value
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not true within {timeout_s:g} s")
        await asyncio.sleep(0.01)


@pytest.fixture(scope="session")
def eventually() -> Callable[..., Awaitable[Any]]:
    """`await eventually(condition)`: wait until a function (or coroutine function) gives something true; gives that."""
    return _eventually


@pytest.fixture(scope="session")
def until(eventually: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The same where only the waiting matters."""
    return eventually
