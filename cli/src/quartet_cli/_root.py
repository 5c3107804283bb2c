"""Where the project's own files are: sites, gateway configuration, runs."""

import os
from pathlib import Path

MARK = Path("deploy") / "sites"


class RootNotFound(Exception):
    """No folder above holds the project."""


def project_root() -> Path:
    """The project's folder: QUARTET_ROOT, else the first one upwards from here or from this file with deploy/sites.

    Raises RootNotFound.
    """
    named = os.environ.get("QUARTET_ROOT")
    if named:
        root = Path(named).resolve()
        if not (root / MARK).is_dir():
            raise RootNotFound(f"QUARTET_ROOT={named} has no {MARK}; name the folder of the Quartet repository")
        return root
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for folder in (start, *start.parents):
            if (folder / MARK).is_dir():
                return folder
    raise RootNotFound(
        f"no {MARK} in {Path.cwd()} or above; run this in the Quartet repository or set QUARTET_ROOT to it"
    )
