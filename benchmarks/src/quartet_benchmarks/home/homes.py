"""The folder of a home with things in it that are in no catalogue, and with somebody who lives there."""

import shutil
from pathlib import Path
from random import Random

from quartet_deployment import new_world, project_root, run_worlds

CARTON = "unknown cracker box"
"""One that is in each of these homes, and behind which another thing may stand."""
PERSON = "anna"
"""Who lives in each of these homes."""


def with_unknown_things(like: str, folder: Path, count: int, seed: int) -> Path:
    """Write the folder of a home with `count` unknown things, or as many as there is room for, and a person; return it.

    Args:
        like: home, studio, a folder, or generated:SEED.
        folder: to write; what is in it is removed.
        count: of the things.
        seed: draws them, for each home others.

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
    run_worlds("unknown", str(folder), "--count", str(count), "--seed", str(drawn), "--person", PERSON)
    return folder
