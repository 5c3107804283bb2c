"""Pictures of the worlds: robots are discs, boxes squares, targets rings of their colour, and moves arrows."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from PIL import Image, ImageDraw, ImageFont

from quartet_research.harness.world import WAIT, World
from quartet_research.planners.grid_worlds.boxlift import BoxLift, boxes_for
from quartet_research.planners.grid_worlds.boxnet1 import BoxNet1, cell_of
from quartet_research.planners.grid_worlds.boxnet2 import BoxNet2
from quartet_research.planners.grid_worlds.warehouse import PICK, Place, Shelf, Warehouse, after

Point = tuple[float, float]
"""Right and down, in cells."""
Plan = Mapping[str, str]

COLOURS = {"blue": "#2b6cd4", "red": "#d33a3a", "green": "#2e9b52", "purple": "#8442ad", "orange": "#ee8a1d"}
PAPER, FLOOR, LINE, INK, ROBOT, BROWN = "#ffffff", "#f4f2ee", "#c9c4ba", "#222222", "#5d6b7a", "#b98a56"
REGION = 2.0
"""Width of the target region of a warehouse, in cells."""
LONGEST_SIDE, CELL_RANGE = 900, (36, 96)
"""Pixels of a picture, as far as the sizes of a cell allow it."""
HEADER, LEAST_WIDTH = 46, 420
OVERSAMPLED = 2
"""Drawn larger and then shrunk, for smooth edges."""
_BOXNET_MOVE = re.compile(r"move\(box_(\w+), (square|corner|target)(?:\[([\d.]+), ([\d.]+)\])?.*\)")


def picture(world: World, plan: Plan | None = None, caption: str = "") -> Image.Image:
    """Return the state as an RGB picture, with arrows for what a plan does next.

    Args:
        world: a grid world.
        plan: actions of the robots; those that are left out wait.
        caption: line below the title. Empty: how the episode has ended, if it has.
    """
    plan = {robot: action for robot, action in (plan or {}).items() if action != WAIT}
    match world:
        case BoxNet1():
            canvas = _boxnet1(world, plan)
        case BoxNet2():
            canvas = _boxnet2(world, plan)
        case Warehouse():
            canvas = _warehouse(world, plan)
        case BoxLift():
            canvas = _boxlift(world, plan)
        case _:
            raise TypeError(f"no picture of {type(world).__name__}")
    ending = f"collision: {world.collision}" if world.collision else "done" if world.done else ""
    told = f"{len(world.robots)} robots, {world.steps} of at most {world.step_limit} steps"
    return canvas.finish(f"{world.name}: {told}", caption or ending, COLOURS["red"] if world.collision else INK)


def replay(world: World, plans: Sequence[Plan]) -> Iterator[Image.Image]:
    """Yield a picture of each state with the plan that is carried out there, and one of the last state.

    Raises IllegalPlanError when a plan is none of this instance.
    """
    world = world.copy()
    feedback = ""
    for plan in plans:
        yield picture(world, plan, feedback)
        feedback = " ".join(world.step(plan).feedback.splitlines())
    yield picture(world)


class _Canvas:
    def __init__(self, width: float, height: float) -> None:
        low, high = CELL_RANGE
        self.cell = OVERSAMPLED * max(low, min(high, LONGEST_SIDE / max(width, height)))
        across, self.top = round(self.cell * width), OVERSAMPLED * HEADER
        size = max(across, OVERSAMPLED * LEAST_WIDTH), round(self.cell * height) + self.top
        self.left = (size[0] - across) / 2
        self.image = Image.new("RGB", size, PAPER)
        self.draw = ImageDraw.Draw(self.image)

    def at(self, point: Point) -> Point:
        return self.left + point[0] * self.cell, self.top + point[1] * self.cell

    def area(self, corner: Point, other: Point, fill: str = FLOOR) -> None:
        self.draw.rectangle((self.at(corner), self.at(other)), fill, LINE, OVERSAMPLED)

    def line(self, one: Point, other: Point, colour: str = LINE, width: float = 0.02) -> None:
        self.draw.line((self.at(one), self.at(other)), colour, max(1, round(width * self.cell)))

    def disc(self, centre: Point, radius: float, label: str = "", fill: str = ROBOT) -> None:
        self.draw.circle(self.at(centre), radius * self.cell, fill)
        self.text(centre, label, radius, PAPER)

    def ring(self, centre: Point, radius: float, colour: str) -> None:
        self.draw.circle(self.at(centre), radius * self.cell, PAPER, colour, max(2, round(0.3 * radius * self.cell)))

    def box(self, centre: Point, side: float, colour: str, label: str = "") -> None:
        (x, y), half = self.at(centre), side * self.cell / 2
        self.draw.rectangle((x - half, y - half, x + half, y + half), colour, INK, OVERSAMPLED)
        self.text(centre, label, side / 2, PAPER)

    def text(self, centre: Point, text: str, height: float, colour: str = INK) -> None:
        font = ImageFont.load_default(max(12, height * self.cell))
        self.draw.text(self.at(centre), text, colour, font, anchor="mm")

    def arrow(self, start: Point, end: Point, colour: str = INK, before: float = 0.0) -> None:
        """Draw an arrow that ends so many cells before its end, where something else stands."""
        (x0, y0), (x1, y1) = self.at(start), self.at(end)
        angle, head = math.atan2(y1 - y0, x1 - x0), 0.16 * self.cell
        x1, y1 = x1 - before * self.cell * math.cos(angle), y1 - before * self.cell * math.sin(angle)
        base = x1 - 0.8 * head * math.cos(angle), y1 - 0.8 * head * math.sin(angle)
        self.draw.line((x0, y0, *base), colour, max(2, round(0.05 * self.cell)))
        wings = [(x1 - head * math.cos(angle + turn), y1 - head * math.sin(angle + turn)) for turn in (-0.45, 0.45)]
        self.draw.polygon([(x1, y1), *wings], colour)

    def finish(self, title: str, caption: str, colour: str) -> Image.Image:
        width = self.image.width - 20 * OVERSAMPLED
        for row, (line, size, ink) in enumerate(((title, 15, INK), (caption, 13, colour))):
            font = ImageFont.load_default(size * OVERSAMPLED)
            while self.draw.textlength(line, font) > width:
                line = f"{line.rstrip('…')[:-1]}…"
            self.draw.text((10 * OVERSAMPLED, (5 + 20 * row) * OVERSAMPLED), line, ink, font)
        return self.image.reduce(OVERSAMPLED)


def _spread(count: int, middle: Point, most: float) -> tuple[list[Point], float]:
    """Return places of so many things beside each other in a cell, and their size."""
    step = min(1.3 * most, 0.9 / max(1, count))
    return [(middle[0] + (at - (count - 1) / 2) * step, middle[1]) for at in range(count)], step / 1.3


def _grid(shape: tuple[int, int], margin: float) -> _Canvas:
    rows, columns = shape
    canvas = _Canvas(columns + 2 * margin, rows + 2 * margin)
    for row in range(rows):
        for column in range(columns):
            corner = column + margin, row + margin
            canvas.area(corner, (corner[0] + 1, corner[1] + 1))
    return canvas


def _boxnet1(world: BoxNet1, plan: Plan) -> _Canvas:
    canvas = _grid(world.shape, margin := 0.15)
    arrows: list[tuple[Point, Point, str, float]] = []
    for robot in world.robots:
        row, column = cell = cell_of(robot)
        x, y = column + 0.5 + margin, row + margin
        canvas.disc((x, y + 0.5), 0.1)
        places: dict[str, dict[str, Point]] = {}
        for kind, things, down in (("box", world.boxes, 0.22), ("target", world.targets, 0.8)):
            colours = sorted(things[cell].elements()) if cell in things else []
            spread, size = _spread(len(colours), (x, y + down), 0.24)
            places[kind] = dict(zip(colours, spread, strict=True))
            for colour, place in zip(colours, spread, strict=True):
                if kind == "box":
                    canvas.box(place, size, COLOURS[colour])
                else:
                    canvas.ring(place, size / 2, COLOURS[colour])
        if move := _BOXNET_MOVE.fullmatch(plan.get(robot, "")):
            colour, kind, down, right = move.groups()
            end = places["target"][colour] if kind == "target" else (float(right) + margin, float(down) + margin)
            arrows.append((places["box"][colour], end, COLOURS[colour], 0.0 if kind == "target" else 0.14))
    for arrow in arrows:
        canvas.arrow(*arrow)
    return canvas


def _boxnet2(world: BoxNet2, plan: Plan) -> _Canvas:
    canvas = _grid(world.shape, margin := 0.3)
    rings: dict[str, Point] = {}
    arms: dict[str, Point] = {}
    for robot in world.robots:
        row, column = cell = cell_of(robot)
        arms[robot] = column + 0.5 + margin, row + 0.5 + margin
        canvas.disc(arms[robot], 0.1)
        colours = sorted(colour for colour, at in world.targets.items() if at == cell)
        spread, size = _spread(len(colours), (arms[robot][0], arms[robot][1] + 0.26), 0.24)
        for colour, place in zip(colours, spread, strict=True):
            rings[colour] = place
            canvas.ring(place, size / 2, COLOURS[colour])
    boxes = {colour: (column + margin, row + margin) for colour, (row, column) in world.boxes.items()}
    for colour, place in boxes.items():
        canvas.box(place, 0.26, COLOURS[colour])
    for robot, action in plan.items():
        if move := _BOXNET_MOVE.fullmatch(action):
            colour, kind, down, right = move.groups()
            end = rings[colour] if kind == "target" else (float(right) + margin, float(down) + margin)
            canvas.line(arms[robot], boxes[colour], ROBOT, 0.04)
            canvas.arrow(boxes[colour], end, COLOURS[colour])
    return canvas


def _warehouse(world: Warehouse, plan: Plan) -> _Canvas:
    canvas = _Canvas(REGION + 0.5 + world.columns, world.tracks)
    canvas.area((0.1, 0.1), (REGION - 0.1, world.tracks - 0.1))
    canvas.text((REGION / 2, 0.3), "target region", 0.2)

    for track in range(world.tracks):
        canvas.line((REGION, track + 0.5), (REGION + world.columns, track + 0.5), LINE, 0.05)
        for column in range(world.columns):
            canvas.disc((REGION + 0.5 + column, track + 0.5), 0.05, fill=LINE)
    for shelf in world.boxes:
        canvas.box(_shelf_at(shelf), 0.26, BROWN)
    for index, (name, robot) in enumerate(world.where.items()):
        x, y = _robot_at(index, robot.place)
        if pick := PICK.fullmatch(action := plan.get(name, WAIT)):
            canvas.arrow(_shelf_at((int(float(pick[1])), int(pick[2]))), (x, y), before=0.22)
        elif action != WAIT:
            canvas.arrow((x, y), _robot_at(index, after(robot, action).place), before=0.24)
        canvas.disc((x, y), 0.22, name.removeprefix("agent"))
        if robot.carries:
            canvas.box((x + 0.17, y - 0.17), 0.22, BROWN)
    return canvas


def _shelf_at(shelf: Shelf) -> Point:
    return REGION + 0.5 + shelf[1], shelf[0] + 1.0


def _robot_at(index: int, place: Place | None) -> Point:
    """Return where a robot is drawn; in the target region each has a place of its own."""
    return (0.6 + 0.8 * (index % 2), index // 2 + 0.6) if place is None else (REGION + 0.5 + place[1], place[0] + 0.5)


def _boxlift(world: BoxLift, plan: Plan) -> _Canvas:
    numbers = {name: int(name.removeprefix("box")) for name in world.boxes}
    places = max(boxes_for(len(world.lifters)), *(number + 1 for number in numbers.values()), 1)
    columns = math.ceil(math.sqrt(1.6 * places))
    rows, high = math.ceil(places / columns), 1.4
    below = rows * high + 0.1
    canvas = _Canvas(columns, below + math.ceil(len(world.lifters) / columns))
    canvas.area((0, 0), (columns, rows * high))
    at = {name: [lifter for lifter, action in plan.items() if action == f"lift {name}"] for name in world.boxes}
    for name, number in numbers.items():
        x, y = number % columns + 0.5, number // columns * high
        volume = world.boxes[name].volume
        canvas.box((x, y + 0.75 - 0.35 * math.sqrt(volume / 10)), 0.7 * math.sqrt(volume / 10), BROWN)
        canvas.text((x, y + 0.9), f"{name} {volume:g}V", 0.17)
        spread, size = _spread(len(at[name]), (x, y + 1.18), 0.3)
        for lifter, place in zip(at[name], spread, strict=True):
            canvas.disc(place, size / 2, lifter.removeprefix("lifter"))
    for index, (lifter, capability) in enumerate(world.lifters.items()):
        x, y = index % columns + 0.5, below + index // columns
        # Who lifts stands at a box.
        canvas.disc((x, y + 0.35), 0.22, lifter.removeprefix("lifter"), LINE if lifter in plan else ROBOT)
        canvas.text((x, y + 0.75), f"{capability:g}W", 0.17)
    return canvas
