"""Warehouse: mobile manipulators on parallel tracks fetch boxes from between the tracks to a target region.

Chen et al., "Scalable Multi-Robot Collaboration with Large Language Models", ICRA 2024. The published code has the size
of 4 robots only; those of the others are ours, in the same proportion.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from quartet_research.harness.errors import StateError
from quartet_research.harness.world import WAIT, Step, World, limits_of

Place = tuple[int, int]
"""Track and column."""
Shelf = tuple[int, int]
"""Gap and column of a box; gap g lies between the tracks g and g + 1."""

COLUMNS = 5
BOX_SHARE = 0.5
"""Share of the shelves with a box."""
TARGET_PLACES = 5
"""Places in the target region where a robot may begin, beside those of the tracks."""
TO_TARGET = "move to the target region and drop"
_TO_TRACK = re.compile(r"move to the start of track_(\d+)")
PICK = re.compile(r"pick box\[([\d.]+), (\d+)\]")
_SIZE_LINE = re.compile(r"There are (\d+) tracks with the columns 0 to (\d+)")
_ROBOT_LINE = re.compile(r"(agent\d+) is (?:at track_(\d+), column (\d+)|in the target region)(, carrying a box)?\.")
_BOX = re.compile(r"box\[([\d.]+), (\d+)\]")


@dataclass(frozen=True)
class Robot:
    """Place of a mobile manipulator (None: in the target region), and whether it carries a box."""

    place: Place | None
    carries: bool = False


class Warehouse(World):
    """Tracks in rows; their columns count from the target region.

    Args:
        tracks: number of tracks.
        columns: number of places on each track.
        where: the robots by name.
        boxes: where the boxes are that no robot has picked.
    """

    name: ClassVar[str] = "warehouse"
    rules: str = (
        "Mobile manipulators drive on parallel tracks. Boxes stand between two tracks: box[0.5, 3] between track_0 and "
        "track_1 at column 3. In one time step a robot can move one column left or right on its track; pick a box at "
        "its own column beside its track, when it carries none; move from column 0 to the target region, where it "
        "drops what it carries; move from the target region to column 0 of any track; or wait. The target region has "
        "room for all. Two robots at one place of a track after a step, or two robots at one box, are a collision and "
        "the task has failed. All robots act at once. The task is done when no box is left and none is carried; find "
        "the plan with the fewest time steps."
    )

    def __init__(
        self, tracks: int, columns: int, where: Mapping[str, Robot], boxes: frozenset[Shelf], **limits: Any
    ) -> None:
        super().__init__(**limits)
        self.tracks = tracks
        self.columns = columns
        self.where = dict(where)
        self.boxes = frozenset(boxes)

    @classmethod
    def generate(cls, robots: int, rng: np.random.Generator, step_limit: int) -> Self:
        """Draw boxes between the tracks and robots on the tracks or in the target region; 3 tracks have 4 robots."""
        tracks = robots // 2 + 1
        shelves = [(gap, column) for gap in range(tracks - 1) for column in range(COLUMNS)]
        boxes: frozenset[Shelf] = frozenset()
        while not boxes:
            boxes = frozenset(shelf for shelf in shelves if rng.random() < BOX_SHARE)
        drawn = rng.permutation(tracks * COLUMNS + TARGET_PLACES)[:robots]
        where = {
            f"agent{index}": Robot((place // COLUMNS, place % COLUMNS) if place < tracks * COLUMNS else None)
            for index, place in enumerate(drawn.tolist())
        }
        return cls(tracks, COLUMNS, where, boxes, step_limit=step_limit)

    @property
    def robots(self) -> tuple[str, ...]:
        return tuple(self.where)

    def actions(self, robot: str) -> tuple[str, ...]:
        here = self.where[robot]
        if here.place is None:
            return (*(f"move to the start of track_{track}" for track in range(self.tracks)), WAIT)
        track, column = here.place
        found: list[str] = []
        if column > 0:
            found.append("move left")
        else:
            found.append(TO_TARGET)
        if column < self.columns - 1:
            found.append("move right")
        if not here.carries:
            found += [
                f"pick {shelf_name(shelf)}" for shelf in sorted(self.boxes & {(track - 1, column), (track, column)})
            ]
        return (*found, WAIT)

    @property
    def done(self) -> bool:
        return not self.boxes and not any(robot.carries for robot in self.where.values())

    def _apply(self, plan: Mapping[str, str]) -> Step:
        picked: set[Shelf] = set()
        for name, action in plan.items():
            here = self.where[name]
            if pick := PICK.fullmatch(action):
                shelf = (int(float(pick[1])), int(pick[2]))
                if shelf in picked:
                    return Step(collision=f"{name} and another robot pick {shelf_name(shelf)}")
                picked.add(shelf)
            self.where[name] = after(here, action)
        self.boxes -= picked
        crowd = Counter(robot.place for robot in self.where.values() if robot.place is not None)
        for place, count in crowd.items():
            if count > 1:
                return Step(collision=f"{count} robots at track_{place[0]}, column {place[1]}")
        return Step()

    def describe(self) -> str:
        lines = [f"There are {self.tracks} tracks with the columns 0 to {self.columns - 1}."]
        lines += [self._describe(name) for name in self.where]
        lines.append(f"Boxes: {', '.join(map(shelf_name, sorted(self.boxes))) or 'none'}")
        return "\n".join(lines)

    def _describe(self, name: str) -> str:
        robot = self.where[name]
        place = "in the target region" if robot.place is None else f"at track_{robot.place[0]}, column {robot.place[1]}"
        return f"{name} is {place}{', carrying a box' if robot.carries else ''}."

    def describe_robot(self, robot: str) -> str:
        return self._describe(robot)

    @classmethod
    def parse(cls, text: str) -> Self:
        size = _SIZE_LINE.search(text)
        if size is None:
            raise StateError(f"no line 'There are T tracks with the columns 0 to C.' in {text[:200]!r}")
        where = {
            name: Robot((int(track), int(column)) if track else None, bool(carries))
            for name, track, column, carries in _ROBOT_LINE.findall(text)
        }
        line = next((line for line in text.splitlines() if line.startswith("Boxes: ")), "")
        boxes = frozenset((int(float(gap)), int(column)) for gap, column in _BOX.findall(line))
        return cls(int(size[1]), int(size[2]) + 1, where, boxes, step_limit=1)

    def state(self) -> dict[str, Any]:
        return {
            "world": self.name,
            "tracks": self.tracks,
            "columns": self.columns,
            "robots": {
                name: {"place": None if robot.place is None else list(robot.place), "carries": robot.carries}
                for name, robot in self.where.items()
            },
            "boxes": [list(shelf) for shelf in sorted(self.boxes)],
            **self.limits,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        try:
            where = {
                name: Robot(None if found["place"] is None else _pair(found["place"]), bool(found["carries"]))
                for name, found in state["robots"].items()
            }
            boxes = frozenset(_pair(shelf) for shelf in state["boxes"])
            return cls(int(state["tracks"]), int(state["columns"]), where, boxes, **limits_of(state))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"no state of {cls.name}: {error!r}") from error


def after(robot: Robot, action: str) -> Robot:
    """Return the robot after one of its actions."""
    if start := _TO_TRACK.fullmatch(action):
        return Robot((int(start[1]), 0), robot.carries)
    if action == TO_TARGET:
        return Robot(None)
    if robot.place is not None and action in ("move left", "move right"):
        track, column = robot.place
        return Robot((track, column + (1 if action == "move right" else -1)), robot.carries)
    return Robot(robot.place, robot.carries or action.startswith("pick"))


def shelf_name(shelf: Shelf) -> str:
    """Return the name of the box at this gap and column."""
    return f"box[{shelf[0] + 0.5}, {shelf[1]}]"


def _pair(value: Any) -> tuple[int, int]:
    first, second = value
    return int(first), int(second)
