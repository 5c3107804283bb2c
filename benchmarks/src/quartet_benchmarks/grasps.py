"""The grasp suite: whether the hand meets what stands beside an object on its way down, by ground truth.

Every episode drives the robot to a surface of the home and puts objects down close together, as in the tiers of the
home suite. Each object that the front camera shows is grasped in thought: from that picture alone, as the pick agent
does, which looks from above where the first picture is not sure, and from above in any case, where both looks count.
The hand is set down where it would truly come, fingers open as wide as the grasp says, and its distances to everything
are measured on the whole way. What was put down and not grasped is in no other figure; the result counts it by the
reason.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quartet_benchmarks.result import BenchParameters, BenchResult, Rate
from quartet_benchmarks.stage import LIGHTS, PLACES, Stage
from quartet_deployment import project_root
from quartet_perception import (
    Catalogue,
    ColourShapeSegmenter,
    Estimate,
    Grasp,
    SegmentedObject,
    View,
    estimate,
    plan_grasp,
)
from quartet_perception.errors import ObjectTooWideError, TooFewPointsError
from quartet_perception.estimate import still_there
from quartet_perception.fusion import Look, LookMemory
from quartet_simulation.simulation import Simulation
from quartet_site import load_robot, load_site

EPISODES, SHORT_EPISODES = 28, 4
WRONG_M = 0.05
"""What is found farther than this from the thing of its name is another one; the home suite counts those."""
REACH_M = 1.0
WAY_M = (0.0, 0.01, 0.02, 0.04, 0.06, 0.09)
"""Heights over the grasp at which distances are measured."""
WAYS = ("front", "as_pick", "above")
OUT_OF_REACH, NOT_FOUND, WRONG, NO_GRASP, NO_JOINTS = (
    "out_of_reach",
    "not_found",
    "wrong_place",
    "no_grasp",
    "no_joints",
)
LEFT_OUT = {
    OUT_OF_REACH: f"it is farther than {REACH_M:g} m from the robot",
    NOT_FOUND: "the front picture does not show it, or not its shape",
    WRONG: f"it was found more than {WRONG_M * 100:g} cm from where it is",
    NO_GRASP: "too few points, or too wide for the gripper",
    NO_JOINTS: "the arm has no joints for the pose above it",
}
"""Why an object is not grasped."""


@dataclass
class Tally:
    """Sums over all episodes, by the way in which a grasp was found."""

    put: int = 0
    """Objects that were put down."""
    left_out: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LEFT_OUT, 0))
    """Those that were not grasped, by reason."""
    grasps: int = 0
    looked_again: int = 0
    none_above: int = 0
    """Grasps that the picture from above did not give; the first one stands for it."""
    met: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WAYS, 0))
    """Grasps on the way to which the hand is within another thing, or within the wanted one."""
    error_mm: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite."""
    episodes, seed = parameters.episodes or (SHORT_EPISODES if parameters.short else EPISODES), parameters.seed
    sites = project_root() / "deploy" / "sites" / "home"
    robot, site = load_robot(sites / "robot.yaml"), load_site(sites / "site.yaml")
    segmenter = ColourShapeSegmenter(Catalogue.of_site(site))
    tally, rows = Tally(), list[dict[str, Any]]()
    sim = Simulation("home", seed, sensors=parameters.sensors)
    try:
        for episode in range(episodes):
            stage = Stage(sim, site, robot, seed + episode, PLACES[episode % len(PLACES)], LIGHTS[episode % 4])
            stage.set_up_packed()
            rows.append(_episode(stage, segmenter, tally))
    finally:
        sim.close()
    return BenchResult(
        "grasps",
        {"episodes": episodes, "seed": seed, "world": "home", "sensors": parameters.sensors},
        _metrics(tally),
        rows,
        notes=[
            "met and error: of grasps alone. Of the objects that were put down, left_out were not grasped: "
            + "; ".join(f"{reason}: {why}" for reason, why in LEFT_OUT.items())
            + ". none_from_above: the picture from above gave no grasp, the front one's counts for it."
        ],
    )


def _episode(stage: Stage, segmenter: ColourShapeSegmenter, tally: Tally) -> dict[str, Any]:
    view = stage.view()
    found = {one.label: one for one in reversed(segmenter.segment(view, stage.put))}
    row: dict[str, Any] = {"seed": stage.seed, "place": stage.place, "light": stage.light, "grasps": 0, "met": ""}
    row |= {"put": len(stage.put), "left_out": ""}
    tally.put += len(stage.put)
    for name in stage.put:
        planned = _first_grasp(stage, view, found.get(name), name)
        if isinstance(planned, str):
            tally.left_out[planned] += 1
            row["left_out"] += f"{name}: {planned}; "
            continue
        seen, first = planned
        true = stage.in_base(name)[:2]
        above = _from_above(stage, segmenter, view, seen, first, name)
        tally.none_above += above is None
        nearer = above or first
        row["grasps"] += 1
        tally.grasps += 1
        tally.looked_again += not first.sure
        for way, grasp in zip(WAYS, (first, first if first.sure else nearer, nearer), strict=True):
            hand = stage.hand_at(grasp)
            tally.error_mm[way].append(float(np.hypot(*(hand[:2, 3] - true))) * 1000)
            if (met := _met(stage, grasp)) is not None:
                tally.met[way] += 1
                row["met"] += f"{name} {way}: {met}; "
    return row


def _first_grasp(stage: Stage, view: View, item: SegmentedObject | None, name: str) -> tuple[Estimate, Grasp] | str:
    """Return the grasp of an object by the front picture, or the reason why there is none."""
    true = stage.in_base(name)[:2]
    if np.hypot(*true) > REACH_M:
        return OUT_OF_REACH
    if item is None or item.solid is None:
        return NOT_FOUND
    if np.hypot(*(item.solid.centre[:2] - true)) > WRONG_M:
        return WRONG
    try:
        seen = estimate(view, item)
        grasp = plan_grasp(view, seen, stage.robot, (), stage.wrist_camera())
    except (TooFewPointsError, ObjectTooWideError):
        return NO_GRASP
    return (
        (seen, grasp) if stage.joints_at(grasp, stage.robot.manipulation.pre_grasp_height_m) is not None else NO_JOINTS
    )


def _from_above(
    stage: Stage, segmenter: ColourShapeSegmenter, before: View, seen: Estimate, grasp: Grasp, name: str
) -> Grasp | None:
    """Return the grasp that the wrist camera gives from above an object, None where it gives none."""
    joints = stage.joints_at(grasp, stage.robot.manipulation.pre_grasp_height_m)
    assert joints is not None
    at_rest, opening = stage.sim.truth()["robot"]["arm"], stage.robot.gripper.stroke_m
    stage.sim.put_arm(joints, grasp.opening)
    try:
        view = stage.view("arm")
        found = [one for one in segmenter.segment(view, [name]) if not one.in_gripper]
        if found:
            looks = LookMemory(stage.robot.arm.tool_error_m)
            for picture, one in ((before, seen), (view, estimate(view, found[0]))):
                x, y, z = (float(value) for value in picture.origin)
                seen = looks.add(name, Look(one, (0.0, 0.0, 0.0), (x, y, z), picture.stamp)).seen
        elif not still_there(view, seen):
            return None
        return plan_grasp(view, seen, stage.robot, [before], stage.wrist_camera())
    except (TooFewPointsError, ObjectTooWideError):
        return None
    finally:
        stage.sim.put_arm(at_rest, opening)


def _met(stage: Stage, grasp: Grasp) -> str | None:
    """Return what the hand is within on its way down to a grasp, None where it is free."""
    at_rest, opening = stage.sim.truth()["robot"]["arm"], stage.robot.gripper.stroke_m
    way = [stage.joints_at(grasp, above) for above in WAY_M]
    try:
        for joints in way:
            if joints is None:
                return "out of reach"
            stage.sim.put_arm(joints, grasp.opening)
            for thing, distance in stage.sim.hand_distances().items():
                if distance < 0:
                    return f"{thing} ({distance * 1000:.0f} mm)"
    finally:
        stage.sim.put_arm(at_rest, opening)
    return None


def _metrics(tally: Tally) -> dict[str, float | Rate]:
    found: dict[str, float | Rate] = {f"met_{way}": Rate(tally.met[way], tally.grasps) for way in WAYS}
    found["looked_again"] = Rate(tally.looked_again, tally.grasps)
    found["none_from_above"] = Rate(tally.none_above, tally.grasps)
    found["grasped"] = Rate(tally.grasps, tally.put)
    found |= {f"left_out_{reason}": Rate(count, tally.put) for reason, count in tally.left_out.items()}
    for way, errors in tally.error_mm.items():
        for q in (50, 95):
            found[f"error_mm_{way}_p{q}"] = float(np.percentile(errors, q)) if errors else float("nan")
    return found
