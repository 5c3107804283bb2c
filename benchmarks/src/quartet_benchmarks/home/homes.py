"""The folder of a home: with things in it that are in no catalogue, somebody who lives there, a rough catalogue."""

import shutil
from pathlib import Path
from random import Random

from quartet_benchmarks.rough_catalogue import write_as_told
from quartet_deployment import new_world, project_root, run_worlds

CARTON = "unknown cracker box"
"""One that is in each of these homes, and behind which another thing may stand."""
SIZED_FILE = "site-with-sizes.yaml"
"""The site file with the true sizes, by which the suite chooses what the gripper can take."""
PARCELS = 8
"""How many parcels there are to fill a place with."""
PERSON, WALKER = "anna", "ben"
"""Who live in each of these homes: one may stand in a doorway, the other walk about."""


def furnished(like: str, folder: Path, seed: int, unknown_things: int = 0, *, catalogue: str = "exact") -> Path:
    """Write the folder of a home and return it.

    Args:
        like: home, studio, a folder, or generated:SEED.
        folder: to write; what is in it is removed.
        seed: draws the rest, for each home differently.
        unknown_things: how many things are put there that no catalogue has, or as many as there is room for; where it
            is not 0, PERSON and WALKER live there, too, and have PARCELS.
        catalogue: how site.yaml describes its objects: exact, stated, rough or unsized. But for exact, SIZED_FILE keeps
            the true sizes.

    Raises:
        quartet_deployment.OptionError when there is no such world.
    """
    shutil.rmtree(folder, ignore_errors=True)
    named = project_root() / "deploy" / "sites" / like
    source = named if "/" not in like and named.is_dir() else Path(like)
    if (source / "world.yaml").is_file():
        shutil.copytree(source, folder)
    else:
        new_world(folder, like)
    drawn = Random(f"{like} {seed}").randrange(2**31)
    if unknown_things:
        drawn_things = "--count", str(unknown_things), "--seed", str(drawn)
        run_worlds(
            "unknown", str(folder), *drawn_things, "--person", PERSON, "--person", WALKER, "--parcels", str(PARCELS)
        )
    if catalogue != "exact":
        shutil.copy(folder / "site.yaml", folder / SIZED_FILE)
        write_as_told(folder / "site.yaml", catalogue, drawn)
    return folder
