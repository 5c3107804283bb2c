"""Sweep floor: one arm holds a dustpan, the other sweeps cubes into it with a broom; all cubes go into a bin.

Cubes move by friction alone; docs/roco-tasks.md lists what differs from the published task.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar

import mujoco
import numpy as np

from quartet_simulation.table_arms import ArmAt, HandPose, Scene, Shape, Thing, broom, build_table, dustpan
from quartet_simulation.table_arms.tools import BROOM_HALF, PAN_HALF, PAN_RIM
from quartet_simulation.table_tasks.handling import TABLE_TOP, above, point_text
from quartet_simulation.table_tasks.task import Box, Phase, TableTask
from quartet_teams.roco import Action, Form, JointPlan, Verb

PAN, BROOM = "Alice", "Bob"
COLOURS = {
    "red_cube": (0.85, 0.2, 0.2, 1.0),
    "green_cube": (0.25, 0.65, 0.3, 1.0),
    "blue_cube": (0.2, 0.4, 0.85, 1.0),
}
HALF, MASS = 0.025, 0.125
PATCHES_X, PATCH_Y, PATCH_HALF = (0.3, 0.55, 0.8, 1.05), 0.5, (0.08, 0.1)
BIN, BIN_CENTRE, BIN_HALF, BIN_WALL, BIN_LEAN = "bin", (-0.5, 0.5, 0.13), 0.13, 0.14, 0.35
"""The floor's middle, which is inside the table, and half its width; height of the walls [m], and their lean [rad]."""
BIN_FLOOR = 0.16
"""Height of the floor's surface [m]."""
NEAR_BIN = 0.2
"""Distance from the middle of the bin's floor within which a cube is in the bin [m]."""
PAN_BEFORE, PAN_Z = 0.21, TABLE_TOP + 0.0003
"""Where the dustpan's tip is at a cube: before it, and how high [m]."""
BROOM_BEHIND, BROOM_Z, BROOM_HIGH = 0.1, TABLE_TOP + 0.009, TABLE_TOP + 0.1
"""Where the broom's tip is at a cube: behind it, how high while it sweeps, and how high before [m]."""
BROOM_LEAN = 0.12
"""The broom's lower edge goes first: a cube that is pushed at its top tips forward and stops at the dustpan [rad]."""
INTO_PAN = 0.105
"""Where the broom's tip is at the end of a sweep: behind the dustpan's tip [m]."""
PAN_HOME = 0.3
"""Where Alice is on her rail at home; at 0, the dustpan would be in the bin [m]."""
SWEEPING = 0.2
"""Share of the speed limits of a sweep."""
RISE = 0.06
"""How far both tools rise before they go anywhere else [m]."""
OVER_BIN, DUMPING, TILT = HandPose.down((-0.5, 0.3, 0.5)), HandPose.down((-0.5, 0.24, 0.4)), 0.75
"""The dustpan above the bin; and while it is emptied, turned by an angle [rad] so that its open side hangs down."""


class SweepFloor(TableTask):
    """One episode of sweeping."""

    name: ClassVar[str] = "sweep"
    rules: str = (
        "Sweep all cubes from the table into the bin. One robot holds a dustpan, the other a broom. To sweep a cube, "
        "both robots MOVE to it, on opposite sides; then the robot with the broom SWEEPs it into the dustpan while the "
        "robot with the dustpan WAITs. The dustpan has room for all cubes. DUMP empties it into the bin, so it must "
        "not be empty. In one round each robot does exactly one action. The task is done when all cubes are in the bin."
    )
    arms: ClassVar[tuple[ArmAt, ...]] = (
        ArmAt(PAN, "ur5", (-0.2, -0.2, 0.15), math.pi / 2, (-1.3, 1.3), dustpan(), PAN_HOME),
        ArmAt(BROOM, "panda", (0.6, 1.02, 0.1), -math.pi / 2, (-1.5, 1.3), broom()),
    )
    reach: ClassVar[Mapping[str, Box]] = {
        PAN: ((-1.3, 1.6), (-0.4, 1.5), (0.0, 1.0)),
        BROOM: ((-1.3, 1.6), (0.0, 1.5), (0.0, 1.0)),
    }
    rests: ClassVar[tuple[str, ...]] = ("table",)
    home_after: ClassVar[tuple[Verb, ...]] = ("DUMP",)

    def _build(self, rng: np.random.Generator) -> Scene:
        things = [_bin()]
        for (name, colour), x in zip(COLOURS.items(), rng.permutation(PATCHES_X), strict=False):
            dx, dy = rng.uniform([-value for value in PATCH_HALF], PATCH_HALF)
            shape = Shape("box", (HALF, HALF, HALF), colour=colour)
            position = (float(x + dx), float(PATCH_Y + dy), TABLE_TOP + HALF + 0.001)
            things.append(Thing(name, (shape,), position, float(rng.uniform(-math.pi, math.pi)), mass=MASS))
        return build_table(self.arms, things)

    @property
    def forms(self) -> Mapping[Verb, Form]:
        """MOVE, SWEEP, DUMP and WAIT."""
        cubes = tuple(COLOURS)
        return {
            "MOVE": Form(cubes, meaning="brings the robot's tool to a cube on the table"),
            "SWEEP": Form(cubes, meaning=f"sweeps a cube into the dustpan before it; only {BROOM}"),
            "DUMP": Form(meaning=f"empties the dustpan into the bin; only {PAN}"),
            "WAIT": Form(meaning="does nothing in this round"),
        }

    @property
    def done(self) -> bool:
        """Whether all cubes are within `NEAR_BIN` of the middle of the bin's floor."""
        return all(math.dist(self.scene.position(cube), BIN_CENTRE) <= NEAR_BIN for cube in COLOURS)

    def status(self, cube: str) -> str:
        """Return where a cube is: "table", "dustpan", "bin", or "floor" if it fell off the table."""
        point, pan = np.array(self.scene.position(cube)), self.scene.hand_pose(PAN)
        across, along, deep = pan.rotation.T @ (point - pan.position)
        if abs(across) < PAN_HALF[0] and abs(along) < PAN_HALF[1] and -2 * PAN_RIM < deep < 0:
            return "dustpan"
        away = np.abs(point - BIN_CENTRE)[:2]
        if max(away) < BIN_HALF + math.tan(BIN_LEAN) * BIN_WALL and TABLE_TOP < point[2] < BIN_FLOOR + BIN_WALL:
            return "bin"
        return "table" if point[2] > TABLE_TOP else "floor"

    def capability(self, robot: str) -> str:
        """Return the tool of a robot and what it can do."""
        if robot == PAN:
            return f"{PAN} holds the dustpan and can MOVE, DUMP and WAIT. At a cube, it is {PAN_BEFORE:.2f} from it."
        away = math.hypot(BROOM_BEHIND, BROOM_HIGH - TABLE_TOP - HALF)
        return f"{BROOM} holds the broom and can MOVE, SWEEP and WAIT. At a cube, it is {away:.2f} from it."

    def describe(self) -> str:
        """Return where all cubes and tools are."""
        return "\n".join([*map(self._where, COLOURS), *map(self._tool, self.robots)])

    def describe_robot(self, robot: str) -> str:
        """Return where all cubes are, and the robot's own tool."""
        return "\n".join([*map(self._where, COLOURS), self._tool(robot)])

    def _where(self, cube: str) -> str:
        status = self.status(cube)
        return f"{cube}: {point_text(self.scene.position(cube))}, {'in' if status == 'bin' else 'on'} the {status}"

    def _tool(self, robot: str) -> str:
        tip = self.scene.hand_pose(robot).position
        lying = [cube for cube in COLOURS if self.status(cube) == "table"]
        away = ", ".join(f"{math.dist(tip, self.scene.position(cube)):.2f} to {cube}" for cube in lying)
        place = ", ".join(f"{value:.1f}" for value in tip)
        tool = "dustpan" if robot == PAN else "broom"
        return (
            f"Gripper of {robot}: ({place}), with the {tool}. Its distances: {away or 'none, no cube is on the table'}"
        )

    def _constraints(self, plan: JointPlan) -> Iterable[str]:
        for verb, robot in (("SWEEP", BROOM), ("DUMP", PAN)):
            if wrong := [name for name, action in plan.items() if action.verb == verb and name != robot]:
                yield f"{', '.join(wrong)} cannot {verb}; only {robot} can."
        if plan[BROOM].verb == "SWEEP" and plan[PAN].verb != "WAIT":
            yield f"{PAN} must WAIT while {BROOM} SWEEPs."

    def _allowed(self, action: Action) -> tuple[tuple[str, str], ...]:
        if action.verb == "SWEEP":
            x, y, _ = np.subtract(self.scene.position(action.object), self.scene.hand_pose(PAN).position)
            before = abs(x) < PAN_HALF[0] - BROOM_HALF[0] and y > PAN_HALF[1]
            return *(((PAN, BROOM),) if before else ()), *((BROOM, cube) for cube in COLOURS)
        return tuple((PAN, cube) for cube in COLOURS) if action.verb == "DUMP" else ()

    def _goal(self, action: Action) -> HandPose | None:
        if action.verb == "WAIT":
            return None
        if action.verb == "DUMP":
            return OVER_BIN
        x, y, _ = self.scene.position(action.object)
        if action.robot == PAN:
            return HandPose.down((x, y - PAN_BEFORE, PAN_Z))
        z = BROOM_Z if action.verb == "SWEEP" else BROOM_HIGH
        return _turned(self._fingers_down(BROOM, (x, y + BROOM_BEHIND, z), 0.0), BROOM_LEAN)

    def _phases(self, action: Action) -> list[Phase]:
        """Return the phases of an action. Those of both arms go in step: up, across, and then straight."""
        goal, allowed = self._goal(action), self._allowed(action)
        if goal is None:
            return []
        if action.verb == "SWEEP":
            x, y, z = goal.position
            end_y = min(y, self.scene.hand_pose(PAN).position[1] + INTO_PAN)
            end, high = replace(goal, position=(x, end_y, z)), replace(goal, position=(x, y, BROOM_HIGH))
            return [
                Phase(goal, allow=allowed),
                Phase(end, allow=allowed, straight=True, speed=SWEEPING),
                Phase(high, allow=allowed, straight=True),
            ]
        here = self.scene.hand_pose(action.robot)
        x, y, z = here.position
        phases = [Phase(replace(here, position=(x, y, z + RISE)), straight=True, level=True)]
        if action.robot == BROOM:
            return [*phases, Phase(goal)]
        if action.verb == "MOVE":
            return [*phases, Phase(above(goal), level=True), Phase(goal, straight=True, level=True)]
        return [
            *phases,
            Phase(goal, level=True),
            Phase(_turned(DUMPING, TILT), allow=allowed, straight=True),
            Phase(goal, allow=allowed, straight=True),
            Phase(self.scene.home[self.scene.arm(PAN).columns]),
        ]


def _turned(pose: HandPose, angle: float) -> HandPose:
    """Return a pose turned about its tip: what is on the side of large y goes down."""
    turned = np.zeros(4)
    mujoco.mju_mulQuat(turned, np.array([math.cos(angle / 2), -math.sin(angle / 2), 0, 0]), np.array(pose.quaternion))
    w, x, y, z = (float(value) for value in turned)
    return replace(pose, quaternion=(w, x, y, z))


def _bin() -> Thing:
    """Return a bin whose walls lean outwards."""
    wood = (0.6, 0.5, 0.4, 1.0)
    up, out = BIN_FLOOR - BIN_CENTRE[2], math.tan(BIN_LEAN) * BIN_WALL
    half = (0.005, BIN_HALF + out, BIN_WALL / math.cos(BIN_LEAN) / 2)
    c, s = math.cos(BIN_LEAN / 2), math.sin(BIN_LEAN / 2)
    walls: list[Shape] = []
    for yaw in (0.0, math.pi / 2, math.pi, -math.pi / 2):
        away, turn = BIN_HALF + out / 2, (math.cos(yaw / 2), math.sin(yaw / 2))
        middle = (away * math.cos(yaw), away * math.sin(yaw), up + BIN_WALL / 2)
        walls.append(Shape("box", half, middle, (turn[0] * c, -turn[1] * s, turn[0] * s, turn[1] * c), colour=wood))
    return Thing(BIN, (Shape("box", (BIN_HALF, BIN_HALF, up), colour=wood), *walls), BIN_CENTRE)
