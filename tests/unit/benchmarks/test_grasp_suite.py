"""The grasp suite tells by ground truth whether the hand meets what stands beside an object."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quartet_benchmarks import grasps
from quartet_benchmarks.result import BenchParameters, Rate
from quartet_perception import ColourShapeSegmenter, plan_grasp
from quartet_simulation.simulation import Simulation


def test_distances_of_the_hand_are_those_of_its_parts() -> None:
    sim = Simulation("studio", 0, sensors="clean")
    try:
        joints = sim.truth()["robot"]["arm"]
        sim.put_arm(joints, 0.14)
        tool = sim.snapshot().fk(np.array(joints))
        x, y, yaw = sim.truth()["robot"]["pose"]
        at = (tool @ [0.0, 0.0, 0.14, 1.0])[:3]
        c, s = np.cos(yaw), np.sin(yaw)
        where = x + c * at[0] - s * at[1], y + s * at[0] + c * at[1]
        sim.place_object("red coke can", 5.0, 5.0, 0.0)
        assert "red coke can" not in sim.hand_distances(), "far away"
        # Around the point between the finger tips a can of 66 mm lies between fingers that are 140 mm apart.
        sim.place_object("red coke can", *where, at[2] - 0.06)
        between = sim.hand_distances()["red coke can"]
        sim.put_arm(joints, 0.04)
        assert 0 < between < 0.04
        assert sim.hand_distances()["red coke can"] < 0, "the fingers are within it"
    finally:
        sim.close()


def met(monkeypatch: pytest.MonkeyPatch | None) -> tuple[int, int]:
    if monkeypatch is not None:

        def careless(view: Any, seen: Any, robot: Any, *more: Any) -> Any:
            """Across the line of sight, with the fingers fully open, whatever stands there."""
            grasp = plan_grasp(view, seen, robot, *more)
            yaw = grasp.yaw if grasp.oriented else np.arctan2(seen.solid.y, seen.solid.x) + np.pi / 2
            return replace(grasp, yaw=float(yaw), opening=robot.gripper.stroke_m)

        monkeypatch.setattr(grasps, "plan_grasp", careless)
    result = grasps.run(BenchParameters(episodes=2, seed=SEED, sensors="typical"))
    rates = [result.metrics[f"met_{way}"] for way in grasps.WAYS]
    assert all(isinstance(rate, Rate) for rate in rates)
    return sum(rate.successes for rate in rates if isinstance(rate, Rate)), int(result.rows[0]["grasps"])


SEED = 112


@pytest.mark.slow
def test_what_is_not_grasped_is_counted_by_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thing is not found, another one is found 8 cm beside its place."""
    segment = ColourShapeSegmenter.segment

    def careless(self: ColourShapeSegmenter, view: Any, names: Any) -> Any:
        found = segment(self, view, names)
        if len(names) == 1:
            return found
        missed, shifted = sorted({one.label for one in found if one.solid is not None})[:2]
        rest = [one for one in found if one.label != missed]
        return [replace(one, solid=beside(one.solid)) if one.label == shifted else one for one in rest]

    def beside(solid: Any) -> Any:
        return replace(solid, x=solid.x + 0.08)

    monkeypatch.setattr(ColourShapeSegmenter, "segment", careless)
    result = grasps.run(BenchParameters(episodes=1, seed=SEED, sensors="typical"))
    rates = {name: rate for name, rate in result.metrics.items() if isinstance(rate, Rate)}
    left_out = {reason: rates[f"left_out_{reason}"].successes for reason in grasps.LEFT_OUT}
    assert left_out[grasps.NOT_FOUND] >= 1, result.rows
    assert left_out[grasps.WRONG] >= 1, result.rows
    assert sum(left_out.values()) + rates["grasped"].successes == rates["grasped"].n == result.rows[0]["put"] > 2


@pytest.mark.long
def test_a_hand_that_heeds_its_neighbours_meets_none_and_a_careless_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    heedful, grasped = met(None)
    careless, _ = met(monkeypatch)
    assert grasped > 2
    assert heedful == 0
    assert careless > 0
