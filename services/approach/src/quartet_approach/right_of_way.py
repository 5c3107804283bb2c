"""Right of way among the robots of a place: each announces its route, and who has set off goes first.

A robot that would soon meet one that drives waits before the place where they would meet, off its way. Of two that set
off at once the later one sees the other one drive, and waits. Nobody waits for one that waits, so no two wait for each
other. Keeping robots from touching each other is Nav2's; here it is decided who goes first, so that nobody has to
turn round in a door.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Any

from quartet_agent_runtime import Call, Progress, RequestContext, Routes, ToolOutcome, VerificationError
from quartet_approach.meeting import Pass, Point, distance_to, meets_after, passes
from quartet_approach.traffic import LEAST_LEFT_S, pose_now
from quartet_contracts import AnnouncedRoute, ApproachArguments, NextAction, Route
from quartet_contracts.skills import MAX_PASSED
from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.nav2 import MotionResult, PathResult
from quartet_site import SiteFile, inside

log = logging.getLogger(__name__)

DRIVE = "nav2__navigate_to_pose"
LOOK_S = 1.0
"""Time between two looks at whether the way is free [s of the robot's time]."""
MOST_WAIT_S = 15.0
"""Longest wait of one drive [s of the robot's time]: about as long as another one takes."""
RENEW_S = 2.0
"""Wall time between two announcements of the same drive; the store forgets a robot that falls silent."""
LEAST_LEG_M = 1.5
"""A robot drives ahead to where it waits if that is at least so far [m]."""
MOST_MOVES = 4
"""How often one drive goes ahead to wait or steps aside."""
ASIDE_M = (0.8, 1.3, 1.9, 2.6)
"""How far from where it stands a robot looks for a place to wait off the routes of others [m]."""
DIRECTIONS = 12
MOST_ASKED = 8
"""Paths that it asks Nav2 for, for that."""
DETOUR_M = 1.0
"""The path to such a place may be twice as long as the straight line, and this much longer [m]."""

Line = tuple[list[Pass], float]
"""What is left of a robot's route, and how far off it there is room for another one [m]."""


class DriveInTurn:
    """Makes the calls of navigate_to_pose of one request, each when it is the robot's turn.

    A robot that is alone in its place drives at once, and so does one for which nothing keeps routes.
    """

    def __init__(self, check: RequestContext) -> None:
        self._check = check
        self._moving_aside = False

    async def __call__(self, given: dict[str, Any], tell: Progress, call: Call) -> ToolOutcome:
        """Make one call."""
        check = self._check
        routes = check.routes if len(check.fleet) > 1 else None
        if self._moving_aside or (routes is None and not _may_hold(check)):
            return await call(tell)
        goal = Pose2D(x=given["x"], y=given["y"], yaw=given.get("yaw", 0.0))
        try:
            points = await _path(check, goal)
        except VerificationError:
            # The call itself says what is wrong.
            points = None
        if points is not None and routes is not None:
            turn = _Turn(check, routes, goal, points)
            async with turn.announced():
                await self._wait_for(turn)
                outcome = await turn.drive(tell, self._marked(call))
        else:
            outcome = await self._marked(call)(tell)
        if outcome.ok:
            _note_passed(check, points or ())
        return outcome

    async def _wait_for(self, turn: "_Turn") -> None:
        self._moving_aside = True
        try:
            # What keeps it from waiting keeps it from driving, and the call says so.
            with contextlib.suppress(VerificationError):
                await turn.come()
        finally:
            self._moving_aside = False

    def _marked(self, call: Call) -> Call:
        """Have the request know that a call runs, although others were made within it."""

        async def made(tell: Progress) -> ToolOutcome:
            self._check.running = True
            outcome = await call(tell)
            self._check.running = outcome.interrupted
            return outcome

        return made


class _Turn:
    """One drive of a robot, from its announcement to its end."""

    def __init__(self, check: RequestContext, routes: Routes, goal: Pose2D, points: tuple[Point, ...]) -> None:
        self._check, self._routes, self._goal = check, routes, goal
        self._place, self._robot = check.fleet[0], check.request.robot
        self._radius = check.robot.base.footprint_radius_m
        self._route = Route(points=points, radius_m=self._radius, waiting=True)
        self._number: int | None = None
        self._announcing = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def announced(self) -> AsyncIterator[None]:
        """Keep the drive announced."""
        keeping = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            keeping.cancel()
            (ended,) = await asyncio.gather(keeping, return_exceptions=True)
            if not isinstance(ended, asyncio.CancelledError):
                log.error("the route of %s was not announced any more", self._robot, exc_info=ended)
            if self._number is not None:
                await self._routes.withdraw(self._place, self._robot, self._number)

    async def come(self) -> None:
        """Wait until the robot would meet nobody who drives, off the ways of these."""
        waited_s, moves = 0.0, 0
        while waited_s < MOST_WAIT_S and self._check.left_s > LEAST_LEFT_S:
            driving = await self._announce()
            if self._free_m(driving) is None:
                driving = await self._set_off()
            if (free_m := self._free_m(driving)) is None:
                return
            self._route = self._route.model_copy(update={"waiting": True})
            if moves < MOST_MOVES and (to := await self._place_to_wait(driving, free_m)) is not None:
                moves += 1
                await self._check.call(MotionResult, DRIVE, x=to.x, y=to.y, yaw=to.yaw)
                points = await _path(self._check, self._goal)
                if points is None:
                    return
                self._route = self._route.model_copy(update={"points": points})
            else:
                await self._check.outcome("nav2__wait", seconds=LOOK_S)
                waited_s += LOOK_S

    async def drive(self, tell: Progress, call: Call) -> ToolOutcome:
        """Make the call, and announce meanwhile how far the robot has come."""
        await self._set_off()
        route, length = self._route, passes(self._route.points)[-1].ahead_m

        async def told(fraction: float | None, message: str) -> None:
            await tell(fraction, message)
            if fraction is not None:
                self._route = route.model_copy(update={"driven_m": min(1.0, max(0.0, fraction)) * length})
                await self._announce()

        return await call(told)

    async def _set_off(self) -> list[AnnouncedRoute]:
        """Announce that the robot drives, and return those that drive already: of two, the later one sees the other."""
        self._route = self._route.model_copy(update={"waiting": False})
        return await self._announce()

    async def _announce(self) -> list[AnnouncedRoute]:
        """Announce the route as it is now, and return those of the others that drive."""
        async with self._announcing:
            turn = await self._routes.announce(self._place, self._robot, self._number, self._route)
            self._number = turn.number
        return [other for other in turn.others if not other.route.waiting]

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            await self._announce()

    def _free_m(self, driving: Sequence[AnnouncedRoute]) -> float | None:
        """Return how far the robot may drive before it would meet one of these [m]; None if it meets none."""
        mine = passes(self._route.points)
        met = [meets_after(mine, line, apart) for line, apart in self._lines(driving)]
        return min((one for one in met if one is not None), default=None)

    def _lines(self, driving: Sequence[AnnouncedRoute]) -> list[Line]:
        return [
            (passes(other.route.points, other.route.driven_m), self._radius + other.route.radius_m) for other in driving
        ]

    async def _place_to_wait(self, driving: Sequence[AnnouncedRoute], free_m: float) -> Pose2D | None:
        """Return where the robot should wait instead of where it stands; None to stay.

        Off the ways of those that drive; where it stands well, as near to where it would meet them as it may.
        """
        here = await pose_now(self._check)
        if here is None:
            return None
        lines = self._lines(driving)
        if not _off(lines, (here.x, here.y)):
            return await self._aside(here, lines)
        return _stop(self._check.site, passes(self._route.points), free_m, lines, 2 * self._radius)

    async def _aside(self, here: Pose2D, lines: Sequence[Line]) -> Pose2D | None:
        """Return the nearest pose off the ways of others to which a short path leads."""
        site = self._check.site
        around = [
            (here.x + radius * math.cos(angle), here.y + radius * math.sin(angle))
            for radius in ASIDE_M
            for angle in (math.tau * number / DIRECTIONS for number in range(DIRECTIONS))
        ]
        spots = [spot for spot in around if _away_from_borders(site, spot, self._radius)]
        parking = sorted(((spot.x, spot.y) for spot in site.parking), key=lambda at: math.dist(at, (here.x, here.y)))
        for x, y in [spot for spot in (*spots, *parking) if _off(lines, spot)][:MOST_ASKED]:
            pose = Pose2D(x=x, y=y, yaw=here.yaw)
            points = await _path(self._check, pose)
            most_m = 2 * math.dist((x, y), (here.x, here.y)) + DETOUR_M
            if points is not None and passes(points)[-1].ahead_m <= most_m:
                return pose
        return None


def _may_hold(check: RequestContext) -> bool:
    """Return whether something may be in the gripper that could be lost on the way."""
    arguments = check.request.arguments
    return isinstance(arguments, ApproachArguments) and arguments.next_action is not NextAction.PICK


def _note_passed(check: RequestContext, points: Sequence[Point]) -> None:
    """Note the areas through which a drive has led, in order, where something may have been lost on it."""
    if _may_hold(check):
        names = [name for one in passes(points) if (name := _area(check.site, one.at))] if points else []
        check.passed = list(dict.fromkeys([*check.passed, *names]))[:MAX_PASSED]


def _stop(site: SiteFile, route: Sequence[Pass], free_m: float, lines: Sequence[Line], clear_m: float) -> Pose2D | None:
    """Return the last pose of a route before `free_m` that is off the ways of others, and not in a door."""
    borders = [two.ahead_m for one, two in pairwise(route) if _area(site, one.at) != _area(site, two.at)]
    for one in reversed(route):
        if one.ahead_m < LEAST_LEG_M:
            return None
        in_door = any(abs(one.ahead_m - border) < clear_m for border in borders)
        if one.ahead_m < free_m and not in_door and _off(lines, one.at):
            return Pose2D(x=one.at[0], y=one.at[1], yaw=math.atan2(one.heading[1], one.heading[0]))
    return None


def _off(lines: Sequence[Line], point: Point) -> bool:
    return all(distance_to(line, point) > apart for line, apart in lines)


def _area(site: SiteFile, point: Point) -> str:
    return next((area.name for area in site.areas if inside(area.outline, *point)), "")


def _away_from_borders(site: SiteFile, point: Point, least_m: float) -> bool:
    """Return whether a point is inside of an area and not near a border, where doors are."""
    corners = [(point[0] + dx * least_m, point[1] + dy * least_m) for dx in (-1, 1) for dy in (-1, 1)]
    return any(all(inside(area.outline, *corner) for corner in corners) for area in site.areas)


async def _path(check: RequestContext, pose: Pose2D) -> tuple[Point, ...] | None:
    """Return the path that Nav2 would drive to a pose, None where it has none, or none that can be announced."""
    asked = {"goal_x": pose.x, "goal_y": pose.y, "goal_yaw": pose.yaw}
    outcome = await check.outcome("nav2__get_path_from_robot", **asked)
    if not outcome.ok:
        return None
    points = tuple((one.x, one.y) for one in PathResult.model_validate(outcome.content).poses)
    try:
        return Route(points=points, radius_m=check.robot.base.footprint_radius_m, waiting=True).points
    except ValueError as error:
        log.warning("a path of %d points of the nav2 server is not announced: %.300s", len(points), error)
        return None
