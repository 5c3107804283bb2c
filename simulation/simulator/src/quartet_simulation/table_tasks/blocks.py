"""Move blocks: a robot and a person bring three blocks into a bin. The robot's camera describes blocks with errors.

A person takes blocks out of cups and puts them on the table. No arm does it: the block is put there as state.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from quartet_simulation.table_arms import ArmAt, HandPose, Scene, Shape, Thing, build_table
from quartet_simulation.table_arms.poses import Vector
from quartet_simulation.table_tasks.handling import Outline, place_pose
from quartet_simulation.table_tasks.task import Box, Outcome, TableTask
from quartet_teams.roco import Action, Form, JointPlan, Verb

PERSON, ROBOT = "Alice", "Bob"
TABLE, BIN, TABLE_TOP = "table", "wooden_bin", 0.15
BODIES = {"blue_triangular_block": "block1", "red_hexagonal_block": "block2", "strawberry_toy": "block3"}
"""Bodies of the blocks. Complaints name bodies, so these names do not reveal which block the camera misnamed."""
BLOCKS = tuple(BODIES)
CUPS = {"purple_cup": (-0.55, 0.72), "yellow_cup": (-0.25, 0.72), "green_cup": (0.05, 0.72)}
CUP_COLOURS = {
    "purple_cup": (0.55, 0.3, 0.7, 1),
    "yellow_cup": (0.95, 0.85, 0.25, 1),
    "green_cup": (0.3, 0.65, 0.35, 1),
}
CUP_HALF, CUP_HEIGHT, CUP_WALL = 0.05, 0.09, 0.004
BIN_CENTRE, BIN_HALF, BIN_WALL = (0.6, 0.45), 0.16, 0.06
"""Middle, half width and height of the walls [m]."""
SLOTS = tuple((BIN_CENTRE[0] + x, BIN_CENTRE[1]) for x in (-0.09, 0.0, 0.09))
"""Where Bob puts the first, second and third block [m]."""
SPOTS = tuple((x, 0.38) for x in (-0.45, -0.25, -0.05, 0.15))
"""Places on the table for blocks [m]."""
SHEET = 0.004
"""Thickness of the floors of cups and bin [m]."""
SIDE, HALF = 0.05, 0.02
"""Width of the blocks, and half of their height [m]."""
OUTLINE = Outline(SIDE, 2 * HALF)
ERRORS = ("name", "missing", "place")


@dataclass(frozen=True)
class Seen:
    """A block as the camera describes it."""

    name: str
    place: str
    position: Vector
    """Of its middle [m]."""


def where(name: str, place: str) -> str:
    """Return the sentence that says where a block is."""
    return f"{name} is {'on the' if place == TABLE else 'in'} {place}."


class MoveBlocks(TableTask):
    """One episode.

    Args:
        seed: of the places of the blocks, the order and the errors of the camera.
        ordered: whether the task says in which order the blocks go into the bin.
        error_rate: chance that the camera, in a round, names a block wrongly, misses it or misplaces it.
    """

    name: ClassVar[str] = "blocks"
    arms: ClassVar[tuple[ArmAt, ...]] = (ArmAt(ROBOT, "ur5", (-0.1, -0.2, 0.1), math.pi / 2, (-0.5, 1.3), "suction"),)
    reach: ClassVar[Mapping[str, Box]] = {ROBOT: ((-1.0, 1.3), (-0.2, 0.7), (TABLE_TOP, 1.0))}
    rests: ClassVar[tuple[str, ...]] = (TABLE, BIN)
    home_after: ClassVar[tuple[Verb, ...]] = ("PLACE",)

    def __init__(self, seed: int, *, ordered: bool = False, error_rate: float = 0.0) -> None:
        order = [str(name) for name in np.random.default_rng([seed, 1]).permutation(BLOCKS)]
        self.order = tuple(order) if ordered else ()
        """Order of the blocks in the bin; () if it is free."""
        in_order = f"The blocks go into the {BIN} in this order: {', '.join(order)}. "
        self.rules = (
            f"A person, {PERSON}, and a robot, {ROBOT}, bring three blocks into the {BIN}: {', '.join(BLOCKS)}. They "
            f"are in cups or on the table. {ROBOT} does not reach into cups: he takes a block from the table and puts "
            f"it into the {BIN}. {PERSON} takes a block out of its cup and puts it on the table. In one round exactly "
            "one of the two acts, and the other waits. "
            f"{in_order if ordered else ''}"
            f"The task is done when all three blocks are in the {BIN}."
        )
        self._error_rate = error_rate
        self._binned: list[str] = []
        self._taken = ""
        super().__init__(seed)
        self._seen = self._look()

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the robot and the person, in speaking order."""
        return ROBOT, PERSON

    def _build(self, rng: np.random.Generator) -> Scene:
        """Return the table; no block or one is on the table, and the others are in cups."""
        cups, spots = rng.permutation(len(CUPS)), rng.permutation(len(SPOTS))
        on_table = int(rng.integers(2 * len(BLOCKS)))
        things = [*(_cup(name) for name in CUPS), _bin()]
        for number, name in enumerate(BLOCKS):
            x, y = SPOTS[spots[number]] if number == on_table else list(CUPS.values())[cups[number]]
            position = (x, y, TABLE_TOP + SHEET + HALF + 0.001)
            things.append(Thing(BODIES[name], _shapes(name), position, float(rng.uniform(-1, 1)), mass=0.04))
        return build_table(self.arms, things)

    @property
    def forms(self) -> Mapping[Verb, Form]:
        """PICK PLACE and WAIT."""
        return {
            "PICK PLACE": Form(
                BLOCKS, (TABLE, BIN), meaning=f"{PERSON} moves a block from its cup to {TABLE}, {ROBOT} one to {BIN}"
            ),
            "WAIT": Form(meaning="does nothing in this round"),
        }

    @property
    def places(self) -> dict[str, str]:
        """Where each block is, as a person at the table sees it."""
        return {name: self._place(name) for name in BLOCKS}

    def _place(self, name: str) -> str:
        point = self._position(name)[:2]
        if math.dist(point, BIN_CENTRE) <= BIN_HALF:
            return BIN
        return next((cup for cup, middle in CUPS.items() if math.dist(point, middle) <= CUP_HALF), TABLE)

    def _position(self, name: str) -> Vector:
        return self.scene.position(BODIES[name])

    @property
    def done(self) -> bool:
        """Whether the middle of each block is within the bin's half width, and the order was kept."""
        return set(self.places.values()) == {BIN} and not self.hopeless

    @property
    def hopeless(self) -> bool:
        """Whether a block went into the bin against the order."""
        return bool(self.order) and self._binned != list(self.order[: len(self._binned)])

    def capability(self, robot: str) -> str:
        """Return what the robot or the person does."""
        if robot == PERSON:
            return f"{PERSON} is the person. She sees the table herself."
        return (
            f"{ROBOT} is the robot and takes one block at a time with suction. His camera may name a block wrongly, "
            f"miss it or say that it is somewhere else. {PERSON} sees the table herself; if she contradicts the "
            "camera, she is right."
        )

    def describe(self) -> str:
        """Return where all blocks are."""
        return "\n".join(where(name, place) for name, place in self.places.items())

    def describe_robot(self, robot: str) -> str:
        """Return what the person sees, or what the robot's camera describes, with its errors."""
        if robot == PERSON:
            return self.describe()
        return "\n".join(where(seen.name, seen.place) for seen in self._seen) or "The camera describes no block."

    def held(self, robot: str) -> tuple[str, ...]:
        """Return what the robot believes it holds: the cup senses that there is something, not what."""
        return (self._taken,) if robot == ROBOT and self.scene.holds(ROBOT) else ()

    def _look(self) -> list[Seen]:
        """Return what the camera describes in this round."""
        rng = np.random.default_rng([self.seed, 2, self.steps])
        found: list[Seen] = []
        for name, place in self.places.items():
            drawn, error = rng.random(), rng.choice(ERRORS)
            other = str(rng.choice([block for block in BLOCKS if block != name]))
            cup = str(rng.choice(list(CUPS)))
            if drawn >= self._error_rate:
                found.append(Seen(name, place, self._position(name)))
            elif error == "name":
                found.append(Seen(other, place, self._position(name)))
            elif error == "place" and place == TABLE:
                found.append(Seen(name, cup, (*CUPS[cup], TABLE_TOP + HALF)))
            elif error == "place":
                found.append(Seen(name, TABLE, self._free_spot()))
        return found

    def _free_spot(self) -> Vector:
        """Return the middle of a block on the place of the table that is farthest from all blocks [m]."""
        taken = [self._position(name)[:2] for name in BLOCKS]
        x, y = max(SPOTS, key=lambda spot: min(math.dist(spot, other) for other in taken))
        return x, y, TABLE_TOP + HALF

    def _found(self, name: str) -> Vector | None:
        """Return where the arm finds a block on the table [m]: where the camera describes it.

        If the description names it there not at all or twice, the arm looks more closely, without errors.
        """
        described = [seen.position for seen in self._seen if (seen.name, seen.place) == (name, TABLE)]
        if len(described) == 1:
            return described[0]
        return self._position(name) if self._place(name) == TABLE else None

    def _constraints(self, plan: JointPlan) -> Iterable[str]:
        acting = [action for action in plan.values() if action.verb != "WAIT"]
        if len(acting) != 1:
            yield f"{'both act' if acting else 'both wait'}; exactly one of {ROBOT} and {PERSON} acts in a round."
        for action in acting:
            wanted = TABLE if action.robot == PERSON else BIN
            if action.target != wanted:
                yield f"{action.robot} puts {action.object} on {action.target}, but only puts blocks on {wanted}."

    def _out_of_reach(self, plan: JointPlan) -> Iterable[str]:
        action = plan[ROBOT]
        if action.object and self._found(action.object) is None:
            yield f"{ROBOT} finds no {action.object} on the table; if it is in a cup, {PERSON} takes it out first."
        else:
            yield from super()._out_of_reach(plan)

    def _allowed(self, action: Action) -> tuple[tuple[str, str], ...]:
        pairs = ((body, rest) for body in BODIES.values() for rest in self.rests)
        return (*((action.robot, body) for body in BODIES.values()), *pairs)

    def _goal(self, action: Action) -> HandPose | None:
        if action.robot == PERSON or action.verb == "WAIT":
            return None
        if action.verb == "PLACE":
            return place_pose(OUTLINE, (*SLOTS[len(self._binned) % len(SLOTS)], TABLE_TOP + SHEET), HALF)
        found = self._found(action.object)
        return HandPose.down((found[0], found[1], found[2] + HALF), any_turn=True) if found else None

    def step(self, plan: JointPlan) -> Outcome:
        """Let the person or the robot act; the camera then describes the table anew."""
        self._taken = plan[ROBOT].object
        outcome = self._act_as_person(plan[PERSON]) if plan[PERSON].object else super().step(plan)
        self._binned += [name for name, place in self.places.items() if place == BIN and name not in self._binned]
        self._seen = self._look()
        return outcome

    def _act_as_person(self, action: Action) -> Outcome:
        self.steps += 1
        if self._place(action.object) not in CUPS:
            return Outcome(f"{PERSON} found no {action.object} in a cup")
        self.scene.place(BODIES[action.object], self._free_spot())
        self.scene.settle()
        return Outcome()


def _cup(name: str) -> Thing:
    return _open_box(name, CUPS[name], CUP_HALF, CUP_HEIGHT, CUP_COLOURS[name])


def _bin() -> Thing:
    return _open_box(BIN, BIN_CENTRE, BIN_HALF, BIN_WALL, (0.7, 0.55, 0.35, 1))


def _open_box(
    name: str, middle: tuple[float, float], half: float, height: float, colour: tuple[float, float, float, float]
) -> Thing:
    """Return a square box without a lid that stands on the table."""
    floor = Shape("box", (half, half, SHEET / 2), (0, 0, SHEET / 2), colour=colour)
    walls = [
        Shape("box", size, position, colour=colour)
        for sign in (-1, 1)
        for size, position in (
            ((CUP_WALL, half, height / 2), (sign * half, 0, height / 2)),
            ((half, CUP_WALL, height / 2), (0, sign * half, height / 2)),
        )
    ]
    return Thing(name, (floor, *walls), (*middle, TABLE_TOP))


def _shapes(name: str) -> tuple[Shape, ...]:
    """Return the shapes of a block: a hexagon of three boxes, a triangle of bars around a disc, a toy of cylinders."""
    turns = [(math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)) for angle in np.radians((0, 120, 240))]
    match name:
        case "red_hexagonal_block":
            size = (SIDE / 2, SIDE / 2 / math.sqrt(3), HALF)
            return tuple(Shape("box", size, quaternion=turn, colour=(0.85, 0.15, 0.15, 1)) for turn in turns)
        case "blue_triangular_block":
            blue, away = (0.2, 0.35, 0.9, 1.0), 0.014
            bars = [
                Shape(
                    "box", (0.03, 0.006, HALF), (away * math.sin(angle), -away * math.cos(angle), 0), turn, colour=blue
                )
                for angle, turn in zip(np.radians((0, 120, 240)), turns, strict=True)
            ]
            return (Shape("cylinder", (0.02, HALF), colour=blue), *bars)
    leaf = Shape("cylinder", (0.02, 0.004), (0, 0, HALF - 0.004), colour=(0.25, 0.6, 0.2, 1))
    return (Shape("cylinder", (SIDE / 2, HALF - 0.004), (0, 0, -0.004), colour=(0.9, 0.2, 0.3, 1)), leaf)
