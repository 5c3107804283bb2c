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
from quartet_site import Resume, load_robot

TEMPLATE = "template"
"""Folder of deploy/sites to copy for a robot of one's own; it is no simulated world."""
WORLD_FILE, SITE_FILE = "world.yaml", "site.yaml"
GENERATED = re.compile(r"generated:(\d{1,9})")
ROBOT_FILE, POLICY_FILE, RESUME_FILE = "robot.yaml", "policy.yaml", "resume.json"
ROBOT_FILES = (ROBOT_FILE, POLICY_FILE)
OWN_FILES = (RESUME_FILE, POLICY_FILE)
"""Optional files in a robot's folder."""
TABLETOP = "tabletop"
"""The world with arms at a table; what lies there is a task, its scenario."""
ARM_FILES = {"panda": ROBOT_FILE, "ur5": "ur5.yaml"}
"""Robot files of the kinds of arms, in the folder of that world."""
MOST_ARMS = 2
"""At one table."""
_ARM_KINDS = ", ".join(sorted(ARM_FILES))


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

    generated:SEED is drawn into .quartet/worlds, and so is the site of a scenario of the world tabletop. site.yaml is
    derived where a folder has none. Raises OptionError.
    """
    if options.scenario is not None and (options.world != TABLETOP or options.guard_url is not None):
        raise OptionError(
            f"a scenario ('{options.scenario}') is a task of the world {TABLETOP}, not of '{options.world}'; "
            f"use it with --world {TABLETOP}, or leave it out"
        )
    if options.site_dir is not None or options.guard_url is not None:
        return options
    if options.world == TABLETOP:
        return _with_table(options)
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


def with_robot(options: StackOptions) -> StackOptions:
    """Return the options with a folder in which other robots work in their world, and a kind for each robot.

    In it site.yaml is that of the world, robot.yaml that of the first robot, and policy.yaml that of the only robot
    where it has one, else of the world. Raises OptionError.
    """
    if not options.kinds or (options.world == TABLETOP and options.guard_url is None):
        return options
    if options.guard_url is not None:
        raise OptionError("--robot chooses a robot of the simulation; with --robot-dir there is a real one")
    if arms := [kind for kind in options.kinds if kind in ARM_FILES]:
        raise OptionError(f"'{arms[0]}' stands at a table; use it with --world {TABLETOP}")
    if options.kinds[1:] and options.robots not in (1, len(options.kinds)):
        raise OptionError(
            f"--robots {options.robots} does not fit the {len(options.kinds)} robots that --robot names "
            f"({', '.join(options.kinds)}); name each robot once and leave --robots out, or name one for all"
        )
    chosen, world = [robot_folder(kind) for kind in options.kinds], site_folder(options)
    for robot in chosen:
        if load_robot(robot / ROBOT_FILE).simulation is None:
            raise OptionError(
                f"{robot / ROBOT_FILE} has no field 'simulation', which says how the robot is built (docs/worlds.md)"
            )
    kinds = options.kinds if options.kinds[1:] else options.kinds * options.robots
    # Beside the state, which a fresh start removes.
    folder = options.state_dir.with_name(f"{options.state_dir.name}-site")
    folder.mkdir(parents=True, exist_ok=True)
    policy = chosen[0] if not kinds[1:] and (chosen[0] / POLICY_FILE).is_file() else world
    for source in (world / SITE_FILE, chosen[0] / ROBOT_FILE, chosen[0] / RESUME_FILE, policy / POLICY_FILE):
        if source.is_file():
            shutil.copy(source, folder / source.name)
        else:
            (folder / source.name).unlink(missing_ok=True)
    return replace(options, site_dir=folder, kinds=kinds, robots=len(kinds))


def robot_folder(robot: str) -> Path:
    """Return the folder of a simulated robot, by its name in deploy/robots or its path. Raises OptionError."""
    robots = project_root() / "deploy" / "robots"
    for folder in (robots / robot, Path(robot).resolve()):
        if (folder / ROBOT_FILE).is_file() and ("/" in robot or folder.parent == robots):
            return folder
    names = ", ".join(sorted(path.parent.name for path in robots.glob(f"*/{ROBOT_FILE}")))
    raise OptionError(f"there is no simulated robot '{robot}'; valid: {names}, a folder with {ROBOT_FILE}")


def robot_files(options: StackOptions) -> list[Path]:
    """Return the robot file of each robot of a home, before it gets its own name; its model may be next to it."""
    folder = site_folder(options)
    if not options.kinds:
        return [folder / ROBOT_FILE] * options.robots
    if options.world == TABLETOP:
        return [folder / ARM_FILES[kind] for kind in options.kinds]
    return [robot_folder(kind) / ROBOT_FILE for kind in options.kinds]


def _with_table(options: StackOptions) -> StackOptions:
    """Return the options with the site of what a scenario lays on the table, and a kind for each of several arms."""
    kinds = options.kinds or (("panda",) * options.robots if options.robots > 1 else ())
    if unknown := [kind for kind in kinds if kind not in ARM_FILES]:
        raise OptionError(f"'{unknown[0]}' is no arm of the world {TABLETOP}; valid: {_ARM_KINDS}")
    if len(kinds) > MOST_ARMS or (options.robots > 1 and options.robots != len(kinds)):
        asked = f"{options.robots} robots" if not options.kinds else f"{len(kinds)} arms ({', '.join(kinds)})"
        raise OptionError(
            f"{asked} do not fit the world {TABLETOP}; valid: up to {MOST_ARMS} arms, "
            f"with --robot for each ({_ARM_KINDS}) and without --robots"
        )
    options = replace(options, kinds=kinds, robots=len(kinds) or 1)
    if options.scenario is None and not kinds[1:]:
        return options
    if options.homes > 1:
        raise OptionError(
            f"with a scenario or two arms there is one table, not {options.homes}: their things have other colours"
        )
    name = re.sub(r"[^a-z0-9-]", "-", (options.scenario or f"{len(kinds)}-arms").lower())
    folder = state_folder() / "worlds" / f"{TABLETOP}-{name}-{options.seed}"
    chosen = () if options.scenario is None else ("--scenario", options.scenario)
    arms = ("--arms", ",".join(kinds)) if kinds else ()
    example = run_worlds("table", str(folder), *chosen, "--seed", str(options.seed), *arms)
    for file in (POLICY_FILE, *ARM_FILES.values()):
        shutil.copy(project_root() / "deploy" / "sites" / TABLETOP / file, folder / file)
    return replace(options, site_dir=folder, example=example)


def new_world(folder: Path, like: str) -> None:
    """Write world.yaml, site.yaml, robot.yaml with its resume, and policy.yaml into a folder. Raises OptionError."""
    run_worlds("new", str(folder), "--like", like)
    own = (folder / ROBOT_FILE).exists()
    for name in ROBOT_FILES if own else (*ROBOT_FILES, RESUME_FILE):
        if not (folder / name).exists():
            shutil.copy(project_root() / "deploy" / "sites" / "home" / name, folder / name)


def run_worlds(*arguments: str) -> str:
    """Return what a command of quartet_simulation.world_tool prints. Raises OptionError with its complaint."""
    module = "quartet_simulation.world_tool"
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, "MUJOCO_GL": headless_gl()},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise OptionError(done.stderr.strip() or f"{module} ended with status {done.returncode}")
    return done.stdout.strip()


def resume_of(body: str, seed: int = 0) -> Resume:
    """Return the resume of a body: a name in deploy/robots, a folder or a file. Raises OptionError."""
    robots = str(project_root() / "deploy" / "robots")
    return Resume.model_validate_json(run_worlds("resume", body, "--robots", robots, "--seed", str(seed)))


def is_body(named: str) -> bool:
    """Return whether a name is that of a body: a folder in deploy/robots, or the path of a folder or file."""
    path = Path(named)
    return bool(path.suffix) or "/" in named or path.is_dir() or (project_root() / "deploy" / "robots" / named).is_dir()
