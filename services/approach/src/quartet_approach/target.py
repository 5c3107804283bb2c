"""The target that the robot has to stand before, and where it was last seen."""

import math
from dataclasses import dataclass
from typing import Literal

from quartet_agent_runtime import RequestContext
from quartet_approach.doubts import Doubts
from quartet_approach.floor import Floor
from quartet_approach.geometry import Point, distance_to, to_base, to_map
from quartet_contracts import PARKING, ApproachArguments, NextAction, Stand
from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.moveit import GraspState, GripperResult
from quartet_contracts.tools.perception import SURE_SCORE, Detection, DetectResult, clearly_held
from quartet_site import Area, Container, SiteFile, Surface, is_floor, normalise

AREA_MARGIN_M = 0.4
"""Poses and positions are measured, and a counter may reach into the line of the wall."""
CLEAR, SURE_M = 0.5, 1.5
"""A detection less than half visible (CLEAR) from farther away than SURE_M is not taken for the target: it is a
candidate, at which the search looks from nearer."""
MAX_CANDIDATES = 3
"""Places with a candidate at which a search looks, and further ones with a doubtful candidate."""
NEARER_M = 0.10
"""A robot that is to stand nearer does so by this: within the slack of a drive-in that ends before furniture
(standing.FAR_ENOUGH_M), so that it still counts as reached where the base gets no nearer."""
MISTAKEN_M = 0.15
"""A detection at most this far from something that only looked like the target is that thing again."""
SAME_THING_M = 0.6
"""A detection at most this far from where the target was seen before is taken for the target."""


@dataclass(frozen=True)
class Target:
    """The thing named in the request, the area it is wanted in, and how far from it the robot has to stand."""

    name: str
    area: Area
    kind: Literal["object", "surface", "container", "floor"]
    standoff: float
    place: Surface | Container | None
    object_id: str | None = None
    """Id of the thing that is meant, where the request gives one."""
    other_side: bool = False
    """Whether the robot is to stand at another side of it than now."""
    mistaken: tuple[Point, ...] = ()
    """Where something looked like it from afar and not from near [m, map frame]."""

    @classmethod
    def of(cls, check: RequestContext, arguments: ApproachArguments, area: Area) -> "Target":
        """Return the target of a request, in the area that it names."""
        name = normalise(arguments.object_name)
        place = place_named(check.site, name, area)
        standoff: float = getattr(check.robot.approach.standoff_m, arguments.next_action)
        if arguments.stand is Stand.NEARER:
            standoff -= NEARER_M
        other_side = arguments.stand is Stand.OTHER_SIDE
        if (
            arguments.next_action is NextAction.FLOOR_PLACE
            or (place is None and is_floor(name))
            or name in {area.name, *area.aliases}
        ):
            return cls(name, area, "floor", standoff, None)
        if place is None:
            return cls(arguments.object_name, area, "object", standoff, None, arguments.object_id, other_side)
        kind = "surface" if isinstance(place, Surface) else "container"
        return cls(arguments.object_name, area, kind, standoff, place, arguments.object_id, other_side)

    @property
    def is_parking(self) -> bool:
        """Whether the robot is to stand in one of the area's parking poses."""
        return normalise(self.name) == PARKING

    def holds(self, point: Point) -> bool:
        """Whether a point of the map lies in the wanted area."""
        return distance_to(list(self.area.outline), point) <= AREA_MARGIN_M

    def may_be_at(self, point: Point) -> bool:
        """Whether what is seen at a point of the map may be the target."""
        return self.holds(point) and all(math.dist(point, other) > MISTAKEN_M for other in self.mistaken)


@dataclass(frozen=True)
class Sight:
    """The target as it was last seen.

    Attributes:
        centre: Its middle [m, map frame].
        aim: The point that the standoff is measured to: of a surface its near edge [m, map frame].
        aim_base: The same in the base frame.
    """

    centre: Point
    aim: Point
    aim_base: Point
    object_id: str | None = None

    @property
    def distance(self) -> float:
        """Distance of `aim` from the base [m]."""
        return math.hypot(*self.aim_base)

    @property
    def bearing(self) -> float:
        """Direction of `aim` from the base [rad]."""
        return math.atan2(self.aim_base[1], self.aim_base[0])


@dataclass(frozen=True)
class Candidate:
    """Something that may be the target, of which too little was seen.

    Attributes:
        centre: Its middle [m, map frame].
        seen_from: Where the robot stood [m, map frame].
        doubtful: It was clearly seen and fits badly; clear candidates go first.
    """

    centre: Point
    seen_from: Point
    doubtful: bool = False


class SearchMemory:
    """What a search has to look at from nearer, each place once, and the floor that it has looked at.

    Attributes:
        floor_looks: How many looks at the floor were made.
        floor_drives: How many drives were made for them.
        doubts: What may be the target, and what a person said of it.
        seen_in: Area in which the target was clearly seen instead of the wanted one; None if it was in no other.
    """

    def __init__(self) -> None:
        self._floor: Floor | None = None
        self.doubts = Doubts()
        self.floor_looks = self.floor_drives = 0
        self.seen_in: str | None = None
        self._seen_from_m = math.inf
        self._looked_from: list[Pose2D] = []
        self._noted: list[Candidate] = []
        self._waiting: list[Candidate] = []
        self._taken = {False: 0, True: 0}
        """Candidates taken, by whether they are doubtful."""

    def looked(self, pose: Pose2D) -> None:
        """Note that the front camera has looked from here (map frame)."""
        self._looked_from.append(pose)
        if self._floor is not None:
            self._floor.looked([pose])

    def floor_of(self, area: Area, robot_radius_m: float) -> Floor:
        """Return the floor of the area, with what was looked at before."""
        if self._floor is None:
            self._floor = Floor(list(area.outline), robot_radius_m)
            self._floor.looked(self._looked_from)
        return self._floor

    def note(self, candidate: Candidate) -> None:
        """Keep a candidate for a look from nearer, unless one at its place is known already.

        A doubtful one keeps no clear one out.
        """
        known = [one for one in self._noted if candidate.doubtful or not one.doubtful]
        if all(math.dist(candidate.centre, one.centre) > SAME_THING_M for one in known):
            self._noted.append(candidate)
            self._waiting.append(candidate)

    def note_elsewhere(self, area: str, distance_m: float) -> None:
        """Note that the target was seen in another area; of several sightings the one from nearest counts."""
        if distance_m < self._seen_from_m:
            self.seen_in, self._seen_from_m = area, distance_m

    def take(self, target: Target) -> Candidate | None:
        """Return the next one that may still be `target`, clear ones first; None if no more are to be looked at."""
        for candidate in sorted(self._waiting, key=lambda one: one.doubtful):
            if self._taken[candidate.doubtful] == MAX_CANDIDATES:
                continue
            self._waiting.remove(candidate)
            if target.may_be_at(candidate.centre):
                self._taken[candidate.doubtful] += 1
                return candidate
        return None


def place_named(site: SiteFile, name: str, area: Area) -> Surface | Container | None:
    """Return the surface or container called `name`, one in `area` before one elsewhere."""
    places = [place for place in [*site.surfaces, *site.containers] if name in {place.name, *place.aliases}]
    return min(places, key=lambda place: (place.area != area.name, place.name != name), default=None)


def area_at(site: SiteFile, point: Point) -> Area | None:
    """Return the area that a point of the map lies in, or the nearest one within AREA_MARGIN_M."""
    away = {area.name: distance_to(list(area.outline), point) for area in site.areas}
    nearest = min(site.areas, key=lambda area: away[area.name])
    return nearest if away[nearest.name] <= AREA_MARGIN_M else None


async def look(
    check: RequestContext, target: Target, expected: Point | None = None, memory: SearchMemory | None = None
) -> Sight | None:
    """Return the target as front or else arm camera show it now in its area; of several the nearest to `expected`.

    The result names the target by its id. What may be it, and is not taken for it, is noted in `memory`.
    """
    memory = memory or SearchMemory()
    sight = await _look(check, target, expected, memory)
    if sight is None and target.kind == "object":
        confirmed = await memory.doubts.settle(check, target.name, target.area.name)
        if confirmed:
            pose = await check.pose()
            sight = next((one for detection in confirmed if (one := _sight(target, pose, detection))), None)
    if sight is not None:
        check.object_id = sight.object_id
    return sight


async def _look(check: RequestContext, target: Target, expected: Point | None, memory: SearchMemory) -> Sight | None:
    pose = await check.pose()
    fallback: Sight | None = None
    for camera in ("front", "arm"):
        asks = {"doubtful": True} if camera == "front" and target.kind == "object" and check.approver else {}
        detections = await check.try_detect(target.name, camera, target.object_id, **asks)
        if camera == "front" and detections is not None:
            memory.looked(pose)
        taken = [_taken(check, target, pose, detection, memory) for detection in detections or []]
        sights = [sight for sight in taken if sight is not None]
        if expected is None and sights:
            return sights[0]
        near = [sight for sight in sights if expected and math.dist(sight.centre, expected) <= SAME_THING_M]
        if near:
            return min(near, key=lambda sight: math.dist(sight.centre, expected or sight.centre))
        fallback = fallback or next(iter(sights), None)
    return fallback


def _taken(
    check: RequestContext, target: Target, pose: Pose2D, detection: Detection, memory: SearchMemory
) -> Sight | None:
    """Return the sight of what is surely the target in its area; note in `memory` what else a detection tells."""
    sight = _sight(target, pose, detection)
    if sight is None:
        return None
    possible, clear = target.may_be_at(sight.centre), _is_clear(detection)
    if possible and clear and not detection.doubtful:
        return sight
    if possible:
        memory.note(Candidate(sight.centre, (pose.x, pose.y), detection.doubtful))
    elif clear and not detection.doubtful:
        _note_elsewhere(check.site, target, sight, memory)
    if possible and detection.doubtful:
        memory.doubts.note(detection, check.images)
    return None


def _note_elsewhere(site: SiteFile, target: Target, sight: Sight, memory: SearchMemory) -> None:
    """Note an object that is clearly seen in another area than the wanted one."""
    area = area_at(site, sight.centre)
    if area is not None and target.kind == "object" and not target.holds(sight.centre):
        memory.note_elsewhere(area.name, sight.distance)


async def is_in_hand(check: RequestContext, target: Target) -> bool:
    """Return whether the gripper holds something that the wrist camera surely names as the target."""
    if target.kind != "object":
        return False
    grasp = await check.call(GripperResult, "moveit__get_grasp_state")
    if grasp.state is not GraspState.HOLDING:
        return False
    seen = await check.call(DetectResult, "perception__detect_objects", camera="arm")
    held = clearly_held(seen.detections)
    if held is None or held.score < SURE_SCORE or target.object_id not in (None, held.object_id):
        return False
    known, meant = check.site.object(held.label), check.site.object(target.name)
    return known == meant if known or meant else normalise(held.label) == normalise(target.name)


def remembered(sight: Sight, pose: Pose2D) -> Sight:
    """Return the target relative to where the robot stands now, without looking again."""
    return Sight(sight.centre, sight.aim, to_base(pose, sight.aim), sight.object_id)


def _sight(target: Target, pose: Pose2D, detection: Detection) -> Sight | None:
    if detection.position_base is None or detection.in_gripper:
        return None
    middle = detection.position_base[:2]
    near = detection.near_point_base
    aim = near[:2] if target.kind == "surface" and near is not None else middle
    return Sight(to_map(pose, middle), to_map(pose, aim), aim, detection.object_id)


def _is_clear(detection: Detection) -> bool:
    near = detection.position_base is not None and math.hypot(*detection.position_base[:2]) <= SURE_M
    return near or detection.visible is None or detection.visible >= CLEAR
