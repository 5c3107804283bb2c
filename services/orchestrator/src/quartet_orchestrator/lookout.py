"""Where the robots are and what their cameras see, for people who watch. Nothing is asked while nobody does."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from quartet_agent_runtime import Image, ToolOutcome
from quartet_bus import Bus
from quartet_orchestrator.eyes import LOOK
from quartet_orchestrator.grants import Signer
from quartet_orchestrator.reader import Reader
from quartet_orchestrator.settings import OrchestratorSettings

POSE = "nav2__get_robot_pose"
CAMERAS = ("front", "arm")
GRANT_S = 600.0
PLANAR = ("x", "y", "yaw")
POSE_FRESH_S = 0.3
PICTURE_FRESH_S = 1.0
"""However many people watch, a robot is asked at most once in this time."""
REST_S, REST_FRESH_S = 5.0, 5.0
"""One robot among several that has said the same for so long is asked this seldom: most of a large fleet stands."""
POSES_WAIT_S = 0.7
"""So long several robots are waited for: one that is slow to answer, or whose server is gone, holds up no other."""


@dataclass(frozen=True)
class Seen:
    """What came of a look, and when [s since the epoch]."""

    outcome: ToolOutcome
    at: float

    @property
    def pose(self) -> dict[str, float] | None:
        """x, y [m] and yaw [rad] in the map frame; None where the answer has none, also one of a foreign server."""
        found = self.outcome.content.get("pose")
        if not self.outcome.ok or not isinstance(found, dict):
            return None
        numbers = {
            key: value for key, value in found.items() if isinstance(value, int | float) and math.isfinite(value)
        }
        return {key: numbers[key] for key in PLANAR} if numbers.keys() >= set(PLANAR) else None


class Lookout:
    """One per process. Answers come from the robots' servers; failures are outcomes."""

    def __init__(self, bus: Bus, signer: Signer, settings: OrchestratorSettings) -> None:
        self._bus = bus
        self._signer = signer
        self._settings = settings
        self._readers: dict[tuple[str, str], Reader] = {}
        self._newest: dict[tuple[str, str], Seen] = {}
        self._asking: dict[tuple[str, str], asyncio.Task[Seen]] = {}
        self._rests: dict[str, tuple[Any, float]] = {}
        """What each robot said of its pose, roughly, and since when."""

    async def pose(self, robot: str) -> Seen:
        """The result of get_robot_pose: pose (x, y [m], yaw [rad], map frame) and area."""
        return await self._pose(robot, POSE_FRESH_S)

    async def _pose(self, robot: str, fresh_s: float) -> Seen:
        return await self._once((robot, "pose"), fresh_s, lambda: self._reader(robot, POSE).call(POSE, {}))

    async def poses(self, watched: str, robots: Iterable[str]) -> dict[str, Seen | None]:
        """The same of several robots: what each says now or said last; None of one that has not answered yet.

        `watched` is asked as often as alone, the others seldom while they rest.
        """
        asking = {
            robot: asyncio.create_task(self._pose(robot, POSE_FRESH_S if robot == watched else self._fresh_s(robot)))
            for robot in robots
        }
        try:
            await asyncio.wait(asking.values(), timeout=POSES_WAIT_S)
            return {robot: self._newest.get((robot, "pose")) for robot in asking}
        finally:
            for task in asking.values():
                task.cancel()
            await asyncio.gather(*asking.values(), return_exceptions=True)

    def _fresh_s(self, robot: str) -> float:
        newest, now = self._newest.get((robot, "pose")), time.time()
        found = newest.pose if newest is not None else None
        said = None if found is None else tuple(round(value, 1) for value in found.values())
        if robot not in self._rests or self._rests[robot][0] != said:
            self._rests[robot] = said, now
        return REST_FRESH_S if now - self._rests[robot][1] >= REST_S else POSE_FRESH_S

    async def picture(self, robot: str, camera: str) -> tuple[Seen, Image | None]:
        """What `camera` (one of CAMERAS) sees, None where the outcome is a failure."""
        ask: Callable[[], Awaitable[ToolOutcome]] = lambda: self._reader(robot, LOOK).call(LOOK, {"camera": camera})  # noqa: E731
        seen = await self._once((robot, camera), PICTURE_FRESH_S, ask)
        return seen, seen.outcome.images[0] if seen.outcome.ok and seen.outcome.images else None

    async def close(self) -> None:
        for task in self._asking.values():
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        await asyncio.gather(*(reader.close() for reader in self._readers.values()))

    def _reader(self, robot: str, tool: str) -> Reader:
        """One per server, so that a slow camera does not hold up the pose."""
        if (robot, tool) not in self._readers:
            self._readers[robot, tool] = Reader(
                robot, [tool], self._bus, self._signer, self._settings, until=lambda: time.time() + GRANT_S
            )
        return self._readers[robot, tool]

    async def _once(self, key: tuple[str, str], fresh_s: float, ask: Callable[[], Awaitable[ToolOutcome]]) -> Seen:
        """The newest answer if it is fresh, else a new one, which all who wait share."""
        newest = self._newest.get(key)
        if newest is not None and time.time() - newest.at < fresh_s:
            return newest

        async def look() -> Seen:
            try:
                outcome = await ask()
                self._newest[key] = Seen(outcome, time.time())
                return self._newest[key]
            finally:
                del self._asking[key]

        if key not in self._asking:
            self._asking[key] = asyncio.create_task(look(), name=f"look at {key}")
        # Who waits may leave; the others still get their answer.
        return await asyncio.shield(self._asking[key])
