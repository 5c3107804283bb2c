"""`python -m quartet_simulation.world_tool`: make, check and draw worlds, describe robots.

`quartet world` and `quartet resume` run it.

Exit status 0 when done, 1 when a world or a body has faults, 2 for bad usage.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from quartet_simulation.errors import SimulationError, UnknownNameError
from quartet_simulation.world_tool import GENERATED
from quartet_simulation.worlds import FILES, WORLD_FILE, WORLDS, World, find_world
from quartet_simulation.worlds.load import load_world
from quartet_simulation.worlds.site_file import site_text
from quartet_site import rendered

FAULTS = 1
SITE_FILE = "site.yaml"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="python -m quartet_simulation.world_tool", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("new", help="write world.yaml and site.yaml into a folder that has none")
    new.add_argument("folder", type=Path)
    new.add_argument("--like", default="flat", help=f"{', '.join(WORLDS)}, generated:SEED, or a folder")
    check = commands.add_parser("check", help="find every fault of a world")
    check.add_argument("folder", type=Path)
    check.add_argument(
        "--robot-file",
        type=Path,
        action="append",
        help="robot.yaml of a robot, may be repeated; default: that of the folder",
    )
    site = commands.add_parser("site", help="write site.yaml anew from world.yaml")
    site.add_argument("folder", type=Path)
    table = commands.add_parser("table", help="write site.yaml for a task at the table into a folder")
    table.add_argument("folder", type=Path)
    table.add_argument("--scenario", help="TASK or TASK:VARIATION")
    table.add_argument("--seed", type=int, default=0, help="what colours other things have")
    table.add_argument("--arms", default="panda", help="kinds of the arms, with commas")
    unknown = commands.add_parser("unknown", help="add things to a world that its site.yaml does not name")
    unknown.add_argument("folder", type=Path)
    unknown.add_argument("--count", type=int, default=4)
    unknown.add_argument("--seed", type=int, default=0, help="what they are")
    unknown.add_argument("--parcels", type=int, default=0, help="how many parcels people have to fill a place with")
    unknown.add_argument("--person", action="append", default=[], help="name of somebody who lives there")
    show = commands.add_parser("show", help="draw a world from above")
    show.add_argument("world", help=f"{', '.join(WORLDS)}, or a folder")
    show.add_argument("--seed", type=int, default=0, help="where things stand")
    show.add_argument("--out", type=Path, default=Path("world.png"), help="PNG file")
    resume = commands.add_parser("resume", help="print the resume of a robot's body as JSON")
    resume.add_argument("body", help="name of a robot, a folder, body.yaml, robot.yaml or a model file")
    resume.add_argument("--robots", type=Path, default=Path("deploy/robots"), help="folder of the robots with a name")
    resume.add_argument("--seed", type=int, default=0, help="which poses are drawn")
    given = parser.parse_args(argv)
    try:
        return _run(given)
    except SimulationError as error:
        print(error, file=sys.stderr)
        return FAULTS
    except OSError as error:
        print(f"{error.filename} cannot be used: {error.strerror}; name another file or folder", file=sys.stderr)
        return FAULTS


def _run(given: argparse.Namespace) -> int:
    if given.command == "new":
        return _new(given.folder, given.like)
    if given.command == "check":
        from quartet_simulation.world_tool.check import check_world

        return 0 if check_world(given.folder, given.robot_file or []) else FAULTS
    if given.command == "site":
        (given.folder / SITE_FILE).write_text(site_text(load_world(given.folder)), encoding="utf-8")
        print(f"wrote {given.folder / SITE_FILE}")
        return 0
    if given.command == "table":
        return _table(given.folder, given.scenario, given.seed, given.arms.split(","))
    if given.command == "unknown":
        from quartet_simulation.world_tool.unknown_things import add_unknown_things

        names = add_unknown_things(given.folder, given.count, given.seed, given.person, given.parcels)
        print("\n".join(names))
        return 0
    if given.command == "resume":
        from quartet_simulation.bodies.load import find_body
        from quartet_simulation.bodies.resume import resume_of

        print(rendered(resume_of(find_body(given.body, given.robots), given.seed), "json"))
        return 0
    return _show(given.world, given.seed, given.out)


def _new(folder: Path, like: str) -> int:
    text = world_text(like)
    if (folder / WORLD_FILE).exists():
        print(f"{folder / WORLD_FILE} is there already; name another folder", file=sys.stderr)
        return FAULTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WORLD_FILE).write_text(text, encoding="utf-8")
    _copy_models(like, folder)
    (folder / SITE_FILE).write_text(site_text(load_world(folder)), encoding="utf-8")
    print(f"wrote {folder / WORLD_FILE} and {folder / SITE_FILE}")
    return 0


def _copy_models(like: str, folder: Path) -> None:
    """Copy the model files of the world at a path, and what they name, beside the world file of a new one."""
    source = Path(like)
    if like in WORLDS or not source.exists():
        return
    root = (source if source.is_dir() else source.parent).resolve()
    # Those of a Python package are found wherever the world is.
    for file in (file for file in load_world(source).model_files if file.is_relative_to(root)):
        target = folder / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def world_text(like: str) -> str:
    """Return the world file of a world of this package, of a seed, or of the folder or file at a path."""
    if seed := GENERATED.fullmatch(like):
        from quartet_simulation.world_tool.generate import generate

        return generate(int(seed[1]))
    _find(like)
    path = FILES / f"{like}.yaml" if like in WORLDS else Path(like)
    return (path / WORLD_FILE if path.is_dir() else path).read_text(encoding="utf-8")


def _find(world: str) -> World:
    """Return a world of this package or of a path. Raises UnknownNameError, WorldFileError."""
    if world not in WORLDS and not Path(world).exists():
        raise UnknownNameError("world", world, (*WORLDS, f"a folder with {WORLD_FILE}", "generated:SEED"))
    return find_world(world)


def _table(folder: Path, scenario: str | None, seed: int, kinds: Sequence[str]) -> int:
    from quartet_simulation.tabletop.site_file import site_text as site_of_table
    from quartet_simulation.tabletop.tasks import find_task
    from quartet_simulation.tabletop.world import Tabletop, arms_at

    arms = arms_at(kinds)
    table = Tabletop.generate(*find_task(scenario, len(arms)), seed, arms=arms)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SITE_FILE).write_text(site_of_table(table), encoding="utf-8")
    print(table.instruction)
    return 0


def _show(world: str, seed: int, out: Path) -> int:
    from PIL import Image

    from quartet_simulation.simulation import Simulation

    with tempfile.TemporaryDirectory() as folder:
        if GENERATED.fullmatch(world):
            (Path(folder) / WORLD_FILE).write_text(world_text(world), encoding="utf-8")
            world = folder
        _find(world)
        sim = Simulation(world, seed)
    try:
        colour, _ = sim.render("overhead")
    finally:
        sim.close()
    Image.fromarray(colour).save(out)
    print(f"drew {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
