"""Families of tasks: which robots, what is drawn, and which robot is the right one for what."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from quartet_research.emos.drafting import Drafting, Member, Part, only
from quartet_research.emos.goals import AnyAt, At, IsDetected
from quartet_research.emos.margins import LEAST_M
from quartet_simulation.buildings import Thing

ORDINARY_M = (0.3, 1.0)
"""Heights of the places that every arm reaches [m]."""
FLOORS_M, VIEW_M = 2.0, 1.0
"""Thresholds of any_at across floors, and together with a view (EMOS) [m]."""
FARTHER_M = 0.3
"""Starts are farther from things than the threshold by so much [m]."""


@dataclass(frozen=True)
class Family:
    """Family of tasks."""

    bodies: Sequence[str]
    episodes: int
    """Published number of episodes."""
    step_limit: int
    """Published limit of steps."""
    draw: Callable[[Drafting, bool], list[Part]]
    """Draws the subtasks; the second argument alternates which end of a delivery decides."""
    storeys: int = 1
    """Least number of storeys of a building."""
    not_holding: bool = False
    """Whether the robots must hold nothing at the end."""
    decided_by_time: bool = False
    """Whether robots that try everything do all of it, too, and only later."""
    sizes: Sequence[tuple[int, int]] = ()
    """Numbers of robots and objects, in turn; then every robot can do everything."""


def _mobility(draft: Drafting, _: bool) -> list[Part]:
    """Draw one thing on another floor and one on that of the start; robots are near both at the same time."""
    climber, driver = draft.members
    far = FLOORS_M + FARTHER_M

    def upstairs(spot: Thing) -> bool:
        return draft.away(spot, far) and only(climber, draft.members, lambda one: one.near(spot, FLOORS_M))

    def here(spot: Thing) -> bool:
        apart = draft.apart(spot, draft.used[0]) >= FLOORS_M + far
        return apart and draft.away(spot, far) and driver.near(spot, FLOORS_M) >= LEAST_M

    spots = draft.spot("the thing on another floor", upstairs, elsewhere=True), draft.spot("the thing here", here)
    return [_visit(draft, spot, FLOORS_M, right, seen=False) for right, spot in enumerate(spots)]


def _perception(draft: Drafting, _: bool) -> list[Part]:
    """Draw a thing for each robot that only this one gets near to, and sees from there."""
    return [
        _visit(draft, _view(draft, f"the thing for {right.body}", right, VIEW_M), VIEW_M, at, seen=True)
        for at, right in enumerate(draft.members)
    ]


def _by_height(draft: Drafting, picks: bool) -> list[Part]:
    return _high_and_deep(draft, high_pick=picks, deep_pick=True)


def _by_distance(draft: Drafting, picks: bool) -> list[Part]:
    return _high_and_deep(draft, high_pick=True, deep_pick=picks)


def _high_and_deep(draft: Drafting, *, high_pick: bool, deep_pick: bool) -> list[Part]:
    """Draw one delivery that height decides, and one that the distance from where a robot can stand decides."""
    tall, slim = draft.members
    assert slim.resume.reach is not None
    _, highest = slim.resume.reach.heights() or (0.0, 0.0)
    high = draft.spot("a high end", lambda spot: spot.position[2] >= highest + LEAST_M and _reaches(draft, tall, spot))
    deep = draft.spot("a deep end", lambda spot: spot.position[2] <= highest - LEAST_M and _reaches(draft, slim, spot))
    return [_delivery(draft, high, 0, pick=high_pick), _delivery(draft, deep, 1, pick=deep_pick)]


def _multi_floor(draft: Drafting, picks: bool) -> list[Part]:
    """Draw a delivery from or to another floor, one that height decides, and a thing for the one that flies."""
    climber, tall, flyer = draft.members
    upstairs = draft.spot("an end on another floor", lambda spot: _reaches(draft, climber, spot), elsewhere=True)
    high = draft.spot("a high end", lambda spot: _reaches(draft, tall, spot))
    seen = _view(draft, "the thing to see", flyer, FLOORS_M)
    parts = [_delivery(draft, end, at, pick=picks) for at, end in enumerate((upstairs, high))]
    return [*parts, _visit(draft, seen, FLOORS_M, 2, seen=True)]


def _for_any_robot(draft: Drafting, _: bool) -> list[Part]:
    """Draw deliveries that every robot can do."""
    return [_delivery(draft, _ordinary(draft), at % len(draft.members), pick=True) for at in range(draft.objects)]


def _reaches(draft: Drafting, right: Member, spot: Thing) -> bool:
    return only(right, draft.members, lambda one: one.reach(spot))


def _view(draft: Drafting, role: str, right: Member, within: float) -> Thing:
    """Return a spot that one robot alone gets near to, and sees."""

    def fits(spot: Thing) -> bool:
        return (
            draft.away(spot, within + FARTHER_M)
            and all(draft.apart(spot, other) >= 2 * within + FARTHER_M for other in draft.used)
            and only(right, draft.members, lambda one: one.near(spot, within))
            and right.sees(spot)
        )

    return draft.spot(role, fits)


def _ordinary(draft: Drafting) -> Thing:
    """Return a spot that every robot with an arm reaches."""
    (low, high), arms = ORDINARY_M, [one for one in draft.members if one.resume.reach is not None]

    def fits(spot: Thing) -> bool:
        return low <= spot.position[2] <= high and all(one.reach(spot) >= LEAST_M for one in arms)

    return draft.spot("an ordinary end", fits)


def _delivery(draft: Drafting, deciding: Thing, right: int, *, pick: bool) -> Part:
    """Return a delivery from a deciding end to an ordinary one, or the other way round."""
    ends = (deciding, _ordinary(draft)) if pick else (_ordinary(draft), deciding)
    (thing, what), (place, where) = draft.named(ends[0]), draft.named(ends[1], place=True)
    return Part({thing: what, place: where}, [At(thing=thing, place=place)], right)


def _visit(draft: Drafting, spot: Thing, within: float, right: int, *, seen: bool) -> Part:
    name, thing = draft.named(spot)
    return Part({name: thing}, [AnyAt(thing=name, within_m=within), *([IsDetected(thing=name)] * seen)], right)


FAMILIES: Mapping[str, Family] = {
    "mobility": Family(("spot", "fetch"), 99, 3000, _mobility, storeys=2),
    "perception": Family(("spot", "drone"), 113, 4000, _perception),
    "distance": Family(("fetch", "stretch"), 89, 4000, _by_distance, not_holding=True, decided_by_time=True),
    "height": Family(("fetch", "stretch"), 166, 4000, _by_height, not_holding=True, decided_by_time=True),
    "multi_floor": Family(("spot", "fetch", "drone"), 52, 5000, _multi_floor, storeys=2),
    "scale_robots": Family(
        ("fetch",), 40, 4000, _for_any_robot, not_holding=True, sizes=((2, 2), (4, 2), (6, 2), (10, 2))
    ),
    "scale_objects": Family(
        ("fetch",), 40, 4000, _for_any_robot, not_holding=True, sizes=((2, 1), (2, 2), (2, 3), (2, 5))
    ),
}
