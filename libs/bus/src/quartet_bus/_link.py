"""One connection and the commands that go over it, without the client and the pool around it.

These take redis-py as long per command as Redis and the network together (63 against 34 us), and a request waits for
several commands one after the other. What a link does not do is try again.
"""

import functools
import hashlib
from typing import Any

from redis import exceptions
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

Command = tuple[Any, ...]


def new_connection(url: str, **options: Any) -> Any:
    """An unconnected redis-py connection (RESP2) that tries nothing twice."""
    pool: Any = ConnectionPool.from_url(url, retry=Retry(NoBackoff(), 0), **options)  # pyright: ignore[reportUnknownMemberType]
    return pool.make_connection()


@functools.cache
def digest(source: str) -> str:
    """By which Redis knows a script."""
    return hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()


class Link:
    """Commands one after the other: one caller at a time."""

    def __init__(self, connection: Any, client: Any) -> None:
        """`client` is a redis-py client, asked for nothing but the form of answers."""
        self._connection = connection
        self._client = client
        self._loaded: set[str] = set()

    async def renew(self) -> None:
        """Connect anew with the next command if the other end has closed the connection meanwhile."""
        if self._connection.is_connected and await self._connection.can_read():
            await self._connection.disconnect(nowait=True)

    async def run(self, *command: Any) -> Any:
        """The answer. Raises what redis-py raises."""
        return (await self._exchange(command))[0]

    async def run_then(self, command: Command, source: str, keys: list[str], *arguments: Any) -> tuple[Any, Any]:
        """The answers of `command`, which may block, and of a script that runs right behind it.

        Both are sent at once, so that the script costs no way there and back of its own. Its answer is None where
        Redis did not run it.
        """
        how = ("EVALSHA", digest(source)) if source in self._loaded else ("EVAL", source)
        first, second = await self._exchange(command, (*how, len(keys), *keys, *arguments))
        if isinstance(second, exceptions.ResponseError):
            self._loaded.discard(source)
            return first, None
        self._loaded.add(source)
        return first, second

    async def _exchange(self, *commands: Command) -> list[Any]:
        """The answers in order. An error that is the answer to the first is raised, to a later one is its answer."""
        connection = self._connection
        answers: list[Any] = []
        try:
            await connection.connect()
            await connection.send_packed_command(connection.pack_commands(commands))
            for command in commands:
                try:
                    answers.append(await self._client.parse_response(connection, command[0]))
                except exceptions.ResponseError as error:
                    answers.append(error)
        except BaseException:
            # An answer may still come that belongs to nobody.
            await connection.disconnect(nowait=True)
            raise
        if isinstance(answers[0], exceptions.ResponseError):
            raise answers[0]
        return answers

    async def close(self) -> None:
        await self._connection.disconnect()
