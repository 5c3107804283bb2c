"""BoxLift: lifters of unlike strength lift boxes whose weight is hidden, alone or together.

Chen et al., "Scalable Multi-Robot Collaboration with Large Language Models", ICRA 2024. Boxes have names here, since
those of equal volume would else be one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from quartet_research.harness.errors import StateError
from quartet_research.harness.world import WAIT, Step, World, limits_of

PUBLISHED_BOXES = {4: 10, 6: 14, 8: 18, 10: 24}
"""Boxes by number of lifters."""
WEIGHT_NOISE = 0.1
"""Standard deviation of a weight, as a share of the volume."""
ODD_SHARE, ODD_NOISE = 0.05, 0.5
"""Share of the boxes whose weight is off by a further ± half of the volume."""
LEAST_WEIGHT = 0.1
VOLUMES = (1.0, 10.0)
CAPABILITIES = (0.5, 7.5)
_LIFT = re.compile(r"lift (box\d+)")
_BOX_LINE = re.compile(r"(box\d+) has the volume ([\d.]+)V")
_LIFTER_LINE = re.compile(r"(lifter\d+) can lift ([\d.]+)W")


@dataclass(frozen=True)
class Box:
    """A box: its volume is seen, its weight is not."""

    volume: float
    weight: float


class BoxLift(World):
    """Lifters and the boxes that they have not lifted yet.

    Args:
        lifters: capability of each lifter, by name.
        boxes: boxes that are left, by name.
    """

    name: ClassVar[str] = "boxlift"
    rules: str = (
        "Robots lift boxes. In one time step each robot lifts at one box or waits; robots at the same box lift "
        "together. A box is lifted when the capabilities of the robots at it sum to at least its weight. A weight is "
        "not known, it is about the volume of the box but may differ; whether a lift succeeded is told after the step. "
        "All robots act at once. The task is done when all boxes are lifted; find the plan with the fewest time steps."
    )

    def __init__(self, lifters: Mapping[str, float], boxes: Mapping[str, Box], **limits: Any) -> None:
        super().__init__(**limits)
        self.lifters = dict(lifters)
        self.boxes = dict(boxes)

    @classmethod
    def generate(cls, robots: int, rng: np.random.Generator, step_limit: int) -> Self:
        """Draw boxes and lifters; all capabilities are raised alike until together they lift the heaviest box."""
        boxes: dict[str, Box] = {}
        for index in range(boxes_for(robots)):
            volume = _halves(rng, *VOLUMES)
            share = 1 + float(rng.normal(0.0, WEIGHT_NOISE))
            if rng.random() < ODD_SHARE:
                share += float(rng.choice((-ODD_NOISE, ODD_NOISE)))
            boxes[f"box{index}"] = Box(volume, max(LEAST_WEIGHT, round(volume * share, 1)))
        strengths = [_halves(rng, *CAPABILITIES) for _ in range(robots)]
        heaviest = max(box.weight for box in boxes.values())
        while sum(strengths) < heaviest:
            strengths = [strength + 0.5 for strength in strengths]
        return cls({f"lifter{index}": s for index, s in enumerate(strengths)}, boxes, step_limit=step_limit)

    @property
    def robots(self) -> tuple[str, ...]:
        return tuple(self.lifters)

    def actions(self, robot: str) -> tuple[str, ...]:
        return (*(f"lift {box}" for box in self.boxes), WAIT)

    @property
    def done(self) -> bool:
        return not self.boxes

    def _apply(self, plan: Mapping[str, str]) -> Step:
        at: dict[str, list[str]] = {}
        for robot, action in plan.items():
            match = _LIFT.fullmatch(action)
            assert match is not None, "`step` has checked it"
            at.setdefault(match[1], []).append(robot)
        feedback: list[str] = []
        for box, lifters in at.items():
            capability = sum(self.lifters[lifter] for lifter in lifters)
            lifted = capability >= self.boxes[box].weight
            if lifted:
                del self.boxes[box]
            feedback.append(
                f"{box} was {'lifted' if lifted else 'not lifted'} by {', '.join(lifters)} ({capability}W)."
            )
        return Step("\n".join(feedback))

    def describe(self) -> str:
        lines = [f"{box} has the volume {self.boxes[box].volume}V." for box in self.boxes]
        return "\n".join(lines + [self.describe_robot(lifter) for lifter in self.lifters])

    def describe_robot(self, robot: str) -> str:
        return f"{robot} can lift {self.lifters[robot]}W."

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the world that the text tells; the weights are not in it and are taken to be the volumes."""
        lifters = {name: float(capability) for name, capability in _LIFTER_LINE.findall(text)}
        if not lifters:
            raise StateError(f"no line 'lifterN can lift C W.' in {text[:200]!r}")
        boxes = {name: Box(float(volume), float(volume)) for name, volume in _BOX_LINE.findall(text)}
        return cls(lifters, boxes, step_limit=1)

    def state(self) -> dict[str, Any]:
        return {
            "world": self.name,
            "lifters": self.lifters,
            "boxes": {name: {"volume": box.volume, "weight": box.weight} for name, box in self.boxes.items()},
            **self.limits,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        try:
            return cls(
                {str(name): float(capability) for name, capability in state["lifters"].items()},
                {name: Box(float(box["volume"]), float(box["weight"])) for name, box in state["boxes"].items()},
                **limits_of(state),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"no state of {cls.name}: {error!r}") from error


def boxes_for(lifters: int) -> int:
    """Return how many boxes an instance has: the published number, beyond that in the same proportion."""
    return PUBLISHED_BOXES.get(lifters, round(2.4 * lifters))


def _halves(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.integers(round(2 * low), round(2 * high), endpoint=True)) / 2
