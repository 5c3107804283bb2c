"""The table with its Panda: a real simulation process, and servers over its rosbridge with the files of its site."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quartet_robot_link import Robot
from quartet_site import RobotFile, SiteFile, load_robot, load_site
from quartet_tool_server.run import with_heartbeat_timeout

TABLETOP = Path(__file__).parents[3] / "deploy" / "sites" / "tabletop"


@pytest.fixture(scope="module")
def tabletop_process(start_studio: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One simulation of the table for the tests of a module."""
    table = start_studio(tmp_path_factory.mktemp("tabletop") / "ready.json", "--world", "tabletop")
    yield table
    table.end()


@pytest.fixture
def sim(tabletop_process: Any) -> Any:
    """The table at the start of an episode."""
    tabletop_process.post("/reset", seed=1)
    return tabletop_process


@pytest.fixture(scope="session")
def tabletop_folder() -> Path:
    return TABLETOP


@pytest.fixture(scope="session")
def robot_file() -> RobotFile:
    return with_heartbeat_timeout(load_robot(TABLETOP / "robot.yaml"), 20.0)


@pytest.fixture(scope="session")
def site_file() -> SiteFile:
    return load_site(TABLETOP / "site.yaml")


@pytest.fixture
async def robot(sim: Any, robot_file: RobotFile) -> AsyncIterator[Robot]:
    robot = await Robot.open(robot_file, url=sim.url, wait_s=60)
    assert robot.link.connected
    yield robot
    await robot.close()
