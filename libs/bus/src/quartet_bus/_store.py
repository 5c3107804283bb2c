"""Access to Redis: connections, retries, and errors that name a remedy. No other module sends commands."""

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from quartet_bus._keys import OWNER, Keys
from quartet_bus._link import Command, Link, new_connection
from quartet_bus._options import BusOptions
from quartet_bus._redis import (
    BlockingConnectionPool,
    CredentialProvider,
    ExponentialBackoff,
    Redis,
    Retry,
    exceptions,
)
from quartet_bus._store_identity import StoreIdentity
from quartet_bus.errors import BusError, BusRefusedError, BusServerError, BusUnavailableError, StoreFullError
from quartet_bus.functions import LIBRARY, NOT_FOUND, Function, library
from quartet_contracts import Skill
from quartet_process import Secret, tracing, without_password

log = logging.getLogger(__name__)
_CODE = re.compile(r"(?:Command # \d+ .* of pipeline caused error: (?:\(['\"])?)?([A-Z]+)\b", re.DOTALL)
R = TypeVar("R")

HEALTH_S = 15
"""Idle time after which a connection is checked before it is used [s]."""
TRANSIENT = frozenset(
    {"BUSY", "LOADING", "TRYAGAIN", "MISCONF", "CLUSTERDOWN", "MASTERDOWN", "NOREPLICAS", "UNBLOCKED", "EXECABORT"}
)
"""Codes of errors after which a command is worth a retry.
https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors"""
LINKS = 4
"""Most functions that run over links at the same time; more go through the client."""


class RedisSettings(Protocol):
    """Settings of a process that uses Redis."""

    redis_url: str

    def secret(self, name: str) -> Secret | None:
        """Return the secret `name`, None where it is not set. Raises SecretError."""
        ...


@dataclass(frozen=True)
class Credentials:
    """A Redis user and its password, which may change while the process runs."""

    username: str
    password: Secret
    role: str = ""
    """Role of the process, when its user has another name."""

    @property
    def agent(self) -> str | None:
        """The skill, where this is the user of an agent."""
        return next((str(skill) for skill in Skill if skill in {self.role, self.username}), None)

    @classmethod
    def of(cls, settings: RedisSettings, role: str) -> "Credentials | None":
        """Those of a process that has `role`, None where it was given no password. Raises SecretError."""
        password = settings.secret("redis_password")
        name: str | None = getattr(settings, "redis_username", None)
        return None if password is None else cls(name or role, password, role)


class _Login(CredentialProvider):
    """Provider of the newest password for each new connection, so that it can be rotated."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def get_credentials(self) -> tuple[str, str]:
        return self._credentials.username, self._credentials.password.first

    async def get_credentials_async(self) -> tuple[str, str]:
        return self.get_credentials()


class Store:
    """Commands, transactions and functions. Raises BusUnavailableError when Redis does not answer."""

    def __init__(self, url: str, options: BusOptions, credentials: Credentials | None = None) -> None:
        self.url = url
        self._options = options
        self._loads_functions = credentials is None or OWNER in {credentials.username, credentials.role}
        self._identity_key = Keys(options.prefix).identity
        self._identity = StoreIdentity(self._identity_key, writes=self._loads_functions)
        self._connection: dict[str, Any] = {
            "redis_connect_func": self._identity.on_connect,
            "protocol": 2,
            # Time limits are asyncio.timeout here, because redis-py writes inside asyncio.wait_for with this one, which
            # on Python 3.11 can swallow a cancellation (python/cpython#86296).
            "socket_timeout": None,
            # Users have no right to CLIENT SETINFO.
            "driver_info": None,
            **({} if credentials is None else {"credential_provider": _Login(credentials)}),
        }
        parts = urlsplit(url)
        if credentials is not None and (parts.username or parts.password):
            raise BusError(
                f"Redis URL '{without_password(url)}' names a user and so does QUARTET_REDIS_USERNAME or "
                "QUARTET_REDIS_PASSWORD; take the user out of QUARTET_REDIS_URL"
            )
        base, cap = 0.05, 1.0
        attempts = max(1, round(4 + options.command_patience_s / cap))
        try:
            pool: Any = BlockingConnectionPool.from_url(  # pyright: ignore[reportUnknownMemberType]
                url,
                max_connections=options.connections,
                timeout=10,
                retry=Retry(ExponentialBackoff(cap=cap, base=base), attempts),
                health_check_interval=HEALTH_S,
                **self._connection,
            )
        except ValueError as error:
            raise BusError(
                f"Redis URL '{without_password(url)}' cannot be used: {error}. "
                "Set QUARTET_REDIS_URL to something like redis://127.0.0.1:6379/0"
            ) from error
        self._client: Any = Redis(connection_pool=pool)
        self._readers: list[Reader] = []
        self._links = 0
        self._free: list[Link] = []
        self._closed = False

    @property
    def losses(self) -> int:
        """Number of times that Redis has lost its data since this process has known it."""
        return self._identity.losses

    async def check_identity(self) -> None:
        """Look now whether Redis still has the data that it had; new connections do so by themselves."""
        self._identity.found(await self.call("GET", self._identity_key))

    async def check(self) -> None:
        """Raise BusUnavailableError at once when Redis does not answer."""
        reader = self.reader()
        try:
            await reader("PING")
        finally:
            await self.close_reader(reader)

    async def call(self, *command: Any) -> Any:
        with tracing.step("redis"):
            return await self._guard(lambda: self._client.execute_command(*command))

    async def transaction(self, *commands: Command) -> list[Any]:
        """Run all commands in one MULTI and return their answers in order."""

        async def run() -> list[Any]:
            async with self._client.pipeline(transaction=True) as pipe:
                for command in commands:
                    pipe.execute_command(*command)
                return await pipe.execute()

        with tracing.step("redis"):
            return await self._guard(run)

    async def run(self, function: Function[R]) -> R:
        """Return the answer of a function; load the library first when it is missing and this user may load it."""
        return (await self.run_in_order(function))[0]

    async def run_in_order(self, *functions: Function[R]) -> list[R]:
        """Return the answers of functions that are sent at once, so that all take one way to Redis and one sync."""
        commands = [function.command() for function in functions]

        async def run() -> list[Any]:
            try:
                return await self._run_on_link(*commands)
            except exceptions.ResponseError as error:
                if NOT_FOUND not in str(error):
                    raise
                await self._load_functions()
                return await self._run_on_link(*commands)

        with tracing.step("redis"):
            answers = await self._guard(run)
        return [function.read(answer) for function, answer in zip(functions, answers, strict=True)]

    async def load_functions(self) -> None:
        """Load the library if it is missing or differs; a user that may not do that leaves it as it is."""
        if not self._loads_functions:
            return
        for row in await self.call("FUNCTION", "LIST", "LIBRARYNAME", LIBRARY, "WITHCODE"):
            if library().encode() in row:
                return
        await self._guard(self._load_functions)

    async def _load_functions(self) -> None:
        if not self._loads_functions:
            raise BusUnavailableError(
                f"Redis at {without_password(self.url)} does not have the functions {LIBRARY}. "
                "The orchestrator loads them: start it, or wait until it has found Redis again."
            )
        await self._client.execute_command("FUNCTION", "LOAD", "REPLACE", library())
        log.info("functions of %s loaded into Redis at %s", LIBRARY, without_password(self.url))

    async def _run_on_link(self, *commands: Command) -> list[Any]:
        """Run `commands` on a free link, or through the client, which retries, when none is free or one breaks."""
        if not self._free and self._links == LINKS:
            return await self._run_with_client(*commands)
        link = self._free.pop() if self._free else self._new_link()
        try:
            await link.renew()
            return await link.run_in_order(*commands)
        except (exceptions.ConnectionError, exceptions.TimeoutError, OSError):
            return await self._run_with_client(*commands)
        finally:
            if self._closed:
                await link.close()
            else:
                self._free.append(link)

    async def _run_with_client(self, *commands: Command) -> list[Any]:
        return [await self._client.execute_command(*command) for command in commands]

    def _new_link(self) -> Link:
        self._links += 1
        return Link(new_connection(self.url, health_check_interval=HEALTH_S, **self._connection), self._client)

    def reader(self) -> "Reader":
        """Return a connection for commands that block."""
        reader = Reader(
            Link(self.raw_connection(), self._client),
            self._guard,
            self._options.block_ms / 1000 + self._options.answer_s,
        )
        self._readers.append(reader)
        return reader

    async def close_reader(self, reader: "Reader") -> None:
        if reader in self._readers:
            self._readers.remove(reader)
            await reader.close()

    def raw_connection(self) -> Any:
        """Return an unconnected redis-py connection (RESP2) for pub/sub."""
        return new_connection(self.url, **self._connection)

    async def close(self) -> None:
        self._closed = True
        for reader in list(self._readers):
            await self.close_reader(reader)
        for link in self._free:
            await link.close()
        await self._client.aclose()
        await self._client.connection_pool.aclose()

    async def _guard(self, run: Callable[[], Awaitable[Any]], limit_s: float | None = None) -> Any:
        """Await `run()` for `limit_s`. Raises BusError: every error of Redis and of the way there has its type.

        Without `limit_s` it is run once more, over a new connection, when no answer comes in `answer_s`.
        """
        options = self._options
        try:
            if limit_s is not None:
                async with asyncio.timeout(limit_s):
                    return await run()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(options.answer_s):
                    return await run()
            async with asyncio.timeout(options.command_patience_s):
                await self._drop_idle()
                return await run()
        except TimeoutError as error:
            await self._drop_idle()
            raise self.unavailable(error) from error
        except (exceptions.ConnectionError, exceptions.TimeoutError, OSError) as error:
            raise self.unavailable(error) from error
        except exceptions.NoPermissionError as error:
            raise BusRefusedError(
                f"Redis at {without_password(self.url)} does not let this user do that: {error}. Its rights are in "
                "users.acl, which `quartet secrets init` writes; load it again (ACL LOAD) after an update"
            ) from error
        except (exceptions.OutOfMemoryError, exceptions.ReadOnlyError) as error:
            kind = StoreFullError if isinstance(error, exceptions.OutOfMemoryError) else BusUnavailableError
            raise kind(
                f"Redis at {without_password(self.url)} takes no writes: {error}. Give it more memory (maxmemory), "
                "or point QUARTET_REDIS_URL to a master that this user may write to."
            ) from error
        except exceptions.ResponseError as error:
            raise self._server_error(error) from error
        except exceptions.RedisError as error:
            # Not an answer in the protocol of Redis; the connection has been closed.
            raise self.unavailable(error) from error

    async def _drop_idle(self) -> None:
        """Close the connections that nobody uses: where one is silent, the others may have been cut off with it."""
        for link in self._free:
            await link.drop()
        with contextlib.suppress(exceptions.RedisError, OSError):
            await self._client.connection_pool.disconnect(inuse_connections=False)

    def _server_error(self, error: exceptions.ResponseError) -> BusError:
        """Return the error for one with which Redis answered a command, also inside a transaction."""
        text = str(error)
        code = _CODE.match(text)
        name = code.group(1) if code else ""
        about = f"Redis at {without_password(self.url)} answers: {text.rstrip('.')}."
        if name in TRANSIENT:
            return BusUnavailableError(f"{about} It may be busy or starting; the command is tried again.")
        return BusServerError(about, name)

    def unavailable(self, error: BaseException) -> BusUnavailableError:
        """Return the error for a Redis that does not answer, with a remedy."""
        text = str(error).rstrip(".") or type(error).__name__
        if isinstance(error, exceptions.AuthenticationError) or "NOAUTH" in text:
            return BusRefusedError(
                f"Redis at {without_password(self.url)} does not know this user or its password: {text}. Set "
                "QUARTET_REDIS_USERNAME and QUARTET_REDIS_PASSWORD (or the file redis_password in QUARTET_SECRETS_DIR) "
                "to a user of its users.acl."
            )
        return BusUnavailableError(
            f"Redis at {without_password(self.url)} does not answer: {text}. "
            "Start it (redis-server) or set QUARTET_REDIS_URL to where it runs."
        )


class Reader:
    """Connection for commands that block, made by Store.reader. It does not retry."""

    def __init__(
        self, link: Link, guard: Callable[[Callable[[], Awaitable[Any]], float], Awaitable[Any]], limit_s: float
    ) -> None:
        self._link = link
        self._guard = guard
        self._limit_s = limit_s

    async def __call__(self, *command: Any) -> Any:
        return await self._guard(lambda: self._link.run(*command), self._limit_s)

    async def then(self, command: Command, function: Function[R]) -> tuple[Any, R | None]:
        """Return the answers of `command` and of the function sent right after it, None when that did not run."""
        first, second = await self._guard(lambda: self._link.run_both(command, function.command()), self._limit_s)
        return first, None if second is None else function.read(second)

    async def close(self) -> None:
        await self._link.close()


class Backoff:
    """Waits between the attempts of a loop that survives a restart of Redis; it logs the first failure only."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._failures = 0

    def worked(self) -> None:
        if self._failures:
            log.warning("%s: Redis answers again", self._what)
        self._failures = 0

    async def failed(self, error: BaseException) -> None:
        if self._failures == 0:
            log.warning("%s: %s Trying again.", self._what, error)
        self._failures += 1
        await asyncio.sleep(min(1.0, 0.05 * 2 ** min(self._failures, 5)))
