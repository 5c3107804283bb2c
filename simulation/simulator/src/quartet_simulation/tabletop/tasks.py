"""The nine tasks of the MALMM paper: what stands where, the instruction, and success by ground truth.

Extents, variations and volumes follow RLBench's tasks as far as they are known; every shape is our own. Where a place
is drawn, the arm reaches it; RLBench's own layouts are partly out of the Panda's reach with its hand pointing down.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from quartet_simulation.table_arms import Shape
from quartet_simulation.tabletop.errors import UnknownTaskError
from quartet_simulation.tabletop.placing import Places, Point, at, half_turn
from quartet_simulation.tabletop.things import COLOURS, TABLE_Z, Layout, Thing, ring_of_plates, turned

NAMES = tuple(COLOURS)
CUBE = (0.05, 0.05, 0.05)
STACK_COUNTS = (2, 3, 4)


class View(Protocol):
    """What success is judged by."""

    @property
    def held(self) -> str | None:
        """Name of the thing in the gripper."""
        ...

    def meets(self, thing: str, volume: str) -> bool:
        """Return whether a shape of a thing meets a volume."""
        ...

    def position(self, thing: str, /) -> tuple[float, float, float]:
        """Return the centre of a thing [m]."""
        ...


@dataclass(frozen=True)
class TabletopTask:
    """One of the nine tasks."""

    name: str
    variations: int
    instruction: Callable[[int], str]
    lay_out: Callable[[int, Places], Layout]
    succeeded: Callable[[View, int], bool]
    arms: int = 1
    """Number of arms at the table."""


def _on(point: Point, height: float, above: float = 0.0) -> tuple[float, float, float]:
    """Return the centre of a thing of this height that stands `above` the table [m]."""
    return *point, TABLE_Z + above + height / 2


def _box(name: str, point: Point, extents: tuple[float, float, float], above: float = 0.0, **more: Any) -> Thing:
    x, y, z = extents
    return Thing(name, [Shape("box", (x / 2, y / 2, z / 2))], _on(point, z, above), extents, **more)


def _other(rng: np.random.Generator, *used: str) -> str:
    return str(rng.choice([name for name in NAMES if name not in used]))


def _two_colours(variation: int, places: Places) -> tuple[str, str]:
    """Return the wanted colour and another one; the wanted one is first if the variation is even."""
    wanted = NAMES[variation]
    other = _other(places.rng, wanted)
    return (wanted, other) if variation % 2 == 0 else (other, wanted)


def _square(thickness: float, length: float) -> list[Shape]:
    """Return four bars round a square, by half their sizes [m]."""
    return [
        Shape("box", (thickness, length, thickness), (0.02 * math.cos(a), 0.02 * math.sin(a), 0.0), turned(a))
        for a in np.arange(4) * math.pi / 2
    ]


# Basketball in Hoop


def _lay_out_basketball(_variation: int, places: Places) -> Layout:
    ball, tube, board = (-0.15, 0.035), (0.095, 0.03), 0.214
    origin, yaw = places.frame([ball, tube], math.pi / 4, 0.1)
    ball_at, tube_at = at(origin, yaw, ball), at(origin, yaw, tube)
    bars = _square(0.003, 0.022)
    along = half_turn(yaw + math.pi / 2)
    return Layout(
        [
            Thing("ball", [Shape("sphere", (0.03,))], _on(ball_at, 0.06), (0.06, 0.06, 0.06), 0.0, "orange", 0.111),
            Thing("ball stop", bars, _on(ball_at, 0.006), (0.046, 0.046, 0.006), half_turn(yaw), "black", told=False),
            Thing(
                "basketball hoop",
                ring_of_plates(0.055, 0.224, 8, 0.005),
                (*tube_at, 0.886),
                (0.12, 0.12, 0.224),
                along,
                "red",
            ),
            Thing(
                "backboard",
                [Shape("box", (0.21, 0.005, 0.1515))],
                (*at(origin, yaw, (board, 0.03)), 1.0865),
                (0.42, 0.01, 0.303),
                along,
                "white",
            ),
        ],
        {"in_hoop": Shape("box", (0.025, 0.025, 0.025), (*tube_at, 0.811), turned(yaw))},
    )


# Close Jar

JAR_HEIGHT, LID_HEIGHT = 0.106, 0.021


def _lay_out_jars(variation: int, places: Places) -> Layout:
    colours = _two_colours(variation, places)
    things: list[Thing] = []
    points = [places.draw(0.08) for _ in colours]
    for colour, point in zip(colours, points, strict=True):
        wall = ring_of_plates(0.030, JAR_HEIGHT, 8, 0.0155)
        floor = Shape("cylinder", (0.030, 0.003), (0, 0, 0.003 - JAR_HEIGHT / 2))
        things.append(
            Thing(f"{colour} jar", [*wall, floor], _on(point, JAR_HEIGHT), (0.091, 0.091, JAR_HEIGHT), 0.0, colour)
        )
    lid = Shape("cylinder", (0.037, LID_HEIGHT / 2))
    things.append(
        Thing("lid", [lid], _on(places.draw(0.08), LID_HEIGHT), (0.074, 0.074, LID_HEIGHT), places.yaw(), "gray", 0.03)
    )
    target = points[variation % 2]
    return Layout(things, {"on_jar": Shape("box", (0.025, 0.025, 0.01), (*target, TABLE_Z + 0.113))})


# Empty Container

TRAY_HEIGHT, SIDE_Y = 0.05, 0.25
ITEMS = (("box", (0.036, 0.090, 0.022)), ("bar", (0.030, 0.084, 0.020)), ("brick", (0.042, 0.080, 0.024)))
ITEM_SLOTS = ((-0.055, 0.055), (0.055, 0.055), (0.0, -0.06))
"""Places in the tray, so far apart that open fingers fit round each item."""


def _container(half: tuple[float, float], height: float, flare: float) -> list[Shape]:
    x, y = half
    lean = math.atan2(flare, height)
    side = height / 2 / math.cos(lean)
    walls = [
        Shape("box", (0.002, length, side), (px, py, 0.0), turned(turn, lean))
        for px, py, turn, length in (
            (x - flare / 2, 0.0, 0.0, y),
            (flare / 2 - x, 0.0, math.pi, y),
            (0.0, y - flare / 2, math.pi / 2, x),
            (0.0, flare / 2 - y, -math.pi / 2, x),
        )
    ]
    return [Shape("box", (x - flare, y - flare, 0.002), (0, 0, 0.002 - height / 2)), *walls]


def _lay_out_containers(variation: int, places: Places) -> Layout:
    colours = _two_colours(variation, places)
    spots = [(0.0, 0.0), (0.0, SIDE_Y), (0.0, -SIDE_Y), (0.09, 0.0), (-0.09, 0.0)]
    origin, yaw = places.frame(spots, 0.3, 0.0)
    things = [
        Thing(
            "large container",
            _container((0.159, 0.159), TRAY_HEIGHT, 0.034),
            _on(origin, TRAY_HEIGHT),
            (0.318, 0.318, TRAY_HEIGHT),
            yaw,
            "olive" if "olive" not in colours else "teal",
        )
    ]
    sides = [at(origin, yaw, (0.0, y)) for y in (SIDE_Y, -SIDE_Y)]
    things += [
        Thing(
            f"{colour} container",
            _container((0.10, 0.0627), TRAY_HEIGHT, 0.0),
            _on(side, TRAY_HEIGHT),
            (0.2, 0.1255, TRAY_HEIGHT),
            yaw,
            colour,
        )
        for colour, side in zip(colours, sides, strict=True)
    ]
    slots = places.rng.permutation(3)
    for slot, (name, extents) in zip(slots, ITEMS, strict=True):
        local = ITEM_SLOTS[int(slot)]
        turn = yaw + places.yaw(0.15)
        things.append(_box(name, at(origin, yaw, local), extents, yaw=turn, colour="silver", mass=0.1, above=0.005))
    target = sides[variation % 2]
    return Layout(things, {"in_container": Shape("box", (0.098, 0.06, 0.025), (*target, TABLE_Z + 0.029), turned(yaw))})


# Insert in Peg

PILLAR_Y = (-0.125, 0.0, 0.125)


def _lay_out_pegs(variation: int, places: Places) -> Layout:
    colour = NAMES[variation]
    origin, yaw = places.frame([(0.0, y) for y in PILLAR_Y], math.pi / 4, 0.07)
    wanted = int(places.rng.integers(3))
    others = [name for name in NAMES if name != colour]
    drawn = [str(name) for name in places.rng.choice(others, 2, replace=False)]
    things = [_box("base", origin, (0.1, 0.4, 0.02), yaw=yaw, colour="white")]
    for number, y in enumerate(PILLAR_Y):
        own = colour if number == wanted else drawn.pop()
        pillar = Shape("box", (0.0125, 0.0125, 0.06))
        spot = at(origin, yaw, (0.0, y))
        things.append(Thing(f"{own} spoke", [pillar], _on(spot, 0.12), (0.025, 0.025, 0.12), yaw, own, friction=0.1))
    bars = _square(0.005, 0.025)
    ring = _on(places.draw(0.09), 0.01)
    things.append(
        Thing("square ring", bars, ring, (0.05, 0.05, 0.01), places.yaw(math.pi / 4), "gray", 0.02, friction=0.1)
    )
    volumes = {
        f"beside_{side}": Shape(
            "box",
            (0.005, 0.02, 0.025),
            (*at(origin, yaw, (0.02 * math.cos(a), PILLAR_Y[wanted] + 0.02 * math.sin(a))), TABLE_Z + 0.025),
            turned(yaw + a),
        )
        for side, a in enumerate(np.arange(4) * math.pi / 2)
    }
    return Layout(things, volumes)


# Meat off Grill

MEATS = ("chicken", "steak")
GRILL_HEIGHT = 0.15


def _lay_out_grill(variation: int, places: Places) -> Layout:
    origin, yaw = places.frame([(0.0, 0.0), (0.0, 0.08), (0.0, -0.08)], 0.4, 0.17)
    meats = ((0.06, 0.10, 0.03), (0.055, 0.11, 0.025))
    things = [_box("grill", origin, (0.2, 0.3, GRILL_HEIGHT), yaw=yaw, colour="black")]
    for name, extents, y in zip(MEATS, meats, (0.08, -0.08), strict=True):
        things.append(
            _box(
                name,
                at(origin, yaw, (places.yaw(0.03), y)),
                extents,
                yaw=half_turn(yaw + math.pi / 2 + places.yaw(0.4)),
                colour="orange" if name == "chicken" else "maroon",
                mass=0.1,
                above=GRILL_HEIGHT,
            )
        )
    side = places.draw(0.11)
    turn = places.yaw(math.pi / 4)
    # Not white: under the colour of an unknown light, white is next to the wood that it lies on.
    things.append(_mark("side plate", side, 0.15, turn, "cyan"))
    return Layout(things, {"on_side": Shape("box", (0.075, 0.075, 0.025), (*side, TABLE_Z + 0.025), turned(turn))})


def _mark(name: str, point: Point, size: float, yaw: float, colour: str) -> Thing:
    """Return a square on the table that cannot be touched."""
    return Thing(
        name,
        [Shape("box", (size / 2, size / 2, 0.0005))],
        (*point, TABLE_Z + 0.0005),
        (size, size, 0.001),
        yaw,
        colour,
        solid=False,
    )


# Open Bottle

CAP_HEIGHT = 0.020


def _lay_out_bottle(_variation: int, places: Places) -> Layout:
    point = places.draw(0.1)
    body = 0.298 - CAP_HEIGHT
    neck = 0.07
    shapes = [
        Shape("cylinder", (0.037, (body - neck) / 2), (0, 0, -neck / 2)),
        Shape("cylinder", (0.014, neck / 2), (0, 0, (body - neck) / 2)),
    ]
    cap = Shape("cylinder", (0.016, CAP_HEIGHT / 2))
    return Layout(
        [
            Thing("wine bottle", shapes, _on(point, body), (0.074, 0.074, body), 0.0, "green"),
            Thing("bottle cap", [cap], _on(point, CAP_HEIGHT, body), (0.032, 0.032, CAP_HEIGHT), 0.0, "maroon", 0.01),
        ],
        {"on_bottle": Shape("cylinder", (0.015, 0.015), (*point, 1.051))},
        screwed=("bottle cap", "wine bottle"),
    )


# Put Block


def _lay_out_block(_variation: int, places: Places) -> Layout:
    target, yaw = places.draw(0.1), places.yaw(math.pi / 4)
    return Layout(
        [
            _box("block", places.draw(0.1), CUBE, yaw=places.yaw(math.pi / 4), colour="red", mass=0.125),
            _mark("target area", target, 0.1, yaw, "green"),
        ],
        {"in_area": Shape("box", (0.005, 0.005, 0.05), (*target, TABLE_Z + 0.025), turned(yaw))},
    )


# Rubbish in Bin

BIN_HEIGHT = 0.19


def _lay_out_rubbish(_variation: int, places: Places) -> Layout:
    bin_at = places.draw(0.16)
    things = [
        Thing(
            "bin", ring_of_plates(0.095, BIN_HEIGHT, 8, 0.005), _on(bin_at, BIN_HEIGHT), (0.2, 0.2, 0.19), 0.0, "gray"
        )
    ]
    # Not white as paper: the arm is white, and cameras are to tell them apart.
    things.append(_box("rubbish", places.draw(0.08), (0.05, 0.087, 0.034), yaw=places.yaw(), colour="blue", mass=0.05))
    things += [
        Thing(
            f"tomato {number}",
            [Shape("sphere", (0.033,))],
            _on(places.draw(0.08), 0.066),
            (0.066, 0.066, 0.066),
            0.0,
            "red",
        )
        for number in (1, 2)
    ]
    return Layout(things, {"in_bin": Shape("cylinder", (0.07, 0.03), (*bin_at, 0.785))})


# Stack Blocks


def _stack_of(variation: int) -> tuple[str, int]:
    return NAMES[variation // len(STACK_COUNTS)], STACK_COUNTS[variation % len(STACK_COUNTS)]


def _lay_out_stack(variation: int, places: Places) -> Layout:
    colour, _ = _stack_of(variation)
    other = _other(places.rng, colour)
    square = _other(places.rng, colour, other)
    target = places.draw(0.065)
    things = [_mark(f"{square} target square", target, 0.075, places.yaw(math.pi / 4), square)]
    things += [
        _box(
            f"{own} block {number}",
            places.draw(0.055),
            CUBE,
            yaw=places.yaw(math.pi / 4),
            colour=own,
            mass=0.125,
        )
        for own in (colour, other)
        for number in range(1, 5)
    ]
    return Layout(things, {"on_target": Shape("box", (0.005, 0.005, 0.1), (*target, TABLE_Z + 0.1))})


def _stacked(view: View, variation: int) -> bool:
    colour, count = _stack_of(variation)
    return view.held is None and sum(view.meets(f"{colour} block {n}", "on_target") for n in range(1, 5)) >= count


def _say_stack(variation: int) -> str:
    colour, count = _stack_of(variation)
    return f"stack {count} {colour} blocks on the target square"


# Swap Blocks: two arms

SWAP = "put the red block on the green square and the blue block on the yellow square"
SQUARE = 0.16
SQUARES = {"yellow": (0.12, 0.2), "magenta": (0.30, 0.16), "cyan": (0.30, -0.16), "green": (0.48, -0.2)}
"""Yellow is within reach of the first arm only, green of the second, those between of both."""
BLOCKS = {"red": (0.12, -0.2), "blue": (0.48, 0.2)}


def _lay_out_swap(_variation: int, places: Places) -> Layout:
    squares = [_mark(f"{colour} square", point, SQUARE, 0.0, colour) for colour, point in SQUARES.items()]
    blocks = [
        _box(
            f"{colour} block",
            (x + float(places.rng.uniform(-0.03, 0.03)), y + float(places.rng.uniform(-0.03, 0.03))),
            CUBE,
            yaw=places.yaw(math.pi / 4),
            colour=colour,
            mass=0.125,
        )
        for colour, (x, y) in BLOCKS.items()
    ]
    above = {
        f"on_{colour}": Shape("box", (SQUARE / 2, SQUARE / 2, 0.005), (*SQUARES[colour], TABLE_Z + 0.02))
        for colour in ("green", "yellow")
    }
    return Layout([*squares, *blocks], above)


def _swapped(view: View, _variation: int) -> bool:
    return view.held is None and view.meets("red block", "on_green") and view.meets("blue block", "on_yellow")


TASKS = {
    task.name: task
    for task in (
        TabletopTask(
            "basketball-in-hoop",
            1,
            lambda _: "put the ball in the hoop",
            _lay_out_basketball,
            lambda view, _: view.meets("ball", "in_hoop"),
        ),
        TabletopTask(
            "close-jar",
            20,
            lambda variation: f"close the {NAMES[variation]} jar with the lid",
            _lay_out_jars,
            lambda view, _: view.held is None and view.meets("lid", "on_jar"),
        ),
        TabletopTask(
            "empty-container",
            20,
            lambda variation: f"move all objects from the large container to the {NAMES[variation]} container",
            _lay_out_containers,
            lambda view, _: all(view.meets(name, "in_container") for name, _ in ITEMS),
        ),
        TabletopTask(
            "insert-in-peg",
            20,
            lambda variation: f"put the square ring on the {NAMES[variation]} spoke",
            _lay_out_pegs,
            lambda view, _: all(view.meets("square ring", f"beside_{side}") for side in range(4)),
        ),
        TabletopTask(
            "meat-off-grill",
            2,
            lambda variation: f"take the {MEATS[variation]} off the grill and put it on the side plate",
            _lay_out_grill,
            lambda view, variation: view.held is None and view.meets(MEATS[variation], "on_side"),
        ),
        TabletopTask(
            "open-bottle",
            1,
            lambda _: "open the wine bottle: unscrew its cap and take it off",
            _lay_out_bottle,
            lambda view, _: not view.meets("bottle cap", "on_bottle"),
        ),
        TabletopTask(
            "put-block",
            1,
            lambda _: "put the block in the target area",
            _lay_out_block,
            lambda view, _: view.held is None and view.meets("block", "in_area"),
        ),
        TabletopTask(
            "rubbish-in-bin",
            1,
            lambda _: "put the rubbish in the bin and leave everything else where it is",
            _lay_out_rubbish,
            lambda view, _: view.meets("rubbish", "in_bin"),
        ),
        TabletopTask("stack-blocks", 60, _say_stack, _lay_out_stack, _stacked),
    )
}
"""The nine tasks by name, in the order of the paper's tables."""
SHARED_TASKS = {
    "swap-blocks": TabletopTask("swap-blocks", 1, lambda _: SWAP, _lay_out_swap, _swapped, arms=2),
}
"""Our own tasks for several arms."""
ALL_TASKS = {**TASKS, **SHARED_TASKS}
DEFAULT_TASKS = {1: "rubbish-in-bin", 2: "swap-blocks"}
"""By the number of arms."""


def find_task(scenario: str | None, arms: int = 1) -> tuple[str, int]:
    """Return task and variation of TASK or TASK:VARIATION; for None the default for a number of arms.

    Raises:
        UnknownTaskError: there is no such task or variation for this number of arms.
    """
    task, _, variation = (scenario or DEFAULT_TASKS[arms]).partition(":")
    valid = [name for name, one in ALL_TASKS.items() if one.arms == arms]
    if task not in valid:
        there = f"'{task}'" if arms == 1 else f"'{task}' for {arms} arms"
        raise UnknownTaskError(f"there is no task {there}; valid: {', '.join(valid)}, each also as TASK:VARIATION")
    number = int(variation or 0) if re.fullmatch(r"-?[0-9]{0,9}", variation) else -1
    if not 0 <= number < ALL_TASKS[task].variations:
        raise UnknownTaskError(f"{task} has no variation {variation}; valid: 0 to {ALL_TASKS[task].variations - 1}")
    return task, number
