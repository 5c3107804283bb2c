"""The folder of a simulated world: of this project, anybody's own, or drawn from a seed."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from quartet_deployment._environment import headless_gl
from quartet_deployment._options import StackOptions
from quartet_deployment._project import project_root, state_folder
from quartet_deployment.errors import OptionError

TEMPLATE = "template"
"""Folder of deploy/sites to copy for a robot of one's own; it is no simulated world."""
WORLD_FILE, SITE_FILE = "world.yaml", "site.yaml"
GENERATED = re.compile(r"generated:(\d{1,9})")
ROBOT_FILES = ("robot.yaml", "policy.yaml")


def site_folder(options: StackOptions) -> Path:
    """Return the folder with robot.yaml and site.yaml. Raises OptionError naming all worlds."""
    if options.site_dir is not None:
        return options.site_dir
    sites = project_root() / "deploy" / "sites"
    folder = sites / options.world
    if options.world == TEMPLATE or "/" in options.world or not (folder / "robot.yaml").is_file():
        worlds = ", ".join(sorted(p.parent.name for p in sites.glob("*/robot.yaml") if p.parent.name != TEMPLATE))
        raise OptionError(
            f"there is no world '{options.world}'; valid: {worlds}, a folder with {WORLD_FILE} (quartet world new), "
            "generated:SEED"
        )
    return folder


def with_world(options: StackOptions) -> StackOptions:
    """Return the options with the folder of a world that is the path of one, or is drawn from a seed.

    generated:SEED is drawn into .quartet/worlds. site.yaml is derived where a folder has none. Raises OptionError.
    """
    if options.site_dir is not None or options.guard_url is not None:
        return options
    if generated := GENERATED.fullmatch(options.world):
        folder = state_folder() / "worlds" / f"generated-{generated[1]}"
        shutil.rmtree(folder, ignore_errors=True)
        new_world(folder, options.world)
        return replace(options, world=str(folder), site_dir=folder)
    folder = Path(options.world).resolve()
    named = options.world in {path.name for path in (project_root() / "deploy" / "sites").iterdir()}
    if named or not (folder / WORLD_FILE).is_file():
        return options
    if not (folder / "robot.yaml").is_file():
        raise OptionError(f"{folder} has no robot.yaml; copy that of deploy/sites/home into it")
    if not (folder / SITE_FILE).is_file():
        run_worlds("site", str(folder))
    return replace(options, world=str(folder), site_dir=folder)


def new_world(folder: Path, like: str) -> None:
    """Write world.yaml, site.yaml, robot.yaml and policy.yaml into a folder. Raises OptionError."""
    run_worlds("new", str(folder), "--like", like)
    for name in ROBOT_FILES:
        if not (folder / name).exists():
            shutil.copy(project_root() / "deploy" / "sites" / "home" / name, folder / name)


def run_worlds(*arguments: str) -> str:
    """Return what a command of quartet_simulation.world_tool prints. Raises OptionError with its complaint."""
    done = subprocess.run(
        [sys.executable, "-m", "quartet_simulation.world_tool", *arguments],
        env={**os.environ, "MUJOCO_GL": headless_gl()},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise OptionError(done.stderr.strip() or f"quartet_simulation.world_tool ended with status {done.returncode}")
    return done.stdout.strip()
