"""Execution of joint plans by physics."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from quartet_simulation.arm.body import DAMPING_RATIO
from quartet_simulation.errors import TableError
from quartet_simulation.table_arms.plan import MotionPlan
from quartet_simulation.table_arms.scene import TICK_S, Pairs, Scene

START_TOLERANCE = 0.05
PATH_TOLERANCE = 0.12
"""How far a joint may be off its path [rad, m]."""
SETTLE_S = 0.3


@dataclass(frozen=True)
class Execution:
    """How a plan went."""

    text: str = ""
    """Reason of the abort, after which the scene was restored; empty if the plan was executed."""
    arm_contacts: Pairs = field(default_factory=list)
    """Bodies of different arms that touched."""
    lost: dict[str, str] = field(default_factory=dict)
    """What arms held before and do not hold now."""

    @property
    def ok(self) -> bool:
        """Whether the arms are at the goal."""
        return not self.text


def execute(scene: Scene, plan: MotionPlan) -> Execution:
    """Carry out a plan. Where arms touch each other or leave the path, the scene is rewound to its state before.

    Raises:
        TableError: the arms are not where the plan begins.
    """
    away = float(np.abs(scene.joints - plan.start).max())
    if away > START_TOLERANCE:
        raise TableError(
            f"the arms are {away:.3f} rad from the start of the plan (at most {START_TOLERANCE}); plan again"
        )
    before = scene.snapshot()
    held = {arm: body for arm in scene.arms if (body := scene.holds(arm)) is not None}
    trajectory, elapsed = plan.trajectory, 0.0
    while elapsed < trajectory.duration + SETTLE_S:
        elapsed += TICK_S
        position, velocity = trajectory.at(elapsed)
        scene.data.ctrl[scene.servos] = position + DAMPING_RATIO * velocity
        scene.step()
        contacts = scene.arm_contacts()
        off = np.abs(scene.joints - position)
        text = ""
        if contacts:
            text = "arms touched each other: " + "; ".join(" and ".join(pair) for pair in contacts)
        elif float(off.max()) > PATH_TOLERANCE:
            text = f"{scene.joint_names[int(off.argmax())]} is {off.max():.2f} off its path: something blocks it"
        if text:
            scene.restore(before)
            return Execution(text, contacts)
    lost = {arm: body for arm, body in held.items() if scene.holds(arm) != body}
    return Execution(lost=lost)
