"""Move blocks: a robot and a person bring three blocks into a bin. The robot's camera describes blocks with errors.

The person takes blocks out of cups and puts them on the table. No arm does it: the world writes the block's position.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from quartet_simulation.table_arms import ArmAt, HandPose, Scene, Shape, Thing, build_table
from quartet_simulation.table_arms.poses import Vector
from quartet_simulation.table_arms.things import Colour
from quartet_simulation.table_tasks.handling import TABLE_TOP, place_pose
from quartet_simulation.table_tasks.task import Box, Outcome, TableTask
from quartet_teams import Complaint
from quartet_teams.roco import Action, Form, JointPlan, Verb

PERSON, ROBOT = "Alice", "Bob"
TABLE, BIN = "table", "wooden_bin"
BODIES = {"blue_triangular_block": "block1", "red_hexagonal_block": "block2", "strawberry_toy": "block3"}
"""Bodies of the blocks. Complaints name bodies, which must not reveal what the camera misnames."""
BLOCKS = tuple(BODIES)
CUPS = {"purple_cup": (-0.55, 0.72), "yellow_cup": (-0.25, 0.72), "green_cup": (0.05, 0.72)}
CUP_COLOURS: tuple[Colour, ...] = ((0.55, 0.3, 0.7, 1), (0.95, 0.85, 0.25, 1), (0.3, 0.65, 0.35, 1))
CUP_HALF, BIN_CENTRE, BIN_HALF, SHEET = 0.05, (0.6, 0.45), 0.16, 0.004
"""Half widths of cups and bin, and the thickness of their walls and floors [m]."""
SLOTS = tuple((BIN_CENTRE[0] + x, BIN_CENTRE[1], TABLE_TOP + SHEET) for x in (-0.09, 0.0, 0.09))
"""Where Bob puts the first, second and third block [m]."""
SPOTS = tuple((x, 0.38) for x in (-0.45, -0.25, -0.05, 0.15))
"""Places on the table for blocks [m]."""
SIDE, HALF = 0.05, 0.02
"""Width of the blocks, and half of their height [m]."""
SHAPES = {
    "blue_triangular_block": Shape("box", (SIDE / 2, SIDE / 2, HALF), colour=(0.2, 0.35, 0.9, 1)),
    "red_hexagonal_block": Shape("cylinder", (SIDE / 2, HALF), colour=(0.85, 0.15, 0.15, 1)),
    "strawberry_toy": Shape("cylinder", (0.02, HALF), colour=(0.95, 0.4, 0.6, 1)),
}
"""Simplified: a box and two cylinders."""
Refuse = Callable[[JointPlan], str]


def where(name: str, place: str) -> str:
    """Return the sentence that says where a block is."""
    return f"{name} is {'on the' if place == TABLE else 'in'} {place}."


class MoveBlocks(TableTask):
    """One episode.

    Args:
        seed: of the places of the blocks, the order and the errors of the camera.
        ordered: whether the task says in which order the blocks go into the bin.
        errors: chance that the camera, in a round, names a block wrongly, misses it or misplaces it.
        refuse: returns why the person refuses a plan that passes the checks, "" if she confirms it; None: she does.
    """

    name: ClassVar[str] = "blocks"
    arms: ClassVar[tuple[ArmAt, ...]] = (ArmAt(ROBOT, "ur5", (-0.1, -0.2, 0.1), math.pi / 2, (-0.5, 1.3), "suction"),)
    reach: ClassVar[Mapping[str, Box]] = {ROBOT: ((-1.0, 1.3), (-0.2, 0.7), (TABLE_TOP, 1.0))}
    rests: ClassVar[tuple[str, ...]] = (TABLE, BIN)
    home_after: ClassVar[tuple[Verb, ...]] = ("PLACE",)
    robots: tuple[str, ...] = (ROBOT, PERSON)

    def __init__(self, seed: int, *, ordered: bool = False, errors: float = 0.0, refuse: Refuse | None = None) -> None:
        order = [str(name) for name in np.random.default_rng([seed, 1]).permutation(BLOCKS)]
        self.order = order if ordered else []
        in_order = f"The blocks go into the {BIN} in this order: {', '.join(order)}. " if ordered else ""
        self.rules = (
            f"A person, {PERSON}, and a robot, {ROBOT}, bring three blocks into the {BIN}: {', '.join(BLOCKS)}. They "
            f"are in cups or on the table. {ROBOT} does not reach into cups: he takes a block from the table and puts "
            f"it into the {BIN}. {PERSON} takes a block out of its cup and puts it on the table. In one round exactly "
            f"one of the two acts, and the other waits. {in_order}The task is done when all blocks are in the {BIN}."
        )
        self._errors, self._refuse = errors, refuse
        self._binned: list[str] = []
        self._taken = ""
        super().__init__(seed)
        self._seen = list(self._look())

    def _build(self, rng: np.random.Generator) -> Scene:
        """Return the table; with a chance of a half, one block is on the table. The others are in cups."""
        cups, spots, on_table = rng.permutation(list(CUPS.values())), rng.permutation(SPOTS), rng.integers(6)
        things = [
            _open_box(*cup, CUP_HALF, 0.09, colour) for cup, colour in zip(CUPS.items(), CUP_COLOURS, strict=True)
        ]
        things.append(_open_box(BIN, BIN_CENTRE, BIN_HALF, 0.06, (0.7, 0.55, 0.35, 1)))
        for number, (name, body) in enumerate(BODIES.items()):
            x, y = map(float, (spots if number == on_table else cups)[number])
            point = (x, y, TABLE_TOP + SHEET + HALF + 0.001)
            things.append(Thing(body, [SHAPES[name]], point, float(rng.uniform(-1, 1)), mass=0.04))
        return build_table(self.arms, things)

    @property
    def forms(self) -> Mapping[Verb, Form]:
        """PICK PLACE and WAIT."""
        meaning = f"{PERSON} moves a block from its cup to {TABLE}, {ROBOT} one from the table to {BIN}"
        return {"PICK PLACE": Form(BLOCKS, (TABLE, BIN), meaning=meaning), "WAIT": Form(meaning="does nothing")}

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
        return set(self.places.values()) == {BIN} and (not self.order or self._binned == self.order)

    def capability(self, robot: str) -> str:
        """Return how the robot and the person see the table; the rules say what they can do."""
        return (
            f"The camera of {ROBOT}, the robot, may name a block wrongly, miss it or misplace it. {PERSON}, the "
            "person, sees the table herself; if she contradicts the camera, she is right."
        )

    def describe(self) -> str:
        """Return where all blocks are."""
        return "\n".join(where(*item) for item in self.places.items())

    def describe_robot(self, robot: str) -> str:
        """Return what the person sees, or what the robot's camera describes, with its errors."""
        if robot == PERSON:
            return self.describe()
        return "\n".join(where(name, place) for name, place, _ in self._seen) or "The camera describes no block."

    def held(self, robot: str) -> tuple[str, ...]:
        """Return what the robot believes it holds: the cup senses that there is something, not what."""
        return (self._taken,) if robot == ROBOT and self.scene.holds(ROBOT) else ()

    def _look(self) -> Iterable[tuple[str, str, Vector]]:
        """Yield name, place and position of each block as the camera describes it in this round."""
        rng = np.random.default_rng([self.seed, 2, self.steps])
        for name, place in self.places.items():
            error = rng.choice(["name", "missing", "place"]) if rng.random() < self._errors else ""
            seen = str(rng.choice([other for other in BLOCKS if other != name])) if error == "name" else name
            if error == "place":
                yield name, str(rng.choice(list(CUPS))) if place == TABLE else TABLE, self._free_spot()
            elif error != "missing":
                yield seen, place, self._position(name)

    def _free_spot(self) -> Vector:
        """Return the middle of a block on the place of the table that is farthest from all blocks [m]."""
        taken = [self._position(name)[:2] for name in BLOCKS]
        return *max(SPOTS, key=lambda spot: min(math.dist(spot, other) for other in taken)), TABLE_TOP + HALF

    def _found(self, name: str) -> Vector | None:
        """Return where the arm finds a block on the table [m]: where the camera describes it.

        If the camera describes it there not at all or twice, the arm looks closer, without errors.
        """
        described = [point for seen, place, point in self._seen if (seen, place) == (name, TABLE)]
        if len(described) == 1:
            return described[0]
        return self._position(name) if self._place(name) == TABLE else None

    def check(self, plan: JointPlan) -> Sequence[Complaint]:
        """Return the complaints about a plan, or the person's refusal."""
        complaints = super().check(plan)
        reason = self._refuse(plan) if self._refuse and not complaints else ""
        return [("constraints", f"{PERSON} refused to execute it: {reason}")] if reason else complaints

    def _constraints(self, plan: JointPlan) -> Iterable[str]:
        acting = [action for action in plan.values() if action.verb != "WAIT"]
        if len(acting) != 1:
            yield f"{'both act' if acting else 'both wait'}; exactly one of {ROBOT} and {PERSON} acts in a round."
        for action in acting:
            if action.target != (wanted := TABLE if action.robot == PERSON else BIN):
                yield f"{action.robot} puts {action.object} on {action.target}, but only puts blocks on {wanted}."

    def _out_of_reach(self, plan: JointPlan) -> Iterable[str]:
        name = plan[ROBOT].object
        if name and self._found(name) is None:
            return [f"{ROBOT} finds no {name} on the table; if it is in a cup, {PERSON} takes it out first."]
        return super()._out_of_reach(plan)

    def _allowed(self, action: Action) -> tuple[tuple[str, str], ...]:
        return tuple((body, other) for body in BODIES.values() for other in (action.robot, *self.rests))

    def _goal(self, action: Action) -> HandPose | None:
        if action.verb == "PLACE" and action.robot == ROBOT:
            return place_pose(2 * HALF, SLOTS[len(self._binned) % len(SLOTS)], HALF)
        if action.verb == "WAIT" or action.robot == PERSON or not (found := self._found(action.object)):
            return None
        return HandPose.down((found[0], found[1], found[2] + HALF), any_turn=True)

    def step(self, plan: JointPlan) -> Outcome:
        """Let the person or the robot act; the camera then describes the table anew."""
        self._taken, by_person = plan[ROBOT].object, plan[PERSON].object
        outcome = self._take_out(by_person) if by_person else super().step(plan)
        self._binned += [name for name, place in self.places.items() if place == BIN and name not in self._binned]
        self._seen = list(self._look())
        return outcome

    def _take_out(self, name: str) -> Outcome:
        self.steps += 1
        if self._place(name) not in CUPS:
            return Outcome(f"{PERSON} found no {name} in a cup")
        self.scene.place(BODIES[name], self._free_spot())
        self.scene.settle()
        return Outcome()


def _open_box(name: str, middle: tuple[float, float], half: float, height: float, colour: Colour) -> Thing:
    """Return a square box without a lid that stands on the table."""
    shapes = [Shape("box", (half, half, SHEET / 2), (0, 0, SHEET / 2), colour=colour)]
    for side in (-half, half):
        shapes.append(Shape("box", (SHEET, half, height / 2), (side, 0, height / 2), colour=colour))
        shapes.append(Shape("box", (half, SHEET, height / 2), (0, side, height / 2), colour=colour))
    return Thing(name, shapes, (*middle, TABLE_TOP))
