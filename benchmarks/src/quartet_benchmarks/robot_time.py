"""Where the simulated time of each robot of an episode went, from the journals of its tasks."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from quartet_contracts import JournalEvent
from quartet_contracts.journal import TeamStep, ToolCalled, ToolReturned

WAIT = "nav2__wait"
PARTS: tuple[str, ...] = ("driving", "arm", "waiting", "thinking", "parking", "free")
"""What a robot does: drive; move arm and gripper; let another robot pass; perceive, ask models and check within an
errand; drive to a parking pose; have no errand, as in a discussion of the team or when nothing is left to do."""


class WorldClock:
    """Tells the world's time of events that have wall times, between samples of both."""

    def __init__(self) -> None:
        self._samples: list[tuple[float, float]] = []

    def sample(self, wall_s: float, world_s: float) -> None:
        """Note that the world's time was `world_s` at the wall time `wall_s` [s]; later than all before."""
        self._samples.append((wall_s, world_s))

    def at(self, wall_s: float) -> float:
        """Return the world's time at a wall time [s], linear between samples and never outside of them."""
        after = bisect_left(self._samples, (wall_s,))
        if after == 0 or after == len(self._samples):
            return self._samples[min(after, len(self._samples) - 1)][1]
        (wall, world), (next_wall, next_world) = self._samples[after - 1 : after + 1]
        return world + (next_world - world) * (wall_s - wall) / (next_wall - wall)

    @property
    def total_s(self) -> float:
        """World time between the first and the last sample [s]."""
        return self._samples[-1][1] - self._samples[0][1]


def parts_of_team(journal: Iterable[JournalEvent]) -> dict[str, dict[str, str]]:
    """Return the tasks of each robot of a team's task, with the action that each of them was."""
    found: dict[str, dict[str, str]] = {}
    for noted in journal:
        if isinstance(noted.event, TeamStep):
            for robot, task in noted.event.tasks.items():
                found.setdefault(robot, {})[task] = noted.event.plan[robot]
    return found


def time_of(journals: Sequence[Sequence[JournalEvent]], parks: Sequence[bool], clock: WorldClock) -> dict[str, float]:
    """Return the seconds of one robot by `PARTS`, from the journals of its tasks; `parks` tells which only park."""
    spent = dict.fromkeys(PARTS, 0.0)
    for events, parked in zip(journals, parks, strict=True):
        if not events:
            continue
        whole = clock.at(events[-1].at) - clock.at(events[0].at)
        if parked:
            spent["parking"] += whole
            continue
        moved = _motions(events, clock)
        for part, seconds in moved.items():
            spent[part] += seconds
        spent["thinking"] += whole - sum(moved.values())
    spent["free"] = clock.total_s - sum(spent.values())
    return spent


def _motions(events: Sequence[JournalEvent], clock: WorldClock) -> Mapping[str, float]:
    begun: dict[str, float] = {}
    spent = {"driving": 0.0, "arm": 0.0, "waiting": 0.0}
    for noted in events:
        event = noted.event
        if isinstance(event, ToolCalled):
            begun[event.call_id] = clock.at(noted.at)
        elif isinstance(event, ToolReturned) and event.call_id in begun:
            part = _part(event.tool)
            if part is not None:
                spent[part] += clock.at(noted.at) - begun.pop(event.call_id)
    return spent


def _part(tool: str) -> str | None:
    if tool == WAIT:
        return "waiting"
    return {"nav2": "driving", "moveit": "arm"}.get(tool.partition("__")[0])
