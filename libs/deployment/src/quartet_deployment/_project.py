"""Where the project's own files are: sites, gateway configuration, state of running deployments."""

import os
from pathlib import Path

from quartet_deployment.errors import ProjectNotFoundError

SITES = Path("deploy") / "sites"


def project_root() -> Path:
    """Return the project's folder.

    It is the one that QUARTET_ROOT names, else the first one upwards from the working directory or from this file that
    has deploy/sites. Raises ProjectNotFoundError.
    """
    named = os.environ.get("QUARTET_ROOT")
    if named:
        root = Path(named).resolve()
        if not (root / SITES).is_dir():
            raise ProjectNotFoundError(
                f"QUARTET_ROOT={named} has no {SITES}; name the folder of the Quartet repository"
            )
        return root
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for folder in (start, *start.parents):
            if (folder / SITES).is_dir():
                return folder
    raise ProjectNotFoundError(
        f"no {SITES} in {Path.cwd()} or above; run this in the Quartet repository or set QUARTET_ROOT to it"
    )


def state_folder() -> Path:
    """Return the folder where stacks keep their state (`.quartet` of the project). Raises ProjectNotFoundError."""
    return project_root() / ".quartet"
