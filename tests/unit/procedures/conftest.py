"""Procedures against a played robot."""

from collections.abc import Callable
from typing import Any

import pytest

from quartet_procedures import approach, pick, place
from support.played_robot import FACTS, Played, Robot, play

Run = Callable[..., Played]


@pytest.fixture
def robot() -> Robot:
    return Robot()


@pytest.fixture
def run_approach(robot: Robot) -> Run:
    def run(object_name: str = "red can", **more: Any) -> Played:
        request = {"target_area": "kitchen", "object_name": object_name, "next_action": "pick", **more}
        return play(approach(request, FACTS), robot)

    return run


@pytest.fixture
def run_pick(robot: Robot) -> Run:
    def run(**more: Any) -> Played:
        return play(pick({"object_name": "red can", **more}, FACTS), robot)

    return run


@pytest.fixture
def run_place(robot: Robot) -> Run:
    robot.held = True

    def run(**more: Any) -> Played:
        request = {"target_location": "kitchen counter", "object_name": "red can", "object_height_m": 0.1, **more}
        return play(place(request, FACTS), robot)

    return run
