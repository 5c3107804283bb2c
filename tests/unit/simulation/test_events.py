"""Somebody takes a thing away or puts it elsewhere while the robot is about to fetch it."""

import math

import numpy as np
import pytest

from quartet_simulation.errors import SimulationError, UnknownNameError
from quartet_simulation.events import HAND_NEAR_M, LOOK_EVERY, NEAR_M
from quartet_simulation.simulation import Simulation


@pytest.fixture(scope="module")
def home() -> Simulation:
    sim = Simulation("home", 0, sensors="clean")
    yield sim
    sim.close()


def begin(sim: Simulation, scenario: str, moment: str) -> dict:
    """Begin the first episode in which the change happens at that moment, and return its ground truth."""
    for seed in range(20):
        sim.reset(None, seed, scenario)
        if sim._episode.changes[0].moment == moment:
            return sim.truth()
    raise AssertionError(moment)


def drive_near(sim: Simulation, name: str, away: float) -> None:
    x, y, _ = sim.truth()["objects"][name]["position"]
    sim.put_robot(x - away, y, 0.0)
    sim.step(LOOK_EVERY * 0.01)


def test_a_thing_is_taken_as_the_robot_comes_near_and_not_before(home):
    before = begin(home, "taken:red coke can", "base near")
    assert before["to_happen"] == [{"event": "taken", "object": "red coke can", "home": None}]
    drive_near(home, "red coke can", NEAR_M + 0.05)
    assert "red coke can" in home.truth()["objects"]
    drive_near(home, "red coke can", NEAR_M - 0.05)
    after = home.truth()
    assert "red coke can" not in after["objects"]
    assert "red coke can" in after["absent"]
    assert after["to_happen"] == []
    (one,) = after["happened"]
    assert (one["event"], one["object"], one["then"]) == ("taken", "red coke can", None)
    assert one["time"] <= after["time"]
    home.reset(None, 3)
    assert (home.truth()["happened"], home.truth()["to_happen"]) == ([], [])
    assert "red coke can" in home.truth()["objects"]


def test_a_thing_is_put_elsewhere_and_stands_there(home):
    before = begin(home, "moved:red coke can@desk", "base near")
    assert before["to_happen"] == [{"event": "moved", "object": "red coke can", "home": "desk"}]
    assert before["objects"]["red coke can"]["on"] != "desk"
    drive_near(home, "red coke can", 1.0)
    home.step(0.5)
    after = home.truth()
    (one,) = after["happened"]
    assert one["then"]["on"] == after["objects"]["red coke can"]["on"] == "desk"
    assert after["objects"]["red coke can"]["upright"]
    assert math.dist(one["then"]["position"], after["objects"]["red coke can"]["position"]) < 0.01
    for name, thing in before["objects"].items():
        if name != "red coke can":
            assert math.dist(thing["position"], after["objects"][name]["position"]) < 0.01, name


def test_nobody_takes_a_thing_out_of_the_fingers(home):
    begin(home, "taken:red coke can", "base near")
    home.put_in_gripper("red coke can")
    home.step(0.5)
    assert home.truth()["held"] == "red coke can"
    assert home.truth()["happened"] == []


def test_a_thing_may_be_taken_as_the_hand_comes_for_it(home):
    begin(home, "taken:red coke can", "hand near")
    drive_near(home, "red coke can", 0.9)
    tool = np.array(home.truth()["robot"]["tool"])
    assert math.dist(tool, home.truth()["objects"]["red coke can"]["position"]) > HAND_NEAR_M
    assert home.truth()["happened"] == []
    home.place_object("red coke can", *(tool - [0, 0, HAND_NEAR_M - 0.02]))
    home.step(LOOK_EVERY * 0.01)
    assert [one["event"] for one in home.truth()["happened"]] == ["taken"]


def test_nobody_puts_a_thing_under_the_hand(home):
    begin(home, "moved:red coke can@desk", "base near")
    (change,) = home._episode.changes
    home.place_object("red coke can", change.spots[0].x, change.spots[0].y - 0.2, 0.01)
    home.put_robot(change.spots[0].x - 0.5, change.spots[0].y, 0.0)
    home.step(0.5)
    assert home.truth()["happened"] == []
    home.put_robot(change.spots[0].x - NEAR_M + 0.1, change.spots[0].y, 0.0)
    home.step(0.1)
    assert len(home.truth()["happened"]) == 1


@pytest.mark.slow
def test_a_place_that_is_drawn_is_another_one_in_the_room_or_the_next(home):
    homes, rooms = set(), set()
    for seed in range(12):
        home.reset(None, seed, "moved:red cup")
        truth = home.truth()
        (change,) = home._episode.changes
        assert change.spots[0].home != home._episode.homes["red cup"]
        homes.add(change.spots[0].home)
        area = next((s.area for s in home.world.surfaces if s.name == change.spots[0].home), None)
        rooms.add((area or change.spots[0].home) == truth["objects"]["red cup"]["area"])
        home.reset(None, seed, "moved:red cup")
        assert home._episode.changes == [change], "the same seed means the same"
    assert len(homes) > 3
    assert rooms == {True, False}


def test_what_happens_later_leaves_the_start_as_it_was(home):
    for seed in (0, 7):
        home.reset(None, seed, "packed")
        before = home.truth()
        home.reset(None, seed, "packed,moved:red cup,taken:red coke can")
        after = home.truth()
        assert after["objects"] == before["objects"]
        assert after["robot"] == before["robot"]


def test_what_is_taken_from_the_floor_is_no_obstacle_any_more(home):
    begin(home, "taken:red coke can,at:red coke can@floor:kitchen", "base near")
    drive_near(home, "red coke can", 2.0)
    home.step(0.6)
    assert "red coke can" in home._costmap.marks
    drive_near(home, "red coke can", 1.2)
    home.step(0.6)
    assert "red coke can" not in home._costmap.marks


def test_what_is_not_there_cannot_be_taken(home):
    with pytest.raises(SimulationError, match="nobody can take 'red cup', which is not in the episode"):
        home.reset(None, 0, "absent:red cup,taken:red cup")
    with pytest.raises(UnknownNameError, match="unknown object 'unicorn'"):
        home.reset(None, 0, "taken:unicorn")
    with pytest.raises(UnknownNameError, match="unknown home 'moon'"):
        home.reset(None, 0, "moved:red cup@moon")
