"""The perception suite: recall, precision and errors of grasp and placing poses against the simulation's ground truth.

Every episode drives the robot to a surface of the home, puts objects down in front of it (same-coloured ones among
them, one partly hidden in every third episode), takes the front camera's picture through the JPEG codec and asks for
everything in the catalogue. The light goes round through normal, dim, warm and cool. The error of a grasp is that of
the hand once it has gone there by its measured joints. What is told of certainty is compared with the true errors:
of normal errors, 68 % are within one standard deviation and 95 % within two, and the median is 0.67 of one.
"""

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from quartet_benchmarks.normalised_errors import NormalisedErrors
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate
from quartet_benchmarks.rough_catalogue import told
from quartet_benchmarks.stage import LIGHTS, PLACES, Stage
from quartet_deployment import project_root
from quartet_perception import (
    Catalogue,
    ColourShapeSegmenter,
    SegmentedObject,
    View,
    estimate,
    on_surface,
    plan_grasp,
)
from quartet_perception.detection import describe
from quartet_perception.errors import NoFreeSpaceError, TooFewPointsError
from quartet_simulation.simulation import Simulation
from quartet_site import load_robot, load_site

GRASP_RANGE_M = 1.0
"""Grasp and height errors are counted within this distance of the base."""
WRONG_M = 0.10
"""A detection farther than this from the thing of its name is a false positive."""
CLEAR_SHARE = 0.25
"""An object counts as visible when at least this share of its outline is."""
EPISODES, SHORT_EPISODES = 20, 4
HELD_HEIGHT_M = 0.12
TOLD = ("base", "map", "grasp", "yaw", "width")


@dataclass
class Tally:
    """Sums over all episodes."""

    grasp_mm: list[float] = field(default_factory=list)
    yaw_deg: list[float] = field(default_factory=list)
    place_mm: list[float] = field(default_factory=list)
    segment_ms: list[float] = field(default_factory=list)
    frame_ms: list[tuple[float, float]] = field(default_factory=list)
    visible: int = 0
    found: int = 0
    hidden: int = 0
    hidden_found: int = 0
    detections: int = 0
    wrong: int = 0
    told: dict[str, NormalisedErrors] = field(default_factory=lambda: {name: NormalisedErrors() for name in TOLD})
    """Errors in told standard deviations: of detections in the base frame and in the map (x, y), of grasps between and
    across the fingers, their yaw and their width."""


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite."""
    episodes, seed = parameters.episodes or (SHORT_EPISODES if parameters.short else EPISODES), parameters.seed
    sites = project_root() / "deploy" / "sites" / "home"
    robot, site = load_robot(sites / "robot.yaml"), load_site(sites / "site.yaml")
    catalogue = Catalogue.of_site(site)
    segmenter = ColourShapeSegmenter(as_told(catalogue, parameters.catalogue or "exact", seed))
    tally = Tally()
    rows = []
    sim = Simulation("home", seed, sensors=parameters.sensors)
    try:
        for episode in range(episodes):
            stage = Stage(sim, site, robot, seed + episode, PLACES[episode % len(PLACES)], LIGHTS[episode % 4])
            stage.set_up(hide=episode % 3 == 2)
            row = _episode(stage, catalogue, segmenter, tally)
            rows.append(row | {key: ", ".join(row[key]) for key in ("missed", "wrong")})
    finally:
        sim.close()
    return BenchResult(
        "perception",
        {
            "episodes": episodes,
            "seed": seed,
            "world": "home",
            "sensors": parameters.sensors,
            "catalogue": parameters.catalogue or "exact",
            "camera": "front",
            "codec": f"JPEG {sim.jpeg_quality}",
        },
        _metrics(tally),
        rows,
    )


def as_told(catalogue: Catalogue, name: str, seed: int) -> Catalogue:
    """Return the catalogue with its objects as the catalogue of that name tells them; surfaces and containers stay.

    name: exact, rough or unsized.
    """
    objects = [entry for entry in catalogue.entries if entry.kind == "object"]
    appearances = told([entry.appearance for entry in objects], name, np.random.default_rng([seed, 78]))
    described = [replace(entry, appearance=one) for entry, one in zip(objects, appearances, strict=True)]
    return Catalogue([*described, *(entry for entry in catalogue.entries if entry.kind != "object")])


def _episode(stage: Stage, catalogue: Catalogue, segmenter: ColourShapeSegmenter, tally: Tally) -> dict[str, Any]:
    view = stage.view()
    started = time.perf_counter()
    found = segmenter.segment(view, [t.name for t in catalogue.entries])
    took = (time.perf_counter() - started) * 1000
    tally.segment_ms.append(took)
    tally.frame_ms.append(stage.frame_ms)
    truth = stage.sim.truth()["objects"]
    seen = {n: _visible_share(stage, view, catalogue, n) for n in stage.put}
    row: dict[str, Any] = {
        "seed": stage.seed, "place": stage.place, "light": stage.light, "ms": round(took, 1),
        "objects": ", ".join(f"{n} {seen[n]:.0%}" for n in stage.put), "missed": [], "wrong": [],
    }  # fmt: skip
    named = {f.label: f for f in reversed(found)}
    for name in stage.put:
        if seen[name] < CLEAR_SHARE:
            continue
        item = named.get(name)
        right = item is not None and _distance(stage, item) < WRONG_M
        tally.visible += 1
        tally.found += right
        if name == stage.hidden:
            tally.hidden += 1
            tally.hidden_found += right
        if not right or item is None:
            row["missed"].append(name)
        elif np.hypot(*stage.in_base(name)[:2]) < GRASP_RANGE_M:
            _grasp_error(stage, view, item, tally, row)
    for item in found:
        if item.entry is None or item.entry.kind != "object":
            continue
        tally.detections += 1
        if item.label not in truth or _distance(stage, item) > WRONG_M:
            tally.wrong += 1
            row["wrong"].append(item.label)
        else:
            _told_position(stage, view, item, tally)
    if stage.place != "floor":
        _place_error(stage, view, named.get(stage.place), tally, row)
    return row


def _told_position(stage: Stage, view: View, item: SegmentedObject, tally: Tally) -> None:
    detection, true = describe(view, item), stage.sim.truth()["objects"][item.label]["position"]
    for frame, place, position, deviations in (
        ("base", stage.in_base(item.label), detection.position_base, detection.position_base_sd),
        ("map", true, detection.position_map, detection.position_map_sd),
    ):
        if position is not None and deviations is not None:
            # A thing's origin need not be at half of its height.
            tally.told[frame].add(np.subtract(position, place)[:2], deviations[:2])


def _grasp_error(stage: Stage, view: View, item: SegmentedObject, tally: Tally, row: dict[str, Any]) -> None:
    seen = estimate(view, item)
    grasp = plan_grasp(view, seen, stage.robot)
    hand, true = stage.hand_at(grasp), stage.in_base(item.label)
    error = float(np.hypot(*(hand[:2, 3] - true[:2]))) * 1000
    tally.grasp_mm.append(error)
    axes = np.array([[np.cos(grasp.yaw), np.sin(grasp.yaw)], [-np.sin(grasp.yaw), np.cos(grasp.yaw)]])
    sure = grasp.uncertainty
    tally.told["grasp"].add(axes @ (hand[:2, 3] - true[:2]), (sure.between, sure.across))
    width = stage.width_of(item.label, grasp.yaw - seen.solid.yaw)
    if width is not None:
        tally.told["width"].add([grasp.width - width], [sure.width])
    if grasp.oriented:
        turned = np.arctan2(hand[1, 0], hand[0, 0]) - grasp.yaw
        off = seen.solid.yaw + turned - stage.yaw_in_base(item.label)
        # The same box stands at half a turn.
        off = (off + np.pi / 2) % np.pi - np.pi / 2
        tally.yaw_deg.append(abs(float(np.degrees(off))))
        if sure.yaw is not None:
            tally.told["yaw"].add([off], [sure.yaw])
    if error > row.get("worst_grasp_mm", -1.0):
        row["worst_grasp_mm"], row["worst_grasp"] = round(error, 1), item.label


def _place_error(stage: Stage, view: View, item: SegmentedObject | None, tally: Tally, row: dict[str, Any]) -> None:
    if item is None:
        row["missed"].append(stage.place)
        return
    try:
        drop = on_surface(view, item, HELD_HEIGHT_M, stage.robot)
    except (NoFreeSpaceError, TooFewPointsError) as error:
        row["place"] += f" ({type(error).__name__})"
        return
    error = abs(drop.underside[2] - stage.height) * 1000
    tally.place_mm.append(error)
    row["place_mm"] = round(error, 1)


def _distance(stage: Stage, item: SegmentedObject) -> float:
    if item.solid is None or item.label not in stage.sim.truth()["objects"]:
        return np.inf
    return float(np.linalg.norm(item.solid.centre - stage.in_base(item.label)))


def _visible_share(stage: Stage, view: View, catalogue: Catalogue, name: str) -> float:
    """Return the visible share of points on the side of an object's bounding cylinder that faces the camera."""
    size = catalogue.match(name, ("object",))[0].appearance.known_size_m
    middle = stage.in_base(name)
    radius = min(size[0], size[1]) / 2
    toward = np.arctan2(view.origin[1] - middle[1], view.origin[0] - middle[0])
    angles = toward + np.linspace(-1.0, 1.0, 7)
    heights = np.linspace(0.1, 0.95, 6) * size[2]
    base = stage.height
    points = np.array(
        [[middle[0] + radius * np.cos(a), middle[1] + radius * np.sin(a), base + h] for a in angles for h in heights]
    )
    pixels, ahead, _ = view.pixels_of(points)
    return float((view.depth[pixels] > ahead - 0.03).sum()) / len(points)


def _metrics(tally: Tally) -> dict[str, float | Rate]:
    def percentile(values: list[float], q: float) -> float:
        return float(np.percentile(values, q)) if values else float("nan")

    return {
        "grasp_error_mm_p50": percentile(tally.grasp_mm, 50),
        "grasp_error_mm_p95": percentile(tally.grasp_mm, 95),
        "yaw_error_deg_p95": percentile(tally.yaw_deg, 95),
        "place_height_error_mm_p95": percentile(tally.place_mm, 95),
        "recall": Rate(tally.found, tally.visible),
        "recall_partly_hidden": Rate(tally.hidden_found, tally.hidden),
        "precision": Rate(tally.detections - tally.wrong, tally.detections),
        "segment_ms_p50": percentile(tally.segment_ms, 50),
        "frame_ms_p50": percentile([wall for wall, _ in tally.frame_ms], 50),
        "frame_cpu_ms_p50": percentile([busy for _, busy in tally.frame_ms], 50),
    } | {key: value for name, errors in tally.told.items() for key, value in errors.metrics(name).items()}
