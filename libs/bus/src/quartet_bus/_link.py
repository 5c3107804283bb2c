"""One connection and the commands that go over it, without the client and the pool around it.

These take redis-py as long per command as Redis and the network together (63 against 34 us), and a request waits for
several commands one after the other. What a link does not do is try again.
"""

from collections.abc import Callable
from typing import Any, cast

import hiredis

from quartet_bus._redis import ConnectionPool, NoBackoff, Retry, exceptions

Command = tuple[Any, ...]


def new_connection(url: str, **options: Any) -> Any:
    """An unconnected redis-py connection (RESP2) that tries nothing twice."""
    pool: Any = ConnectionPool.from_url(url, retry=Retry(NoBackoff(), 0), **options)  # pyright: ignore[reportUnknownMemberType]
    return pool.make_connection()


def _packed(command: Command) -> bytes:
    """`command` in the protocol of Redis. redis-py's asyncio connections do that in Python, 8 times slower."""
    name, *arguments = command
    pack: Callable[[Command], bytes] = cast("Any", hiredis).pack_command
    return pack((*name.split(), *arguments))


class Link:
    """Commands one after the other: one caller at a time."""

    def __init__(self, connection: Any, client: Any) -> None:
        """`client` is a redis-py client, asked for nothing but the form of answers."""
        self._connection = connection
        self._client = client

    async def renew(self) -> None:
        """Reconnect with the next command if the other end has closed the connection meanwhile."""
        if self._connection.is_connected and await self._connection.can_read():
            await self._connection.disconnect(nowait=True)

    async def run(self, *command: Any) -> Any:
        """The answer. Raises what redis-py raises."""
        return (await self._exchange(command))[0]

    async def run_in_order(self, *commands: Command) -> list[Any]:
        """The answers of commands that are sent at once and run in order. Raises the first error that is an answer."""
        answers = await self._exchange(*commands)
        if error := next((one for one in answers if isinstance(one, exceptions.ResponseError)), None):
            raise error
        return answers

    async def run_both(self, first: Command, second: Command) -> tuple[Any, Any]:
        """The answers of `first`, which may block, and of `second`, which runs right behind it.

        Both are sent at once, so that the second costs no round trip of its own. Its answer is None where Redis
        answers it with an error.
        """
        answer, later = await self._exchange(first, second)
        return answer, None if isinstance(later, exceptions.ResponseError) else later

    async def _exchange(self, *commands: Command) -> list[Any]:
        """The answers in order. An error that is the answer to the first is raised, to a later one is its answer."""
        connection = self._connection
        answers: list[Any] = []
        try:
            await connection.connect()
            await connection.send_packed_command([_packed(command) for command in commands])
            for command in commands:
                try:
                    # The client knows no form for what a function answers.
                    if command[0] == "FCALL":
                        answers.append(await connection.read_response())
                    else:
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

    async def drop(self) -> None:
        """Close the connection without waiting for the other end; the next command opens another."""
        await self._connection.disconnect(nowait=True)

    async def close(self) -> None:
        await self._connection.disconnect()
