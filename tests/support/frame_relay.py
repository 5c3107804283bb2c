"""A relay in front of a simulated rosbridge that changes what it sends, as other drivers and bridges would send it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

Change = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Returns an operation of the robot as the client gets it, or None to drop it."""


@contextlib.asynccontextmanager
async def frame_relay(url: str, change: Change) -> AsyncIterator[str]:
    """Relay to the bridge at `url`; yields the relay's address. Frames that are not JSON pass as they are."""

    async def back(client: ServerConnection, robot: Any) -> None:
        async for frame in robot:
            if isinstance(frame, str):
                operation = change(json.loads(frame))
                if operation is None:
                    continue
                frame = json.dumps(operation)
            await client.send(frame)

    async def relay(client: ServerConnection) -> None:
        async with connect(url, compression=None, max_size=None) as robot:
            task = asyncio.create_task(back(client, robot))
            with contextlib.suppress(ConnectionClosed):
                async for frame in client:
                    await robot.send(frame)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async with serve(relay, "127.0.0.1", 0, compression=None, max_size=None) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def without_effort(operation: dict[str, Any]) -> dict[str, Any]:
    """Set every effort of /joint_states to null, as rosbridge sends the NaN of a driver that measures none."""
    if operation["op"] == "publish" and operation["topic"] == "/joint_states":
        operation["msg"]["effort"] = [None] * len(operation["msg"]["name"])
    return operation


def without_feeling(operation: dict[str, Any]) -> dict[str, Any]:
    """Leave out effort and how a gripper command ended, as a driver does that only knows positions."""
    if operation["op"] == "action_result" and isinstance(operation.get("values"), dict):
        for name in ("stalled", "reached_goal"):
            operation["values"].pop(name, None)
    return without_effort(operation)
