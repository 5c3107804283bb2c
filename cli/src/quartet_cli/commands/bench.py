"""`quartet bench SUITE`: measure, print a table, write JSON."""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from quartet_cli.errors import CannotStart, Refused
from quartet_cli.stack import StackError


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench(
    suite: Annotated[str | None, typer.Argument(help="Name of a suite; without one they are listed.")] = None,
    episodes: Annotated[int | None, typer.Option("--episodes", min=1, help="How many; default: the suite's.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    short: Annotated[bool, typer.Option("--short", help="End within 50 s on 2 cores.")] = False,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the result there.")] = None,
) -> None:
    """Run a benchmark suite.

    Every rate is printed with its n and 95 % interval.
    """
    if json_path is not None and not json_path.resolve().parent.is_dir():
        raise Refused(f"--json {json_path}: the folder {json_path.resolve().parent} is not there")
    # Measuring is not needed to run a robot, so the package that does it is a plug-in.
    found = entry_points(group="quartet.cli", name="bench")
    if not found:
        raise Refused("the benchmarks are not installed; run `make setup`, or install the package quartet-benchmarks")
    measure = next(iter(found)).load()
    try:
        measure(suite, episodes=episodes, seed=seed, short=short, json_path=json_path)
    except LookupError as error:
        raise Refused(str(error.args[0])) from error
    except StackError as error:
        raise CannotStart(str(error)) from error
