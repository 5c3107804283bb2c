"""The table as a MuJoCo model: arms of the simulated robot, boxes that are free, bowls that are not."""

import copy
import functools
import math
from collections.abc import Mapping

import mujoco
import numpy as np

from quartet_research.planners.arm_table.layout import Layout, Point
from quartet_research.planners.arm_table.motion import facing_of, home
from quartet_simulation.robot.parts import quaternion
from quartet_simulation.table_arms import ArmAt, Scene, Shape, TableTop, Thing, build_table

COLOURS: dict[str, tuple[float, float, float, float]] = {
    "blue": (0.15, 0.30, 0.80, 1),
    "red": (0.80, 0.12, 0.12, 1),
    "green": (0.15, 0.60, 0.20, 1),
    "purple": (0.50, 0.20, 0.65, 1),
    "orange": (0.95, 0.50, 0.10, 1),
}
BOX_HALF = 0.0225
BOWL_RADIUS = 0.075
BOWL_WALL_HALF = 0.025
BOWL_SIDES = 8
MARGIN = 0.03
"""Distance below which two arms count as touching in the check before a step [m]."""
Pose = tuple[float, ...]
"""Position (x, y, z) [m] and quaternion (w, x, y, z)."""
TABLE = TableTop(size=(2.8, 1.8, 0.04), centre=(0.7, 0.5, -0.02), walls=None)


@functools.lru_cache(maxsize=64)
def _build(arms: int, bowls: tuple[tuple[str, Point], ...], margin: float) -> Scene:
    layout = Layout.of(arms)
    feet = [ArmAt(arm, "ur5", (x, y, 0.0), math.pi) for arm, (x, y) in layout.arms.items()]
    boxes: list[Thing] = []
    for colour, (x, y) in bowls:
        cube = Shape("box", (BOX_HALF,) * 3, colour=COLOURS[colour])
        boxes.append(Thing(f"box_{colour}", (cube,), (x, y, 1.0), mass=0.08))
    builders = [functools.partial(_add_bowl, colour=colour, point=point) for colour, point in bowls]
    scene = build_table(feet, [_add_camera, *boxes, *builders], TABLE, margin)
    homes = np.concatenate([home(facing_of(layout, arm)) for arm in layout.arms])
    scene.data.qpos[scene.qpos] = scene.data.ctrl[scene.servos] = homes
    return scene


def lay_table(arms: int, bowls: tuple[tuple[str, Point], ...], boxes: Mapping[str, Pose], margin: float = 0.0) -> Scene:
    """Return a table with all arms at home, and a bowl and a box of each colour.

    Args:
        arms: their number.
        bowls: colours and positions.
        boxes: poses, by colour.
        margin: parts of different arms that are so near count as contacts [m].
    """
    built = _build(arms, bowls, margin)
    scene = copy.copy(built)
    scene.data = copy.copy(built.data)
    for colour, pose in boxes.items():
        scene.data.joint(f"box_{colour}").qpos[:] = pose
    mujoco.mj_forward(scene.model, scene.data)
    return scene


def touching_arms(scene: Scene) -> tuple[str, str] | None:
    """Return two arms that touch, or are nearer than the margin; None when none do."""
    for first, second in scene.arm_contacts(math.inf):
        return first.partition("/")[0], second.partition("/")[0]
    return None


def _add_camera(spec: mujoco.MjSpec) -> None:
    spec.worldbody.add_camera(name="overview", pos=(0.7, -1.7, 1.9), xyaxes=(1, 0, 0, 0, 0.66, 0.75), fovy=52)


def _add_bowl(spec: mujoco.MjSpec, colour: str, point: Point) -> None:
    """Add a flat bowl of eight walls that lean outwards."""
    bowl = spec.worldbody.add_body(name=f"bowl_{colour}", pos=(*point, 0))
    pale = tuple(0.5 + 0.5 * value for value in COLOURS[colour][:3])
    for side in range(BOWL_SIDES):
        angle = 2 * math.pi * side / BOWL_SIDES
        quat = np.zeros(4)
        mujoco.mju_mulQuat(quat, np.array(quaternion((0, 0, 1), angle)), np.array(quaternion((0, 1, 0), 0.3)))
        bowl.add_geom(
            name=f"bowl_{colour}_{side}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=(BOWL_RADIUS * math.cos(angle), BOWL_RADIUS * math.sin(angle), BOWL_WALL_HALF),
            quat=quat,
            size=(0.003, BOWL_RADIUS * math.tan(math.pi / BOWL_SIDES) * 1.1, BOWL_WALL_HALF),
            rgba=(*pale, 1),
        )
