"""The websocket endpoint of the bridge."""

from __future__ import annotations

import asyncio
import contextlib
import socket

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from quartet_simulation import metrics
from quartet_simulation.bridge.connection import Bridge, Connection
from quartet_simulation.bridge.outbox import Outbox
from quartet_simulation.origins import LOCAL_PAGE


async def start_bridge(bridge: Bridge, listener: socket.socket) -> Server:
    """Serve on a bound socket, which the server closes. A page of another site is refused with status 403."""

    async def serve_client(client: ServerConnection) -> None:
        outbox = Outbox(client, bridge.max_message_size)
        connection = Connection(bridge, outbox)
        loop = asyncio.get_running_loop()

        def drop() -> None:
            loop.call_soon_threadsafe(client.transport.abort)

        bridge.note_opened(drop)
        sender = asyncio.create_task(outbox.run())
        # A client that gets nothing any more must notice it.
        sender.add_done_callback(lambda _: client.transport.abort())
        try:
            with metrics.CLIENTS.track_inprogress():
                async for frame in client:
                    connection.handle(frame)
        except ConnectionClosed:
            pass
        finally:
            bridge.note_closed(drop)
            connection.close()
            sender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sender

    # Deflating images costs more than the loopback or LAN it would save.
    return await serve(
        serve_client,
        sock=listener,
        compression=None,
        max_size=None,
        origins=[None, LOCAL_PAGE],
        ping_interval=20,
        ping_timeout=60,
        close_timeout=1,
    )
