"""Success of the home suite against one thing that makes it hard, all else equal: a curve for each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from quartet_benchmarks.charts import Bar, Chart, draw
from quartet_benchmarks.environments import python_of
from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.home.tiers import LIGHTS, Tier
from quartet_benchmarks.result import BenchResult, Rate


@dataclass(frozen=True)
class Variation:
    """One thing that is varied: the fields of the tier at each of its levels, from easy to hard."""

    title: str
    levels: dict[str, dict[str, Any]]
    always: dict[str, Any] = field(default_factory=dict[str, Any])
    """Fields of the tier at all levels."""

    def tiers(self, tier: Tier) -> dict[str, Tier]:
        """Return the tier at each level."""
        return {level: replace(tier, **self.always, **fields) for level, fields in self.levels.items()}


VARIATIONS = {
    "sensors": Variation("noise of the sensors", {one: {"sensors": one} for one in ("clean", "typical", "harsh")}),
    "light": Variation("light", {one: {"lights": (one,)} for one in LIGHTS}),
    "clutter": Variation("how close things stand", {one: {"spacing": one} for one in ("roomy", "crowded", "packed")}),
    "occlusion": Variation(
        "share of the episodes with something behind a carton",
        {f"{share:.0%}": {"hidden_share": share} for share in (0.0, 0.5, 1.0)},
        # The carton is one of the things that no catalogue has.
        always={"unknown_things": 4},
    ),
}
"""What can be varied, by its name; `docs/worlds.md` says what the levels are."""

Play = Callable[[Tier], BenchResult]


def find_variations(names: Sequence[str]) -> list[str]:
    """Return the names without repetitions. Raises OptionError for one that there is not."""
    for name in names:
        if name not in VARIATIONS:
            raise OptionError(f"vary: there is no '{name}'; valid: {', '.join(VARIATIONS)}")
    return list(dict.fromkeys(names))


def vary(names: Sequence[str], tier: Tier, play: Play, out: Path, progress: Callable[[str], None]) -> BenchResult:
    """Return what `play` gives with each level of each variation, one after the other, and draw a curve for each.

    Args:
        names: of VARIATIONS.
        tier: what the levels change one thing of.
        play: plays the episodes of a tier; the same ones each time, as far as they fit.
        out: folder of the curves.
        progress: called with a line about each level, and about the files.

    Raises:
        OptionError: A name that there is not.
        MissingExtraError: There is no uv.
        MeasurementError: The curves cannot be drawn.
    """
    metrics: dict[str, float | Rate] = {}
    rows: list[dict[str, Any]] = []
    details: list[dict[str, Any]] = []
    notes: list[str] = []
    parameters: dict[str, Any] = {}
    charts: list[Chart] = []
    names = find_variations(names)
    # Before an hour of episodes, whose curves could not be drawn.
    python_of("charts")
    for name in names:
        points: list[Bar] = []
        for level, changed in VARIATIONS[name].tiers(tier).items():
            progress(f"{name}: {level}")
            result = play(changed)
            parameters = result.parameters
            success = result.metrics["feasible_success_rate"]
            assert isinstance(success, Rate)
            metrics[f"{name}_{level}_success_rate"] = success
            low, high = success.interval
            points.append(Bar(level, success.value, low, high))
            rows.append(_row(name, level, success, result))
            details += [{"varied": name, "level": level, **detail} for detail in result.details]
            notes += [f"{name} {level}: {note}" for note in result.notes if note.startswith(("harm", "wrong with"))]
        title = f"Success against {VARIATIONS[name].title} (lines: 95 % intervals)"
        charts.append(Chart(f"home-{name}", title, "success", {"feasible tasks": points}, curve=True))
    for file in draw(charts, out):
        progress(f"curve: {file}")
    varied = {"varied": ", ".join(names), "tier": tier.name}
    same = {key: parameters[key] for key in ("episodes", "seed", "worlds", "robot", "model")}
    notes.append(
        "Success of the feasible tasks by ground truth, as in the tiers. One thing is varied at a time, the rest is "
        "that of the tier. All levels draw their episodes by the same seeds; where things do not fit, another one is "
        "drawn."
    )
    return BenchResult("home", varied | same, metrics, rows, details, notes)


def _row(name: str, level: str, success: Rate, result: BenchResult) -> dict[str, Any]:
    low, high = success.interval
    return {
        "varied": name,
        "level": level,
        "success": success.successes,
        "n": success.n,
        "interval": f"{low:.2f} to {high:.2f}",
        "false": result.metrics["false_successes"],
        "harm": _successes(result.metrics["episodes_with_harm"]),
        "broken down": result.metrics["episodes_broken_down"],
        "wall_s_p50": result.metrics["job_wall_s_p50"],
    }


def _successes(rate: float | Rate) -> int:
    assert isinstance(rate, Rate)
    return rate.successes
