"""Runs a suite by its name: what `quartet bench` calls."""

import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from quartet_benchmarks.all_suites import PAGE, run_all
from quartet_benchmarks.errors import MeasurementError, OptionError, UnknownSuiteError
from quartet_benchmarks.print import print_result
from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_deployment import DEFAULT_SENSORS

SUITES = {
    "architectures": "quartet_research.architectures",
    "armtable": "quartet_research.planners.table_suite",
    "bins": "quartet_benchmarks.bins",
    "bus": "quartet_benchmarks.bus",
    "chaos": "quartet_benchmarks.chaos",
    "dispatch": "quartet_benchmarks.dispatch",
    "emos": "quartet_research.emos.suite",
    "escapes": "quartet_benchmarks.escapes",
    "faults": "quartet_benchmarks.faults",
    "fleet": "quartet_benchmarks.fleet",
    "grasps": "quartet_benchmarks.grasps",
    "home": "quartet_benchmarks.home",
    "hostile": "quartet_benchmarks.hostile",
    "malmm": "quartet_research.malmm",
    "mutations": "quartet_benchmarks.mutations",
    "overhead": "quartet_benchmarks.overhead",
    "perception": "quartet_benchmarks.perception",
    "planners": "quartet_research.planners",
    "resume": "quartet_benchmarks.resume",
    "roco": "quartet_research.roco.suite",
    "stops": "quartet_benchmarks.chaos.stops",
    "teams": "quartet_benchmarks.teams",
    "time": "quartet_benchmarks.timing",
    "tokens": "quartet_benchmarks.tokens",
    "tools": "quartet_benchmarks.tools",
}
"""Module of each suite; it has `run(parameters: BenchParameters) -> BenchResult`."""
ALL = "all"
"""Name under which every suite runs in its short form."""

_STUDIES = ("armtable", "emos", "malmm", "planners", "roco")
SUITES_WITH: dict[str, tuple[str, ...]] = {
    "sensors": ("architectures", "bins", "fleet", "grasps", "home", "perception", "time", "tools"),
    "catalogue": ("home", "perception"),
    **dict.fromkeys(("tier", "kind", "vary"), ("home",)),
    **dict.fromkeys(("world", "several --seed"), ("home",)),
    "robot": ("architectures", "dispatch", "home", "resume", "teams"),
    "several --robot": ("dispatch", "resume", "teams"),
    "flame": ("time",),
    "model": ("architectures", *_STUDIES, "tokens"),
    "p_fault": ("architectures", *_STUDIES),
    "out": ("architectures", "home", *_STUDIES),
    **dict.fromkeys(("budget_usd", "price"), ("architectures", *_STUDIES)),
    **dict.fromkeys(("token_limit", "time_limit", "shard", "merge"), _STUDIES),
    "framework": ("dispatch", *_STUDIES),
    **dict.fromkeys(("trials", "history"), ("armtable", "planners", "roco")),
    **dict.fromkeys(("suite", "replay"), ("planners",)),
    "robots": ("armtable", "planners", "teams"),
    "tasks": ("emos", "malmm", "roco"),
    "feedback": ("malmm", "roco"),
    "observation": ("malmm",),
    **dict.fromkeys(("person", "temperature", "wording"), ("roco",)),
}
"""Suites that have an option, by its name; options that all suites have are not in it."""
CATALOGUES = ("exact", "stated", "rough", "unsized")
LOG_WIDTH = 180


def load_suite(name: str) -> Callable[[BenchParameters], BenchResult]:
    """Return the function of a suite. Raises UnknownSuiteError naming all suites."""
    if name not in SUITES:
        raise UnknownSuiteError(f"there is no suite '{name}'; valid: {', '.join([ALL, *sorted(SUITES)])}")
    return importlib.import_module(SUITES[name]).run


def bench(
    suite: str | None,
    *,
    episodes: int | None = None,
    seeds: Sequence[int] = (),
    short: bool = False,
    json_path: Path | None = None,
    sensors: str = DEFAULT_SENSORS,
    catalogue: str | None = None,
    worlds: Sequence[str] = (),
    kinds: Sequence[str] = (),
    options: dict[str, Any] | None = None,
) -> None:
    """Run a suite, write its JSON and print its table; without a suite list all of them, with `all` run every one.

    Args:
        suite: its name.
        episodes: number of them; None: the suite's own.
        seeds: of what is drawn; none: 0, or what a file of options says. Results of several are pooled, and need a
            `json_path` of a new file.
        short: measure less.
        json_path: file of the result.
        sensors: level of the simulated sensors.
        catalogue: exact, stated (sizes off by a tenth), rough (the same, without parts) or unsized (no sizes where
            colour and shape tell); None: the suite's own.
        worlds: worlds of the simulation; none: the suite's own.
        kinds: robots of the simulation; none: the world's own.
        options: further options by name, those that are given; SUITES_WITH says which suites have them.

    Raises:
        UnknownSuiteError, OptionError, StackError.
    """
    if suite is None:
        print("\n".join([ALL, *sorted(SUITES)]))
        return
    run = None if suite == ALL else load_suite(suite)
    given = {
        "sensors": sensors != DEFAULT_SENSORS,
        "catalogue": catalogue is not None,
        "world": bool(worlds),
        "robot": bool(kinds),
        "several --robot": len(kinds) > 1,
        "several --seed": len(seeds) > 1,
    }
    given |= {"episodes": episodes is not None and run is None, "json": json_path is not None and run is None}
    _check_options(suite, catalogue, [*(options or {}), *(name for name, differs in given.items() if differs)])
    if len(seeds) > 1 and json_path is None:
        raise OptionError("several --seed: the pooled result is written to a file; name it with --json FILE")
    if len(seeds) > 1 and json_path is not None and json_path.exists():
        raise OptionError(f"json: {json_path} exists already; name a new file, or move it away")
    # Rows and notes quote names, errors and logs, in which square brackets are no markup.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        # A file or a log needs no columns cut to the width of a terminal.
        console = Console(highlight=False, markup=False, emoji=False, width=LOG_WIDTH)

    def progress(line: str) -> None:
        console.print(line, style="dim", soft_wrap=True)

    if run is None:
        _measure_all(seeds[0] if seeds else 0, progress)
        return
    if options and seeds:
        options = options | {"seed": seeds[0]}
    parameters = BenchParameters(
        seed=seeds[0] if seeds else 0,
        seeds=tuple(dict.fromkeys(seeds)),
        short=short,
        episodes=episodes,
        sensors=sensors,
        catalogue=catalogue,
        worlds=tuple(worlds),
        kinds=tuple(kinds),
        options=options or {},
        progress=progress,
    )
    result = run(parameters)
    print_result(result, console)
    if json_path is not None:
        json_path.write_text(json.dumps(result.as_json(), indent=1) + "\n")


def _measure_all(seed: int, progress: Callable[[str], None]) -> None:
    """Run every suite and say where the figures are. Raises MeasurementError naming the suites that gave none."""
    runs = run_all(sorted(SUITES), seed, progress)
    progress(f"figures: {PAGE}")
    if without := [one.suite for one in runs if one.result is None]:
        raise MeasurementError(f"{', '.join(without)}: no figures; {PAGE} says why")


def _check_options(suite: str, catalogue: str | None, given: Sequence[str]) -> None:
    """Raise OptionError for a catalogue that there is not, and for a given option that the suite has not."""
    if catalogue not in (None, *CATALOGUES):
        raise OptionError(f"catalogue: there is no '{catalogue}'; valid: {', '.join(CATALOGUES)}")
    for name in given:
        if suite == ALL:
            raise OptionError(
                f"{name}: '{ALL}' takes --seed alone; it runs each suite with --short, and keeps its JSON"
            )
        if suite not in (having := SUITES_WITH.get(name, ())):
            raise OptionError(
                f"{name}: the suite '{suite}' has no such option; "
                f"{', '.join(having) or 'none'} {'have' if len(having) > 1 else 'has'}"
            )
