"""The one place that speaks to Redis: connections, retries, and errors that say what to do."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.credentials import CredentialProvider

from quartet_bus._link import Command, Link, digest, new_connection
from quartet_bus.errors import BusError, BusRefused, BusUnavailable
from quartet_bus.options import BusOptions
from quartet_process import ProcessSettings, Secret

log = logging.getLogger(__name__)

ANSWER_S = 5.0
"""A connection that does not answer for so long, beyond the time a command blocks, is broken.

Kept here with asyncio.timeout, because redis-py's own socket_timeout writes inside asyncio.wait_for, which on
Python 3.11 can swallow a cancellation (python/cpython#86296).
"""

HEALTH_S = 15
"""A connection that lay idle for so long is asked for a sign of life before it is used."""
LINKS = 4
"""Scripts that run at once over links; more go through the client."""


def without_password(url: str) -> str:
    """`url` as it may be shown and logged."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return url.replace(f":{parts.password}@", ":***@", 1)


@dataclass(frozen=True)
class Credentials:
    """A Redis user and its password, which may change while the process runs."""

    username: str
    password: Secret

    @classmethod
    def of(cls, settings: ProcessSettings, role: str) -> "Credentials | None":
        """Those of a process that has `role`, None where it was given no password. Raises SecretProblem."""
        password = settings.secret("redis_password")
        name: str | None = getattr(settings, "redis_username", None)
        return None if password is None else cls(name or role, password)


class _Login(CredentialProvider):
    """What each new connection presents: the newest password, so that it can be rotated."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def get_credentials(self) -> tuple[str, str]:
        return self._credentials.username, self._credentials.password.first

    async def get_credentials_async(self) -> tuple[str, str]:
        return self.get_credentials()


class Store:
    """Commands, transactions and scripts. Raises BusUnavailable when Redis stays away."""

    def __init__(self, url: str, options: BusOptions, credentials: Credentials | None = None) -> None:
        self.url = url
        self._options = options
        self._connection: dict[str, Any] = {
            "protocol": 2,
            "socket_timeout": None,
            # Redis has no use for the client's name and version, and its users have no right to tell them.
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

    async def check(self) -> None:
        """Raises BusUnavailable at once when Redis is not there."""
        reader = self.reader()
        try:
            await reader("PING")
        finally:
            await self.close_reader(reader)

    async def call(self, *command: Any) -> Any:
        return await self._guard(lambda: self._client.execute_command(*command))

    async def transaction(self, *commands: Command) -> list[Any]:
        """All commands in one MULTI, their answers in order."""

        async def run() -> list[Any]:
            async with self._client.pipeline(transaction=True) as pipe:
                for command in commands:
                    pipe.execute_command(*command)
                return await pipe.execute()

        return await self._guard(run)

    async def script(self, source: str, keys: list[str], *arguments: Any) -> Any:
        async def run() -> Any:
            try:
                return await self._swiftly("EVALSHA", digest(source), len(keys), *keys, *arguments)
            except exceptions.NoScriptError:
                return await self._client.execute_command("EVAL", source, len(keys), *keys, *arguments)

        return await self._guard(run)

    async def _swiftly(self, *command: Any) -> Any:
        """`command` on a free link; through the client, which tries again, where none is free or one breaks."""
        if not self._free and self._links == LINKS:
            return await self._client.execute_command(*command)
        link = self._free.pop() if self._free else self._new_link()
        try:
            await link.renew()
            return await link.run(*command)
        except (exceptions.ConnectionError, exceptions.TimeoutError, OSError):
            return await self._client.execute_command(*command)
        finally:
            if self._closed:
                await link.close()
            else:
                self._free.append(link)

    def _new_link(self) -> Link:
        self._links += 1
        return Link(new_connection(self.url, health_check_interval=HEALTH_S, **self._connection), self._client)

    def reader(self) -> "Reader":
        """A connection for commands that block."""
        reader = Reader(
            Link(self.raw_connection(), self._client), self._guard, self._options.block_ms / 1000 + ANSWER_S
        )
        self._readers.append(reader)
        return reader

    async def close_reader(self, reader: "Reader") -> None:
        if reader in self._readers:
            self._readers.remove(reader)
            await reader.close()

    def raw_connection(self) -> Any:
        """An unconnected redis-py connection (RESP2) for pub/sub."""
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
        try:
            async with asyncio.timeout(limit_s or self._options.command_patience_s + ANSWER_S):
                return await run()
        except (exceptions.ConnectionError, exceptions.TimeoutError, OSError) as error:
            raise self.unavailable(error) from error
        except exceptions.NoPermissionError as error:
            raise BusRefused(
                f"Redis at {without_password(self.url)} does not let this user do that: {error}. Its rights are in "
                "users.acl, which `quartet secrets init` writes; load it again (ACL LOAD) after an update"
            ) from error
        except (exceptions.OutOfMemoryError, exceptions.ReadOnlyError) as error:
            raise BusUnavailable(
                f"Redis at {without_password(self.url)} takes no writes: {error}. Give it more memory (maxmemory), "
                "or point QUARTET_REDIS_URL to a master that this user may write to."
            ) from error

    def unavailable(self, error: BaseException) -> BusUnavailable:
        """What a person is told when Redis is not there."""
        text = str(error).rstrip(".") or type(error).__name__
        if isinstance(error, exceptions.AuthenticationError) or "NOAUTH" in text:
            return BusRefused(
                f"Redis at {without_password(self.url)} does not know this user or its password: {text}. Set "
                "QUARTET_REDIS_USERNAME and QUARTET_REDIS_PASSWORD (or the file redis_password in QUARTET_SECRETS_DIR) "
                "to a user of its users.acl."
            )
        return BusUnavailable(
            f"Redis at {without_password(self.url)} does not answer: {text}. "
            "Start it (redis-server) or set QUARTET_REDIS_URL to where it runs."
        )


class Reader:
    """Commands that block, over a connection of its own; made by Store.reader. It does not try again."""

    def __init__(
        self, link: Link, guard: Callable[[Callable[[], Awaitable[Any]], float], Awaitable[Any]], limit_s: float
    ) -> None:
        self._link = link
        self._guard = guard
        self._limit_s = limit_s

    async def __call__(self, *command: Any) -> Any:
        return await self._guard(lambda: self._link.run(*command), self._limit_s)

    async def then(self, command: Command, source: str, keys: list[str], *arguments: Any) -> tuple[Any, Any]:
        """See Link.run_then."""
        return await self._guard(lambda: self._link.run_then(command, source, keys, *arguments), self._limit_s)

    async def close(self) -> None:
        await self._link.close()


class Patience:
    """Waits between attempts of a loop that outlives a Redis restart; logs the first failure only."""

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
