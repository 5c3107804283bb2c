"""`quartet bench SUITE`: measure, print a table, write JSON."""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from quartet_cli.errors import CannotStartError, UsageError
from quartet_deployment import StackError


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("bench")(bench)


def bench(
    suite: Annotated[str | None, typer.Argument(help="Name of the suite; without one all names are listed.")] = None,
    episodes: Annotated[
        int | None, typer.Option("--episodes", min=1, help="Number of episodes; default: the suite's own.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of what is drawn at random.")] = 0,
    short: Annotated[
        bool, typer.Option("--short", help="Measure less, so that it ends within 50 s on 2 idle cores.")
    ] = False,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="File to write the result to, as one JSON object.")
    ] = None,
) -> None:
    """Run a benchmark suite and print a table.

    Every rate is printed with its n and 95 % interval.
    """
    if json_path is not None and not json_path.resolve().parent.is_dir():
        raise UsageError(f"--json {json_path}: the folder {json_path.resolve().parent} does not exist")
    # Nobody needs the benchmarks to run a robot, so their package is a plug-in.
    found = entry_points(group="quartet.cli", name="bench")
    if not found:
        raise UsageError("the benchmarks are not installed; run `make setup` or install the package quartet-benchmarks")
    measure = next(iter(found)).load()
    try:
        measure(suite, episodes=episodes, seed=seed, short=short, json_path=json_path)
    except LookupError as error:
        raise UsageError(str(error.args[0])) from error
    except StackError as error:
        raise CannotStartError(str(error)) from error
