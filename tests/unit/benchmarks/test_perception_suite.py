"""The perception suite measures where the hand truly comes, not where it was sent."""

import math

import numpy as np
import pytest

from quartet_benchmarks.perception import Stage
from quartet_deployment import project_root
from quartet_perception import Grasp
from quartet_simulation.simulation import Simulation
from quartet_site import load_robot, load_site

GRASP = Grasp(0.8, 0.1, 0.95, 0.7, 0.06, 0.81, True, 0)


def off_by(sensors: str) -> float:
    """Return the distance between where the hand was sent and where it comes [m]."""
    sites = project_root() / "deploy" / "sites" / "studio"
    sim = Simulation("studio", 0, sensors=sensors)
    stage = Stage(sim, load_site(sites / "site.yaml"), load_robot(sites / "robot.yaml"), 0, "floor", "normal")
    hand = stage.hand_at(GRASP)
    assert math.atan2(hand[1, 0], hand[0, 0]) == pytest.approx(GRASP.yaw, abs=0.01)
    return float(np.linalg.norm(hand[:3, 3] - (GRASP.x, GRASP.y, GRASP.z)))


def test_the_hand_comes_where_it_is_sent_but_for_the_offsets_of_its_joints() -> None:
    assert off_by("clean") < 1e-6
    assert 2e-4 < off_by("typical") < 0.01


def test_yaw_is_told_in_the_frame_of_the_base() -> None:
    sites = project_root() / "deploy" / "sites" / "studio"
    sim = Simulation("studio", 0)
    stage = Stage(sim, load_site(sites / "site.yaml"), load_robot(sites / "robot.yaml"), 0, "floor", "normal")
    sim.put_robot(0.0, 0.0, 0.5)
    sim.place_object("green tea box", 0.8, 0.3, 0.0, 1.2)
    assert stage.yaw_in_base("green tea box") == pytest.approx(0.7, abs=1e-3)
