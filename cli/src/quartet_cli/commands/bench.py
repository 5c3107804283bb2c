"""`quartet bench SUITE`: measure, print a table, write JSON."""

import json
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from quartet_cli.errors import CannotStart, Refused
from quartet_cli.stack import StackError

GROUP = "quartet.bench"


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench(
    suite: Annotated[str | None, typer.Argument(help="Name of a suite; without one they are listed.")] = None,
    episodes: Annotated[int | None, typer.Option("--episodes", min=1, help="How many; default: the suite's.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    short: Annotated[bool, typer.Option("--short", help="End within 50 s on 2 cores.")] = False,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the result there.")] = None,
) -> None:
    """Run a benchmark suite; every rate is printed with its n and 95 % interval."""
    suites = {found.name: found for found in entry_points(group=GROUP)}
    if suite is None:
        print("\n".join(sorted(suites)))
        return
    if suite not in suites:
        raise Refused(f"there is no suite '{suite}'; valid: {', '.join(sorted(suites)) or 'none is installed'}")
    if json_path is not None and not json_path.resolve().parent.is_dir():
        raise Refused(f"--json {json_path}: the folder {json_path.resolve().parent} is not there")
    _run(suites[suite], episodes, seed, short, json_path)


def _run(suite: EntryPoint, episodes: int | None, seed: int, short: bool, json_path: Path | None) -> None:
    # Measuring is not needed to run a robot: the package is loaded only here.
    from quartet_benchmarks import BenchParameters, print_result

    console = Console(highlight=False)
    parameters = BenchParameters(
        seed=seed, short=short, episodes=episodes, say=lambda line: console.print(line, style="dim")
    )
    try:
        result = suite.load()(parameters)
    except StackError as error:
        raise CannotStart(str(error)) from error
    if json_path is not None:
        json_path.write_text(json.dumps(result.as_json(), indent=1) + "\n")
    print_result(result, console)
