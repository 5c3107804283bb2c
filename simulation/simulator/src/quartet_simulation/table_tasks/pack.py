"""Pack grocery: two arms put six things from the table into the slots of a bin, along paths that they agree on.

Departures from the published task: apple, bread and soda can are 7 cm wide (8, 8.8 and 7.4 cm), because the Panda's
fingers open 8 cm; the apple is a sphere and the banana a box; things have the mass of real ones and are held by
friction; they are released over the floor of the bin, not dropped from above it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from quartet_simulation.table_arms import ArmAt, HandPose, Scene, Shape, Thing, build_table
from quartet_simulation.table_arms.poses import Vector
from quartet_simulation.table_tasks.handling import DROP, TABLE_TOP, point_text, yaw_of
from quartet_simulation.table_tasks.task import Box, PathTask
from quartet_teams.roco import Action, Form, Verb

BIN, BIN_CENTRE, BIN_HALF, BIN_FLOOR = "bin", (0.45, 0.5, 0.16), (0.35, 0.2), 0.18
SLOTS: dict[str, Vector] = {
    f"bin_{row}_{column}": (BIN_CENTRE[0] + x, BIN_CENTRE[1] + y, BIN_CENTRE[2] + 0.2)
    for row, y in (("front", -0.085), ("back", 0.085))
    for column, x in (("left", -0.2), ("middle", 0.0), ("right", 0.2))
}
"""Points above the slots [m]."""
SIZES: dict[str, Vector] = {
    "apple": (0.07, 0.07, 0.07),
    "banana": (0.04, 0.25, 0.08),
    "milk": (0.07, 0.07, 0.18),
    "soda_can": (0.07, 0.07, 0.12),
    "bread": (0.07, 0.116, 0.084),
    "cereal": (0.044, 0.12, 0.18),
}
"""Full sizes [m]. Fingers close along the first."""
MASSES = {"apple": 0.2, "banana": 0.15, "milk": 0.9, "soda_can": 0.26, "bread": 0.4, "cereal": 0.4}
COLOURS = {
    "apple": (0.78, 0.22, 0.18, 1.0),
    "banana": (0.9, 0.8, 0.2, 1.0),
    "milk": (0.95, 0.95, 0.98, 1.0),
    "soda_can": (0.2, 0.4, 0.8, 1.0),
    "bread": (0.75, 0.5, 0.25, 1.0),
    "cereal": (0.9, 0.5, 0.15, 1.0),
}
ROUND = ("apple", "soda_can")
CELLS = [(x, y) for x in (-0.05, -0.25, -0.5, -0.75) for y in (0.4, 0.6)]
CELL_HALF = (0.05, 0.03)
DEPTH = 0.04
"""Depth below the top at which fingers close; the Panda's are 5 cm long [m]."""
SEEN_ABOVE = 0.05
"""Height of the observed point above the top of a thing [m]."""
NEAR_CENTRE = 0.06
"""Distance from the middle of the bin at which a thing is packed, whatever it touches [m]."""


class PackGrocery(PathTask):
    """One episode of packing."""

    name: ClassVar[str] = "pack"
    rules: str = (
        f"Pack all groceries from the table into the bin: {', '.join(SIZES)}. The bin has six slots, each for one "
        "thing. In one round each robot does exactly one action, and both move at the same time. A robot "
        "without a thing picks one; a robot with a thing places it in an empty slot. Choose things and slots far "
        "enough from each other that the arms do not meet, also in the last round. After a PLACE, a robot goes back to "
        "where it began. The task is done when all six things are in the bin."
    )
    most_uneven: ClassVar[float] = 0.19
    path_rules: str = (
        "A PATH has exactly four points [m] through which the tip of the gripper moves, between where it is now and "
        "its goal, without these two. The standard deviation of the lengths of its five segments is at most "
        f"{most_uneven}. Pick and place from above: the last point of a PICK is 0.2 above the point of the thing, the "
        "first point of a PLACE is straight above where the gripper is now, and the last is 0.2 above the point of the "
        "slot. A gripper and what hangs from it must pass above the things on "
        "the table and in the bin. The point of a thing is 0.05 above its top, that of a slot 0.18 above the floor of "
        "the bin. The table is at z 0.15; a gripper holds a thing 0.04 below its top. Keep z of the four points "
        "between 0.25 and 0.8."
    )
    arms: ClassVar[tuple[ArmAt, ...]] = (
        ArmAt("Alice", "ur5", (-0.2, -0.07, 0.15), math.pi / 2, (-1.3, 1.3)),
        ArmAt("Bob", "panda", (-0.2, 1.05, 0.1), -math.pi / 2, (-1.5, 1.3)),
    )
    reach: ClassVar[Mapping[str, Box]] = {
        "Alice": ((-1.3, 1.6), (-0.4, 1.5), (0.0, 1.0)),
        "Bob": ((-1.3, 1.6), (0.0, 1.5), (0.0, 1.0)),
    }
    rests: ClassVar[tuple[str, ...]] = ("table", BIN)
    home_after: ClassVar[tuple[Verb, ...]] = ("PLACE",)

    def _build(self, rng: np.random.Generator) -> Scene:
        things = [_bin()]
        for item, cell in zip(SIZES, rng.permutation(len(CELLS)), strict=False):
            (x, y), (dx, dy) = CELLS[cell], rng.uniform([-value for value in CELL_HALF], CELL_HALF)
            position = (x + dx, y + dy, TABLE_TOP + SIZES[item][2] / 2 + 0.001)
            yaw = float(rng.uniform(-math.pi, math.pi))
            things.append(Thing(item, (_shape(item),), position, yaw, mass=MASSES[item]))
        return build_table(self.arms, things)

    @property
    def forms(self) -> Mapping[Verb, Form]:
        """PICK and PLACE, both with a path."""
        return {
            "PICK": Form(tuple(SIZES), path=True, meaning="takes a thing; the gripper must be empty"),
            "PLACE": Form(
                tuple(SIZES), tuple(SLOTS), path=True, meaning="puts the thing that the robot holds into an empty slot"
            ),
        }

    @property
    def done(self) -> bool:
        """Whether all things are in the bin, and no hand holds one."""
        return all(map(self._packed, SIZES)) and not any(self.held(robot) for robot in self.robots)

    def _packed(self, item: str) -> bool:
        x, y, _ = self.scene.position(item)
        away = abs(x - BIN_CENTRE[0]), abs(y - BIN_CENTRE[1])
        inside = away[0] < BIN_HALF[0] and away[1] < BIN_HALF[1]
        return (inside and self._touch(item, BIN)) or math.hypot(*away) <= NEAR_CENTRE

    def capability(self, robot: str) -> str:
        """Return what a robot can do."""
        side = "small y, where the front slots are" if robot == "Alice" else "large y, where the back slots are"
        return (
            f"{robot} stands on the side of the table with {side}. It holds one thing at a time and reaches all of the "
            "table and the bin."
        )

    def _describe_table(self) -> str:
        slots = (f"{slot}: {point_text(point)}" for slot, point in SLOTS.items())
        return "\n".join([*map(self._where, SIZES), *slots])

    def _where(self, item: str) -> str:
        x, y, z = self.scene.position(item)
        if holder := self._holder(item):
            where = f"in the gripper of {holder}"
        elif self._packed(item):
            where = f"in {min(SLOTS, key=lambda slot: math.dist((x, y), SLOTS[slot][:2]))}"
        else:
            where = "on the table"
        return f"{item}: {point_text((x, y, z + SIZES[item][2] / 2 + SEEN_ABOVE))}, {where}"

    def _goal(self, action: Action) -> HandPose:
        robot, item = action.robot, action.object
        x, y, z = self.scene.position(item)
        half = SIZES[item][2] / 2
        if action.verb == "PICK":
            pads = self.scene.arm(robot).hand.pad_half
            tip = (x, y, z + half - min(DEPTH, half + pads))
            yaw = 0.0 if item in ROUND else yaw_of(self.scene.rotation(item))
            return self._fingers_down(robot, tip, yaw, math.pi / 2 if item == "milk" else math.pi)
        slot_x, slot_y, _ = SLOTS[action.target]
        tip_z = self.scene.hand_pose(robot).position[2] - z
        along_bin = item == "banana"
        return self._fingers_down(
            robot, (slot_x, slot_y, BIN_FLOOR + half + tip_z + DROP), math.pi / 2 if along_bin else 0.0
        )


def _shape(item: str) -> Shape:
    x, y, z = (value / 2 for value in SIZES[item])
    match item:
        case "apple":
            return Shape("sphere", (x,), colour=COLOURS[item])
        case "soda_can":
            return Shape("cylinder", (x, z), colour=COLOURS[item])
    return Shape("box", (x, y, z), colour=COLOURS[item])


def _bin() -> Thing:
    x, y = BIN_HALF
    wood = (0.7, 0.55, 0.35, 1.0)
    floor = Shape("box", (x, y, 0.02), colour=wood)
    across = [Shape("box", (0.01, y, 0.06), (sign * x, 0, 0.03), colour=wood) for sign in (-1, 1)]
    along = [Shape("box", (x, 0.01, 0.06), (0, sign * y, 0.03), colour=wood) for sign in (-1, 1)]
    return Thing(BIN, (floor, *across, *along), BIN_CENTRE)
