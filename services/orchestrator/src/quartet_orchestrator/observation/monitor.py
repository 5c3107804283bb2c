"""What robots do and see, for people who watch. While nobody watches, no server is called."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from quartet_agent_runtime import Image, ToolOutcome
from quartet_contracts.tools.nav2 import PathResult
from quartet_orchestrator.observation.client import LOOK, ObserverSessions, ToolReader

POSE = "nav2__get_robot_pose"
PATH = "nav2__get_path"
SURROUNDINGS = "perception__get_surroundings"
MAP = "perception__get_map"
GRIPPER = "moveit__get_grasp_state"
Point = tuple[float, float]
"""x, y [m] in the map frame."""
CAMERAS = ("front", "arm")
GRANT_S = 600.0
PLANAR = ("x", "y", "yaw")
POSE_FRESH_S = 0.3
PICTURE_FRESH_S = 1.0
"""Age up to which an answer is shared: however many people watch, a robot is asked once in this time."""
MAP_FRESH_S = 20.0
REST_S, REST_FRESH_S = 5.0, 5.0
"""A robot of a fleet whose pose has not changed for REST_S is asked every REST_FRESH_S: most of a fleet stands."""
POSES_WAIT_S = 0.7
"""Time limit for the poses of a fleet: a robot that is slow to answer delays no other."""


@dataclass(frozen=True)
class Reading:
    """Outcome of a read-only call."""

    outcome: ToolOutcome
    at: float = field(default_factory=time.time)
    """When it came, in seconds since the epoch."""
    _since: float = field(default_factory=time.monotonic)

    @property
    def age_s(self) -> float:
        """Time since it came [s], by the monotonic clock: one that is set back makes nothing young again."""
        return time.monotonic() - self._since

    @property
    def pose(self) -> dict[str, float] | None:
        """x, y [m] and yaw [rad] in the map frame; None when the answer has no finite planar pose."""
        found = self.outcome.content.get("pose")
        if not self.outcome.ok or not isinstance(found, dict):
            return None
        numbers = {
            key: value for key, value in found.items() if isinstance(value, int | float) and math.isfinite(value)
        }
        return {key: numbers[key] for key in PLANAR} if numbers.keys() >= set(PLANAR) else None


class RobotMonitor:
    """Asks the servers of all robots; one per process. A failure of a server is an outcome, no exception."""

    def __init__(self, sessions: ObserverSessions) -> None:
        self._sessions = sessions
        self._readers: dict[tuple[str, str], ToolReader] = {}
        self._newest: dict[tuple[str, str], Reading] = {}
        self._asking: dict[tuple[str, str], asyncio.Task[Reading]] = {}
        self._rests: dict[str, tuple[Any, float]] = {}
        """Pose of each robot, rounded, and since when it has been the same."""

    async def pose(self, robot: str) -> Reading:
        """Return the result of get_robot_pose: pose (x, y [m], yaw [rad], map frame) and area."""
        return await self._read(robot, POSE, POSE_FRESH_S)

    async def path(self, robot: str, start: Point, goal: Point) -> tuple[Point, ...]:
        """Return the way that Nav2 would drive between two points of the map; () when it knows none."""
        asked = {"start_x": start[0], "start_y": start[1], "goal_x": goal[0], "goal_y": goal[1]}
        outcome = await self.ask(robot, PATH, asked)
        try:
            poses = PathResult.model_validate(outcome.content).poses if outcome.ok else []
        except ValidationError:
            # A server of somebody else's may answer anything.
            return ()
        return (start, *((pose.x, pose.y) for pose in poses[1:-1]), goal) if len(poses) > 1 else ()

    async def ask(self, robot: str, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Return the result of a tool `<server>__<tool>` of a robot that only reads."""
        return await self._reader(robot, tool).call(tool, arguments)

    async def _read(self, robot: str, tool: str, fresh_s: float) -> Reading:
        return await self._once((robot, tool), fresh_s, lambda: self.ask(robot, tool, {}))

    async def poses(self, watched: str, robots: Iterable[str]) -> dict[str, Reading | None]:
        """Return the newest pose of each of `robots`; None for one that has not answered yet.

        `watched` is asked as often as by `pose`, the others less often while they rest.
        """
        asking = {
            robot: asyncio.create_task(
                self._read(robot, POSE, POSE_FRESH_S if robot == watched else self._fresh_s(robot))
            )
            for robot in robots
        }
        try:
            await asyncio.wait(asking.values(), timeout=POSES_WAIT_S)
            return {robot: self._newest.get((robot, POSE)) for robot in asking}
        finally:
            for task in asking.values():
                task.cancel()
            await asyncio.gather(*asking.values(), return_exceptions=True)

    def _fresh_s(self, robot: str) -> float:
        newest, now = self._newest.get((robot, POSE)), time.monotonic()
        found = newest.pose if newest is not None else None
        said = None if found is None else tuple(round(value, 1) for value in found.values())
        if robot not in self._rests or self._rests[robot][0] != said:
            self._rests[robot] = said, now
        return REST_FRESH_S if now - self._rests[robot][1] >= REST_S else POSE_FRESH_S

    async def surroundings(self, robot: str) -> tuple[Reading, Reading]:
        """Return the results of get_surroundings and get_grasp_state."""
        around, gripper = await asyncio.gather(
            *(self._read(robot, tool, POSE_FRESH_S) for tool in (SURROUNDINGS, GRIPPER))
        )
        return around, gripper

    async def map(self, robot: str) -> Reading:
        """Return the result of get_map."""
        return await self._read(robot, MAP, MAP_FRESH_S)

    async def picture(self, robot: str, camera: str) -> tuple[Reading, Image | None]:
        """Return what `camera` (one of CAMERAS) sees; no image when the outcome is a failure."""
        ask: Callable[[], Awaitable[ToolOutcome]] = lambda: self._reader(robot, LOOK).call(LOOK, {"camera": camera})  # noqa: E731
        seen = await self._once((robot, camera), PICTURE_FRESH_S, ask)
        return seen, seen.outcome.images[0] if seen.outcome.ok and seen.outcome.images else None

    async def close(self) -> None:
        """Cancel the calls that run and end all sessions."""
        for task in self._asking.values():
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        await asyncio.gather(*(reader.close() for reader in self._readers.values()))

    def _reader(self, robot: str, tool: str) -> ToolReader:
        """Return the reader of one tool; one each, so that a slow camera does not delay the pose."""
        if (robot, tool) not in self._readers:
            self._readers[robot, tool] = ToolReader(self._sessions, robot, [tool], lasts_s=lambda: GRANT_S)
        return self._readers[robot, tool]

    async def _once(self, key: tuple[str, str], fresh_s: float, ask: Callable[[], Awaitable[ToolOutcome]]) -> Reading:
        """Return the newest answer if it is younger than `fresh_s`, else a new one that all who wait share."""
        newest = self._newest.get(key)
        if newest is not None and newest.age_s < fresh_s:
            return newest

        async def look() -> Reading:
            try:
                outcome = await ask()
                self._newest[key] = Reading(outcome)
                return self._newest[key]
            finally:
                del self._asking[key]

        if key not in self._asking:
            self._asking[key] = asyncio.create_task(look(), name=f"look at {key}")
        # A caller may be canceled; the others still get the answer.
        return await asyncio.shield(self._asking[key])
