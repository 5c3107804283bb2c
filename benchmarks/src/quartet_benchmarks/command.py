"""Runs a suite by its name: what `quartet bench` calls."""

import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from quartet_benchmarks.errors import OptionError, UnknownSuiteError
from quartet_benchmarks.print import print_result
from quartet_benchmarks.result import BenchParameters, BenchResult

SUITES = {
    "armtable": "quartet_benchmarks.arm_table",
    "bins": "quartet_benchmarks.bins",
    "chaos": "quartet_benchmarks.chaos",
    "escapes": "quartet_benchmarks.escapes",
    "faults": "quartet_benchmarks.faults",
    "fleet": "quartet_benchmarks.fleet",
    "home": "quartet_benchmarks.home",
    "hostile": "quartet_benchmarks.hostile",
    "malmm": "quartet_benchmarks.malmm",
    "mutations": "quartet_benchmarks.mutations",
    "perception": "quartet_benchmarks.perception",
    "planners": "quartet_benchmarks.planners",
    "stops": "quartet_benchmarks.chaos.stops",
    "teams": "quartet_benchmarks.teams",
    "time": "quartet_benchmarks.timing",
    "tokens": "quartet_benchmarks.tokens",
    "tools": "quartet_benchmarks.tools",
}
"""Module of each suite; it has `run(parameters: BenchParameters) -> BenchResult`."""

MALMM_ONLY = ("tasks", "observation", "feedback")
PLANNERS_ONLY = ("suite", "robots", "trials", "history", "shard", "replay", "merge")
TIME_ONLY = ("flame",)
EXPERIMENTS_ONLY = ("framework", "p_fault", "budget_usd", "price", "token_limit", "time_limit", "out")
NOT_OPTIONS = {
    "planners": (*MALMM_ONLY, *TIME_ONLY),
    "malmm": (*PLANNERS_ONLY, *TIME_ONLY),
    "time": (*MALMM_ONLY, *PLANNERS_ONLY, "model", *EXPERIMENTS_ONLY),
    "tokens": (*MALMM_ONLY, *PLANNERS_ONLY, *TIME_ONLY, *EXPERIMENTS_ONLY),
}
"""Suites with options, and the options that they have not."""
WITH_SENSORS = ("bins", "fleet", "home", "perception", "time", "tools")
"""Suites that run the home."""
WITH_CATALOGUE = ("perception",)
CATALOGUES = ("exact", "rough")
WITH_WORLDS = ("home",)
LOG_WIDTH = 180


def load_suite(name: str) -> Callable[[BenchParameters], BenchResult]:
    """Return the function of a suite. Raises UnknownSuiteError naming all suites."""
    if name not in SUITES:
        raise UnknownSuiteError(f"there is no suite '{name}'; valid: {', '.join(sorted(SUITES))}")
    return importlib.import_module(SUITES[name]).run


def bench(
    suite: str | None,
    *,
    episodes: int | None = None,
    seed: int | None = None,
    short: bool = False,
    json_path: Path | None = None,
    sensors: str = "clean",
    catalogue: str = "exact",
    worlds: Sequence[str] = (),
    options: dict[str, Any] | None = None,
) -> None:
    """Run a suite, write its JSON and print its table; without a suite list all of them.

    Args:
        suite: its name.
        episodes: number of them; None: the suite's own.
        seed: of what is drawn; None: 0, or what a file of options says.
        short: measure less.
        json_path: file of the result.
        sensors: level of the simulated sensors.
        catalogue: exact, or rough: sizes off by a tenth.
        worlds: worlds of the simulation; none: the suite's own.
        options: those of the suites `planners`, `malmm` and `time`.

    Raises:
        UnknownSuiteError, OptionError, StackError.
    """
    if suite is None:
        print("\n".join(sorted(SUITES)))
        return
    run = load_suite(suite)
    if wrong := [name for name in options or {} if name in NOT_OPTIONS.get(suite, options or {})]:
        having = [name for name, without in NOT_OPTIONS.items() if not set(wrong) & set(without)]
        raise OptionError(f"{', '.join(wrong)}: the suite '{suite}' has no such option; {' and '.join(having)} has")
    if sensors != "clean" and suite not in WITH_SENSORS:
        raise OptionError(f"sensors: the suite '{suite}' has no such option; {', '.join(WITH_SENSORS)} have")
    if catalogue not in CATALOGUES:
        raise OptionError(f"catalogue: there is no '{catalogue}'; valid: {', '.join(CATALOGUES)}")
    if catalogue != "exact" and suite not in WITH_CATALOGUE:
        raise OptionError(f"catalogue: the suite '{suite}' has no such option; {WITH_CATALOGUE[0]} has")
    if worlds and suite not in WITH_WORLDS:
        raise OptionError(f"world: the suite '{suite}' has no such option; {', '.join(WITH_WORLDS)} has")
    console = Console(highlight=False)
    if not console.is_terminal:
        # A file or a log needs no columns cut to the width of a terminal.
        console = Console(highlight=False, width=LOG_WIDTH)
    if options and seed is not None:
        options = options | {"seed": seed}
    parameters = BenchParameters(
        seed=seed or 0,
        short=short,
        episodes=episodes,
        sensors=sensors,
        catalogue=catalogue,
        worlds=tuple(worlds),
        options=options or {},
        progress=lambda line: console.print(line, style="dim", markup=False, soft_wrap=True),
    )
    result = run(parameters)
    if json_path is not None:
        json_path.write_text(json.dumps(result.as_json(), indent=1) + "\n")
    print_result(result, console)
