"""The robot of a tool server, behind the scripted bridge."""

from collections.abc import AsyncIterator

import pytest

from quartet_robot_link import Robot


@pytest.fixture
async def far(peer, robot_file) -> AsyncIterator[Robot]:
    """A robot behind the scripted bridge; long limits."""
    robot = await Robot.open(robot_file, url=peer.url, wait_s=60)
    yield robot
    await robot.close()
