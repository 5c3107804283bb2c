"""The perception suite: recall, precision and errors of grasp and placing poses against the simulation's ground truth.

Every episode drives the robot to a surface of the home, puts objects down in front of it (same-coloured ones among
them, one partly hidden in every third episode), takes the front camera's picture through the JPEG codec and asks for
everything in the catalogue. The light goes round through normal, dim, warm and cool. The error of a grasp is that of
the hand once it has gone there by its measured joints.
"""

import io
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from quartet_benchmarks.result import BenchParameters, BenchResult, Rate
from quartet_benchmarks.rough_catalogue import roughly
from quartet_deployment import project_root
from quartet_perception import (
    Catalogue,
    ColourShapeSegmenter,
    Grasp,
    Intrinsics,
    SegmentedObject,
    View,
    estimate,
    on_surface,
    plan_grasp,
)
from quartet_perception.errors import NoFreeSpaceError, TooFewPointsError
from quartet_simulation.simulation import Simulation
from quartet_site import RobotFile, SiteFile, load_robot, load_site

Array = NDArray[np.float64]

LIGHTS = ("normal", "dim", "warm", "cool")
PLACES = ("wooden coffee table", "kitchen counter", "dining table", "desk", "dresser", "tv stand", "floor")
GRASP_RANGE_M = 1.0
"""Grasp and height errors are counted within this distance of the base."""
WRONG_M = 0.10
"""A detection farther than this from the thing of its name is a false positive."""
CLEAR_SHARE = 0.25
"""An object counts as visible when at least this share of its outline is."""
PER_EPISODE = 5
EPISODES, SHORT_EPISODES = 20, 4
HELD_HEIGHT_M = 0.12


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


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite."""
    episodes, seed = parameters.episodes or (SHORT_EPISODES if parameters.short else EPISODES), parameters.seed
    sites = project_root() / "deploy" / "sites" / "home"
    robot, site = load_robot(sites / "robot.yaml"), load_site(sites / "site.yaml")
    catalogue = Catalogue.of_site(site)
    segmenter = ColourShapeSegmenter(catalogue if parameters.catalogue == "exact" else rough(catalogue, seed))
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
            "catalogue": parameters.catalogue,
            "camera": "front",
            "codec": f"JPEG {sim.jpeg_quality}",
        },
        _metrics(tally),
        rows,
    )


def rough(catalogue: Catalogue, seed: int) -> Catalogue:
    """Return the catalogue with its objects as a person would describe them; surfaces and containers stay."""
    rng = np.random.default_rng([seed, 78])
    return Catalogue(
        [
            replace(entry, appearance=roughly(entry.appearance, rng)) if entry.kind == "object" else entry
            for entry in catalogue.entries
        ]
    )


class Stage:
    """One scene: the robot before a place, and objects that the scoring interface puts down there."""

    def __init__(self, sim: Simulation, site: SiteFile, robot: RobotFile, seed: int, place: str, light: str) -> None:
        self.sim, self.site, self.robot = sim, site, robot
        self.seed, self.place, self.light = seed, place, light
        self.height = 0.0
        self.put: list[str] = []
        self.hidden: str | None = None
        self.frame_ms = 0.0, 0.0
        """What the last picture took to render: wall and processor time [ms]."""
        self._rng = np.random.default_rng([seed, 77])

    def set_up(self, *, hide: bool) -> None:
        """Drive there and put PER_EPISODE objects down; with `hide`, one behind another one."""
        self.sim.reset("home", self.seed, self.light)
        surface = self.sim.world.surface(self.place)
        if surface is not None and surface.approach is not None:
            self.height = surface.height
            self._drive(self.sim.navigate_to_pose(*surface.approach))
            gap = self._gap(surface.rect) - self.robot.approach.standoff_m.surface_place
            if gap > 0.02:
                self._drive(self.sim.drive_on_heading(gap, 0.3))
        names = self._choose()
        spots = [self.in_base(n)[:2] for n in self.sim.truth()["objects"] if n not in names]
        for name in names:
            spot = self._spot(spots, surface.rect if surface else None)
            if spot is None:
                break
            self._put(name, spot)
            spots.append(spot)
        if hide and len(self.put) >= 2:
            self._hide(surface.rect if surface else None)
        self.sim.step(0.3)

    def _drive(self, goal: Any) -> None:
        while goal.status == "RUNNING":
            self.sim.step(0.1)

    def _choose(self) -> list[str]:
        """Return names: a random object, two others of its colour, then any."""
        objects = [o for o in self.site.objects if o.name in self.sim.world.homes]
        first = objects[int(self._rng.integers(len(objects)))]
        same = [o.name for o in objects if set(o.appearance.colours) & set(first.appearance.colours)]
        rest = [o.name for o in objects if o.name not in same]
        chosen = [first.name, *self._rng.permutation([n for n in same if n != first.name])[:2]]
        return [str(n) for n in [*chosen, *self._rng.permutation(rest)]][:PER_EPISODE]

    def _spot(self, taken: list[Array], rect: Any) -> Array | None:
        """Return a free point in front of the robot [m, base frame]."""
        for _ in range(200):
            spot = self._rng.uniform((0.62, -0.32), (0.98, 0.32))
            if any(np.hypot(*(spot - other)) < 0.17 for other in taken):
                continue
            x, y = self._to_map(spot)
            if rect is None or (rect[0] + 0.08 < x < rect[2] - 0.08 and rect[1] + 0.08 < y < rect[3] - 0.08):
                return spot
        return None

    def _put(self, name: str, spot: Array) -> None:
        x, y = self._to_map(spot)
        self.sim.place_object(name, x, y, self.height, float(self._rng.uniform(-np.pi, np.pi)))
        self.put.append(name)

    def _hide(self, rect: Any) -> None:
        """Move the second object right before the first one, as the camera sees it."""
        view = self.view()
        back = self.in_base(self.put[0])[:2]
        aim = view.origin[:2] - back
        for gap in (0.10, 0.12, 0.14):
            spot = back + aim / np.linalg.norm(aim) * gap
            x, y = self._to_map(spot)
            inside = rect is None or (rect[0] + 0.06 < x < rect[2] - 0.06 and rect[1] + 0.06 < y < rect[3] - 0.06)
            others = [self.in_base(n)[:2] for n in self.put if n != self.put[1]]
            if inside and all(np.hypot(*(spot - o)) > 0.095 for o in others):
                self.sim.place_object(self.put[1], x, y, self.height, 0.0)
                self.hidden = self.put[0]
                return

    def _gap(self, rect: Any) -> float:
        """Return the distance from the base to a rectangle straight ahead [m]."""
        for ahead in np.arange(0.2, 4.0, 0.01):
            x, y = self._to_map(np.array([ahead, 0.0]))
            if rect[0] <= x <= rect[2] and rect[1] <= y <= rect[3]:
                return float(ahead)
        return 0.0

    def _to_map(self, point: Array) -> tuple[float, float]:
        x, y, yaw = self.sim.truth()["robot"]["pose"]
        c, s = np.cos(yaw), np.sin(yaw)
        return float(x + c * point[0] - s * point[1]), float(y + s * point[0] + c * point[1])

    def in_base(self, name: str) -> Array:
        """Return the true position of an object's middle [m, base frame], shape (3,)."""
        truth = self.sim.truth()
        x, y, yaw = truth["robot"]["pose"]
        px, py, pz = truth["objects"][name]["position"]
        c, s = np.cos(yaw), np.sin(yaw)
        return np.array([c * (px - x) + s * (py - y), c * (py - y) - s * (px - x), pz])

    def yaw_in_base(self, name: str) -> float:
        """Return the true yaw of an object that stands upright [rad, base frame]."""
        truth = self.sim.truth()
        x, y, z, w = truth["objects"][name]["quaternion"]
        return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) - truth["robot"]["pose"][2])

    def hand_at(self, grasp: Grasp) -> Array:
        """Return where the tool flange truly comes when it is sent to a grasp [4x4, base frame].

        It goes by its measured joints. Out of the arm's reach it is where it was sent.
        """
        sent = _matrix((grasp.x, grasp.y, grasp.z), grasp.quaternion)
        scene = self.sim.snapshot()
        joints = scene.ik(sent, avoid_collisions=False)
        if joints is None:
            return sent
        return scene.fk(joints - scene.positions + np.array(self.sim.truth()["robot"]["arm"]))

    def view(self) -> View:
        """Return the picture of the front camera as a robot sends it, through the JPEG codec."""
        began = time.perf_counter(), time.process_time()
        rgb, depth = self.sim.render("front")
        self.frame_ms = (time.perf_counter() - began[0]) * 1000, (time.process_time() - began[1]) * 1000
        buffer = io.BytesIO()
        Image.fromarray(rgb).save(buffer, "JPEG", quality=self.sim.jpeg_quality)
        info = self.sim.camera_info("front")
        frames = {child: (parent, _matrix(t, q)) for parent, child, t, q in self._transforms()}
        k = Intrinsics(info["fx"], info["fy"], info["cx"], info["cy"])
        return View(
            rgb=np.asarray(Image.open(buffer)),
            depth=depth,
            intrinsics=k,
            base_from_camera=_chain(frames, info["frame"], "base_footprint"),
            camera="front",
            stamp=self.sim.time,
            map_from_base=_chain(frames, "base_footprint", "map"),
            tool_in_base=_chain(frames, "arm_tool0", "base_footprint"),
        )

    def _transforms(self) -> list[Any]:
        return [*self.sim.transforms(), *self.sim.static_transforms()]


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
    if stage.place != "floor":
        _place_error(stage, view, named.get(stage.place), tally, row)
    return row


def _grasp_error(stage: Stage, view: View, item: SegmentedObject, tally: Tally, row: dict[str, Any]) -> None:
    seen = estimate(view, item)
    grasp = plan_grasp(view, seen, stage.robot)
    hand, true = stage.hand_at(grasp), stage.in_base(item.label)
    error = float(np.hypot(*(hand[:2, 3] - true[:2]))) * 1000
    tally.grasp_mm.append(error)
    if grasp.oriented:
        turned = np.arctan2(hand[1, 0], hand[0, 0]) - grasp.yaw
        off = seen.solid.yaw + turned - stage.yaw_in_base(item.label)
        # The same box stands at half a turn.
        tally.yaw_deg.append(abs(float(np.degrees((off + np.pi / 2) % np.pi - np.pi / 2))))
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
    size = catalogue.match(name, ("object",))[0].appearance.size_m
    middle = stage.in_base(name)
    radius = min(size[0], size[1]) / 2
    toward = np.arctan2(view.origin[1] - middle[1], view.origin[0] - middle[0])
    angles = toward + np.linspace(-1.0, 1.0, 7)
    heights = np.linspace(0.1, 0.95, 6) * size[2]
    base = stage.height
    points = np.array(
        [[middle[0] + radius * np.cos(a), middle[1] + radius * np.sin(a), base + h] for a in angles for h in heights]
    )
    uv, ahead = view.project(points)
    u, v = np.round(uv).astype(int).T
    rows, cols = view.shape
    inside = (u >= 0) & (u < cols) & (v >= 0) & (v < rows) & (ahead > 0)
    depth = np.where(inside, view.depth[np.clip(v, 0, rows - 1), np.clip(u, 0, cols - 1)], 0)
    return float((inside & (depth > ahead - 0.03)).mean())


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
    }


def _matrix(translation: Any, quaternion: Any) -> Array:
    x, y, z, w = quaternion
    pose = np.eye(4)
    pose[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    pose[:3, 3] = translation
    return pose


def _chain(frames: dict[str, tuple[str, Array]], frame: str, root: str) -> Array:
    pose = np.eye(4)
    while frame != root:
        frame, step = frames[frame]
        pose = step @ pose
    return pose
