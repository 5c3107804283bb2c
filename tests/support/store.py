"""What no client of the bus does to its Redis, and tests do: raw commands and names of keys."""

from typing import Any

from quartet_bus import Bus
from quartet_bus._keys import Keys

KEYS = Keys("quartet")
"""The names of the keys in tests."""


async def command(bus: Bus, *words: Any) -> Any:
    """Send a raw command over the connection of `bus` and return Redis' answer."""
    return await bus._store.call(*words)  # noqa: SLF001 - the one place that does so
