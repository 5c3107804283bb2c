"""The builder: arms, table and things in one MuJoCo model."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import mujoco

from quartet_simulation.errors import TableError, UnknownNameError
from quartet_simulation.robot import MOST_ROBOTS
from quartet_simulation.solver import new_scene
from quartet_simulation.table_arms.kinds import FOOT, KINDS, ArmAt, Hand, add_cup, add_tool
from quartet_simulation.table_arms.poses import Vector
from quartet_simulation.table_arms.scene import RAIL, Scene
from quartet_simulation.table_arms.things import BoltedTool, Builder, Rope, Thing

HANDS = ("fingers", "suction")
RAIL_GAIN, RAIL_FORCE = 40_000.0, 1500.0
"""Of the rails' servos [N/m, N]."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")


@dataclass(frozen=True)
class TableTop:
    """Size and centre of the table's box [m]. Defaults are those of the RoCo paper's tasks."""

    size: Vector = (3.2, 0.8, 0.1)
    centre: Vector = (0.0, 0.5, 0.1)
    walls: float | None = 1.63
    """Distance from the middle to the walls at both ends [m]; None: there are none."""

    @property
    def top(self) -> float:
        """Height of its surface [m]."""
        return self.centre[2] + self.size[2] / 2


ROCO_TABLE = TableTop()


def build_table(
    arms: Sequence[ArmAt],
    things: Sequence[Thing | Rope | Builder] = (),
    table: TableTop = ROCO_TABLE,
    margin: float = 0.0,
) -> Scene:
    """Return the scene with all arms at home and their hands open.

    Arms touch things, the table and each other; the parts of one arm do not touch each other. With `margin`, parts of
    different arms that are so near count as contacts [m].

    Raises:
        TableError: invalid names, counts or rails.
        UnknownNameError: unknown kind or hand.
    """
    _check(arms)
    _check_things([thing for thing in things if isinstance(thing, Thing | Rope)], {arm.name for arm in arms})
    spec = new_scene("table")
    _add_room(spec, table)
    try:
        for thing in things:
            if isinstance(thing, Thing | Rope):
                thing.add(spec)
            else:
                thing(spec)
    except ValueError as error:
        raise TableError(f"the things cannot be put on the table: {error}") from error
    hands = add_arms(spec, arms, margin)
    try:
        model = spec.compile()
    except ValueError as error:
        raise TableError(f"the table cannot be built: {error}") from error
    return Scene(model, hands)


def add_arms(spec: mujoco.MjSpec, arms: Sequence[ArmAt], margin: float = 0.0) -> list[tuple[ArmAt, Hand]]:
    """Add arms that touch each other and everything solid in a specification; return them with their hands."""
    everything = 1 | sum(2 << number for number in range(len(arms)))
    for geom in spec.geoms:
        if geom.contype or geom.conaffinity:
            geom.contype, geom.conaffinity = 1, everything
    return [(arm, _add_arm(spec, arm, 2 << number, everything, margin)) for number, arm in enumerate(arms)]


def _check(arms: Sequence[ArmAt]) -> None:
    names = [arm.name for arm in arms]
    if not 1 <= len(arms) <= MOST_ROBOTS:
        raise TableError(f"a table with {len(arms)} arms cannot be built; valid: 1 to {MOST_ROBOTS}")
    if len(set(names)) < len(names) or not all(_NAME.fullmatch(name) for name in names):
        raise TableError(f"arms {names} must have different names of at most 32 letters, digits and underscores")
    for arm in arms:
        if arm.kind not in KINDS:
            raise UnknownNameError("kind of arm", arm.kind, KINDS)
        if not isinstance(arm.hand, BoltedTool) and arm.hand not in HANDS:
            raise UnknownNameError("hand", arm.hand, HANDS)
        if not all(map(math.isfinite, (*arm.foot, arm.yaw, *(arm.rail or ())))):
            raise TableError(f"{arm.name}: foot {arm.foot}, yaw {arm.yaw} and rail {arm.rail} must be finite")
        if (arm.rail is not None and not arm.rail[0] <= 0 <= arm.rail[1]) or arm.rail == (0, 0):
            raise TableError(f"{arm.name}: rail {arm.rail} must be a range (low, high) that has 0 in it")
        low, high = arm.rail or (0.0, 0.0)
        if not low <= arm.rail_home <= high:
            raise TableError(f"{arm.name}: rail_home {arm.rail_home} must be between {low} and {high} m")


def _check_things(things: Sequence[Thing | Rope], taken: Collection[str]) -> None:
    for thing in things:
        if not _NAME.fullmatch(thing.name) or thing.name in taken:
            raise TableError(
                f"thing {thing.name!r} must have a name of at most 32 letters, digits and underscores that no arm has"
            )
        if not all(map(math.isfinite, (*thing.position, thing.yaw))):
            raise TableError(f"{thing.name}: position {thing.position} and yaw {thing.yaw} must be finite")


def _add_arm(spec: mujoco.MjSpec, arm: ArmAt, bit: int, everything: int, margin: float) -> Hand:
    """Add an arm; return its hand."""
    kind, one = KINDS[arm.kind], mujoco.MjSpec() if arm.prefix else spec
    one.compiler.degree = False
    foot = one.worldbody.add_body(name=FOOT, pos=arm.foot)
    if arm.rail is not None:
        foot.add_joint(
            name=RAIL, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=(1, 0, 0), limited=True, range=arm.rail, armature=5
        )
        rail = one.add_actuator(name=RAIL, target=RAIL, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        rail.set_to_position(kp=RAIL_GAIN, kv=RAIL_GAIN / 10)
        rail.forcelimited, rail.forcerange = True, [-RAIL_FORCE, RAIL_FORCE]
    flange = kind.add(one, foot, (0.0, 0.0, 0.0), arm.yaw)
    if isinstance(arm.hand, BoltedTool):
        hand = add_tool(flange, arm.hand)
    else:
        hand = kind.add_fingers(one, flange) if arm.hand == "fingers" else add_cup(one, flange)
    flange.add_site(name="tip", pos=hand.tip, size=[0.004, 0, 0], group=5)
    for geom in foot.find_all("geom"):
        geom.margin += margin / 2  # those of both geoms add up
        if geom.contype or geom.conaffinity:
            geom.contype, geom.conaffinity = bit, everything & ~bit
    if arm.prefix:
        spec.attach(one, prefix=arm.prefix, frame=spec.worldbody.add_frame())
    return hand


def _add_room(spec: mujoco.MjSpec, table: TableTop) -> None:
    world = spec.worldbody
    x, y, _ = table.centre
    light = spec.visual.headlight
    light.ambient, light.diffuse, light.specular = [0.35] * 3, [0.35] * 3, [0.0] * 3
    world.add_light(
        pos=(x, y - 0.5, 4), dir=(0.1, 0.15, -1), type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, diffuse=[0.4] * 3
    )
    world.add_camera(name="front", pos=(x, y - 2.6, 2.1), xyaxes=(1, 0, 0, 0, 0.6, 0.8), fovy=50)
    world.add_camera(name="overhead", pos=(x, y, 3.6), quat=(1, 0, 0, 0), fovy=50)
    floor = world.add_body(name="floor", pos=(0, 0, min(0.0, table.centre[2] - table.size[2] / 2)))
    floor.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[4, 4, 0.1], rgba=(0.85, 0.86, 0.88, 1))
    for name, pos, half, rgba in (
        ("table", table.centre, [value / 2 for value in table.size], (0.74, 0.63, 0.50, 1)),
        *(
            (name, (x + sign * table.walls, y, table.top + 0.15), [0.02, table.size[1] / 2, 0.15], (0.8, 0.8, 0.8, 0.4))
            for name, sign in (("wall_left", -1), ("wall_right", 1))
            if table.walls is not None
        ),
    ):
        body = world.add_body(name=name, pos=pos)
        body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_BOX, size=half, rgba=rgba)
