"""`quartet world new|check|show|site`: worlds of one's own for the simulation."""

from pathlib import Path
from typing import Annotated

import typer

from quartet_cli.errors import UsageError
from quartet_deployment import OptionError, new_world, robot_folder, run_worlds

app = typer.Typer(help="Make and check worlds for the simulation.", no_args_is_help=True, rich_markup_mode=None)
Folder = Annotated[Path, typer.Argument(help="Folder with world.yaml.")]


def register(root: typer.Typer) -> None:
    """Add the commands of this module."""
    root.add_typer(app, name="world")


@app.command("new")
def new(
    folder: Annotated[Path, typer.Argument(help="Folder that is made.")],
    like: Annotated[
        str, typer.Option("--like", help="flat, studio, home, generated:SEED, or the folder of another world.")
    ] = "flat",
) -> None:
    """Write world.yaml, site.yaml, robot.yaml and policy.yaml into a new folder."""
    try:
        new_world(folder, like)
    except OptionError as error:
        raise UsageError(str(error)) from error
    print(f"{folder}: edit {folder / 'world.yaml'}, then: quartet world check {folder}")


@app.command("check")
def check(
    folder: Folder,
    robot: Annotated[
        list[str] | None,
        typer.Option(
            "--robot",
            help="Robot that is to work in it: a name in deploy/robots, or a folder. May be repeated; default: the "
            "robot of the world's folder.",
        ),
    ] = None,
) -> None:
    """Find every fault of a world.

    It looks at the file, at what stands where, and at what a robot reaches in it. For each place it prints whether
    each robot can pick up and put down there, and which things a robot cannot hold.
    """
    try:
        files = [f"--robot-file={robot_folder(one) / 'robot.yaml'}" for one in robot or ()]
    except OptionError as error:
        raise UsageError(str(error)) from error
    _run("check", str(folder), *files)


@app.command("site")
def site(folder: Folder) -> None:
    """Write site.yaml anew from world.yaml."""
    _run("site", str(folder))


@app.command("show")
def show(
    world: Annotated[str, typer.Argument(help="flat, studio, home, generated:SEED, or a folder with world.yaml.")],
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of where things stand.")] = 0,
    out: Annotated[Path, typer.Option("--out", help="PNG file to write.")] = Path("world.png"),
) -> None:
    """Draw a world from above."""
    _run("show", world, "--seed", str(seed), "--out", str(out))


def _run(*arguments: str) -> None:
    try:
        print(run_worlds(*arguments))
    except OptionError as error:
        raise UsageError(str(error)) from error
