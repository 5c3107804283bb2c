"""Identity of the data in Redis: whether it is still the data that this process has worked with."""

import logging
import secrets
from typing import Any

from prometheus_client import Counter

from quartet_bus._redis import exceptions
from quartet_process import REGISTRY

log = logging.getLogger(__name__)

LOST = Counter("quartet_bus_store_lost", "Times that Redis came back without the data that it had", registry=REGISTRY)


class StoreIdentity:
    """Random id beside the data, looked at with every new connection; without it, or with another, the data is lost."""

    def __init__(self, key: str, *, writes: bool) -> None:
        """With `writes`, this process writes the id where there is none; the others only read it."""
        self._key = key
        self._writes = writes
        self._known: bytes | None = None
        self.losses = 0
        """Number of times that the data was lost since this process has known it."""

    async def on_connect(self, connection: Any) -> None:
        """Open a connection as redis-py does, then look at the id; redis-py calls this for each new connection."""
        await connection.on_connect()
        try:
            found = await self._ask(connection, "GET", self._key)
            if found is None and self._writes:
                await self._ask(connection, "SET", self._key, secrets.token_hex(8), "NX")
                found = await self._ask(connection, "GET", self._key)
        except exceptions.ResponseError as error:
            # No right to it (users.acl of an older version), no memory, a script that runs: nothing is known.
            log.debug("identity of the store: %s", error)
            return
        self.found(found)

    def found(self, identity: bytes | None) -> None:
        """Compare the id that Redis has now with the known one."""
        if self._known is not None and identity != self._known:
            self.losses += 1
            LOST.inc()
            log.error(
                "Redis has lost its data: tasks, journals and leases from before are gone. Work that was running is "
                "ended. Check that Redis has a disk and `appendonly yes` (docs/durability.md)"
            )
        self._known = identity

    @staticmethod
    async def _ask(connection: Any, *command: str) -> Any:
        await connection.send_command(*command, check_health=False)
        return await connection.read_response()
