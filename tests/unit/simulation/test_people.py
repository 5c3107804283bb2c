"""People: they stand in a doorway and go after a while; the robot sees them, waits, goes on and touches nobody."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from quartet_simulation.codes import NavCode
from quartet_simulation.errors import SimulationError, UnknownNameError, WorldFileError
from quartet_simulation.navigation.costmap import PERSON, PERSON_MARK
from quartet_simulation.navigation.planner import PathPlanner
from quartet_simulation.simulation import Simulation
from quartet_simulation.world_tool.generate import generate
from quartet_simulation.worlds import FILES
from quartet_simulation.worlds.load import load_world
from quartet_simulation.worlds.person import AWAY
from quartet_simulation.worlds.world import area_at

PEOPLE = """
people:
- {name: anna, leaves_after: 6}
- {name: ben, leaves_after: 3600}
"""


@contextmanager
def flat_of(people: str, folder: Path) -> Iterator[Simulation]:
    """The flat with these people in it."""
    (folder / "world.yaml").write_text((FILES / "flat.yaml").read_text() + people)
    sim = Simulation(str(folder), 0)
    try:
        yield sim
    finally:
        sim.close()


@pytest.fixture(scope="module")
def inhabited(tmp_path_factory) -> Iterator[Simulation]:
    with flat_of(PEOPLE, tmp_path_factory.mktemp("inhabited")) as sim:
        yield sim


def in_doorway(sim: Simulation, name: str) -> bool:
    return math.dist(sim.truth()["people"][name], sim.world.doors["kitchen door"]) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_robot_waits_for_a_person_in_a_doorway_and_goes_on(inhabited, hands, seed):
    inhabited.reset(None, seed, "person:anna@kitchen door")
    first, last = inhabited.world.area("living room").entry, inhabited.world.area("kitchen").entry
    inhabited.put_robot(*first)
    assert in_doorway(inhabited, "anna")
    goal = hands(inhabited).drive_to(*last)
    assert (goal.status, goal.error_code) == ("SUCCEEDED", NavCode.NONE), goal.error_text
    truth = inhabited.truth()
    assert math.dist(truth["robot"]["pose"][:2], last[:2]) < 0.07
    assert not in_doorway(inhabited, "anna")
    assert truth["people"]["ben"][0] > 50
    assert (truth["person_contacts"], truth["fixed_contacts"]) == ([], [])


def test_a_person_notices_a_robot_that_waits_from_afar(inhabited, hands):
    inhabited.reset(None, 0, "person:anna@kitchen door")
    # The laser reaches farther than a person pays heed to a robot: it would wait where nobody minds it.
    inhabited.put_robot(7.4, 2.0, math.pi)
    goal = hands(inhabited).drive_to(*inhabited.world.area("kitchen").entry)
    assert goal.status == "SUCCEEDED", goal.error_text
    assert inhabited.truth()["person_contacts"] == []


def test_who_was_seen_in_a_door_and_walked_on_out_of_sight_bars_it_no_longer(inhabited, hands, monkeypatch):
    """From where it waits the robot never sees that nobody stands there any more."""
    monkeypatch.setattr("quartet_simulation.navigation.obstacle_layer.LASER_RANGE_M", 2.0)
    inhabited.reset(None, 0)
    inhabited.put_robot(7.4, 2.0, math.pi)
    inhabited._costmap.mark({f"{PERSON}anna": (*inhabited.world.doors["kitchen door"], PERSON_MARK)})
    goal = hands(inhabited).drive_to(*inhabited.world.area("kitchen").entry)
    assert goal.status == "SUCCEEDED", goal.error_text


def test_a_person_who_does_not_leave_is_told_as_no_way_and_not_touched(inhabited, hands):
    inhabited.reset(None, 0, "person:ben@kitchen door")
    first = inhabited.world.area("living room").entry
    inhabited.put_robot(*first)
    goal = hands(inhabited).drive_to(*inhabited.world.area("kitchen").entry)
    assert (goal.status, goal.error_code) == ("ABORTED", NavCode.NO_VALID_PATH)
    assert in_doorway(inhabited, "ben")
    assert inhabited.truth()["person_contacts"] == []


def test_a_person_is_seen_from_all_round_also_with_one_leg_behind_the_other(inhabited):
    inhabited.reset(None, 0, "person:ben@kitchen door")
    x, y = 5.8, 1.9
    inhabited._physics.set_person("ben", x, y)
    for turn in range(16):
        angle = turn * math.pi / 8
        inhabited.put_robot(x + 1.2 * math.cos(angle), y + 1.2 * math.sin(angle), 0.0)
        inhabited.step(0.1)
        inhabited.clear_costmaps()
        assert "person:ben" in inhabited._costmap.marks, f"from {math.degrees(angle):.0f} degrees"


def test_the_mark_of_a_person_goes_with_them_wherever_the_robot_sees_them_from(inhabited):
    inhabited.reset(None, 0, "person:ben@kitchen door")
    door = inhabited.world.doors["kitchen door"]
    seen_from = 0
    for dx in (-0.7, -1.2, -1.8, -2.4, 0.7, 1.2, 1.8, 2.4):
        # From farther aside a doorpost hides all but a leg: the mark stays until the costmaps are cleared.
        for dy in (-1.6, -1.2, -0.8, -0.4, 0.0, 0.4, 0.8, 1.2, 1.6):
            inhabited._physics.set_person("ben", *door)
            inhabited.put_robot(door[0] + dx, door[1] + dy, 0.0)
            inhabited.step(0.1)
            inhabited.clear_costmaps()
            if "person:ben" in inhabited._costmap.marks:
                seen_from += 1
                inhabited._physics.set_person("ben", *AWAY)
                inhabited.step(0.1)
                inhabited._obstacles.look()
                assert "person:ben" not in inhabited._costmap.marks, (dx, dy)
    assert seen_from >= 8


def test_a_person_whose_way_a_robot_waits_in_goes_another_one(inhabited):
    """They would wait for each other for ever."""
    inhabited.reset(None, 0, "person:anna@kitchen door")
    door = inhabited.world.doors["kitchen door"]
    inhabited.put_robot(*inhabited.world.area("living room").entry)
    anna = inhabited._people._people[0]
    while anna.state != "walks":
        inhabited.step(0.1)
    towards = anna.way[-1]
    inhabited.step(0.3)
    here = inhabited.truth()["people"]["anna"]
    along = (towards[0] - here[0]) / math.dist(towards, here), (towards[1] - here[1]) / math.dist(towards, here)
    inhabited.put_robot(here[0] + 0.8 * along[0], here[1] + 0.8 * along[1], 0.0)
    inhabited.step(20.0)
    here = inhabited.truth()["people"]["anna"]
    assert math.dist(here, door) > 1.3
    assert math.dist(here, towards) > 1.0
    assert inhabited.truth()["person_contacts"] == []


def ways_are_open(sim: Simulation, *spots: tuple[float, float], room: float = 0.0) -> bool:
    """Whether robots get from each area to each so far past people at these spots [m]."""
    people, entries = sim._people, [area.entry[:2] for area in sim.world.areas]
    planner = PathPlanner(people._driven)
    people._driven.clear()
    people._driven.mark({f"person {number}": (*spot, PERSON_MARK + room) for number, spot in enumerate(spots)})
    return all(planner.plan(entries[0], entry) is not None for entry in entries[1:])


def test_what_is_reached_is_what_a_way_is_planned_to(inhabited):
    inhabited.reset(None, 0)
    floor, world = inhabited._people._driven, inhabited.world
    floor.clear()
    floor.mark({f"person {name}": (*at, 1.0) for name, at in list(world.doors.items())[:2]})
    planner, start = PathPlanner(floor), world.areas[0].entry[:2]
    x0, y0, x1, y1 = world.bounds
    told = [
        (planner.reaches(start, (x, y)), planner.plan(start, (x, y)) is not None)
        for x in np.arange(x0 - 0.5, x1 + 0.5, 0.8)
        for y in np.arange(y0 - 0.5, y1 + 0.5, 0.8)
    ]
    assert {reached for reached, _ in told} == {True, False}
    assert all(reached == planned for reached, planned in told)


@pytest.fixture
def generated(tmp_path, request) -> Iterator[Simulation]:
    (tmp_path / "world.yaml").write_text(generate(request.param) + PEOPLE)
    sim = Simulation(str(tmp_path), 0, sensors="clean")
    try:
        yield sim
    finally:
        sim.close()


@pytest.mark.slow
@pytest.mark.parametrize(("generated", "room"), [(546746187, 0.0), (105, 0.15)], indirect=["generated"])
def test_who_has_gone_aside_leaves_room_for_a_robot_that_keeps_away_from_them(generated, room):
    """A robot marks a person wider than they are, and seen from 3.5 m up to 0.15 m off.

    In the first home a spot had room for the person alone, in the second for the mark alone.
    """
    anna = generated._people._people[0]
    for door in generated.world.doors:
        anna.door = door
        spots = generated._people._aside(anna)
        assert spots, door
        assert all(ways_are_open(generated, spot, room=room) for spot in spots), door


@pytest.mark.slow
@pytest.mark.parametrize("generated", [269830717], indirect=True)
def test_who_goes_aside_leaves_a_way_past_those_who_stand_about(generated):
    """Ben stood behind the open door; Anna, beside him, left no way past both."""
    anna, ben = generated._people._people[:2]
    anna.door, ben.state, stands = "living room door", "stands", (3.9, 1.5)
    alone = generated._people._aside(anna)
    assert ways_are_open(generated, stands)
    assert not ways_are_open(generated, alone[0], stands)
    generated._physics.set_person("ben", *stands)
    spots = generated._people._aside(anna)
    assert spots
    assert all(ways_are_open(generated, spot, stands) for spot in spots)


@pytest.mark.slow
@pytest.mark.parametrize("generated", [546746187], indirect=True)
def test_nobody_goes_aside_before_a_thing_that_may_be_fetched(generated):
    anna = generated._people._people[0]
    anna.door = next(iter(generated.world.doors))
    first, *rest = generated._people._aside(anna)
    thing = next(iter(generated.truth()["objects"]))
    generated.place_object(thing, first[0] + 0.4, first[1], 0.0)
    assert generated._people._aside(anna) == rest
    assert rest


@pytest.mark.slow
@pytest.mark.parametrize("generated", [546746187], indirect=True)
def test_people_go_aside_where_there_are_no_things(generated, monkeypatch):
    anna = generated._people._people[0]
    anna.door = next(iter(generated.world.doors))
    monkeypatch.setattr(generated._people._physics, "objects", {})
    assert generated._people._aside(anna)


def test_a_push_against_a_person_is_counted_in_the_physics(inhabited):
    inhabited.reset(None, 0, "person:ben@kitchen door")
    x, y = inhabited.world.doors["kitchen door"]
    inhabited.put_robot(x - 0.55, y, 0.0)
    for _ in range(10):
        # Velocities go past Nav2 and its checks.
        inhabited.command_velocity(0.3, 0.0, 0.0)
        inhabited.step(0.1)
    touched = inhabited.truth()["person_contacts"]
    assert {tuple(contact["parts"])[1].split("/")[0] for contact in touched} == {"person:ben"}
    assert max(contact["force_n"] for contact in touched) > 5


def test_what_is_held_counts_against_people(inhabited):
    name = next(iter(inhabited.world.homes))
    inhabited.reset(None, 0, f"in_gripper:{name}")
    inhabited.step(0.1)
    truth = inhabited.truth()
    assert (truth["held"], truth["person_contacts"]) == (name, [])
    x, y, _ = truth["objects"][name]["position"]
    inhabited._physics.set_person("ben", x, y)
    inhabited.step(0.01)
    parts = {contact["parts"][0] for contact in inhabited.truth()["person_contacts"]}
    assert f"held:{name}" in parts, parts


def test_people_and_doors_of_a_scenario_must_be_there(inhabited):
    with pytest.raises(UnknownNameError, match="unknown person 'carl'; valid: anna, ben"):
        inhabited.reset(None, 0, "person:carl")
    with pytest.raises(UnknownNameError, match=r"unknown door 'attic door'; valid: .*kitchen door"):
        inhabited.reset(None, 0, "person:anna@attic door")


def test_a_person_in_a_door_that_is_not_there_is_a_fault(tmp_path):
    people = "people:\n- {name: anna, door: attic door}\n- {name: anna}\n"
    (tmp_path / "world.yaml").write_text((FILES / "flat.yaml").read_text() + people)
    with pytest.raises(WorldFileError) as caught:
        load_world(tmp_path)
    assert "people[0].door" in str(caught.value) or "people" in str(caught.value)
    assert "there is no door 'attic door' that is open; valid: kitchen door" in str(caught.value)
    assert "'anna' is there twice" in str(caught.value)


WALKING = """
people:
- {name: anna, walks: [[1.2, 0.9], [6.4, 2.3]], speed: 0.8}
- {name: ben}
"""


@pytest.fixture(scope="module")
def lively(tmp_path_factory) -> Iterator[Simulation]:
    with flat_of(WALKING, tmp_path_factory.mktemp("lively")) as sim:
        yield sim


def way_of(sim: Simulation, name: str, duration_s: float) -> list[tuple[float, float]]:
    """Return where a person is every 0.1 s."""
    places = []
    for _ in range(round(duration_s / 0.1)):
        sim.step(0.1)
        places.append(tuple(sim.truth()["people"][name]))
    return places


@pytest.mark.slow
def test_somebody_walks_to_and_fro_between_the_points_of_the_file(lively):
    lively.reset(None, 0)
    lively.put_robot(8.2, 3.3, math.pi)
    places = way_of(lively, "anna", 40.0)
    for point in ((1.2, 0.9), (6.4, 2.3)):
        assert min(math.dist(place, point) for place in places) < 0.1, point
    # Over a second each, since a way has corners.
    steps = [math.dist(a, b) for a, b in zip(places, places[10:], strict=False)]
    assert sorted(steps)[-20] == pytest.approx(0.8, abs=0.08)
    assert lively.truth()["people"]["ben"][0] > 50
    assert lively.truth()["fixed_contacts"] == []


def test_where_somebody_walks_is_drawn_by_the_seed(lively):
    seen = set()
    for seed in range(6):
        lively.reset(None, seed, "walks:ben")
        ben = next(one for one in lively._people._people if one.info.name == "ben")
        assert 0.5 <= ben.speed <= 1.0
        areas = {area_at(lively.world, *stop) for stop in ben.stops}
        assert len(areas) == len(ben.stops) == 2
        assert None not in areas
        seen.add((*ben.stops, ben.speed))
        lively.reset(None, seed, "walks:ben")
        assert (*ben.stops, ben.speed) in seen
    assert len(seen) == 6


@pytest.mark.long
def test_a_robot_gets_about_among_people_who_walk_and_touches_nobody(lively, hands):
    arrived, walked = 0, 0.0
    for seed in range(4):
        lively.reset(None, seed, "packed,walks:ben")
        for name in ("kitchen", "living room", "kitchen"):
            before = lively.truth()["people"]["anna"]
            goal = hands(lively).drive_to(*lively.world.area(name).entry)
            # Where two people stand in its way for 20 s it gives up.
            assert goal.status == "SUCCEEDED" or lively.time - goal.started_at > 20, goal.error_text
            arrived += goal.status == "SUCCEEDED"
            walked += math.dist(lively.truth()["people"]["anna"], before)
        assert lively.truth()["person_contacts"] == []
    assert arrived >= 10
    assert walked > 10.0


def test_who_meets_a_robot_that_waits_turns_round(lively):
    """They would wait for each other for ever."""
    lively.reset(None, 0)
    door = lively.world.doors["kitchen door"]
    anna = next(one for one in lively._people._people if one.info.name == "anna")
    lively.put_robot(door[0] + 0.3, door[1], math.pi)
    towards = [stop for _ in range(400) if not lively.step(0.1) for stop in [anna.stops[0]]]
    assert len(set(towards)) == 2
    assert lively.truth()["person_contacts"] == []


def test_nobody_walks_through_a_closed_door(tmp_path):
    (tmp_path / "world.yaml").write_text((FILES / "flat.yaml").read_text() + WALKING)
    sim = Simulation(str(tmp_path), 0, scenario="closed:kitchen door")
    x = sim.world.doors["kitchen door"][0]
    assert {place[0] < x for place in way_of(sim, "anna", 30.0)} == {True}
    sim.close()


def test_a_walk_that_cannot_be_is_a_fault(tmp_path):
    people = "people:\n- {name: anna, door: kitchen door, walks: [[1, 1]]}\n- {name: ben, walks: [[1, 1], [50, 1]]}\n"
    (tmp_path / "world.yaml").write_text((FILES / "flat.yaml").read_text() + people)
    with pytest.raises(WorldFileError) as caught:
        load_world(tmp_path)
    assert "'anna' stands in a door or walks about; leave one of both out" in str(caught.value)
    assert "'anna' walks between points: name two or more" in str(caught.value)
    assert "(50.0, 1.0) is in none of the rooms" in str(caught.value)


def test_nobody_walks_to_where_something_stands(tmp_path):
    people = "people:\n- {name: anna, walks: [[1.0, 3.6], [2.0, 2.0]]}\n"
    (tmp_path / "world.yaml").write_text((FILES / "flat.yaml").read_text() + people)
    with pytest.raises(SimulationError, match=r"'anna' cannot walk to \(1.00, 3.60\) in flat: something stands there"):
        Simulation(str(tmp_path), 0)
