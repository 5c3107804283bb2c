"""An upstream that is a command: JSON-RPC over its stdin and stdout, one message a line.

The transport of the mcp package collects a line for as long as the command writes it.
"""

import contextlib
import logging
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from quartet_tool_server.errors import ToolServerError

log = logging.getLogger(__name__)

FLUSH_S = 0.5
"""For messages that are on their way when the session ends."""
END_S = 2.0
"""For a command to end once its stdin is closed, then once it was told to by a signal."""
POLL_S = 0.01
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


class LineTooLongError(ToolServerError):
    """A command wrote a longer line than is read."""


@contextlib.asynccontextmanager
async def over_stdio(
    command: Sequence[str], environment: dict[str, str], cwd: Path | None, most_bytes: int
) -> AsyncGenerator[Any]:
    """Start `command` and give the streams of a session with it; it ends with the session.

    Its environment is PATH, HOME and the like, and `environment`; its stderr is that of this process. A line of more
    than `most_bytes` ends the session with LineTooLongError. Raises OSError for a command that cannot be started.
    """
    inherited = get_default_environment()
    process = await anyio.open_process(
        list(command), env=inherited | environment, stderr=None, cwd=cwd, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout
    received, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, sent = anyio.create_memory_object_stream[SessionMessage](0)
    flushed = anyio.Event()

    async def read_lines() -> None:
        # The session learns that the command is gone by the end of this stream.
        async with received:
            try:
                with contextlib.suppress(*_GONE):
                    async for line in _lines(stdout, most_bytes):
                        await received.send(_message(line))
            except LineTooLongError:
                _signal(process, signal.SIGKILL)
                with anyio.move_on_after(END_S):
                    await _drain(stdout)
                raise
            # A command that is stuck in writing does not see the end of its stdin.
            with anyio.CancelScope(shield=True):
                await _drain(stdout)

    async def write_lines() -> None:
        try:
            async with sent:
                async for one in sent:
                    text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await stdin.send(f"{text}\n".encode())
        except _GONE:
            await received.aclose()
        finally:
            flushed.set()

    async with anyio.create_task_group() as pipes:
        pipes.start_soon(read_lines)
        pipes.start_soon(write_lines)
        try:
            yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                read.close()
                write.close()
                with anyio.move_on_after(FLUSH_S):
                    await flushed.wait()
                await _end(process)
            pipes.cancel_scope.cancel()


async def _lines(stdout: ByteReceiveStream, most_bytes: int) -> AsyncIterator[bytes]:
    """Lines without their ends. Raises LineTooLongError."""
    rest = bytearray()
    async for chunk in stdout:
        *lines, last = chunk.split(b"\n")
        for line in lines:
            yield bytes(rest + line)
            rest.clear()
        rest += last
        if len(rest) > most_bytes:
            log.warning("a command that serves MCP wrote a line of more than %d bytes; its session ends", most_bytes)
            raise LineTooLongError(f"it wrote a line of more than {most_bytes} bytes")


def _message(line: bytes) -> SessionMessage | Exception:
    """Return a message; for a line that is none the error, which the session tells."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        log.warning("a command that serves MCP wrote a line that is no message: %r", line[:100])
        return error


async def _end(process: Process) -> None:
    """End a command and what it has started."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(*_GONE):
        await process.stdin.aclose()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            _signal(process, number)
        # Not process.wait(), which waits for the pipes as well: a child of the command may hold them.
        with anyio.move_on_after(END_S):
            while process.returncode is None:  # noqa: ASYNC110
                await anyio.sleep(POLL_S)
        if process.returncode is not None:
            break
    # Ends whoever reads it still, since a child of the command may hold the other end.
    with contextlib.suppress(*_GONE):
        await process.stdout.aclose()


async def _drain(stdout: ByteReceiveStream) -> None:
    with contextlib.suppress(anyio.EndOfStream, *_GONE):
        while True:
            await stdout.receive()


def _signal(process: Process, number: signal.Signals) -> None:
    """Send a signal to a command and what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
