"""The table as a MuJoCo model: arms of the simulated robot, boxes that are free, bowls that are not."""

import functools
import math

import mujoco
import numpy as np

from quartet_research.planners.arm_table.layout import Layout, Point
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.table_arms import ArmAt, Shape, TableTop, Thing, build_table

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
TABLE = TableTop(size=(2.8, 1.8, 0.04), centre=(0.7, 0.5, -0.02), walls=None)


def prefix_of(arm: str) -> str:
    """Return what the names of an arm's parts begin with."""
    return f"{arm}/"


@functools.lru_cache(maxsize=64)
def compile_table(arms: int, bowls: tuple[tuple[str, Point], ...], margin: float = 0.0) -> mujoco.MjModel:
    """Return the model of a table with one box and one bowl of each colour in `bowls` (colour, position).

    Arms touch boxes, bowls, the table and each other; an arm's own parts do not touch each other. With `margin`, parts
    of different arms that are so near count as contacts [m].
    """
    layout = Layout.of(arms)
    feet = [ArmAt(arm, "ur5", (x, y, 0.0), math.pi) for arm, (x, y) in layout.arms.items()]
    boxes: list[Thing] = []
    for colour, (x, y) in bowls:
        cube = Shape("box", (BOX_HALF,) * 3, colour=COLOURS[colour])
        boxes.append(Thing(f"box_{colour}", (cube,), (x, y, 1.0), mass=0.08))
    builders = [functools.partial(_add_bowl, colour=colour, point=point) for colour, point in bowls]
    return build_table(feet, [_add_camera, *boxes, *builders], TABLE, margin).model


def _add_camera(spec: mujoco.MjSpec) -> None:
    spec.worldbody.add_camera(name="overview", pos=(0.7, -1.7, 1.9), xyaxes=(1, 0, 0, 0, 0.66, 0.75), fovy=52)


def _add_bowl(spec: mujoco.MjSpec, colour: str, point: Point) -> None:
    """Add a flat bowl of eight walls that lean outwards."""
    bowl = spec.worldbody.add_body(name=f"bowl_{colour}", pos=(*point, 0))
    pale = tuple(0.5 + 0.5 * value for value in COLOURS[colour][:3])
    for side in range(BOWL_SIDES):
        angle = 2 * math.pi * side / BOWL_SIDES
        turned, leaning, quat = np.zeros(4), np.zeros(4), np.zeros(4)
        mujoco.mju_axisAngle2Quat(turned, np.array([0.0, 0, 1]), angle)
        mujoco.mju_axisAngle2Quat(leaning, np.array([0.0, 1, 0]), 0.3)
        mujoco.mju_mulQuat(quat, turned, leaning)
        bowl.add_geom(
            name=f"bowl_{colour}_{side}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=(BOWL_RADIUS * math.cos(angle), BOWL_RADIUS * math.sin(angle), BOWL_WALL_HALF),
            quat=quat,
            size=(0.003, BOWL_RADIUS * math.tan(math.pi / BOWL_SIDES) * 1.1, BOWL_WALL_HALF),
            rgba=(*pale, 1),
        )


def joints_of(model: mujoco.MjModel, arm: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the addresses of an arm's six joints in qpos, of its actuators in ctrl, and of its gripper's."""
    names = [prefix_of(arm) + name for name in dim.ARM_JOINTS]
    return (
        np.array([model.joint(name).qposadr[0] for name in names]),
        np.array([model.actuator(name).id for name in names]),
        int(model.actuator(prefix_of(arm) + "grip").id),
    )


def touching_arms(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[str, str] | None:
    """Return two arms that touch in the present state of `data`, None when none do."""
    for contact in data.contact:
        first, second = (str(model.geom(int(geom)).name).partition("/")[0] for geom in contact.geom)
        if first.startswith("arm") and second.startswith("arm") and first != second:
            return (first, second) if first < second else (second, first)
    return None
