"""What the cameras and the gripper's sensors tell of the table; no true pose comes in here.

Poses are in the frame of the table's world, which is base_footprint moved by the place of the arm's foot.
"""

import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from quartet_perception import Catalogue, ColourShapeSegmenter, Intrinsics, View, estimate
from quartet_perception.errors import TooFewPointsError
from quartet_perception.pose_memory import MAX_TURN_RAD, PoseMemory, RememberedPose
from quartet_perception.scene.solids import PosedSolid
from quartet_research.malmm.vision.catalogue import colour_of
from quartet_simulation.robot import panda
from quartet_simulation.tabletop import WORKSPACE
from quartet_simulation.tabletop.appearance import TABLE, kind_of
from quartet_simulation.tabletop.sensors import TableSensors
from quartet_site import RobotFile
from quartet_teams.malmm import StateObject

CAMERAS = ("arm", "front")
"""The better one first: the wrist's is nearer and looks down."""
SAME_M = 0.05
"""A thing that is seen so near to where one of its kind was is that one [m]."""
FRONT_M = 0.03
"""The front camera alone moves a thing that the wrist's has seen only farther than this, which is beyond its error
[m]."""
FRONT_EVERY = 4
"""Looks from one of the front camera to the next, where the wrist's shows enough."""
STEADY_M = 0.006
"""What a first fit has so near to where it was has not moved [m]; then it is not measured again."""
NEARER = 0.75
"""What is seen from less than this share of the distance is measured again."""
WHOLE = 0.8
"""Share of a vessel that a camera has to see to correct where it is: of the far walls alone its middle is a guess."""
GONE_M = 0.03
"""A camera that looks so much beyond a thing does not see it there any more [m]."""
BESIDE_M, HIGHEST_M = 0.08, 0.5
"""Things are told that are at most so far outside of the workspace, and so high over the table [m]."""
SINKS_M, STANDS_M = 0.02, 0.03
"""What is seen to be so far under the table, or over all that it could stand on, is no thing, but a part of the table's
edge or of the arm in its colour [m]."""
HOLDS_M, HOLDS_N = 0.004, 2.0
"""Fingers that are so far apart and press so much hold something [m], [N]."""
WALL_M = 0.005
"""What reaches so far to both sides of a vessel's outline, below its rim, is a part of its wall [m]."""
LOOKS_IN = 0.5
"""A vessel that is deeper than this share of its width hides what lies in it from a camera beside it."""
ALIKE_M = 0.015
"""Things whose sizes differ by less may be taken for each other [m]."""
ARM_VOTES, DOUBT_SHARE = 2, 0.2
"""Votes of a picture of the wrist's camera for what a thing is, where one of the front camera has one; the share of the
votes for something else that leaves doubt."""
GRASPED_M = 0.05
"""What the fingers closed on was at most so far from between them [m]."""
UNSEEN = "let go near this position and not seen since; it may be elsewhere"
AFAR = "seen from afar or in part only; where it stands is not sure"
_STILL = (0.0, 0.0, 0.0)

Vector = tuple[float, float, float]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Seen:
    """A thing as a camera sees it; position of its centre [m], turn about z [rad], sizes along its own axes [m]."""

    kind: str
    position: Vector
    yaw: float
    size: Vector
    colour: str
    camera: str
    range_m: float
    round: bool
    whole: bool = True
    """Whether enough of it was seen to tell where its middle is."""

    @property
    def top(self) -> float:
        """Height of its upper side [m]."""
        return self.position[2] + self.size[2] / 2

    @property
    def period(self) -> float:
        """Turn after which it looks alike [rad], 0 for a round one."""
        if self.round:
            return 0.0
        return math.pi / 2 if abs(self.size[0] - self.size[1]) < 0.004 else math.pi


class Sight:
    """The things on the table as they are known from pictures, and the hand as its own sensors have it.

    Args:
        sensors: of the episode.
        catalogue: what may stand there.
        robot: sizes of the gripper.
    """

    def __init__(self, sensors: TableSensors, catalogue: Catalogue, robot: RobotFile) -> None:
        self._sensors, self._catalogue, self._robot = sensors, catalogue, robot
        self._segmenter = ColourShapeSegmenter(catalogue, stacked=True, reference=TABLE)
        self._names = [entry.name for entry in catalogue.entries if entry.name != TABLE]
        self._colours = {
            entry.name: colour_of(entry.appearance.colours[0]) for entry in catalogue.entries if entry.name != TABLE
        }
        self._only_ones = {entry.name for entry in catalogue.entries if entry.kind != "object"}
        self._vessels = {entry.name for entry in catalogue.entries if entry.appearance.shape in ("bowl", "container")}
        self._memory: PoseMemory[Seen] = PoseMemory()
        self._front_error = np.zeros(3)
        self.things: dict[str, Seen] = {}
        """By name, as last seen."""
        self.held: str | None = None
        """Name of what the gripper holds."""
        self._in_hand: Vector = _STILL
        self._moved: set[str] = set()
        """Names of what was let go."""
        self._looks = 0
        self._confirmed: set[str] = set()
        """Names of what the wrist's camera has shown whole, or in part where it was known to stand."""
        self._fixed: set[str] = set()
        """Names of the vessels that stand where they were seen when the hand had looked round."""
        self._votes: dict[str, Counter[str]] = {}
        """How often each thing has looked like what, by its name."""
        self._doubtful: list[Seen] = []
        """What the front camera alone seems to see, new."""

    # --- the hand -----------------------------------------------------------------------------------
    @property
    def hand(self) -> Vector:
        """The point between the fingers by the measured joints [m]."""
        tool = self._sensors.tool()
        return _vector(tool[:3, 3] + panda.TCP * tool[:3, 2] + (*self._sensors.foot[:2], 0.0))

    @property
    def hand_yaw(self) -> float:
        """Turn of the line on which the fingers close, from the x axis, by the measured joints [rad]."""
        closing = self._sensors.tool()[:3, 0]
        return math.remainder(math.atan2(closing[1], closing[0]), 2 * math.pi)

    def closed(self) -> None:
        """Take note that the fingers have closed: what they hold is what was between them."""
        self.held = None
        if not self._holding:
            return
        hand = np.array(self.hand)
        # What stands fixed is not grasped; of things that lie in it, the one whose middle is nearest is.
        near = {
            name: (_apart(hand, one), math.dist(hand, one.position))
            for name, one in self.things.items()
            if one.kind not in self._only_ones
        }
        name = min(near, key=lambda each: near[each], default=None)
        if name is None or near[name][0] > GRASPED_M:
            return
        self.held = name
        away = np.array(self.things[name].position) - hand
        along = np.array([math.cos(self.hand_yaw), math.sin(self.hand_yaw), 0.0])
        # The fingers have brought it into their middle.
        self._in_hand = _vector(_turned(away - along * float(away @ along), -self.hand_yaw))

    @property
    def _holding(self) -> bool:
        width, force = self._sensors.gripper()
        return width > HOLDS_M and force > HOLDS_N

    # --- the things ---------------------------------------------------------------------------------
    def look(self, cameras: Iterable[str] = CAMERAS) -> None:
        """Take pictures, and bring what is known up to date."""
        released = None
        if self.held is not None and not self._holding:
            released, self.held = self.held, None
        if released is not None:
            self._moved.add(released)
            self._let_fall(released)
        if self.held is not None:
            self._carry(self.held)
        seen_by: dict[str, dict[str, Seen]] = {}
        self._doubtful = []
        for camera in cameras:
            if camera == "front" and not self._needs_front(seen_by.get("arm", {})):
                continue
            view = self._view(camera)
            found = self._standing(list(self._found(view)))
            seen_by[camera] = self._take_in(view, found, set(seen_by.get("arm", ())))
        self._learn_front_error(seen_by)

    def objects(self) -> list[StateObject]:
        """Return the things for the state text, in the order in which they were found."""
        return [
            StateObject(name, one.position, (0.0, 0.0, one.yaw), one.size, one.colour, self._note(name))
            for name, one in self.things.items()
        ]

    def looked_round(self) -> None:
        """Take the vessels that the wrist's camera has shown whole to stand where they are.

        What is carried over one hides parts of it, and what lies in it changes its looks: it would seem to move.
        """
        self._fixed = {name for name in self._confirmed if self._hollow(self.things[name])}

    @property
    def doubtful(self) -> list[Seen]:
        """What the last look of the front camera alone seemed to show, new, and places that it alone has shown."""
        afar = [one for name, one in self.things.items() if one.kind in self._only_ones and self._afar(name)]
        return [*self._doubtful, *afar]

    def _afar(self, name: str) -> bool:
        """Return whether no picture of the wrist's camera has shown a thing whole."""
        return name not in self._confirmed

    def _note(self, name: str) -> str:
        """Return what the state says of a thing whose place no camera has confirmed, '' for others."""
        if self._let_go(name):
            vessel = self._vessel_of(name)
            if vessel is not None and self._hid(name, vessel):
                return f"let go over the {vessel}, it is taken to be inside; it has not been seen since"
            return UNSEEN
        one = self.things[name]
        # The wrist's camera finds a shallow vessel, where there is one; of a deep one it may see a dark hole alone.
        return AFAR if self._hollow(one) and self._afar(name) and not self._hides(one) else ""

    @property
    def unsure(self) -> list[str]:
        """What speaks against a claim to be done: each thing that was let go where no camera has confirmed it."""
        faults: list[str] = []
        for name in self._moved:
            if self._note(name) == UNSEEN:
                faults.append(f"{name} was let go and has not been seen since")
            faults += [
                f"{each} has looked like a {other}, too"
                for each in (name, *self._under(name))
                if (other := self._looks_like_too(each)) is not None
            ]
            vessel = self._vessel_of(name)
            if vessel is not None and self._note(vessel) == AFAR:
                faults.append(f"where the {vessel} stands, in which {name} was put, is not sure")
        return faults

    def _under(self, name: str) -> list[str]:
        """Return the names of what stands fixed and has a thing on it, in it or round it."""
        x, y, _ = self.things[name].position
        fixed = ((other, one) for other, one in self.things.items() if one.kind in self._only_ones)
        return [other for other, one in fixed if _within(x, y, one)]

    def _let_go(self, name: str) -> bool:
        return self.things[name].camera == "hand" and name != self.held

    def _vessel_of(self, name: str) -> str | None:
        """Return the name of the vessel in which a thing lies, None without one."""
        one = self.things[name]
        x, y, z = one.position
        for other, vessel in self.things.items():
            if other != name and self._hollow(vessel) and z < vessel.top and _outside((x, y), vessel) <= 0:
                return other
        return None

    def _hid(self, name: str, vessel: str) -> bool:
        """Return whether a thing was let go over the opening of a deep vessel, by more than its place may be off."""
        into = self.things[vessel]
        off = FRONT_M if self._afar(vessel) else 0.0
        return self._hides(into) and _outside(self.things[name].position[:2], into) < -off

    def _hides(self, vessel: Seen) -> bool:
        return vessel.size[2] > LOOKS_IN * min(vessel.size[:2])

    @property
    def unseen(self) -> set[str]:
        """Names of the catalogue of which nothing was seen yet."""
        return set(self._names) - {one.kind for one in self.things.values()}

    def _needs_front(self, by_arm: Iterable[str]) -> bool:
        """Return whether the front camera is asked as well: at first, for what nobody sees, and now and then."""
        self._looks += 1
        unseen = {name for name, one in self.things.items() if one.camera == "hand"} - {self.held, *by_arm}
        return bool(unseen) or self._looks % FRONT_EVERY == 1

    def _view(self, camera: str) -> View:
        """Return a picture as the robot's drivers send it, through the JPEG codec."""
        sensors = self._sensors
        rgb, depth = sensors.picture(camera)
        buffer = io.BytesIO()
        Image.fromarray(rgb).save(buffer, "JPEG", quality=sensors.jpeg_quality)
        return View(
            rgb=np.asarray(Image.open(buffer)),
            depth=depth,
            intrinsics=Intrinsics(**sensors.camera_info(camera)),
            base_from_camera=sensors.camera_pose(camera),
            camera=camera,
            stamp=sensors.time,
            tool_in_base=sensors.tool(),
            gripper=self._robot.gripper,
        )

    def _found(self, view: View) -> Iterator[Seen]:
        """Yield what a picture shows, best first, but not what is between closed fingers."""
        for one in self._segmenter.segment(view, self._names):
            if one.entry is None or (self.held is not None and one.in_gripper):
                continue
            if one.kind == "container" and one.visible < WHOLE and one.label in self.things:
                if view.camera == "arm" and one.solid is not None and self._agrees(view, one.label, one.solid):
                    self._confirmed.add(one.label)
                continue
            if one.label in self._fixed and view.camera == "arm":
                yield self.things[one.label]
                continue
            if one.solid is not None and not self._may_stand(view, one.solid):
                continue
            if one.solid is not None and (known := self._steady(view, one.label, one.solid)) is not None:
                yield known
                continue
            try:
                seen = estimate(view, one)
            except TooFewPointsError:
                continue
            yield Seen(
                kind=one.label,
                position=self._place(view, seen.solid),
                yaw=math.remainder(seen.solid.yaw, math.pi),
                size=_sizes(seen.solid.solid.size),
                colour=colour_of(one.entry.appearance.colours[0]),
                camera=view.camera,
                range_m=seen.range_m,
                round=seen.solid.solid.round,
                whole=one.kind != "container" or one.visible >= WHOLE,
            )

    def _standing(self, found: list[Seen]) -> list[Seen]:
        """Leave out what hangs in the air or sinks into the table, or goes through a wall: a part of something else."""
        known = [one for name, one in self.things.items() if name != self.held]
        there = [*found, *known]
        return [one for one in found if self._has_support(one, there) and not self._goes_through(one, there)]

    def _goes_through(self, one: Seen, others: list[Seen]) -> bool:
        """Return whether what seems to be a thing reaches through the wall of a vessel, of which it is a part then."""
        if one.kind in self._only_ones:
            return False
        bottom = one.position[2] - one.size[2] / 2
        for vessel in others:
            if not self._hollow(vessel) or not vessel.whole or bottom > vessel.top - WALL_M:
                continue
            outside = [_outside(corner, vessel) for corner in _corners(one)]
            if max(outside) > WALL_M and min(*outside, _outside(one.position[:2], vessel)) < -WALL_M:
                return True
        return False

    def _has_support(self, one: Seen, others: list[Seen]) -> bool:
        """Return whether something is under a thing: the table, another thing, or the vessel in which it lies."""
        bottom = one.position[2] - one.size[2] / 2
        if one.kind in self._only_ones:
            return True
        if bottom - self._sensors.foot[2] < STANDS_M:
            return bottom - self._sensors.foot[2] > -SINKS_M
        if self._only_ones - {TABLE} - {other.kind for other in others}:
            # It may stand on what no camera has shown, such as a black grill.
            return True
        x, y, _ = one.position
        for other in others:
            if other is one or other.position == one.position or not _within(x, y, other):
                continue
            top = other.position[2] + other.size[2] / 2
            if abs(top - bottom) < STANDS_M or (other.kind in self._only_ones and bottom < top):
                return True
        return False

    def _place(self, view: View, solid: PosedSolid) -> Vector:
        """Return the centre of a solid in the table's world [m]."""
        centre = solid.centre + np.array([*self._sensors.foot[:2], 0.0])
        x, y, z = _vector(centre - self._front_error if view.camera == "front" else centre)
        # A camera that errs by millimetres would send the fingers into the table, whose height is known.
        lowest = self._sensors.foot[2] + solid.height / 2
        return x, y, lowest if lowest - SINKS_M < z < lowest else z

    def _may_stand(self, view: View, solid: PosedSolid) -> bool:
        """Return whether a thing can be where it seems to be: on the table before the arm, and not the arm itself."""
        x, y, z = self._place(view, solid)
        (x0, x1), (y0, y1) = WORKSPACE
        over = z - self._sensors.foot[2]
        hand = self.hand
        of_arm = math.dist((x, y), hand[:2]) < self._robot.gripper.hand_radius_m and z > hand[2] + BESIDE_M
        outside = max(x0 - x, x - x1, y0 - y, y - y1) > BESIDE_M
        return not outside and -BESIDE_M / 2 < over < HIGHEST_M and not of_arm

    def _agrees(self, view: View, name: str, solid: PosedSolid) -> bool:
        """Return whether a part of a vessel that a picture shows is where the vessel is known to stand."""
        known = self.things[name]
        turned = abs(math.remainder(solid.yaw - known.yaw, known.period)) if known.period else 0.0
        return math.dist(self._place(view, solid), known.position) < FRONT_M and turned < MAX_TURN_RAD

    def _steady(self, view: View, kind: str, solid: PosedSolid) -> Seen | None:
        """Return what is known of a thing that a first fit has where it was; measuring it costs most of a look."""
        place, yaw = self._place(view, solid), solid.yaw
        for one in self.things.values():
            if one.kind != kind or one.camera != view.camera or not one.whole:
                continue
            _, (range_m,) = view.project(solid.centre[None])
            if math.dist(place, one.position) < STEADY_M and range_m > NEARER * one.range_m:
                turned = abs(math.remainder(yaw - one.yaw, one.period)) if one.period else 0.0
                if turned < MAX_TURN_RAD:
                    return one
        return None

    def _take_in(self, view: View, found: list[Seen], by_better: set[str]) -> dict[str, Seen]:
        """Give each thing that a picture shows its name and remember it; return them by name as they were seen.

        by_better: names of what the better camera has shown now.
        """
        names = self._known_names(view, found, by_better)
        shown: dict[str, Seen] = {}
        for at, one in enumerate(found):
            name = names.get(at)
            if name is None:
                rival = self._in_its_place(one, found, names)
                if rival is None or (rival not in names.values() and self._outvote(rival, one)):
                    name = self._new_name(one.kind)
            if name is not None:
                self._vote(name, one)
            if name is None:
                continue
            if view.camera == "front" and name not in self.things and one.kind not in self._only_ones:
                # From afar a wall or a patch of light may look like a thing: the wrist's camera decides.
                self._doubtful.append(one)
                continue
            shown[name] = one
            if name not in by_better:
                self._remember(name, one)
        return shown

    def _remember(self, name: str, one: Seen) -> None:
        if one.camera == "arm" and one.whole:
            self._confirmed.add(name)
        if name in self._fixed:
            return
        known = self.things.get(name)
        moved = known is None or math.dist(one.position, known.position)
        if one.camera == "front" and known is not None and known.camera == "arm" and moved < FRONT_M:
            return
        remembered = RememberedPose(one, one.position, one.yaw, one.period, _STILL, one.range_m)
        self.things[name] = self._memory.update(name, remembered)

    def _known_names(self, view: View, found: list[Seen], by_better: set[str]) -> dict[int, str]:
        """Return the names of what a picture shows that is known, by its place in `found`."""
        pairs = sorted(
            (math.dist(one.position, known.position), at, name)
            for at, one in enumerate(found)
            for name, known in self.things.items()
            if self._alike(one, known) and name != self.held
        )
        names: dict[int, str] = {}
        for away, at, name in pairs:
            if away <= SAME_M and at not in names and name not in names.values():
                names[at] = name
        for _, at, name in pairs:
            # What is not where it was any more is what has turned up elsewhere.
            if at in names or name in names.values() or name in by_better:
                continue
            if self._gone(view, name) or _fell(found[at], self.things[name]):
                names[at] = name
        return names

    def _alike(self, one: Seen, known: Seen) -> bool:
        """Return whether a picture can take one for the other: the same kind, or the same colour and shape."""
        if one.kind == known.kind:
            return True
        shapes = {entry.name: entry.appearance.shape for entry in self._catalogue.entries}
        return one.colour == known.colour and shapes[one.kind] == shapes[known.kind] and _alike_in_size(one, known)

    def _in_its_place(self, one: Seen, found: list[Seen], names: dict[int, str]) -> str | None:
        """Return the name of what stands where something new seems to be: shown as another thing, or known and unseen.

        Of what stands fixed only another thing of its size counts: things lie in vessels.
        """
        fixed = one.kind in self._only_ones
        unseen = {name for name in self.things if name not in names.values() and name != self.held}
        others = [*((names[at], found[at]) for at in names), *((name, self.things[name]) for name in unseen)]
        for name, other in others:
            if other is one or (other.kind in self._only_ones) is not fixed:
                continue
            if (not fixed or _alike_in_size(one, other)) and _apart(np.array(one.position), other) == 0.0:
                return name
        return None

    def _vote(self, name: str, one: Seen) -> None:
        """Count what a thing looks like in a picture; the wrist's camera, which is nearer, has two votes."""
        self._votes.setdefault(name, Counter())[one.kind] += ARM_VOTES if one.camera == "arm" else 1

    def _outvote(self, name: str, one: Seen) -> bool:
        """Count a vote for a thing to be another one; take its name back and return True once most votes say so."""
        known = self.things.get(name)
        if known is None or not _alike_in_size(one, known):
            return False
        self._vote(name, one)
        votes = self._votes[name]
        if votes[one.kind] <= votes[known.kind] or name in {self.held, *self._moved}:
            return False
        del self.things[name], self._votes[name]
        self._memory.forget(name)
        for names in (self._confirmed, self._fixed):
            names.discard(name)
        return True

    def _looks_like_too(self, name: str) -> str | None:
        """Return what else a thing has looked like in so many pictures that it may be that; None without such.

        Things of one colour that look alike are taken for each other (`_alike`): what counts is another colour.
        """
        own, votes = self.things[name], self._votes.get(name, Counter())
        others = [kind for kind in votes if kind != own.kind and self._colours[kind] != own.colour]
        other = max(others, key=lambda kind: votes[kind], default=None)
        return other if other is not None and votes[other] >= DOUBT_SHARE * votes.total() else None

    def _new_name(self, kind: str) -> str | None:
        """Return the name of a new thing, numbered where there may be several; None for another of a single one."""
        same = [name for name in self.things if kind_of(name) == kind]
        if same and kind in self._only_ones:
            return None
        return f"{kind} {len(same) + 1}" if same else kind

    def _gone(self, view: View, name: str) -> bool:
        """Return whether a picture shows that a thing is not where it was: the camera sees what is behind it."""
        known = self.things[name]
        point = np.array(known.position) - (*self._sensors.foot[:2], 0.0)
        (pixel,), (ahead,) = view.project(point[None])
        column, row = (round(float(value)) for value in pixel)
        height, width = view.shape
        if not (0 <= row < height and 0 <= column < width) or ahead <= 0:
            return False
        return bool(view.valid[row, column] and view.depth[row, column] > ahead + GONE_M)

    def _learn_front_error(self, seen_by: dict[str, dict[str, Seen]]) -> None:
        """Take what both cameras have seen to correct the front one's mounting, which is farther and so errs more."""
        if set(seen_by) != set(CAMERAS) or self.held is not None:
            return
        both = [
            np.subtract(seen_by["front"][name].position, seen_by["arm"][name].position)
            for name in seen_by["front"].keys() & seen_by["arm"].keys()
        ]
        if both:
            self._front_error += np.median(both, axis=0)
            for name, one in list(self.things.items()):
                if one.camera == "front" and name in seen_by["front"]:
                    moved = _vector(np.array(one.position) - np.median(both, axis=0))
                    self._put(name, replace(one, position=moved))

    def _carry(self, name: str) -> None:
        away = _turned(np.array(self._in_hand), self.hand_yaw)
        self._put(name, replace(self.things[name], position=_vector(np.array(self.hand) + away), camera="hand"))

    def _let_fall(self, name: str) -> None:
        """Put what was let go onto what is known to be under it, until a camera shows it."""
        one = self.things[name]
        x, y, z = one.position
        below = [
            other.position[2] + other.size[2] / 2
            for each, other in self.things.items()
            if each != name and other.position[2] < z and _within(x, y, other) and not self._hollow(other)
        ]
        height = max(below, default=self._sensors.foot[2]) + one.size[2] / 2
        self._put(name, replace(one, position=(x, y, min(height, z)), camera="hand"))

    def _hollow(self, one: Seen) -> bool:
        return one.kind in self._vessels

    def _put(self, name: str, one: Seen) -> None:
        """Say where a thing is without having seen it there: the next picture of it is believed."""
        self.things[name] = one
        self._memory.forget(name)


def _fell(one: Seen, known: Seen) -> bool:
    """Return whether it may be what was let go unseen and fell farther than was thought, as a ring over a peg."""
    apart = math.dist(one.position[:2], known.position[:2])
    return known.camera == "hand" and apart <= SAME_M and one.position[2] < known.position[2]


def _corners(one: Seen) -> list[tuple[float, float]]:
    """Return the corners of a thing's outline on the table [m]."""
    c, s = math.cos(one.yaw), math.sin(one.yaw)
    x, y, _ = one.position
    half = [(sx * one.size[0] / 2, sy * one.size[1] / 2) for sx in (1, -1) for sy in (1, -1)]
    return [(x + c * a - s * b, y + s * a + c * b) for a, b in half]


def _outside(point: tuple[float, float], one: Seen) -> float:
    """Return how far a point is outside of a thing's outline, seen from above; negative inside [m]."""
    if one.round:
        return math.dist(point, one.position[:2]) - one.size[0] / 2
    away = _turned(np.array([*point, 0.0]) - (*one.position[:2], 0.0), -one.yaw)
    return float((np.abs(away) - np.array(one.size) / 2)[:2].max())


def _alike_in_size(one: Seen, other: Seen) -> bool:
    return max(abs(a - b) for a, b in zip(one.size, other.size, strict=True)) < ALIKE_M


def _within(x: float, y: float, one: Seen) -> bool:
    return math.dist((x, y), one.position[:2]) < max(one.size[:2]) / 2


def _apart(point: Array, one: Seen) -> float:
    """Return how far a point is outside of a thing [m]."""
    away = _turned(point - one.position, -one.yaw)
    return float(np.linalg.norm(np.maximum(np.abs(away) - np.array(one.size) / 2, 0.0)))


def _turned(vector: Array, yaw: float) -> Array:
    c, s = math.cos(yaw), math.sin(yaw)
    x, y, z = vector
    return np.array([c * x - s * y, s * x + c * y, z])


def _sizes(size: Iterable[float]) -> Vector:
    x, y, z = size
    return x, y, z


def _vector(values: Array) -> Vector:
    x, y, z = (float(value) for value in values)
    return x, y, z
