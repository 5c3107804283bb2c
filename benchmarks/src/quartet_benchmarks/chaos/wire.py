"""A way to Redis on which messages are watched, and delivered again, late and out of order.

It stands between a process and Redis and speaks RESP2
(https://redis.io/docs/latest/develop/reference/protocol-spec/): a command is an array of bulk strings. What a process
says is passed on as it is; of a message, copies come later over connections of their own.
"""

import asyncio
import contextlib
import hashlib
import random
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType

from quartet_bus import _scripts

WAIT_S = 30.0
TRIES = 20
RETRY_S = 0.25
LINE = 64 * 1024

Command = list[bytes]


class Kind(StrEnum):
    TASK = "task"
    REQUEST = "skill request"
    RESULT = "result"
    CANCEL = "cancel"
    QUESTION = "approval question"
    DECISION = "approval decision"
    JOURNAL = "journal"
    STATUS = "status"


@dataclass(frozen=True)
class Sent:
    """A message on its way to the store."""

    kind: Kind
    at: float
    body: bytes
    again: Command
    """The command that delivers it once more."""


def _digest(script: str) -> bytes:
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest().encode()


SCRIPTS = {
    _digest(_scripts.SUBMIT): Kind.TASK,
    _digest(_scripts.ADD): Kind.REQUEST,
    _digest(_scripts.FINISH): Kind.RESULT,
    _digest(_scripts.APPEND): Kind.JOURNAL,
    _digest(_scripts.APPEND_WHEN_FULL): Kind.JOURNAL,
    _digest(_scripts.CANCEL): Kind.CANCEL,
    _digest(_scripts.PUT_STATUS): Kind.STATUS,
}
KEYS = {b"approval": Kind.QUESTION, b"decision": Kind.DECISION}


def message_in(command: Command) -> Sent | None:
    """The message that `command` sends, None for other commands.

    Tasks, requests and results are entries of streams, and come again as such; the others are delivered again by the
    command that sent them.
    """
    name, now = command[0].upper(), time.time()
    if name == b"SET" and len(command) > 2:
        kind = KEYS.get(command[1].split(b":")[1] if command[1].count(b":") > 1 else b"")
        return None if kind is None else Sent(kind, now, command[2], command)
    if name not in {b"EVALSHA", b"EVAL"}:
        return None
    kind = SCRIPTS.get(command[1] if name == b"EVALSHA" else _digest(command[1].decode()))
    if kind is None:
        return None
    count = int(command[2])
    keys, arguments = command[3 : 3 + count], command[3 + count :]
    match kind:
        case Kind.TASK:
            return Sent(kind, now, arguments[2], _entry(keys[0], arguments[2]))
        case Kind.REQUEST:
            return Sent(kind, now, arguments[1], _entry(keys[0], arguments[1]))
        case Kind.RESULT if len(keys) > 2 and keys[2]:
            return Sent(kind, now, arguments[2], _entry(keys[2], arguments[2]))
        case Kind.CANCEL:
            return Sent(kind, now, arguments[0], command)
        case Kind.JOURNAL | Kind.STATUS:
            return Sent(kind, now, arguments[3 if kind is Kind.JOURNAL else 1], command)
        case _:
            return None


def _entry(stream: bytes, message: bytes) -> Command:
    return [b"XADD", stream, b"*", b"m", message]


class Wire:
    """Use as a context manager; give processes `url` for their Redis, and name the real one with `lead_to`.

    With `copies` above 0 every message comes so many times more, each copy at a moment of its own within `late_s`, and
    the message itself up to `hold_s` late.
    """

    def __init__(self, seed: int, copies: int = 0, late_s: float = 2.0, hold_s: float = 0.05) -> None:
        self.copies = copies
        self.seen: list[Sent] = []
        self.copied: Counter[Kind] = Counter()
        """Copies that the store has taken, by kind."""
        self.refused: list[str] = []
        """What it said to those that it did not take."""
        self._late_s, self._hold_s = late_s, hold_s
        self._dice = random.Random(seed)
        self._target = ("", 0)
        self._port = 0
        self._ready = threading.Event()
        self._end: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._under_way = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="wire")

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._port}/0"

    def lead_to(self, port: int) -> None:
        """Pass everything on to the Redis at `port` of this machine."""
        self._target = ("127.0.0.1", port)

    def __enter__(self) -> "Wire":
        self._thread.start()
        if not self._ready.wait(WAIT_S):
            raise RuntimeError("the wire does not listen")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._end is not None:
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(WAIT_S)

    def of(self, kind: Kind) -> list[Sent]:
        """What was sent of one kind so far, in order."""
        return [sent for sent in list(self.seen) if sent.kind is kind]

    def drain(self) -> None:
        """Wait until no copy is under way. Raises TimeoutError."""
        end = time.monotonic() + WAIT_S + self._late_s
        while self._under_way:
            if time.monotonic() > end:
                raise TimeoutError(f"{self._under_way} copies are still under way")
            time.sleep(0.05)

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=LINE)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            with contextlib.closing(writer):
                up_reader, up_writer = await asyncio.open_connection(*self._target, limit=LINE)
                with contextlib.closing(up_writer):
                    answers = asyncio.create_task(_pass_on(up_reader, writer))
                    commands = asyncio.create_task(self._commands(reader, up_writer))
                    try:
                        await asyncio.wait({answers, commands}, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        answers.cancel()
                        commands.cancel()
                        await asyncio.gather(answers, commands, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            # Redis is away, or the bench is over: the process sees a broken connection, as it would without the wire.
            return

    async def _commands(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        login: list[Command] = []
        while True:
            command = await _read_command(reader)
            if command[0].upper() in {b"AUTH", b"HELLO", b"SELECT"}:
                login.append(command)
            sent = message_in(command)
            if sent is not None:
                self.seen.append(sent)
                if self.copies:
                    await asyncio.sleep(self._dice.uniform(0.0, self._hold_s))
            writer.write(_as_bytes(command))
            await writer.drain()
            if sent is not None:
                for _ in range(self.copies):
                    self._under_way += 1
                    task = asyncio.create_task(self._deliver_again(sent, list(login)))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)

    async def _deliver_again(self, sent: Sent, login: list[Command]) -> None:
        try:
            await asyncio.sleep(self._dice.uniform(0.0, self._late_s))
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


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(LINE):
        writer.write(data)
        await writer.drain()


async def _read_command(reader: asyncio.StreamReader) -> Command:
    """Raises IncompleteReadError at the end of the connection."""
    head = await reader.readuntil(b"\r\n")
    parts: Command = []
    for _ in range(int(head[1:])):
        size = int((await reader.readuntil(b"\r\n"))[1:])
        parts.append((await reader.readexactly(size + 2))[:-2])
    return parts


def _as_bytes(command: Command) -> bytes:
    return b"*%d\r\n" % len(command) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in command)


async def _ask(target: tuple[str, int], commands: list[Command]) -> list[bytes]:
    """The first line of the answer to each command."""
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
