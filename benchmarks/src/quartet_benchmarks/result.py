"""Result of a suite: figures, rates with their intervals, rows, and the machine that they were measured on."""

import math
import os
import platform
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from quartet_deployment import DEFAULT_SENSORS

Z95 = 1.959963984540054
"""Standard normal quantile of a two-sided 95 % interval."""
START_TIMEOUT_S = 180.0
"""Time that the processes of a measured deployment have to become ready [s]: other work may load the machine."""


@dataclass(frozen=True)
class BenchParameters:
    """Parameters of a suite."""

    seed: int = 0
    seeds: tuple[int, ...] = ()
    """Several seeds whose results are pooled; (): `seed` alone."""
    short: bool = False
    """Measure less, so that it ends within 50 s on 2 idle cores."""
    episodes: int | None = None
    """Number of episodes; None: the suite's own."""
    sensors: str = DEFAULT_SENSORS
    """Level of the simulated sensors: clean, typical or harsh."""
    catalogue: str | None = None
    """How well site.yaml describes things: exact, stated, rough or unsized; None: the suite's own."""
    worlds: tuple[str, ...] = ()
    """Worlds of the simulation, as in `quartet up --world`; none: the suite's own."""
    kinds: tuple[str, ...] = ()
    """Robots of the simulation, as in `quartet up --robot`; (): that of the world."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of this suite alone."""
    progress: Callable[[str], None] = print
    """Called with one line about each step."""

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """All seeds, one at least."""
        return self.seeds or (self.seed,)


@dataclass(frozen=True)
class Rate:
    """`successes` of `n`, printed with its 95 % interval."""

    successes: int
    n: int
    clusters: tuple[tuple[int, int], ...] = ()
    """Successes and trials of each home, or whatever else trials share; none: the trials are independent."""

    @property
    def value(self) -> float:
        """The rate as a number, NaN when n is 0."""
        return self.successes / self.n if self.n else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval (Wilson 1927, JASA 22:209), which stays inside [0, 1] for small n.

        With clusters, that of `clustered`.
        """
        return clustered(self.clusters) if self.clusters else wilson(self.successes, self.n)


def clustered(clusters: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return the 95 % interval of a rate whose trials come in clusters, each (successes, trials).

    Wilson's interval of an effective number of trials: n over the design effect, the variance between clusters relative
    to that of independent trials (Rao and Scott 1992, Biometrics 48:577), with Student's quantile of k - 1 degrees of
    freedom for k clusters. The design effect is at least 1. One cluster says nothing of others, so it gives (0, 1). At
    a rate of 0 or 1 clusters show no variance: the trials count as independent, and the interval is too narrow.
    """
    used = [(successes, trials) for successes, trials in clusters if trials]
    k, n = len(used), sum(trials for _, trials in used)
    if k < 2:
        return 0.0, 1.0
    p = sum(successes for successes, _ in used) / n
    between = k / (k - 1) * sum((successes - p * trials) ** 2 for successes, trials in used) / n
    effect = max(1.0, between / (p * (1 - p))) if 0 < p < 1 else 1.0
    return wilson(p * n / effect, n / effect, student95(k - 1))


def student95(freedom: int) -> float:
    """Return Student's quantile of a two-sided 95 % interval.

    Hill's expansion from the normal quantile (Abramowitz and Stegun 26.7.5) for 3 or more degrees of freedom, where it
    is off by 0.5 % at most; exact below.
    """
    if freedom < 3:
        return (12.7062, 4.3027)[freedom - 1]
    z, found = Z95, Z95
    found += (z**3 + z) / (4 * freedom)
    found += (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    found += (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    return found + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * freedom**4)


def wilson(successes: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Return Wilson's score interval of `successes` in `n` trials; (0, 1) when n is 0.

    Raises ValueError when successes is not within 0..n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"successes={successes} must be within 0..n={n}")
    if n == 0:
        return 0.0, 1.0
    p = successes / n
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # Rounding must not push a bound past the rate itself at 0 and n.
    return max(0.0, min(p, (centre - half) / scale)), min(1.0, max(p, (centre + half) / scale))


def percentile(values: list[float], share: float) -> float:
    """Return the value below which `share` (0..1) of the values lie, linearly interpolated; NaN when there are none."""
    if not values:
        return math.nan
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass
class BenchResult:
    """Figures of one suite."""

    suite: str
    parameters: dict[str, Any]
    metrics: dict[str, float | Rate]
    """Headline figures by name; a Rate is written to JSON as its value."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    details: list[dict[str, Any]] = field(default_factory=list)
    """Every single trial; only in the JSON."""
    notes: list[str] = field(default_factory=list)
    """How a figure was taken, for the reader of the table."""

    def as_json(self) -> dict[str, Any]:
        """Return the object that --json writes; figures that do not exist (NaN, infinite) are null."""
        rates = {name: value for name, value in self.metrics.items() if isinstance(value, Rate)}
        return {
            "suite": self.suite,
            "commit": commit(),
            "machine": machine(),
            "parameters": self.parameters,
            "metrics": {name: _number(value) for name, value in self.metrics.items()},
            "intervals": {
                name: {"n": rate.n, "low": rate.interval[0], "high": rate.interval[1]}
                | ({"clusters": len(rate.clusters)} if rate.clusters else {})
                for name, rate in rates.items()
            },
            "rows": _finite(self.rows),
            "details": _finite(self.details),
            "notes": self.notes,
        }


def machine() -> dict[str, Any]:
    """Return cores, memory [GB] and Python version of this machine."""
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "python": platform.python_version(),
    }


def commit() -> str:
    """Return the commit that is checked out, with + when files differ from it; "unknown" outside of a repository."""
    try:
        run = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return run.stdout.strip()


def _number(value: float | Rate) -> float | None:
    number = value.value if isinstance(value, Rate) else value
    return round(number, 4) if math.isfinite(number) else None


def _finite(value: Any) -> Any:
    """Return `value` with null for every number that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
