"""The tools of MCP servers, kept from one session to the next while the servers allow it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from quartet_agent_runtime._tools import Specs

MOST_S = 3600.0
"""A list is kept no longer, whatever its server says [s]."""


@dataclass(frozen=True)
class Listing:
    """The tools of a server."""

    specs: Specs

    def reads(self, tool: str) -> bool:
        """Return whether a tool only reads; one that is not in the list may move the robot."""
        return any(spec.reads for spec in self.specs if spec.name == tool)


class KeptListings:
    """Answers to `tools/list` by the URL of the server, each as long as the server said (SEP-2549).

    For one caller: a server lists what the grant covers, and the grants of a caller cover the same tools from request
    to request. `clock` returns the time [s].
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[float, Listing]] = {}

    def keep(self, url: str, listing: Listing, ttl_s: float) -> None:
        """Keep a list for `ttl_s`; 0: the server wants to be asked each time."""
        if ttl_s > 0:
            self._kept[url] = (self._clock() + min(ttl_s, MOST_S), listing)

    def get(self, url: str) -> Listing | None:
        """Return the list of a server; None: it has to be asked."""
        end, listing = self._kept.get(url, (0.0, None))
        return listing if self._clock() < end else None

    def forget(self, url: str) -> None:
        """Have a server asked again."""
        self._kept.pop(url, None)
