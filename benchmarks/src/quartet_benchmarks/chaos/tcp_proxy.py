"""TCP proxy whose connections can fall silent without being closed, as when a peer or the way to it vanishes."""

import asyncio
import contextlib
import random
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from quartet_benchmarks.errors import MeasurementError
from quartet_deployment import free_ports, hold_ports

WAIT_S = 30.0
LOOK_EVERY_S = 0.05
"""How often a listener that is gone is looked for [s]."""
LINE = 64 * 1024
MOST_CHUNKS = 1000
"""Most chunks of a connection that are on the way."""
RESENT_S = 0.2, 0.4
"""Extra delay of a lost segment [s]; Linux retransmits after at least 200 ms."""


class TcpProxy:
    """Proxy in a thread; use it as a context manager, and name the real listener with `forward_to`.

    While the listener is gone, connections are refused here, too: clients are to see what they would see without it.

    `name`: of the thread and in errors. `delay_s`: how much later each chunk arrives, in both directions. `loss`: share
    of the chunks that arrive another RESENT_S later, as all behind them do, because TCP has to send them again.
    """

    def __init__(self, name: str, *, delay_s: float = 0.0, loss: float = 0.0, seed: int = 0) -> None:
        self._name = name
        self._delay_s, self._loss, self._chance = delay_s, loss, random.Random(seed)
        self._generation = 0
        self._target = ("", 0)
        self._port = 0
        self._server: asyncio.Server | None = None
        self._ready = threading.Event()
        self._end: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name=f"proxy-{name}")
        self._silent = False

    @property
    def address(self) -> str:
        """Host and port that clients connect to."""
        return f"127.0.0.1:{self._port}"

    def forward_to(self, port: int) -> None:
        """Forward everything to `port` of this machine."""
        self._target = ("127.0.0.1", port)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(WAIT_S):
            raise MeasurementError(f"the proxy before {self._name} does not listen")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._end is not None:
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(WAIT_S)

    def drop_connections(self) -> None:
        """Leave all connections half open: nothing passes any more and nobody is told. New ones work.

        Neither side learns that the other has closed, as if the packets that say so were lost too.
        """
        self._generation += 1

    @contextlib.contextmanager
    def silence(self) -> Iterator[None]:
        """Leave all connections half open, for good, also those that are opened meanwhile."""
        self._silent = True
        self.drop_connections()
        try:
            yield
        finally:
            self.drop_connections()
            self._silent = False

    def _cut(self, generation: int) -> bool:
        """Whether nothing passes, nor ever will, over a connection of this generation."""
        return self._silent or generation != self._generation

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        (self._port,) = free_ports(1)
        with hold_ports([self._port]):
            await self._listen()
            self._ready.set()
            await self._end.wait()
            if self._server is not None:
                self._server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, limit=LINE)

    async def _follow_listener(self) -> None:
        """Stop listening when the listener has gone, until it is back."""
        if await self._is_there():
            # A process that dies closes its sockets one after the other.
            await asyncio.sleep(LOOK_EVERY_S)
            if await self._is_there():
                return
        if self._server is None:
            return
        self._server.close()
        self._server = None
        returning = asyncio.create_task(self._return())
        self._tasks.add(returning)
        returning.add_done_callback(self._tasks.discard)

    async def _return(self) -> None:
        while not await self._is_there():  # noqa: ASYNC110 - another process; it tells nobody
            await asyncio.sleep(LOOK_EVERY_S)
        await self._listen()

    async def _is_there(self) -> bool:
        try:
            _, writer = await asyncio.open_connection(*self._target)
        except OSError:
            return False
        writer.close()
        return True

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        assert self._end is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        generation = self._generation
        try:
            with contextlib.closing(writer):
                up_reader, up_writer = await asyncio.open_connection(*self._target, limit=LINE)
                with contextlib.closing(up_writer):
                    answers = asyncio.create_task(self._pass_on(up_reader, writer, generation))
                    commands = asyncio.create_task(self._commands(reader, up_writer, generation))
                    try:
                        await asyncio.wait({answers, commands}, return_when=asyncio.FIRST_COMPLETED)
                        if self._cut(generation):
                            await asyncio.wait({answers})
                        if answers.done():
                            # Before the client is told: its next connection is refused then.
                            await self._follow_listener()
                        if self._cut(generation):
                            await self._end.wait()
                    finally:
                        answers.cancel()
                        commands.cancel()
                        await asyncio.gather(answers, commands, return_exceptions=True)
        except OSError:
            await self._follow_listener()
        except asyncio.CancelledError:
            # The benchmark is over.
            return

    async def _commands(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, generation: int) -> None:
        """Pass on what the client sends."""
        await self._pass_on(reader, writer, generation)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, generation: int) -> None:
        on_the_way = asyncio.Queue[tuple[float, bytes]](MOST_CHUNKS)
        due = 0.0
        # A group, so that a receiver that breaks off ends the reading, too, even where the queue is full.
        async with asyncio.TaskGroup() as group:
            group.create_task(self._arrive(on_the_way, writer, generation))
            while data := await reader.read(LINE):
                due = max(due, time.monotonic() + self._delay_s)
                if self._chance.random() < self._loss:
                    due += self._chance.uniform(*RESENT_S)
                await on_the_way.put((due, data))
            await on_the_way.put((due, b""))

    async def _arrive(
        self, on_the_way: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter, generation: int
    ) -> None:
        """Write what is on the way when it is due, up to the end."""
        while (chunk := await on_the_way.get())[1]:
            due, data = chunk
            if (left := due - time.monotonic()) > 0:
                await asyncio.sleep(left)
            if not self._cut(generation):
                writer.write(data)
                await writer.drain()
