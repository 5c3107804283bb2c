"""Proxy before Redis that records messages and delivers copies of them late and out of order.

It speaks RESP2
(https://redis.io/docs/latest/develop/reference/protocol-spec/): a command is an array of bulk strings. Commands are
passed on as they are; copies of messages follow later over connections of their own.
"""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from quartet_benchmarks.chaos.tcp_proxy import LINE, WAIT_S, TcpProxy
from quartet_bus.functions import Function
from quartet_bus.functions.queues import Cancel, Finish, FinishForgotten
from quartet_bus.functions.records import AppendAgentEvent, AppendEvent, AppendLastEvent
from quartet_bus.functions.requests import AddRequest
from quartet_bus.functions.tasks import PutStatus, SubmitTask

LATE_S = 2.0
"""Copies are delivered within this time [s]."""
HOLD_S = 0.05
"""Messages that are copied are delayed by up to this time [s]."""
TRIES = 20
RETRY_S = 0.25

Command = list[bytes]


class Kind(StrEnum):
    """Kind of a message."""

    TASK = "task"
    REQUEST = "skill request"
    RESULT = "result"
    CANCEL = "cancel"
    QUESTION = "approval question"
    DECISION = "approval decision"
    JOURNAL = "journal"
    STATUS = "status"


@dataclass(frozen=True)
class SentMessage:
    """Message on its way to Redis."""

    kind: Kind
    at: float
    body: bytes
    again: Command
    """Command that delivers it once more."""


FUNCTIONS: dict[Kind, tuple[type[Function[Any]], ...]] = {
    Kind.TASK: (SubmitTask,),
    Kind.REQUEST: (AddRequest,),
    Kind.RESULT: (Finish, FinishForgotten),
    Kind.JOURNAL: (AppendEvent, AppendLastEvent, AppendAgentEvent),
    Kind.CANCEL: (Cancel,),
    Kind.STATUS: (PutStatus,),
}
KEYS = {b"approval": Kind.QUESTION, b"decision": Kind.DECISION}


def message_in(command: Command) -> SentMessage | None:
    """Return the message that `command` sends, None for other commands.

    Tasks, requests and results are entries of streams, and come again as such; the others are delivered again by the
    command that sent them.
    """
    name, now = command[0].upper(), time.time()
    if name == b"SET" and len(command) > 2:
        kind = KEYS.get(command[1].split(b":")[1] if command[1].count(b":") > 1 else b"")
        return None if kind is None else SentMessage(kind, now, command[2], command)
    for kind, functions in FUNCTIONS.items():
        for function in functions:
            fields = function.from_command(command)
            if fields is not None:
                return _sent(kind, now, fields, command)
    return None


def _sent(kind: Kind, now: float, fields: dict[str, bytes], command: Command) -> SentMessage | None:
    match kind:
        case Kind.TASK:
            return SentMessage(kind, now, fields["task"], _entry(fields["stream"], fields["task"]))
        case Kind.REQUEST:
            return SentMessage(kind, now, fields["message"], _entry(fields["stream"], fields["message"]))
        case Kind.RESULT if fields.get("reply_to"):
            return SentMessage(kind, now, fields["result"], _entry(fields["reply_to"], fields["result"]))
        case Kind.CANCEL:
            return SentMessage(kind, now, fields["reason"], command)
        case Kind.JOURNAL | Kind.STATUS:
            return SentMessage(kind, now, fields["message"], command)
        case _:
            return None


def _entry(stream: bytes, message: bytes) -> Command:
    return [b"XADD", stream, b"*", b"m", message]


class RedisProxy(TcpProxy):
    """Proxy before Redis.

    With `copies` above 0 each message is delivered that many times more, each copy at a random moment within LATE_S,
    and the message itself is delayed by up to HOLD_S.
    """

    def __init__(self, seed: int) -> None:
        super().__init__("Redis")
        self.copies = 0
        self.delay_s = 0.0
        """By how much each command comes late."""
        self.seen: list[SentMessage] = []
        self.copied: Counter[Kind] = Counter()
        """Number of copies that Redis accepted, by kind."""
        self.refused: list[str] = []
        """Errors of the copies that Redis refused."""
        self._dice = random.Random(seed)
        self._under_way = 0

    @property
    def url(self) -> str:
        """Address that processes use for Redis."""
        return f"redis://{self.address}/0"

    def of(self, kind: Kind) -> list[SentMessage]:
        """Return the messages of one kind so far, in order."""
        return [sent for sent in list(self.seen) if sent.kind is kind]

    def drain(self) -> None:
        """Wait until all copies are delivered. Raises TimeoutError."""
        end = time.monotonic() + WAIT_S + LATE_S
        while self._under_way:
            if time.monotonic() > end:
                raise TimeoutError(f"{self._under_way} copies are still under way")
            time.sleep(0.05)

    async def _commands(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, generation: int) -> None:
        login: list[Command] = []
        while True:
            command = await _read_command(reader)
            if self._cut(generation):
                continue
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            if command[0].upper() in {b"AUTH", b"HELLO", b"SELECT"}:
                login.append(command)
            sent = message_in(command)
            if sent is not None:
                self.seen.append(sent)
                if self.copies:
                    await asyncio.sleep(self._dice.uniform(0.0, HOLD_S))
            writer.write(_as_bytes(command))
            await writer.drain()
            if sent is not None:
                for _ in range(self.copies):
                    self._under_way += 1
                    task = asyncio.create_task(self._deliver_again(sent, list(login)))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)

    async def _deliver_again(self, sent: SentMessage, login: list[Command]) -> None:
        try:
            await asyncio.sleep(self._dice.uniform(0.0, LATE_S))
            for _ in range(TRIES):
                try:
                    for answer in await _ask(self._target, [*login, sent.again]):
                        if answer.startswith(b"-"):
                            self.refused.append(f"{sent.kind}: {answer.decode(errors='replace').strip()}")
                            return
                except (OSError, asyncio.IncompleteReadError):
                    await asyncio.sleep(RETRY_S)
                else:
                    self.copied[sent.kind] += 1
                    return
            self.refused.append(f"{sent.kind}: Redis was away for too long")
        finally:
            self._under_way -= 1


async def _read_command(reader: asyncio.StreamReader) -> Command:
    """Read one command. Raises IncompleteReadError at the end of the connection."""
    head = await reader.readuntil(b"\r\n")
    parts: Command = []
    for _ in range(int(head[1:])):
        size = int((await reader.readuntil(b"\r\n"))[1:])
        parts.append((await reader.readexactly(size + 2))[:-2])
    return parts


def _as_bytes(command: Command) -> bytes:
    return b"*%d\r\n" % len(command) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in command)


async def _ask(target: tuple[str, int], commands: list[Command]) -> list[bytes]:
    """Return the first line of the answer to each command."""
    reader, writer = await asyncio.open_connection(*target, limit=LINE)
    with contextlib.closing(writer):
        writer.write(b"".join(_as_bytes(command) for command in commands))
        await writer.drain()
        return [line async for line in _answers(reader, len(commands))]


async def _answers(reader: asyncio.StreamReader, count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        head = await reader.readuntil(b"\r\n")
        left = int(head[1:]) if head.startswith(b"*") else 0
        if head.startswith(b"$") and int(head[1:]) >= 0:
            await reader.readexactly(int(head[1:]) + 2)
        while left > 0:
            inner = await reader.readuntil(b"\r\n")
            if inner.startswith(b"$") and int(inner[1:]) >= 0:
                await reader.readexactly(int(inner[1:]) + 2)
            left += (int(inner[1:]) if inner.startswith(b"*") else 0) - 1
        yield head
