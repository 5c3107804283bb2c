"""The robots of a stack: their names, their files, and where each is reached."""

import re
from dataclasses import dataclass
from pathlib import Path

from quartet_cli.stack._ports import HOST
from quartet_cli.stack.options import StackOptions
from quartet_site import load_robot

MOST = 20
"""Robots that one machine is asked to simulate at most."""


@dataclass(frozen=True)
class RobotAt:
    """One robot."""

    name: str
    home: int
    """Which simulated home it is in, from 0."""
    place: int
    """Which robot of that home it is, from 0."""
    robot_file: Path
    bridge: str
    """Its rosbridge."""
    guard: str
    """The HTTP port of its guard."""


def port_names(options: StackOptions) -> list[str]:
    """Names of the ports that the simulated homes and their robots need."""
    homes = range(options.homes)
    return [
        *(name(home) for home in homes for name in (scoring, metrics)),
        *(f"{kind}{_tail(home, place)}" for home in homes for place in range(options.robots) for kind in KINDS),
    ]


KINDS = ("simulation", "guard")


def scoring(home: int) -> str:
    return f"scoring{_tail(home, 0)}"


def metrics(home: int) -> str:
    """The port of /metrics of a home's process."""
    return f"metrics{_tail(home, 0)}"


def simulation(home: int) -> str:
    """The name of the process of a home."""
    return f"simulation{_tail(home, 0)}"


def port_of(kind: str, robot: RobotAt) -> str:
    return f"{kind}{_tail(robot.home, robot.place)}"


def _tail(home: int, place: int) -> str:
    return "".join(
        (f"_home{home + 1}" if home else "", f"_robot{place + 1}" if place else ""),
    )


def robots_at(options: StackOptions, folder: Path, ports: dict[str, int]) -> tuple[RobotAt, ...]:
    """The robot of `folder`, or as many as are wanted, called after it with a number.

    Raises FileProblem for a robot file that cannot be used, ValueError for a number of robots that cannot be had.
    """
    file = folder / "robot.yaml"
    robot = load_robot(file)
    if options.guard_url is not None:
        if options.robots * options.homes != 1:
            raise ValueError("several robots are for the simulation; with --robot-dir there is one")
        return (RobotAt(robot.name, 0, 0, file, robot.bridge.url, options.guard_url),)
    count = options.robots * options.homes
    if options.robots < 1 or options.homes < 1 or count > MOST:
        raise ValueError(f"{options.robots} robots in {options.homes} homes cannot be had; valid: 1 to {MOST} in all")
    found: list[RobotAt] = []
    for number in range(count):
        home, place = divmod(number, options.robots)
        name = robot.name if count == 1 else f"{robot.name}{number + 1}"
        bridge = f"ws://{HOST}:{ports[f'simulation{_tail(home, place)}']}"
        guard = f"http://{HOST}:{ports[f'guard{_tail(home, place)}']}"
        own = file if count == 1 else options.state_dir / "robots" / f"{name}.yaml"
        found.append(RobotAt(name, home, place, own, bridge, guard))
    return tuple(found)


def site_of(robot: RobotAt, folder: Path) -> Path:
    """The site file of a robot. Homes look alike and are not one place, so that each has its files by its own path."""
    return (_home(robot) if robot.home else folder) / "site.yaml"


def _home(robot: RobotAt) -> Path:
    return robot.robot_file.parent / f"home{robot.home + 1}"


def write_robot_files(robots: tuple[RobotAt, ...], folder: Path) -> None:
    """A robot.yaml for each of several robots, that of `folder` under another name, and what `site_of` says."""
    text = (folder / "robot.yaml").read_text(encoding="utf-8")
    for robot in robots:
        if robot.home:
            _home(robot).parent.mkdir(parents=True, exist_ok=True)
            _home(robot).unlink(missing_ok=True)
            _home(robot).symlink_to(folder.resolve())
        if robot.robot_file.parent != folder:
            robot.robot_file.parent.mkdir(parents=True, exist_ok=True)
            robot.robot_file.write_text(re.sub(r"(?m)^name:.*$", f"name: {robot.name}", text, count=1), "utf-8")
