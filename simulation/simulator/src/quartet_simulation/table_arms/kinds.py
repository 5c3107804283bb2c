"""The kinds of arms, and how fingers or suction are put on each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import mujoco

from quartet_simulation.arm.panda import PANDA
from quartet_simulation.arm.summit import ARM as UR5
from quartet_simulation.robot import dimensions, humanoid_arm, panda, ur5
from quartet_simulation.robot.parts import DARK, GREY, GROUP
from quartet_simulation.table_arms.poses import Vector
from quartet_simulation.table_arms.things import BoltedTool, add_shapes

FOOT, GRIP, CUP = "foot", "grip", "cup"
CUP_LENGTH, CUP_RADIUS = 0.08, 0.02
SUCTION_N = 25.0
"""Greatest pull of the cup [N]."""
PULLS_FROM_M = 0.003
"""Distance from which the cup pulls, which stands for the give of a real one [m]."""
GRIP_N = 40.0
"""Greatest force with which the UR5's gripper closes [N]."""


@dataclass(frozen=True)
class ArmAt:
    """An arm at the table."""

    name: str
    """Its parts are named `name/part` in the model; those of an arm without a name have plain names."""
    kind: str
    """One of KINDS."""
    foot: Vector
    """Where its foot stands when its rail is at 0 [m]."""
    yaw: float = 0.0
    """Direction that it faces [rad]."""
    rail: tuple[float, float] | None = None
    """How far the foot slides along the world's x axis [m]; None: it stands still."""
    hand: Literal["fingers", "suction"] | BoltedTool = "fingers"
    rail_home: float = 0.0
    """Where it is on its rail at home [m]."""

    @property
    def prefix(self) -> str:
        """Beginning of its parts' names."""
        return f"{self.name}/" if self.name else ""


@dataclass(frozen=True)
class Hand:
    """A hand as it was added to a flange; names have no prefix."""

    tip: Vector
    """In the flange's frame [m]."""
    touching: tuple[str, ...] = ()
    """Geoms that hold: two pads, or the cup."""
    open: float = 0.0
    closed: float = 0.0
    """Set points of the actuator: of each finger [m], or the share of the greatest pull."""
    pad_half: float = 0.0
    """Half of the length of the pads, which end at the tip [m]."""


@dataclass(frozen=True)
class Kind:
    """An arm without its hand. Joint values have the order of `joints` [rad]."""

    joints: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    speed: tuple[float, ...]
    """Greatest speeds [rad/s]."""
    acceleration: tuple[float, ...]
    """Greatest accelerations [rad/s^2]."""
    sweep: tuple[float, ...]
    """Greatest distance from each joint's axis to what it moves, hand included [m]."""
    home: tuple[float, ...]
    """The hand points down in front of the foot."""
    flange: str
    """Body to which hands are bolted."""
    add: Callable[[mujoco.MjSpec, Any, Vector, float], Any]
    """Adds the arm to a body at a position [m] and yaw [rad]; returns the flange."""
    add_fingers: Callable[[mujoco.MjSpec, Any], Hand]


def add_cup(spec: mujoco.MjSpec, flange: Any) -> Hand:
    """Add a suction cup whose pull is MuJoCo's adhesion."""
    cup = flange.add_body(name=CUP, gravcomp=1)
    for name, radius, start, end, colour in (
        ("stem", 0.012, 0.0, CUP_LENGTH - 0.02, GREY),
        (CUP, CUP_RADIUS, CUP_LENGTH - 0.02, CUP_LENGTH, DARK),
    ):
        cup.add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            fromto=[0, 0, start, 0, 0, end],
            size=[radius, 0, 0],
            rgba=colour,
            mass=0.05,
            condim=6,
            friction=[1.2, 0.02, 0.001],
            priority=1,
            group=GROUP,
            margin=PULLS_FROM_M if name == CUP else 0.0,
            gap=PULLS_FROM_M if name == CUP else 0.0,
        )
    pull = spec.add_actuator(name=GRIP, target=CUP, trntype=mujoco.mjtTrn.mjTRN_BODY)
    pull.set_to_adhesion(gain=SUCTION_N)
    pull.ctrllimited, pull.ctrlrange = True, [0, 1]
    return Hand((0.0, 0.0, CUP_LENGTH), touching=(CUP,), open=0.0, closed=1.0)


def add_tool(flange: Any, tool: BoltedTool) -> Hand:
    """Bolt a tool to a flange."""
    body = flange.add_body(name="tool", gravcomp=1)
    add_shapes(body, "tool", tool.shapes, tool.mass, tool.friction, group=GROUP)
    for geom in body.geoms:
        geom.priority = 1
    return Hand(tool.tip)


def _ur5_fingers(spec: mujoco.MjSpec, flange: Any) -> Hand:
    ur5.add_gripper(spec, flange)
    spec.actuator(GRIP).forcerange = [-GRIP_N, GRIP_N]
    tip = (0.0, 0.0, dimensions.FINGER_OFFSET)
    return Hand(tip, ("left_pad", "right_pad"), 0.0, dimensions.STROKE / 2, pad_half=0.025)


def _panda_fingers(spec: mujoco.MjSpec, flange: Any) -> Hand:
    panda.add_hand(spec, flange)
    return Hand((0.0, 0.0, panda.TCP + panda.TIP), panda.PADS, panda.FINGER_TRAVEL, 0.0, pad_half=0.0115)


KINDS = {
    "ur5": Kind(
        joints=UR5.joints,
        lower=UR5.lower,
        upper=UR5.upper,
        speed=UR5.speed,
        acceleration=UR5.acceleration,
        sweep=(1.2, 1.2, 0.8, 0.4, 0.3, 0.15),
        home=(0.0, -1.8, 1.9, -1.67, -math.pi / 2, 0.0),
        flange=UR5.tool,
        add=ur5.add_arm,
        add_fingers=_ur5_fingers,
    ),
    "panda": Kind(
        joints=PANDA.joints,
        lower=PANDA.lower,
        upper=PANDA.upper,
        speed=PANDA.speed,
        acceleration=PANDA.acceleration,
        sweep=(1.0, 1.0, 0.7, 0.7, 0.35, 0.3, 0.15),
        home=(0.0, -math.pi / 4, 0.0, -3 * math.pi / 4, 0.0, math.pi / 2, math.pi / 4),
        flange=PANDA.tool,
        add=panda.add_arm,
        add_fingers=_panda_fingers,
    ),
    "humanoid": Kind(
        joints=humanoid_arm.JOINTS,
        lower=humanoid_arm.LOWER,
        upper=humanoid_arm.UPPER,
        speed=humanoid_arm.SPEED,
        acceleration=(6.0,) * 7,
        sweep=(1.0, 1.0, 0.7, 0.6, 0.3, 0.25, 0.1),
        home=(0.5, 0.0, 0.0, 1.8, 0.0, -2.3, 0.0),
        flange=humanoid_arm.FLANGE,
        add=humanoid_arm.add_arm,
        add_fingers=_ur5_fingers,
    ),
}
