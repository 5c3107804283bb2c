"""Every fault of a world's folder: its files, what stands where, what its robots can do in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from quartet_simulation.errors import SimulationError, WorldFileError
from quartet_simulation.worlds import WORLD_FILE, World, load_world
from quartet_site import (
    Abilities,
    CatalogueObject,
    Fault,
    SiteFile,
    SiteFileError,
    load_file,
    load_policy,
    load_robot,
    load_site,
)

if TYPE_CHECKING:
    from quartet_simulation.mobile.build import RobotBuild

SITE_FILE, ROBOT_FILE, POLICY_FILE = "site.yaml", "robot.yaml", "policy.yaml"


@dataclass
class _Faults:
    """Faults found so far; the message of a file has all of its faults."""

    texts: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, *texts: str) -> None:
        """Add faults, one a text."""
        self.texts += texts
        self.count += len(texts)

    def add_error(self, error: SimulationError | SiteFileError) -> None:
        """Add an error, with as many faults as it counts."""
        self.texts.append(str(error))
        self.count += error.count if isinstance(error, SiteFileError | WorldFileError) else 1


@dataclass
class _Robots:
    """The robots that work in a world."""

    builds: list[tuple[str, RobotBuild]] = field(default_factory=list)
    """Name of each, and how the simulation builds it."""
    abilities: list[Abilities] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check_world(folder: Path, robot_files: Sequence[Path]) -> bool:
    """Print every fault of a world's folder, and what each robot does at each place; return whether it has none.

    Args:
        folder: with world.yaml, site.yaml and, unless robots are named, robot.yaml.
        robot_files: robot.yaml of each robot; none: that of the folder.
    """
    # What follows builds the world with each robot in it, which takes a second or two.
    from quartet_simulation.world_tool.proof import unsolvable
    from quartet_simulation.world_tool.reach import reach_report, unused_places

    faults, world = _Faults(), None
    try:
        world = load_world(folder)
    except WorldFileError as error:
        faults.add_error(error)
    site = _site_of(folder, world, faults)
    robots = _robots_of(folder, robot_files, faults)
    if site is not None:
        _check_policy(folder, site, robots, faults)
    if world is not None:
        for name, build in robots.builds:
            whose = f"{name}: " * (len(robots.builds) > 1)
            faults.add(*(whose + fault for fault in unsolvable(str(folder), build=build)))
    report = robots.notes
    if site is not None and robots.abilities:
        faults.add(*unused_places(site, robots.abilities))
        report += reach_report(site, robots.abilities)
    if world is not None and not faults.count:
        print(
            f"{folder}: {len(world.areas)} rooms, {len(world.surfaces)} surfaces, {len(world.containers)} containers, "
            f"{len(world.homes)} things; every place is reached, every thing can be fetched"
        )
        print("\n".join(report))
        return True
    for fault in faults.texts:
        print(f"  {fault}", file=sys.stderr)
    total = f"{faults.count} fault{'s' * (faults.count != 1)}"
    print("\n".join([f"{folder}: {total}", *report]), file=sys.stderr)
    if world is None or not robots.builds:
        left_out = WORLD_FILE if world is None else ROBOT_FILE
        print(f"What a robot reaches in it is proved once {left_out} has none", file=sys.stderr)
    return False


def _site_of(folder: Path, world: World | None, faults: _Faults) -> SiteFile | None:
    """Return site.yaml of a folder, also where it does not fit the world; None where it cannot be used."""
    path = folder / SITE_FILE
    if not path.is_file():
        faults.add(f"{path} is missing, which tells the robot its places and things; write it: {_rewrite(folder)}")
        return None
    try:
        site = load_site(path)
    except SiteFileError as error:
        faults.add_error(error)
        return None
    try:
        load_file(
            path, SiteFile, "site file", check=lambda known: [*_alike(known), *_differences(known, world, folder)]
        )
    except SiteFileError as error:
        faults.add_error(error)
    return site


def _rewrite(folder: Path) -> str:
    return f"quartet world site {folder}"


def _differences(known: SiteFile, world: World | None, folder: Path) -> Iterator[Fault]:
    """Yield which names of the world site.yaml does not have, and which of its places are not in the world."""
    if world is None:
        return
    lists = {
        "areas": (known.areas, {one.name for one in world.areas}),
        "surfaces": (known.surfaces, {one.name for one in world.surfaces}),
        "containers": (known.containers, {one.name for one in world.containers}),
        "objects": (known.objects, set(world.homes)),
    }
    for what, (told, real) in lists.items():
        for number, one in enumerate(told):
            # A robot may know things that this world does not have.
            if one.name not in real and what != "objects":
                yield (
                    (what, number, "name"),
                    f"'{one.name}' is not in {WORLD_FILE}; valid: {', '.join(sorted(real)) or 'none'}. Correct the "
                    "name, or take the entry out",
                )
        for name in sorted(real - {one.name for one in told}):
            yield (
                (what,),
                f"'{name}' is missing, which {WORLD_FILE} has; add it, or write the file anew: {_rewrite(folder)}",
            )


def _alike(known: SiteFile) -> Iterator[Fault]:
    """Yield the objects that the robot cannot tell from one before them."""
    for (_, first), (number, second) in combinations(enumerate(known.objects), 2):
        if _same_look(first, second):
            yield (
                ("objects", number),
                f"'{second.name}' has the colours, shape and size of '{first.name}', so the robot cannot tell them "
                "apart; give one of them other colours or another size, or make its name an alias of the other",
            )


def _same_look(one: CatalogueObject, other: CatalogueObject) -> bool:
    a, b = one.appearance, other.appearance
    if (a.shape, set(a.colours), a.parts) != (b.shape, set(b.colours), b.parts):
        return False
    # Two without a size are refused when the file is read.
    if a.size_m is None or b.size_m is None:
        return False
    off = max(a.size_error, b.size_error)
    return all(abs(x - y) <= off * max(x, y) for x, y in zip(a.size_m, b.size_m, strict=True))


def _robots_of(folder: Path, files: Sequence[Path], faults: _Faults) -> _Robots:
    """Return the robots of these robot files, by default that of a folder's robot.yaml.

    That one is built as the robot of the home where its file does not say how the simulation builds it.
    """
    from quartet_simulation.bodies.load import build_of
    from quartet_simulation.mobile.build import SUMMIT
    from quartet_simulation.world_tool.reach import abilities_of

    found, own = _Robots(), folder / ROBOT_FILE
    if not files and not own.is_file():
        faults.add(
            f"{own} is missing, which describes the robot; copy that of deploy/sites/home, or name a robot with --robot"
        )
        return found
    for file in files or [own]:
        try:
            robot = load_robot(file)
            build = SUMMIT if not files and robot.simulation is None else build_of(file)
            found.builds.append((robot.name, build))
            abilities, note = abilities_of(file)
            found.abilities.append(abilities)
            found.notes += [note] * bool(note)
        except (SimulationError, SiteFileError) as error:
            faults.add_error(error)
    return found


def _check_policy(folder: Path, site: SiteFile, robots: _Robots, faults: _Faults) -> None:
    """Check that the folder's policy.yaml, where it has one, fits the site and each robot."""
    path = folder / POLICY_FILE
    for abilities in robots.abilities if path.is_file() else []:
        try:
            load_policy(path, site, abilities.robot)
        except SiteFileError as error:
            faults.add_error(error)
