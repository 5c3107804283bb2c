"""What has to be moved where, read from instruction and state as a person would."""

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from quartet_scripted_model.language.tokens import plain_words
from quartet_scripted_model.programs.scene import Described, Scene, Vector

UNSCREW_FROM, UNSCREW_BY = -1.0, 2.1
"""Yaw at which a cap is grasped and how far it is turned [rad]."""
LIFTED = 0.03
"""A cap that is so much over its place is off [m]."""
STACKED_XY = 0.025
PUT_WITHIN = 0.1
"""A thing lies on its place when their centres are no farther apart than this; on a small place, than half its
diagonal [m]."""
LARGE, SPOT, ROOM, EDGE = 0.5, 0.05, 0.05, 0.02
"""A place with a side of this length has room for several things; spots on it are so far apart, and so much room is
left between a thing and its neighbours, or the edge [m]."""
CLEAR = 0.1
"""What is no farther from the hand may be touched by it [m]."""
HIGH = 0.02
"""The hand is up when it is at most this much below the height at which it travels [m]."""
SLOTS, LOW = (-0.062, 0.0, 0.062), 0.03
"""Where the things to move go along a container, one for each, and the most that they are high [m]."""
NOT_IN_THE_WAY = ("backboard",)
"""It stands behind the hoop, out of the arm's way."""


@dataclass(frozen=True)
class Job:
    """One thing that has to be brought to a place."""

    thing: str
    onto: str
    grasp: Vector
    grasp_yaw: float
    place: Vector
    """Where its centre is when it is let go [m]."""
    place_yaw: float = 0.0
    turn: float = 0.0
    """Turn after the grasp [rad]; then it is raised and kept."""
    keeps: bool = False
    """It is raised and kept, without a turn."""


def find_jobs(instruction: str, scene: Scene) -> list[Job]:
    """Return the jobs that are left, in their order.

    Raises:
        ValueError: there is no rule for the instruction, or the scene lacks what it names.
    """
    words = " ".join(instruction.rstrip(" .!").split())
    for pattern, find in _RULES:
        if found := re.fullmatch(pattern, words, re.IGNORECASE):
            try:
                return find(scene, *found.groups())
            except KeyError as error:
                raise ValueError(f"the state has nothing called {error}") from error
    raise ValueError(f"no rule for the task {instruction!r}")


def _bring(scene: Scene, name: str, onto: str, point: tuple[float, float] | None = None, base: float = 0.0) -> Job:
    """Return the job of letting a thing go over another one, or over a point of it."""
    thing, goal = scene.things[name], scene.things[onto]
    x, y = point or goal.position[:2]
    z = (base or goal.top) + scene.release_m + thing.height / 2
    return Job(name, onto, thing.position, _narrow(thing), (x, y, z), _quarter(goal.yaw))


def _narrow(thing: Described) -> float:
    """Return the yaw of a grasp from side to side."""
    return _quarter(thing.yaw) if math.isclose(thing.length, thing.width) else _half(thing.yaw)


def _quarter(yaw: float) -> float:
    return (yaw + math.pi / 4) % (math.pi / 2) - math.pi / 4


def _half(yaw: float) -> float:
    return (yaw + math.pi / 2) % math.pi - math.pi / 2


def _inside(thing: Described, goal: Described) -> bool:
    """Return whether the centre of a thing is within the sides of another one and below its top."""
    return _over(thing.position, goal) and thing.position[2] < goal.top


def _into(name: str, goal: str) -> Callable[[Scene], list[Job]]:
    def find(scene: Scene) -> list[Job]:
        there = _inside(scene.things[name], scene.things[goal]) and scene.held != name
        return [] if there else [_bring(scene, name, goal)]

    return find


def _ball(scene: Scene) -> list[Job]:
    jobs = _into("ball", "basketball hoop")(scene)
    yaw = scene.things["basketball hoop"].yaw
    return [Job(job.thing, job.onto, job.grasp, yaw, job.place, yaw) for job in jobs]


def _lid(scene: Scene, colour: str) -> list[Job]:
    lid, jar = scene.things["lid"], scene.things[f"{colour} jar"]
    near = math.dist(lid.position[:2], jar.position[:2]) < STACKED_XY
    if near and scene.held is None and abs(lid.position[2] - jar.top) < lid.height:
        return []
    return [_bring(scene, "lid", jar.name)]


def _empty(scene: Scene, colour: str) -> list[Job]:
    goal, source = scene.things[f"{colour} container"], scene.things.get("large container")
    items = [thing for name, thing in scene.things.items() if not name.endswith("container") and thing.height < LOW]
    placed = [thing for thing in items if _inside(thing, goal) and thing.name != scene.held]
    left = [thing for thing in items if thing not in placed]
    to_empty = [thing for thing in left if thing.name == scene.held or (source and _inside(thing, source))]
    # What a camera tells of elsewhere, such as a second one of a thing, comes last, and as long as some are missing.
    elsewhere = [thing for thing in left if thing not in to_empty]
    to_empty.sort(key=lambda thing: thing.name != scene.held)
    left = [*to_empty, *elsewhere[: max(0, len(SLOTS) - len(placed) - len(to_empty))]]
    if len(items) < len(SLOTS):
        raise ValueError(f"the state has {len(items)} of {len(SLOTS)} things to move")
    c, s = math.cos(goal.yaw), math.sin(goal.yaw)
    points = [(goal.position[0] + c * along, goal.position[1] + s * along) for along in SLOTS]
    for thing in placed:
        if len(points) > 1:
            points.remove(min(points, key=lambda point: math.dist(point, thing.position[:2])))
    jobs: list[Job] = []
    for thing, point in zip(left, itertools.cycle(points), strict=False):
        job = _bring(scene, thing.name, goal.name, point)
        jobs.append(Job(thing.name, goal.name, job.grasp, job.grasp_yaw, job.place, _half(goal.yaw)))
    return jobs


def _ring(scene: Scene, colour: str) -> list[Job]:
    ring, spoke = scene.things["square ring"], scene.things[f"{colour} spoke"]
    near = math.dist(ring.position[:2], spoke.position[:2]) < 0.01
    if near and scene.held is None and ring.position[2] < spoke.position[2]:
        return []
    return [_bring(scene, ring.name, spoke.name)]


def _meat(scene: Scene, name: str) -> list[Job]:
    meat, plate = scene.things[name], scene.things["side plate"]
    dx, dy = (abs(a - b) for a, b in zip(meat.position[:2], plate.position[:2], strict=True))
    there = max(dx, dy) < plate.length / 2 and scene.held is None and meat.position[2] < plate.top + 0.1
    return [] if there else [_bring(scene, name, plate.name)]


def _cap(scene: Scene) -> list[Job]:
    cap, bottle = scene.things["bottle cap"], scene.things["wine bottle"]
    on_top = math.dist(cap.position[:2], bottle.position[:2]) < cap.length
    if not on_top or cap.position[2] > bottle.top + cap.height / 2 + LIFTED:
        return []
    return [Job(cap.name, bottle.name, cap.position, UNSCREW_FROM, cap.position, 0.0, UNSCREW_BY)]


def _block(scene: Scene) -> list[Job]:
    block, area = scene.things["block"], scene.things["target area"]
    there = math.dist(block.position[:2], area.position[:2]) < STACKED_XY and scene.held is None
    return [] if there else [_bring(scene, block.name, area.name)]


def _stack(scene: Scene, count: str, colour: str) -> list[Job]:
    square = next((thing for name, thing in scene.things.items() if name.endswith("target square")), None)
    if square is None:
        raise KeyError("target square")
    blocks = [thing for name, thing in scene.things.items() if f"{name} ".startswith(f"{colour} block ")]
    if len(blocks) < int(count):
        raise ValueError(f"the state has {len(blocks)} of {count} {colour} blocks")
    placed = [
        thing
        for thing in blocks
        if thing.name != scene.held and math.dist(thing.position[:2], square.position[:2]) < STACKED_XY
    ]
    base = max((thing.top for thing in placed), default=square.top)
    left = [thing for thing in blocks if thing not in placed]
    left.sort(key=lambda thing: (thing.name != scene.held, math.dist(thing.position[:2], square.position[:2])))
    return [
        _bring(scene, thing.name, square.name, base=base + level * thing.height)
        for level, thing in enumerate(left[: int(count) - len(placed)])
    ]


def _named(scene: Scene, words: str) -> str | None:
    """Return the name of the scene that the words are, with or without an article."""
    said = plain_words(words)
    bare = said[1:] if said[:1] == ("the",) else said
    return next((name for name in scene.things if plain_words(name) in (said, bare)), None)


def _put(scene: Scene, words: str) -> list[Job]:
    # A name may have a preposition in it.
    splits = [(words[: at.start()], words[at.end() :]) for at in re.finditer(r" (?:on|onto|in|into|to) ", words)]
    known = [(_named(scene, what), _named(scene, where)) for what, where in splits]
    name, onto = next((one for one in known if all(one)), (None, None))
    if name is None or onto is None:
        raise ValueError(f"the state does not have both things of {words!r}")
    thing, goal = scene.things[name], scene.things[onto]
    if max(goal.length, goal.width) >= LARGE:
        return _set_down(scene, thing, goal)
    sides = math.hypot(goal.length, goal.width) / 2
    there = math.dist(thing.position[:2], goal.position[:2]) < min(sides, PUT_WITHIN) and scene.held != name
    return [] if there and thing.position[2] < goal.top + thing.height else [_bring(scene, name, onto)]


def _set_down(scene: Scene, thing: Described, goal: Described) -> list[Job]:
    """Return the job of setting a thing down on a large place: on the free spot that is nearest to where it is."""
    if _over(thing.position, goal) and scene.held != thing.name and thing.position[2] < goal.top + thing.height:
        return []
    spots = [spot for spot in _spots(goal, thing) if _is_free(spot, scene, thing, goal)]
    if not spots:
        raise ValueError(f"there is no free spot for {thing.name!r} on {goal.name!r}")
    # Of spots that are as near, the one that the arm reaches best.
    point = min(spots, key=lambda spot: (round(math.dist(spot, thing.position[:2]), 3), math.hypot(*spot)))
    return [_bring(scene, thing.name, goal.name, point)]


def _spots(goal: Described, thing: Described) -> list[tuple[float, float]]:
    """Return the spots of a place, in rows of its own x and y, on which a thing does not reach over the edge."""
    c, s = math.cos(goal.yaw), math.sin(goal.yaw)
    edge = math.hypot(thing.length, thing.width) / 2 + EDGE
    ways = [max(0, math.floor((side / 2 - edge) / SPOT)) for side in (goal.length, goal.width)]
    steps = [[SPOT * step for step in range(-way, way + 1)] for way in ways]
    return [(goal.position[0] + c * x - s * y, goal.position[1] + s * x + c * y) for x, y in itertools.product(*steps)]


def _is_free(spot: tuple[float, float], scene: Scene, thing: Described, goal: Described) -> bool:
    """Return whether nothing else stands on the spot; what is lower than the place is in nobody's way."""
    room = math.hypot(thing.length, thing.width) / 2 + ROOM
    others = [one for one in scene.things.values() if one.name not in (thing.name, goal.name) and one.top > goal.top]
    return not any(_over(spot, one, room) for one in others)


def _over(point: tuple[float, ...], goal: Described, room: float = 0.0) -> bool:
    """Return whether a point is within the sides of a place, with so much room around it [m]."""
    dx, dy = (a - b for a, b in zip(point[:2], goal.position[:2], strict=True))
    c, s = math.cos(goal.yaw), math.sin(goal.yaw)
    x, y = c * dx + s * dy, c * dy - s * dx
    return abs(x) < goal.length / 2 + room and abs(y) < goal.width / 2 + room


def _pick(scene: Scene, *said: str | None) -> list[Job]:
    what = next(filter(None, said), "")
    name = _named(scene, what)
    if name is None:
        raise ValueError(f"the state has nothing called {what!r}")
    thing = scene.things[name]
    job = Job(name, name, thing.position, _narrow(thing), thing.position, keeps=True)
    return [] if scene.held == name and scene.hand[2] > travel_height(job, scene) - HIGH else [job]


def travel_height(job: Job | None, scene: Scene) -> float:
    """Return the height of the hand at which what it carries passes over everything that is in the way [m]."""
    own = scene.things[job.thing] if job else None
    tops = [thing.top for thing in scene.things.values() if thing is not own and thing.name not in NOT_IN_THE_WAY]
    over = max(tops, default=0.0) + (own.height / 2 if own else 0.0)
    if own is not None and scene.held != own.name:
        over = max(over, own.position[2])
    return over + scene.safe_m


def clear_height(scene: Scene) -> float:
    """Return the height of the hand at which it is clear of what stands below and beside it [m]."""
    near = [thing.top for thing in scene.things.values() if _over(scene.hand, thing, CLEAR)]
    return min(travel_height(None, scene), max(near, default=0.0) + scene.safe_m)


_RULES: tuple[tuple[str, Callable[..., list[Job]]], ...] = (
    ("put the ball in the hoop", _ball),
    (r"close the (\w+) jar(?: with the lid)?", _lid),
    (r"move all objects from the large container to the (\w+) container", _empty),
    (r"put the square ring on the (\w+) spoke", _ring),
    (r"take the (\w+) off the grill and put it on the side plate", _meat),
    ("open the wine bottle: unscrew its cap and take it off", _cap),
    ("put the block in the target area", _block),
    ("put the rubbish in the bin(?: and leave everything else where it is)?", _into("rubbish", "bin")),
    (r"stack (\d) (\w+) blocks(?: on the target square)?", _stack),
    (r"(?:put|place|move|bring) (.+)", _put),
    (r"(?:pick|lift) up (.+)|(?:pick|lift|grasp|grab|take) (.+?)(?: up)?", _pick),
)
"""Rules; each reads a whole task."""
