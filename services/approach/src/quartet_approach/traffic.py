"""Deal with others in the way: try another pose of the area, wait until they leave, move aside.

The robot knows of others through Nav2's costmap: a path request tells whether a pose can be reached now, and where a
pose of the site file is occupied, something stands there that is no furniture.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from quartet_agent_runtime import RequestContext
from quartet_approach.target import Target
from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.nav2 import (
    ClearCostmapsResult,
    MotionResult,
    NavCode,
    PathResult,
    RobotPoseResult,
    WaitResult,
)
from quartet_site import Area, SiteFile, inside
from quartet_site import Pose2D as SitePose

ROUNDS = 6
"""How often an approach lets others pass before it gives up."""
WAIT_S = 8.0
"""Wait of one round [s of the robot's time]: the robot that goes first gives the others time to move aside."""
ASIDE_WAIT_S = 24.0
"""Longest wait of a robot that has moved aside: long enough for another to drive past, else they meet again."""
ALONE_ROUNDS, ALONE_WAIT_S = 2, 12.0
"""How often, and how long [s of its time], a robot that is alone in its place waits where no way is free: a person who
stands in a doorway goes on, a closed door stays closed."""
LOOK_S = 4.0
"""Time between two looks at whether what kept the robot has left [s of its time]."""
CLEAR_LOOKS = 2
"""Looks in a row that find it gone before the wait ends: a robot that drives off may be met on its way out."""
SEEN_M = 4.0
"""Within this distance a robot's costmap has the other robots: farther away a pose looks free."""
LEAST_LEFT_S = 60.0
"""With less wall time than this before the request's deadline the approach waits for nobody and looks round nothing."""
RINGS_M = (1.1, 1.9)
"""How far from an area's entry pose another one is tried: a robot's width, then nearly two."""
DIRECTIONS = 8
AT_SPOT_M = 0.5
NO_WAY = "NO_VALID_PATH"
"""How Nav2's code ends where no free way leads to a pose."""
SHUT = "no way is free: a door is closed, or somebody or something stands in the way"
"""What it means for a pose of the site file, which can be reached when all doors are open."""
SWAP = 3
"""In every third cycle the other robots move aside: the first ones may have no room for it."""


@dataclass(frozen=True)
class Way:
    """Answer of a path request: whether the robot may try to drive there, how far it is [m], else why not."""

    open: bool
    length: float
    why: str


@dataclass(frozen=True)
class Arrival:
    """Where `reach` brought the robot, None when nowhere; `note` says what was not free."""

    pose: Pose2D | None
    note: str


Look = Callable[[], Awaitable[bool]]


class Patience:
    """Rounds in which one approach lets others pass; a robot that is alone in its place waits for people alone."""

    def __init__(self, check: RequestContext) -> None:
        self._check = check
        self._alone = len(check.fleet) <= 1
        self._left = ALONE_ROUNDS if self._alone else ROUNDS
        self._round = 0

    async def let_pass(self, has_left: Look | None = None, *, first: bool = False, no_way: bool = False) -> bool:
        """Move aside if it is this robot's turn, then wait; return False when no round is left.

        Args:
            has_left: tells whether what keeps this robot has left, where it can be seen; the wait ends then.
            first: another robot is where this one has to go, so this one moves aside first, to let it leave.
            no_way: no free way leads there, as where somebody stands in a doorway.
        """
        check = self._check
        if self._left == 0 or check.left_s < LEAST_LEFT_S or (self._alone and not no_way):
            return False
        self._left -= 1
        if self._alone:
            await self._wait(ALONE_WAIT_S, None)
            # Who was seen there stays in the costmap until it is seen that they have left.
            await check.call(ClearCostmapsResult, "nav2__clear_costmaps")
            return True
        aside = first or moves_aside(check.fleet, check.request.robot, self._round)
        if aside:
            await _move_aside(check)
        self._round += 1
        await self._wait(ASIDE_WAIT_S if aside else WAIT_S, has_left)
        return True

    async def _wait(self, most_s: float, has_left: Look | None) -> None:
        waited_s, gone = 0.0, 0
        while waited_s < most_s and gone < CLEAR_LOOKS:
            seconds = most_s if has_left is None else min(LOOK_S, most_s - waited_s)
            await self._check.call(WaitResult, "nav2__wait", seconds=seconds)
            waited_s += seconds
            if has_left is not None and waited_s < most_s:
                gone = gone + 1 if await has_left() else 0


def moves_aside(fleet: tuple[str, ...], robot: str, number: int) -> bool:
    """Return whether `robot` moves aside in round `number` (from 0), while others stay or go on.

    By the binary digits of its place in the fleet, so that of any two robots one gives way in some round.
    """
    digits = max(1, (len(fleet) - 1).bit_length())
    turn = bool(fleet.index(robot) >> (number % digits) & 1)
    return turn != (number // digits % SWAP == SWAP - 1)


def parking_of(site: SiteFile, area: Area) -> list[Pose2D]:
    """Return the site's parking poses in an area."""
    return [_pose(pose) for pose in site.parking if inside(area.outline, pose.x, pose.y)]


async def is_parked(check: RequestContext, area: Area) -> bool:
    """Return whether the robot is known to stand in a parking pose of an area."""
    here = await pose_now(check)
    return here is not None and any(
        math.dist((here.x, here.y), (spot.x, spot.y)) < AT_SPOT_M for spot in parking_of(check.site, area)
    )


def poses_of(site: SiteFile, target: Target) -> list[Pose2D]:
    """Return poses of the target's area, best first: before the place, at the entries, around the entry.

    For a robot that is to park these are the area's parking poses only.
    """
    area = target.area
    if target.is_parking:
        return parking_of(site, area)
    given = [target.place.approach] if target.place is not None and target.place.approach is not None else []
    given += [area.entry, *area.other_entries]
    entry = area.entry
    around = [
        Pose2D(x=entry.x + radius * math.cos(angle), y=entry.y + radius * math.sin(angle), yaw=entry.yaw)
        for radius in RINGS_M
        for angle in (entry.yaw + math.tau * step / DIRECTIONS for step in range(DIRECTIONS))
    ]
    return [*map(_pose, given), *(pose for pose in around if inside(area.outline, pose.x, pose.y))]


async def way_to(check: RequestContext, pose: Pose2D) -> Way:
    """Ask Nav2 for a path to `pose`; where it gives no answer, the way counts as open."""
    asked = {"goal_x": pose.x, "goal_y": pose.y, "goal_yaw": pose.yaw}
    outcome = await check.outcome("nav2__get_path_from_robot", **asked)
    if outcome.ok:
        path = PathResult.model_validate(outcome.content)
        return Way(True, path.length_m or 0.0, "")
    if outcome.error_code != NavCode.NAVIGATION_FAILED:
        return Way(True, math.inf, "")
    return Way(False, math.inf, str(outcome.content.get("nav2_error") or outcome.error_code))


async def in_view(check: RequestContext, pose: Pose2D) -> bool:
    """Return whether the robot is near enough to a pose to know of another robot there, and localised."""
    here = await pose_now(check)
    return here is not None and math.dist((here.x, here.y), (pose.x, pose.y)) < SEEN_M


async def drive(check: RequestContext, pose: Pose2D) -> str:
    """Drive to a pose; return "" when there, else why not."""
    moved = await check.call(MotionResult, "nav2__navigate_to_pose", x=pose.x, y=pose.y, yaw=pose.yaw)
    return "" if moved.ok else moved.nav2_error or moved.error_code


async def drive_if_open(check: RequestContext, pose: Pose2D) -> str:
    """Drive to a pose if Nav2 knows a path to it; return as `drive` does."""
    way = await way_to(check, pose)
    return await drive(check, pose) if way.open else way.why


async def reach(check: RequestContext, target: Target, patience: Patience) -> Arrival:
    """Drive to the first free pose of the area; while none is free, let others pass."""
    poses = poses_of(check.site, target)
    if not poses:
        return Arrival(None, f"the site has no {target.name} pose in {target.area.name}")
    wanted, note = poses[0], ""

    async def has_left() -> bool:
        return await in_view(check, wanted) and (await way_to(check, wanted)).open

    while True:
        met = False
        for pose in poses:
            way = await way_to(check, pose)
            why = await drive(check, pose) if way.open else way.why
            if not why:
                return Arrival(pose, f"came to {_at(pose)}: {note}" if note else "")
            if pose == wanted:
                note = f"{_at(wanted)}: {why}"
            if way.open:
                # Another robot was met on the way, and would be on the way to the next pose as well.
                met = True
                break
        # Whether a robot that was met has passed cannot be seen: it may be out of view, and the way look free.
        no_way = note.endswith(NO_WAY)
        if not await patience.let_pass(None if met else has_left, no_way=no_way):
            shut = f" ({SHUT})" if no_way else ""
            return Arrival(None, f"no pose of {target.area.name} could be reached; {note}{shut}")


async def obstructed(check: RequestContext, target: Target) -> str:
    """Return which of the site's poses in the target's area is occupied now, "" when none is."""
    area = target.area
    places = [*check.site.surfaces, *check.site.containers]
    given = [place.approach for place in places if place.area == area.name and place.approach is not None]
    for pose in [_pose(one) for one in (*given, area.entry)]:
        if not (way := await way_to(check, pose)).open:
            others = [name for name in check.fleet if name != check.request.robot]
            perhaps = f"; other robots of this place: {', '.join(others)}" if others else ""
            return f"something that is no furniture stands at or before {_at(pose)} ({way.why}){perhaps}"
    return ""


async def _move_aside(check: RequestContext) -> None:
    """Drive to the nearest parking pose that can be reached, if there is one; stay while not localised."""
    here = await pose_now(check)
    spots = [_pose(pose) for pose in check.site.parking or [area.entry for area in check.site.areas]]
    if here is None or any(math.dist((here.x, here.y), (spot.x, spot.y)) < AT_SPOT_M for spot in spots):
        return
    ways = [(await way_to(check, spot), spot) for spot in spots]
    nearest = min(((way.length, number) for number, (way, _) in enumerate(ways) if way.open), default=None)
    if nearest is not None:
        await drive(check, ways[nearest[1]][1])


async def pose_now(check: RequestContext) -> Pose2D | None:
    """Return the pose of the base (map frame), None while the robot is not localised."""
    outcome = await check.outcome("nav2__get_robot_pose")
    return RobotPoseResult.model_validate(outcome.content).pose if outcome.ok else None


def _pose(pose: SitePose) -> Pose2D:
    return Pose2D(x=pose.x, y=pose.y, yaw=pose.yaw)


def _at(pose: Pose2D) -> str:
    return f"({pose.x:.2f}, {pose.y:.2f})"
