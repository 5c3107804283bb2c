"""Sort cubes: three arms hand three blocks along seven panels until each lies on its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from quartet_simulation.table_arms import ArmAt, HandPose, Scene, Shape, Thing, build_table
from quartet_simulation.table_tasks.handling import TABLE_TOP, grasp_pose, place_pose
from quartet_simulation.table_tasks.task import Box, TableTask
from quartet_teams.roco import Action, Form, JointPlan, Verb

PANEL_X = {"panel1": -1.12, "panel2": -0.8, "panel3": -0.4, "panel4": 0.0, "panel5": 0.4, "panel6": 0.8, "panel7": 1.2}
PANEL_Y, PANEL_HEIGHT = 0.5, 0.03
GOALS = {"blue_square": "panel2", "pink_polygon": "panel4", "yellow_trapezoid": "panel6"}
OWNERS = {"Alice": "blue_square", "Bob": "pink_polygon", "Chad": "yellow_trapezoid"}
PANELS = {
    "Alice": ("panel1", "panel2", "panel3"),
    "Bob": ("panel3", "panel4", "panel5"),
    "Chad": ("panel5", "panel6", "panel7"),
}
SIZES = {
    "blue_square": (0.07, 0.07, 0.07),
    "pink_polygon": (0.064, 0.064, 0.106),
    "yellow_trapezoid": (0.07, 0.12, 0.07),
}
"""Full sizes [m]. Blue and yellow are published with 0.08 m, which the Panda's fingers do not take between them."""
COLOURS = {
    "blue_square": (0.2, 0.4, 0.9, 1.0),
    "pink_polygon": (0.95, 0.5, 0.7, 1.0),
    "yellow_trapezoid": (0.95, 0.8, 0.2, 1.0),
}
STARTS = {
    "blue_square": ("panel5", "panel7"),
    "pink_polygon": ("panel1", "panel7"),
    "yellow_trapezoid": ("panel1", "panel3"),
}
HAND_OVER_X, HAND_OVER_Y = 0.12, 0.1
"""Where a block is put on panels 3 and 5, from their middle [m]."""
ON_PANEL = 0.1
"""Distance from its middle at which a block is on its panel [m]."""
NEAR_PANEL = 0.2


class SortCubes(TableTask):
    """One episode of sorting."""

    name: ClassVar[str] = "sort"
    rules: str = (
        "Seven panels are in a row on a table, panel1 to panel7. Bring each block onto its own panel: blue_square on "
        "panel2, pink_polygon on panel4, yellow_trapezoid on panel6. Each robot reaches three panels only, so a block "
        "that starts far away is handed over on panel3 or panel5, which two robots reach; that takes two rounds. In "
        "one round each robot does one action, and all act at the same time: first all take their blocks, then all put "
        "them down. The panels 2, 4 and 6 take no other block than their own; panel3 and panel5 have room for two, but "
        "two robots that take from one panel, or put on one panel, in the same round usually collide. The task is done "
        "when all three blocks are on their panels."
    )
    arms: ClassVar[tuple[ArmAt, ...]] = (
        ArmAt("Alice", "ur5", (-0.7, 1.05, 0.1), -math.pi / 2, (-1.3, 1.3)),
        ArmAt("Bob", "panda", (0.0, -0.05, 0.1), math.pi / 2, (-1.5, 1.3)),
        ArmAt("Chad", "ur5", (0.9, 1.05, 0.1), -math.pi / 2, (-0.5, 1.3), "suction"),
    )
    reach: ClassVar[Mapping[str, Box]] = {
        "Alice": ((-1.4, -0.1), (0.1, 1.3), (0.16, 1.0)),
        "Bob": ((-0.7, 0.7), (-0.21, 1.3), (0.16, 1.0)),
        "Chad": ((0.2, 1.5), (0.1, 1.3), (0.16, 1.0)),
    }

    rests: ClassVar[tuple[str, ...]] = ("table", *GOALS.values())
    home_after: ClassVar[tuple[Verb, ...]] = ("PLACE",)

    def _build(self, rng: np.random.Generator) -> Scene:
        panels = [
            Thing(name, (Shape("box", (0.14, 0.14, PANEL_HEIGHT / 2), colour=(0.8, 0.85, 0.9, 1)),),
                  (PANEL_X[name], PANEL_Y, TABLE_TOP + PANEL_HEIGHT / 2))
            for name in GOALS.values()
        ]  # fmt: skip
        marks = [
            Thing(name, (Shape("box", (0.05, 0.05, 0.001), colour=(0.6, 0.6, 0.6, 1), solid=False),),
                  (x, PANEL_Y, TABLE_TOP + 0.001))
            for name, x in PANEL_X.items() if name not in GOALS.values()
        ]  # fmt: skip
        while True:
            drawn = {name: str(rng.choice(starts)) for name, starts in STARTS.items()}
            if len(set(drawn.values())) == len(drawn):
                break
        blocks = [
            Thing(
                name,
                (Shape("box", [value / 2 for value in SIZES[name]], colour=COLOURS[name]),),
                (PANEL_X[panel], PANEL_Y, TABLE_TOP + SIZES[name][2] / 2 + 0.001),
                float(rng.uniform(-math.pi, math.pi)),
                mass=0.1,
            )
            for name, panel in drawn.items()
        ]
        return build_table(self.arms, [*panels, *marks, *blocks])

    @property
    def forms(self) -> Mapping[Verb, Form]:
        """PICK PLACE and WAIT."""
        return {
            "PICK PLACE": Form(tuple(GOALS), tuple(PANEL_X), meaning="takes a block and puts it on a panel"),
            "WAIT": Form(meaning="does nothing in this round"),
        }

    @property
    def done(self) -> bool:
        """Whether each block is on its own panel."""
        return all(self._on_own(name) for name in GOALS)

    def _on_own(self, name: str) -> bool:
        x, y, _ = self.scene.position(name)
        near = math.dist((x, y), (PANEL_X[GOALS[name]], PANEL_Y)) <= ON_PANEL
        return near or self._touch(name, GOALS[name])

    def panel_of(self, name: str) -> str:
        """Return the panel on which a block is; "" if it is on none."""
        x, y, _ = self.scene.position(name)
        found = min(PANEL_X, key=lambda panel: math.dist((x, y), (PANEL_X[panel], PANEL_Y)))
        return found if math.dist((x, y), (PANEL_X[found], PANEL_Y)) <= NEAR_PANEL else ""

    def capability(self, robot: str) -> str:
        """Return panels that the robot reaches, and its goal."""
        reached, block = ", ".join(PANELS[robot]), OWNERS[robot]
        return f"Goal of {robot}: {block} on {GOALS[block]}. {robot} reaches {reached} and no other panel."

    def describe(self) -> str:
        """Return the panel of each block."""
        return "\n".join(self._where(name) for name in GOALS)

    def _where(self, name: str) -> str:
        return f"{name} is on {self.panel_of(name) or 'the table, on no panel'}."

    def describe_robot(self, robot: str) -> str:
        """Return the panel of each block, and which the robot reaches."""
        near = [name for name in GOALS if self.panel_of(name) in PANELS[robot]]
        far = [name for name in GOALS if name not in near]
        return (
            f"{self.describe()}\nIn the gripper of {robot}: {self._holding(robot)}. Blocks in reach of {robot}: "
            f"{', '.join(near) or 'none'}. Out of its reach: {', '.join(far) or 'none'}."
        )

    def _constraints(self, plan: JointPlan) -> Iterable[str]:
        yield from self._clashes(plan)
        for robot, action in plan.items():
            if action.target in GOALS.values() and GOALS[action.object] != action.target:
                yield f"{robot} puts {action.object} on {action.target}, which takes another block."
            if action.object and self.panel_of(action.object) == action.target:
                yield f"{robot} puts {action.object} on {action.target}, where it is already."

    def _out_of_reach(self, plan: JointPlan) -> Iterable[str]:
        for robot, action in plan.items():
            for panel in (self.panel_of(action.object), action.target) if action.object else ():
                if panel not in PANELS[robot]:
                    yield f"{robot} does not reach {panel or action.object}; it reaches {', '.join(PANELS[robot])}."
                    return
        yield from super()._out_of_reach(plan)

    def _goal(self, action: Action) -> HandPose | None:
        if action.verb == "WAIT":
            return None
        height, suction = SIZES[action.object][2], not self.scene.arm(action.robot).hand.pad_half
        grasp = grasp_pose(self.scene, action.object, height, suction=suction)
        if action.verb == "PICK":
            return grasp
        hand = self.scene.hand_pose(action.robot) if self.held(action.robot) else grasp
        tip_z = hand.position[2] - self.scene.position(action.object)[2]
        return place_pose(height, self._target(action.robot, action.target), tip_z)

    def _target(self, robot: str, panel: str) -> tuple[float, float, float]:
        """Return the point on a panel where a robot puts a block [m]."""
        x, z = PANEL_X[panel], TABLE_TOP + (PANEL_HEIGHT if panel in GOALS.values() else 0.0)
        if panel not in ("panel3", "panel5"):
            return x, PANEL_Y, z
        outwards = math.copysign(HAND_OVER_X, x)
        if robot == "Bob":
            return x + outwards, PANEL_Y - HAND_OVER_Y, z
        return x - outwards, PANEL_Y + HAND_OVER_Y, z
