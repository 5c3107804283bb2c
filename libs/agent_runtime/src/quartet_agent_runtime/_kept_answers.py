"""What MCP servers said of themselves and of their tools, kept from one session to the next while they allow it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from quartet_agent_runtime._tools import Specs

if TYPE_CHECKING:
    from mcp_types import DiscoverResult

MOST_S = 3600.0
"""An answer is kept no longer, whatever its server says [s]."""

T = TypeVar("T")


@dataclass(frozen=True)
class Listing:
    """The tools of a server."""

    specs: Specs
    moving: frozenset[str]
    """Names of those that may move the robot."""


class _ByUrl(Generic[T]):
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[float, T]] = {}

    def keep(self, url: str, answer: T, ttl_s: float) -> None:
        self._kept[url] = (self._clock() + min(ttl_s, MOST_S), answer)

    def get(self, url: str) -> T | None:
        end, answer = self._kept.get(url, (0.0, None))
        return answer if self._clock() < end else None

    def forget(self, url: str) -> bool:
        return self._kept.pop(url, None) is not None


class KeptAnswers:
    """Answers to `server/discover` and `tools/list` by the URL of the server, each as long as it said (SEP-2549).

    For one caller: a server lists what the grant covers, and the grants of a caller cover the same tools from request
    to request. Where that has changed, or the server itself has, `forget` has it asked again.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.discoveries: _ByUrl[DiscoverResult] = _ByUrl(clock)
        self.listings: _ByUrl[Listing] = _ByUrl(clock)

    def forget(self, url: str) -> bool:
        """Forget what a server said. Returns whether anything was kept."""
        return any([self.discoveries.forget(url), self.listings.forget(url)])
