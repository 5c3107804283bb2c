"""The robots of a stack: names, files and addresses."""

import re
from dataclasses import dataclass
from pathlib import Path

from quartet_deployment._options import StackOptions
from quartet_deployment._ports import HOST
from quartet_deployment._world import robot_files
from quartet_deployment.errors import OptionError
from quartet_site import load_robot

ASIDE = "aside"
MOST, MOST_AT_HOME = 20, 8
"""Largest number of simulated robots on one machine, and in one home."""


@dataclass(frozen=True)
class RobotAt:
    """One robot."""

    name: str
    home: int
    """Number of its simulated home, from 0."""
    place: int
    """Number of the robot in its home, from 0."""
    source: Path
    """The robot file of its kind, unchanged."""
    robot_file: Path
    """The same, with its own name where there are several."""
    bridge: str
    """Address of its rosbridge."""
    guard: str
    """HTTP address of its guard."""


def port_names(options: StackOptions) -> list[str]:
    """Return the names of the ports of all simulated homes and robots."""
    homes = range(options.homes)
    return [
        *(name(home) for home in homes for name in (scoring, metrics)),
        *(f"{kind}{_tail(home, place)}" for home in homes for place in range(options.robots) for kind in KINDS),
    ]


KINDS = ("simulation", "guard")


def scoring(home: int) -> str:
    return f"scoring{_tail(home, 0)}"


def metrics(home: int) -> str:
    """Return the name of the port for /metrics of a home's process."""
    return f"metrics{_tail(home, 0)}"


def simulation(home: int) -> str:
    """Return the name of the process of a home."""
    return f"simulation{_tail(home, 0)}"


def port_of(kind: str, robot: RobotAt) -> str:
    return f"{kind}{_tail(robot.home, robot.place)}"


def _tail(home: int, place: int) -> str:
    return "".join(
        (f"_home{home + 1}" if home else "", f"_robot{place + 1}" if place else ""),
    )


def robots_at(options: StackOptions, folder: Path, ports: dict[str, int]) -> tuple[RobotAt, ...]:
    """Return the robot of `folder`, or several: those with the same name in their files get numbers.

    Raises SiteFileError for a robot file that cannot be used, OptionError for an impossible number of robots.
    """
    if options.guard_url is not None:
        file = folder / "robot.yaml"
        robot = load_robot(file)
        if options.robots * options.homes != 1:
            raise OptionError("several robots are for the simulation; with --robot-dir there is one")
        return (RobotAt(robot.name, 0, 0, file, file, robot.bridge.url, options.guard_url),)
    count = options.robots * options.homes
    if not 1 <= options.robots <= MOST_AT_HOME or options.homes < 1 or count > MOST:
        raise OptionError(
            f"robots x homes = {options.robots} x {options.homes} is out of range; valid: 1 to {MOST_AT_HOME} in each "
            f"home, {MOST} in all"
        )
    files = robot_files(options)
    kinds = {file: load_robot(file).name for file in files}
    names = [kinds[file] for file in files] * options.homes
    found: list[RobotAt] = []
    for number, kind in enumerate(names):
        home, place = divmod(number, options.robots)
        # "ur5" and a number would be another number.
        numbered = f"{kind}{'_' * kind[-1].isdigit()}{names[: number + 1].count(kind)}"
        name, file = numbered if names.count(kind) > 1 else kind, files[place]
        bridge = f"ws://{HOST}:{ports[f'simulation{_tail(home, place)}']}"
        guard = f"http://{HOST}:{ports[f'guard{_tail(home, place)}']}"
        own = folder / file.name if count == 1 else options.state_dir / "robots" / f"{name}.yaml"
        if name in (robot.name for robot in found):
            raise OptionError(
                f"two robots would have the name '{name}'; change the name in {file}, or name other robots with --robot"
            )
        found.append(RobotAt(name, home, place, file, own, bridge, guard))
    return tuple(found)


def site_of(robot: RobotAt, folder: Path) -> Path:
    """Return the site file of a robot; each home has a path of its own, since alike homes are different places."""
    return (_home(robot) if robot.home else folder) / "site.yaml"


def _home(robot: RobotAt) -> Path:
    return robot.robot_file.parent / f"home{robot.home + 1}"


def write_robot_files(robots: tuple[RobotAt, ...], folder: Path) -> None:
    """Write a robot.yaml for each of several robots, and link the files of further homes.

    A robot with a state `aside` waits in it, so that the others of its place have room.
    """
    for robot in robots:
        if robot.home:
            _home(robot).parent.mkdir(parents=True, exist_ok=True)
            _home(robot).unlink(missing_ok=True)
            _home(robot).symlink_to(folder.resolve())
        if robot.robot_file.parent != folder:
            robot.robot_file.parent.mkdir(parents=True, exist_ok=True)
            text = robot.source.read_text(encoding="utf-8")
            text = re.sub(r"(?m)^name:.*$", f"name: {robot.name}", text, count=1)
            if ASIDE in load_robot(robot.source).arm.named_states:
                text = re.sub(r"(?m)^  transit_state:.*$", f"  transit_state: {ASIDE}", text, count=1)
            robot.robot_file.write_text(text, "utf-8")
