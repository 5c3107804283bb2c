"""The resume suite: what robots claim to reach against inverse kinematics and collision checks.

Points are drawn from each claim of a body with an arm, and poses are searched for with other random numbers and three
times the starts of the claim. A pose counts if MuJoCo's kinematics of the simulated robot has the grasp point there and
its planner finds no collision. Points over the whole half-plane of the claims show what is reached and not claimed.
"""

import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate
from quartet_deployment import project_root
from quartet_simulation.bodies.body import Body
from quartet_simulation.bodies.contacts import Contacts
from quartet_simulation.bodies.load import ROBOT_FILE, body_files, build_of, find_body
from quartet_simulation.bodies.reach import in_plane
from quartet_simulation.bodies.resume import resume_of
from quartet_simulation.bodies.solve import ROUNDS, Solver
from quartet_simulation.bodies.workspace import sample
from quartet_simulation.errors import SimulationError
from quartet_simulation.mobile.file import bare
from quartet_site import Reach, Resume, rendered
from quartet_site.resume import Span

POINTS, SHORT_POINTS = 500, 60
"""Of a claim, of sphere and box; the half-plane has four times as many."""
SHORT_BODIES = ("lifter", "rover")
OTHER_SEED = 1_000_003
"""Added to the seed of the resume for the search of the check."""
MARGIN_M = 0.1
"""Points of the half-plane are drawn up to this far beyond what is claimed."""
NEAR_M = 0.001
"""A grasp point that is so near is reached."""
SHAPES = "sphere and box are the published shapes of the workspace, checked over the floor, without a target"
KINDS = {"from above": True, "any angle": False}


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite."""
    points = SHORT_POINTS if parameters.short else POINTS
    rows, bands, notes = list[dict[str, Any]](), list[dict[str, Any]](), [SHAPES]
    for name, path in bodies(parameters).items():
        try:
            body = find_body(str(path), path.parent)
        except SimulationError as error:
            notes.append(f"{name}: not measured: {str(error).splitlines()[-1].strip()}")
            continue
        if body.arm is None:
            notes.append(f"{name}: has no arm and claims no reach")
            continue
        parameters.progress(name)
        row, found = _measure(path, body, points, parameters.seed)
        rows.append({"body": name} | row)
        bands += [{"body": name} | one for one in found]
    return BenchResult(
        "resume",
        {"points": points, "seed": parameters.seed, "bodies": len(rows)},
        {
            "claimed_reached": Rate(sum(one["reached"] for one in bands), points * len(bands)),
            "reached_claimed": Rate(sum(row["claimed"] for row in rows), sum(row["reached"] for row in rows)),
            "claimed_reached_worst_band": min((row["worst_band"] for row in rows), default=math.nan),
            "reached_claimed_worst_body": min((row["reached_claimed"] for row in rows), default=math.nan),
            "cpu_s_most": max((row["cpu_s"] for row in rows), default=math.nan),
            "unstable_json": float(sum(not row["stable"] for row in rows)),
        },
        rows,
        bands,
        notes,
    )


def bodies(parameters: BenchParameters) -> dict[str, Path]:
    """Return the file of each body that is measured. Raises OptionError for a robot that there is not."""
    deploy = project_root() / "deploy"
    found = {**body_files(deploy / "robots"), "home": deploy / "sites" / "home" / ROBOT_FILE}
    if unknown := [name for name in parameters.kinds if name not in found]:
        raise OptionError(f"robot: there is no '{unknown[0]}'; valid: {', '.join(sorted(found))}")
    if parameters.kinds:
        return {name: found[name] for name in parameters.kinds}
    return {name: path for name, path in found.items() if not parameters.short or name in SHORT_BODIES}


class Check:
    """Whether the simulated arm of a body reaches points."""

    def __init__(self, path: Path, body: Body, seed: int) -> None:
        assert body.arm is not None
        self._solver = Solver(sample(Contacts(body, body.arm), seed), seed)
        self._body = body
        self._planner = bare(build_of(path)) if path.name == ROBOT_FILE else None

    @classmethod
    def of(cls, path: Path, seed: int) -> "Check":
        """Return the check of the body of a robot.yaml or body.yaml."""
        return cls(path, find_body(str(path), path.parent), seed)

    def reached(self, points: np.ndarray, *, from_above: bool) -> np.ndarray:
        """Return for points (N, 3) in the base frame [m] whether a pose was found that holds, (N,)."""
        found = self._solver.solve(points, from_above=from_above, rounds=3 * ROUNDS)
        return np.array([not np.isnan(q[0]) and self._holds(q, point) for q, point in zip(found, points, strict=True)])

    def _holds(self, joints: np.ndarray, point: np.ndarray) -> bool:
        if np.abs(self._body.tip_at(joints)[:3, 3] - point).max() > NEAR_M:
            return False
        if self._planner is None:
            return True
        self._planner.set_arm(joints)
        return not self._planner.colliding()


def _measure(path: Path, body: Body, points: int, seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the row of a body, and how many points of each of its claims are reached."""
    begun = time.process_time()
    resume = resume_of(body, seed)
    cpu_s = time.process_time() - begun
    assert resume.reach is not None
    stable = rendered(resume_of(body, seed), "json") == rendered(resume, "json")
    check, rng = Check(path, body, seed + OTHER_SEED), np.random.default_rng(seed)
    bands = list(_claims(resume.reach, check, points, rng))
    shares = [one["reached"] / points for one in bands]
    reached, claimed = _half_plane(resume.reach, check, 4 * points, rng)
    sphere, box = _shapes(resume, check, points, rng)
    row = {
        "claimed_reached": round(float(np.mean(shares)), 4),
        "worst_band": min(shares),
        "reached_claimed": round(claimed / reached, 4),
        "claimed": claimed,
        "reached": reached,
        "sphere_reached": sphere,
        "box_reached": box,
        "cpu_s": round(cpu_s, 1),
        "stable": stable,
    }
    return row, bands


def _claims(reach: Reach, check: Check, points: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield for each claim how many of its points are reached."""
    for kind, from_above in KINDS.items():
        claims = [(band.height, spans) for band in reach.bands if (spans := band.spans(from_above=from_above))]
        drawn = [
            in_plane(_within(spans, points, rng), rng.uniform(*height, points), reach.bearing)
            for height, spans in claims
        ]
        reached = check.reached(np.vstack([np.empty((0, 3)), *drawn]), from_above=from_above)
        for (height, _), hits in zip(claims, reached.reshape(-1, points), strict=True):
            yield {"height": list(height), "kind": kind, "points": points, "reached": int(hits.sum())}


def _within(spans: Sequence[Span], points: int, rng: np.random.Generator) -> np.ndarray:
    """Return distances (points,) that are uniform over spans."""
    lengths = np.array([high - low for low, high in spans])
    chosen = rng.choice(len(spans), points, p=lengths / lengths.sum())
    return np.array(spans)[chosen, 0] + rng.uniform(size=points) * lengths[chosen]


def _half_plane(reach: Reach, check: Check, points: int, rng: np.random.Generator) -> tuple[int, int]:
    """Return how many points of the half-plane are reached in either way, and how many of these are claimed."""
    farthest = max(high for band in reach.bands for _, high in (*band.from_above, *band.any_angle))
    distances = rng.uniform(0.0, farthest + MARGIN_M, points)
    heights = rng.uniform(0.0, reach.bands[-1].height[1] + MARGIN_M, points)
    drawn, reached, claimed = in_plane(distances, heights, reach.bearing), 0, 0
    for from_above in KINDS.values():
        hits = check.reached(drawn, from_above=from_above)
        reached += int(hits.sum())
        claimed += sum(
            reach.claims(float(distance), float(height), from_above=from_above)
            for distance, height in zip(distances[hits], heights[hits], strict=True)
        )
    return reached, claimed


def _shapes(resume: Resume, check: Check, points: int, rng: np.random.Generator) -> Iterator[float]:
    """Yield the shares that are reached of the points over the floor in sphere and box of a workspace."""
    sphere, box = resume.body.sphere, resume.body.box
    assert sphere is not None
    assert box is not None
    ways = rng.normal(size=(points, 3))
    ways *= sphere.radius * rng.uniform(size=(points, 1)) ** (1 / 3) / np.linalg.norm(ways, axis=1, keepdims=True)
    for drawn in (np.array(sphere.center) + ways, rng.uniform(box.min_bound, box.max_bound, (points, 3))):
        over = drawn[drawn[:, 1] > 0][:, (0, 2, 1)]
        yield round(float(check.reached(over, from_above=False).mean()), 4)
