"""Runs every suite in its short form, each in a process of its own, and writes one page of figures and charts."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from quartet_benchmarks.charts import charts_of, draw
from quartet_benchmarks.errors import MeasurementError, MissingExtraError
from quartet_benchmarks.result import commit, machine
from quartet_deployment import project_root, state_folder

LIMIT_S = 1200
"""Wall time of one suite; its short form takes about 50 s on idle cores."""
PAGE = Path("benchmarks", "RESULTS.md")
"""Below the project's root."""
CHARTS = Path("benchmarks", "results")
"""Folder of the charts, below the project's root."""
PACKAGES = ("fastmcp", "litellm", "mcp", "mujoco", "ompl", "pydantic", "redis")
"""Libraries whose versions move the figures."""
REASON_LINES = 3
TABLE = ("| figure | value | n | 95 % interval |", "|---|---|---|---|")


@dataclass(frozen=True)
class SuiteRun:
    """What became of one suite."""

    suite: str
    wall_s: float
    result: dict[str, Any] | None
    """What --json wrote; None for a suite that gave no figures."""
    reason: str = ""
    """Why there are none: the end of what the suite said."""


def run_all(suites: Sequence[str], seed: int, progress: Callable[[str], None]) -> list[SuiteRun]:
    """Run `suites` one after the other and return what became of each; write the page after each of them.

    Results and what the suites printed are kept in `.quartet/bench-all`. Raises ProjectNotFoundError.
    """
    written, folder = project_root() / PAGE, state_folder() / "bench-all"
    folder.mkdir(parents=True, exist_ok=True)
    done: list[SuiteRun] = []
    for suite in suites:
        progress(f"{suite} ({len(done) + 1} of {len(suites)})")
        done.append(_run(suite, seed, folder))
        progress(f"  {done[-1].reason or 'measured'} ({done[-1].wall_s:.0f} s)")
        written.write_text(page(done, seed))
    progress("charts")
    written.write_text(page(done, seed, charts(done)))
    return done


def charts(runs: Sequence[SuiteRun]) -> list[Path] | str:
    """Draw the charts of `runs` and return their files, or why there are none. Raises ProjectNotFoundError."""
    results = {run.suite: run.result for run in runs if run.result is not None}
    try:
        return draw(charts_of(results), project_root() / CHARTS)
    except (MeasurementError, MissingExtraError) as error:
        return str(error)


def _run(suite: str, seed: int, folder: Path) -> SuiteRun:
    output, log = folder / f"{suite}.json", folder / f"{suite}.log"
    output.unlink(missing_ok=True)
    command = [sys.executable, "-m", "quartet_cli", "bench", suite, "--short", "--seed", str(seed)]
    begun = time.monotonic()
    with log.open("w") as printed:
        try:
            subprocess.run([*command, "--json", str(output)], stdout=printed, stderr=printed, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return SuiteRun(suite, time.monotonic() - begun, None, f"it did not end within {LIMIT_S} s")
    wall_s = time.monotonic() - begun
    if not output.is_file():
        said = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
        return SuiteRun(suite, wall_s, None, " ".join(said[-REASON_LINES:]) or "it said nothing")
    return SuiteRun(suite, wall_s, json.loads(output.read_text()))


def page(runs: Sequence[SuiteRun], seed: int, drawn: Sequence[Path] | str = ()) -> str:
    """Return the Markdown of `runs`: machine, versions, commit, then the figures of each, or why there are none.

    `drawn` are the charts, or why there are none.
    """
    facts = machine()
    measured = next((run.result["commit"] for run in runs if run.result is not None), commit())
    lines = [
        "# Results",
        "",
        "Written by `quartet bench all`: every suite in its short form, which shows that it runs and what it measures.",
        "The samples are small; run a suite alone for figures to rely on. Models are scripted: no figure is an LLM's.",
        "",
        f"- commit {measured}, seed {seed}",
        f"- {facts['cores']} cores, {facts['memory_gb']} GB, Python {facts['python']}; load average at the end "
        f"{os.getloadavg()[2]:.1f} (15 min): times are only as good as this machine was idle",
        "- " + ", ".join(f"{name} {version(name)}" for name in PACKAGES),
    ]
    if isinstance(drawn, str):
        lines += ["", f"No charts: {_plain(drawn)}"]
    else:
        lines += [text for one in drawn for text in ("", f"![{one.stem}]({CHARTS.name}/{one.name})")]
    for run in runs:
        lines += ["", f"## {run.suite}", ""]
        if run.result is None:
            lines.append(f"No figures after {run.wall_s:.0f} s: {_plain(run.reason)}")
            continue
        chosen = ", ".join(f"{name} {value}" for name, value in run.result["parameters"].items())
        lines += [f"{_plain(chosen)}; {run.wall_s:.0f} s", "", *TABLE]
        lines += [_row(name, value, run.result["intervals"].get(name)) for name, value in run.result["metrics"].items()]
    # The page is for everybody, wherever the project lies on their machines.
    return "\n".join(lines).replace(f"{project_root()}{os.sep}", "") + "\n"


def _row(name: str, value: float | None, interval: dict[str, float] | None) -> str:
    shown = "–" if value is None else f"{value:.4g}"
    if interval is None:
        return f"| {name} | {shown} | | |"
    return f"| {name} | {shown} | {interval['n']} | {interval['low']:.3f} to {interval['high']:.3f} |"


def _plain(text: str) -> str:
    """Return `text` on one line, without what Markdown would take for markup."""
    return " ".join(text.split()).replace("|", "/").replace("<", "(").replace(">", ")")
