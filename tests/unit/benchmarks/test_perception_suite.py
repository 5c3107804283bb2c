"""The perception suite measures where the hand truly comes, not where it was sent."""

import math

import numpy as np
import pytest

from quartet_benchmarks.command import bench
from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.perception import as_told
from quartet_benchmarks.rough_catalogue import SIZE_ERROR
from quartet_benchmarks.stage import Stage
from quartet_deployment import project_root
from quartet_perception import Catalogue, Grasp
from quartet_perception.grasp_uncertainty import GraspUncertainty
from quartet_simulation.simulation import Simulation
from quartet_site import load_robot, load_site

GRASP = Grasp(
    x=0.8,
    y=0.1,
    z=0.95,
    yaw=0.7,
    width=0.06,
    length=0.09,
    tip_z=0.81,
    oriented=True,
    opening=0.14,
    room=0.02,
    hidden=0.0,
    uncertainty=GraspUncertainty(0.004, 0.004, 0.02, 0.001, 0.005),
)


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
    sim = Simulation("studio", 0, sensors="clean")
    stage = Stage(sim, load_site(sites / "site.yaml"), load_robot(sites / "robot.yaml"), 0, "floor", "normal")
    sim.put_robot(0.0, 0.0, 0.5)
    sim.place_object("green tea box", 0.8, 0.3, 0.0, 1.2)
    assert stage.yaw_in_base("green tea box") == pytest.approx(0.7, abs=1e-3)


def test_a_rough_catalogue_has_sizes_off_by_a_tenth_and_no_parts() -> None:
    exact = Catalogue.of_site(load_site(project_root() / "deploy" / "sites" / "home" / "site.yaml"))
    off: list[float] = []
    for a, b in zip(exact.entries, as_told(exact, "rough", 3).entries, strict=True):
        if a.kind != "object":
            assert b == a
            continue
        sizes = a.appearance.size_m
        if a.appearance.shape == "cylinder":
            # Nobody measures a mug with its handle.
            sizes = (min(sizes[:2]), min(sizes[:2]), sizes[2])
        ratios = [y / x for x, y in zip(sizes, b.appearance.size_m, strict=True)]
        assert max(abs(r - 1) for r in ratios) < SIZE_ERROR + 0.02
        assert a.appearance.shape == "box" or ratios[0] == pytest.approx(ratios[1], abs=0.02)
        assert (a.name, a.appearance.colours) == (b.name, b.appearance.colours)
        assert not b.appearance.parts
        irregular = a.name == "yellow rubber duck"
        assert b.appearance.shape == ("irregular" if irregular else a.appearance.shape), "a toy car is nearly a box"
        assert b.appearance.size_error == SIZE_ERROR, "what it says of itself is true"
        off += ratios
    assert 0.04 < float(np.std(off)) < 0.08


def test_an_unsized_catalogue_has_sizes_only_where_colour_and_shape_are_those_of_another_thing() -> None:
    exact = Catalogue.of_site(load_site(project_root() / "deploy" / "sites" / "home" / "site.yaml"))
    told = {one.name: one for one in as_told(exact, "unsized", 3).entries}
    assert list(told) == [one.name for one in sorted(exact.entries, key=lambda one: one.kind != "object")]
    assert {name for name, one in told.items() if one.kind == "object" and one.sized} == {
        "red coke can", "red cup", "blue soda can", "blue mug", "yellow soup can", "yellow cup", "green tea box",
        "green sponge", "yellow rubber duck", "yellow banana",
    }  # fmt: skip
    assert told["red toy car"].appearance.shape == "irregular", "where the shape has to tell all, it is no box"
    assert told["orange"].appearance.model_dump(exclude_defaults=True) == {"colours": ["orange"], "shape": "sphere"}


def test_a_rough_catalogue_is_refused_by_other_suites() -> None:
    with pytest.raises(OptionError, match="the suite 'tools' has no such option; home, perception have"):
        bench("tools", catalogue="rough")
