"""Ports and names of several simulated robots."""

import pytest
from pydantic import ValidationError

from quartet_simulation.settings import Settings


@pytest.mark.parametrize(
    ("given", "ports"),
    [
        ({"port": 9090}, (9090,)),
        ({"port": "9090", "robots": 3}, (9090, 9091, 9092)),
        ({"port": 0, "robots": 2}, (0, 0)),
        ({"port": "9090,9099", "robots": 2}, (9090, 9099)),
        ({"port": "9090", "robots": 2, "namespaces": "ada,bob"}, (9090,)),
        ({"port": "9090", "robot_file": "rover.yaml,lifter.yaml"}, (9090, 9091)),
        ({"port": "9090", "robot_file": "rover.yaml", "robots": 2}, (9090, 9091)),
        ({"port": "9090", "arms": "ur5,panda"}, (9090, 9091)),
    ],
)
def test_each_robot_has_its_port(given, ports):
    settings = Settings(**given)
    assert settings.port == ports
    assert len(settings.guard_port) == settings.robots


@pytest.mark.parametrize(
    ("files", "robots", "each"), [("a", 3, ["a", "a", "a"]), ("a", 1, ["a"]), ("a,b", 1, ["a", "b"])]
)
def test_one_file_is_that_of_each_robot(files, robots, each):
    settings = Settings(robot_file=files, robots=robots)
    assert [path.name for path in settings.for_each(settings.robot_file)] == each


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"port": "1,2,3", "robots": 2}, "port has 3 ports for 2 robots"),
        ({"log_level": "loud"}, "'DEBUG', 'INFO', 'WARNING' or 'ERROR'"),
        ({"guard_port": "1,2"}, "guard_port has 2 ports for 1 robots"),
        ({"robots": 9}, "less than or equal to 8"),
        ({"robot_file": "a,b", "robots": 3}, "robot_file names 2 robots, not 3; leave robots out"),
        ({"robot_file": ",".join("abcdefghi")}, "at most 8 items"),
        ({"arms": "ur5,panda", "robots": 3}, "arms names 2 robots, not 3"),
        ({"robots": 2, "namespaces": "ada"}, "2 robots cannot have the namespaces ada"),
        ({"robots": 2, "namespaces": "ada,bob", "port": "1,2"}, "share one rosbridge: give one port"),
        ({"robots": 1, "namespaces": "a b"}, "pattern"),
        ({"port": "x"}, "valid integer"),
    ],
)
def test_what_cannot_be_is_told(given, words):
    with pytest.raises(ValidationError, match=words):
        Settings(**given)
