"""The table as a World: arms move boxes between spots and into bowls, all at once, by physics."""

import functools
import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import mujoco
import numpy as np

from quartet_benchmarks.errors import MeasurementError
from quartet_research.planners.arm_table.layout import ARM_COUNTS, Layout, Point
from quartet_research.planners.arm_table.model import (
    BOWL_RADIUS,
    BOX_HALF,
    COLOURS,
    MARGIN,
    Pose,
    lay_table,
    touching_arms,
)
from quartet_research.planners.arm_table.motion import GRASP, RELEASE, SAMPLE_S, Motion, plan_motion
from quartet_research.planners.grid_worlds import WAIT, SizeError, StateError, Step, World, limits_of
from quartet_simulation.table_arms import Scene

BOXES = {3: 4, 6: 5}
"""Boxes, one of a colour each, by number of arms."""
STEP_LIMIT = 20
SETTLE_S = 0.6
"""Time for which boxes come to rest after the last motion [s]."""
CHECK_EVERY = 2
"""Samples of the motions from one look at their distances to the next: an arm moves less than MARGIN meanwhile."""
_ARMS_LINE = re.compile(r"The table has (\d+) arms")
_BOWL_LINE = re.compile(r"^bowl_(\w+): (spot\d+)", re.MULTILINE)
_BOX_LINE = re.compile(r"^box_(\w+): .*\((-?[\d.]+), (-?[\d.]+), (-?[\d.]+)\)", re.MULTILINE)
_MOVE = re.compile(r"move\(box_(\w+), (?:(spot\d+)|bowl_\w+)\)")


class ArmTable(World):
    """One episode at the table.

    Args:
        arms: number of arms, 3 or 6.
        bowls: spot of each bowl, by colour.
        boxes: pose of each box, by colour.
        limits: step_limit, steps and collision of World.

    Raises:
        SizeError: There is no table with so many arms.
    """

    name: ClassVar[str] = "armtable"
    rules: str = (
        "Robot arms stand at a table with boxes and bowls. In one time step an arm can take one box within its reach "
        "and put it into the bowl of the box's colour, or on a free spot, if that is within its reach too, or wait. "
        "All arms move at once: two arms must not touch each other on their ways, not take the same box, and not put "
        "boxes on the same spot. A box that no arm can bring to its bowl is handed over on a spot that two arms reach. "
        "The task is done when every box is in the bowl of its colour; find the plan with the fewest time steps."
    )

    def __init__(self, arms: int, bowls: Mapping[str, str], boxes: Mapping[str, Pose], **limits: Any) -> None:
        super().__init__(**limits)
        self.layout = Layout.of(arms)
        self.bowls = dict(bowls)
        self.boxes = {colour: tuple(float(value) for value in pose) for colour, pose in boxes.items()}

    @classmethod
    def generate(cls, arms: int, seed: int) -> Self:
        """Draw spots for bowls and boxes until every box has a way to its bowl. Raises SizeError."""
        layout, rng = Layout.of(arms), np.random.default_rng(seed)
        colours = list(COLOURS)[: BOXES[arms]]
        while True:
            drawn = [str(name) for name in rng.permutation(list(layout.spots))]
            bowls = dict(zip(colours, drawn, strict=False))
            boxes = {
                colour: upright(layout.spots[spot], float(rng.uniform(-math.pi / 4, math.pi / 4)))
                for colour, spot in zip(colours, drawn[len(colours) :], strict=False)
            }
            world = cls(arms, bowls, boxes, step_limit=STEP_LIMIT)
            if all(layout.spot_at(world.place(colour)) in world.hops(colour) for colour in colours):
                return world

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the arms."""
        return tuple(self.layout.arms)

    def place(self, colour: str) -> Point:
        """Return where a box is on the table (x, y) [m]."""
        return self.boxes[colour][0], self.boxes[colour][1]

    def bowl(self, colour: str) -> Point:
        """Return the centre of a bowl (x, y) [m]."""
        return self.layout.spots[self.bowls[colour]]

    def in_bowl(self, colour: str) -> bool:
        """Return whether a box lies in the bowl of its colour."""
        near = math.dist(self.place(colour), self.bowl(colour)) < BOWL_RADIUS
        return near and abs(self.boxes[colour][2]) < 3 * BOX_HALF

    def hops(self, colour: str) -> dict[str, int]:
        """Return the fewest moves that bring a box of `colour` from each spot to its bowl; other boxes do not count."""
        return self.layout.hops(self.bowl(colour), set(self.bowls.values()))

    def free_spots(self) -> list[str]:
        """Return the spots on which neither a box nor a bowl stands."""
        taken = {self.layout.spot_at(self.place(colour)) for colour in self.boxes} | set(self.bowls.values())
        return [name for name in self.layout.spots if name not in taken]

    def actions(self, robot: str) -> tuple[str, ...]:
        """Return the moves of boxes in reach to places in reach, `wait` last."""
        reaches = functools.partial(self.layout.reaches, robot)
        free = [name for name in self.free_spots() if reaches(self.layout.spots[name])]
        found: list[str] = []
        for colour in self.boxes:
            if self.in_bowl(colour) or not reaches(self.place(colour)):
                continue
            if reaches(self.bowl(colour)):
                found.append(f"move(box_{colour}, bowl_{colour})")
            found += [f"move(box_{colour}, {name})" for name in free]
        return (*found, WAIT)

    @property
    def done(self) -> bool:
        """Whether every box is in its bowl."""
        return all(self.in_bowl(colour) for colour in self.boxes)

    def violations(self, plan: Mapping[str, str]) -> list[str]:
        """Return why a step cannot be taken; where nothing else is wrong, also arms that would come too near."""
        found = super().violations(plan)
        moves = {robot: action for robot, action in plan.items() if action != WAIT}
        if not found:
            for what, values in (
                ("take the same box", {robot: self._parts(action)[0] for robot, action in moves.items()}),
                ("put a box on", {robot: self._parts(action)[1] for robot, action in moves.items()}),
            ):
                for value in sorted({value for value in values.values() if list(values.values()).count(value) > 1}):
                    who = " and ".join(robot for robot in values if values[robot] == value)
                    found.append(f"{who} {what} {value}; let one of them do something else.")
        if not found and moves:
            try:
                problem = _conflict(
                    len(self.robots), self._bowl_points(), tuple(self.boxes.items()), tuple(sorted(moves.items()))
                )
            except MeasurementError as error:
                return [f"{error}."]
            if problem is not None:
                first, second, at_s = problem
                found.append(
                    f"{first} and {second} would come nearer than {MARGIN * 100:.0f} cm to each other {at_s:.1f} s "
                    f"after the start ({first}: {plan.get(first, WAIT)}, {second}: {plan.get(second, WAIT)}); let one "
                    "of them wait or do something else."
                )
        return found

    def _parts(self, action: str) -> tuple[str, str]:
        """Return the box and the goal of a move."""
        moved = _MOVE.fullmatch(action)
        assert moved is not None, "actions has given it"
        return f"box_{moved[1]}", moved[2] or f"bowl_{moved[1]}"

    def _bowl_points(self) -> tuple[tuple[str, Point], ...]:
        return tuple((colour, self.layout.spots[spot]) for colour, spot in self.bowls.items())

    def _apply(self, plan: Mapping[str, str]) -> Step:
        scene = self._lay()
        touched = _play(scene, motions_of(self.layout, self.boxes, self.bowls, plan))
        self.boxes = {colour: tuple(scene.data.joint(f"box_{colour}").qpos.tolist()) for colour in self.boxes}
        if touched is not None:
            return Step(collision=f"{touched[0]} and {touched[1]} touched each other")
        missed: list[str] = []
        for robot, action in plan.items():
            box, goal = self._parts(action)
            colour = box.removeprefix("box_")
            there = self.in_bowl(colour) if goal.startswith("bowl_") else self._where(colour) == goal
            if not there:
                missed.append(f"{robot} did not bring {box} to {goal}: it is at {self._text_of(colour)}.")
        return Step("\n".join(missed))

    def _where(self, colour: str) -> str:
        return f"bowl_{colour}" if self.in_bowl(colour) else self.layout.spot_at(self.place(colour))

    def _text_of(self, colour: str) -> str:
        x, y = self.place(colour)
        return (
            f"{self._where(colour) or 'the table'} ({x:.3f}, {y:.3f}, {math.degrees(yaw_of(self.boxes[colour])):.1f})"
        )

    def describe(self) -> str:
        """Return bowls, boxes and free spots as text; `parse` reads it back."""
        lines = [f"The table has {len(self.robots)} arms. Positions (x, y) are in metres, turns of boxes in degrees."]
        lines += [f"bowl_{colour}: {spot} ({_text(self.layout.spots[spot])})" for colour, spot in self.bowls.items()]
        lines += [f"box_{colour}: {self._text_of(colour)}" for colour in self.boxes]
        lines.append(f"free spots: {', '.join(self.free_spots()) or 'none'}")
        return "\n".join(lines)

    def describe_robot(self, robot: str) -> str:
        """Return where an arm stands and what it reaches."""
        near = [name for name, point in self.layout.spots.items() if self.layout.reaches(robot, point)]
        return f"{robot} stands at ({_text(self.layout.arms[robot])}) and reaches {', '.join(near)}."

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the table that `describe` has told, with its boxes upright. Raises StateError."""
        arms = _ARMS_LINE.search(text)
        if arms is None or int(arms[1]) not in ARM_COUNTS:
            raise StateError(f"no line 'The table has N arms' with N of {ARM_COUNTS} in {text[:200]!r}")
        bowls = dict(_BOWL_LINE.findall(text))
        boxes = {
            colour: upright((float(x), float(y)), math.radians(float(turn)))
            for colour, x, y, turn in _BOX_LINE.findall(text)
        }
        return cls(**_checked(int(arms[1]), bowls, boxes), step_limit=1)

    def state(self) -> dict[str, Any]:
        """Return the table as an object of JSON; the arms are always at home."""
        return {
            "world": self.name,
            "arms": len(self.robots),
            "bowls": dict(self.bowls),
            "boxes": {colour: list(pose) for colour, pose in self.boxes.items()},
            **self.limits,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the table that `state` has given. Raises StateError."""
        try:
            boxes = {colour: tuple(float(value) for value in pose) for colour, pose in state["boxes"].items()}
            return cls(**_checked(int(state["arms"]), dict(state["bowls"]), boxes), **limits_of(state))
        except (KeyError, TypeError, ValueError, AttributeError, SizeError) as error:
            raise StateError(f"no state of {cls.name}: {error!r}") from error

    def picture(self, width: int = 960, height: int = 720) -> np.ndarray:
        """Return a picture of the table (height, width, 3), uint8 RGB, with all arms at home."""
        return self._lay().picture("overview", width, height)

    def _lay(self) -> Scene:
        return lay_table(len(self.robots), self._bowl_points(), self.boxes)


def upright(point: Point, yaw: float) -> Pose:
    """Return the pose of a box that stands on the table, turned by `yaw` [rad]."""
    return (*point, BOX_HALF, math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2))


def yaw_of(pose: Pose) -> float:
    """Return the turn of a box about the vertical, between -pi/4 and pi/4 [rad]: its sides are alike."""
    w, x, y, z = pose[3:]
    yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return (yaw + math.pi / 4) % (math.pi / 2) - math.pi / 4


def _text(point: Point) -> str:
    return f"{point[0]:.2f}, {point[1]:.2f}"


def _checked(arms: int, bowls: dict[str, str], boxes: dict[str, Pose]) -> dict[str, Any]:
    """Return the arguments of a table. Raises StateError when they name what there is not."""
    spots = Layout.of(arms).spots
    if not boxes or set(bowls) != set(boxes) or not set(bowls) <= set(COLOURS):
        raise StateError(
            f"bowls {sorted(bowls)} and boxes {sorted(boxes)} must be the same colours of {', '.join(COLOURS)}"
        )
    if unknown := set(bowls.values()) - set(spots):
        raise StateError(f"bowls stand on {sorted(unknown)}; valid: {', '.join(spots)}")
    if wrong := [colour for colour, pose in boxes.items() if len(pose) != 7 or not all(map(math.isfinite, pose))]:
        raise StateError(f"the poses of {wrong} must be seven finite numbers")
    return {"arms": arms, "bowls": bowls, "boxes": boxes}


def motions_of(
    layout: Layout, boxes: Mapping[str, Pose], bowls: Mapping[str, str], plan: Mapping[str, str]
) -> dict[str, Motion]:
    """Return the motion of each arm that a plan lets move. Raises MeasurementError: one does not reach that far."""
    motions: dict[str, Motion] = {}
    for robot, action in plan.items():
        moved = _MOVE.fullmatch(action)
        assert moved is not None, "`step` has checked it"
        pose, spot = boxes[moved[1]], moved[2]
        # As the text tells them, so that who plans with the text plans with the motions that are checked and done.
        source = (round(pose[0], 3), round(pose[1], 3))
        yaw = math.radians(round(math.degrees(yaw_of(pose)), 1))
        target = layout.spots[spot or bowls[moved[1]]]
        release = GRASP + 0.002 if spot else RELEASE
        motions[robot] = plan_motion(layout, robot, source, yaw, target, release)
    return motions


@functools.lru_cache(maxsize=4096)
def _conflict(
    arms: int,
    bowls: tuple[tuple[str, Point], ...],
    boxes: tuple[tuple[str, Pose], ...],
    plan: tuple[tuple[str, str], ...],
) -> tuple[str, str, float] | None:
    """Return the first two arms that come nearer than MARGIN and when [s], None when none do."""
    layout, spots = Layout.of(arms), {point: name for name, point in Layout.of(arms).spots.items()}
    motions = motions_of(layout, dict(boxes), {colour: spots[point] for colour, point in bowls}, dict(plan))
    scene = lay_table(arms, bowls, dict(boxes), MARGIN)
    for i in range(0, max(len(motion.joints) for motion in motions.values()), CHECK_EVERY):
        for arm, motion in motions.items():
            scene.data.qpos[scene.qpos[scene.arms[arm].columns]] = motion.joints[min(i, len(motion.joints) - 1)]
        mujoco.mj_fwdPosition(scene.model, scene.data)
        if (pair := touching_arms(scene)) is not None:
            return (*pair, i * SAMPLE_S)
    return None


def _play(scene: Scene, motions: Mapping[str, Motion]) -> tuple[str, str] | None:
    """Run all motions at once by physics until the boxes are at rest. Returns two arms that touched, or None."""
    length = max((len(motion.joints) for motion in motions.values()), default=0)
    for i in range(length + round(SETTLE_S / SAMPLE_S)):
        for name, motion in motions.items():
            arm, at = scene.arms[name], min(i, len(motion.joints) - 1)
            scene.data.ctrl[scene.servos[arm.columns]] = motion.joints[at]
            scene.data.ctrl[arm.grip] = motion.fingers[at]
        scene.step(SAMPLE_S)
        if (pair := touching_arms(scene)) is not None:
            return pair
    return None
