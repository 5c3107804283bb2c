"""People: they stand in a doorway and go after a while; the robot sees them, waits, goes on and touches nobody."""

import math

import pytest

from quartet_simulation.codes import NavCode
from quartet_simulation.errors import UnknownNameError, WorldFileError
from quartet_simulation.simulation import Simulation
from quartet_simulation.worlds import FILES
from quartet_simulation.worlds.load import load_world

PEOPLE = """
people:
- {name: anna, leaves_after: 6}
- {name: ben, leaves_after: 3600}
"""


@pytest.fixture(scope="module")
def inhabited(tmp_path_factory) -> Simulation:
    folder = tmp_path_factory.mktemp("inhabited")
    (folder / "world.yaml").write_text((FILES / "flat.yaml").read_text() + PEOPLE)
    sim = Simulation(str(folder), 0)
    yield sim
    sim.close()


def in_doorway(sim: Simulation, name: str) -> bool:
    return math.dist(sim.truth()["people"][name], sim.world.doors["kitchen door"]) < 0.1


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


def test_a_person_who_does_not_leave_is_told_as_no_way_and_not_touched(inhabited, hands):
    inhabited.reset(None, 0, "person:ben@kitchen door")
    first = inhabited.world.area("living room").entry
    inhabited.put_robot(*first)
    goal = hands(inhabited).drive_to(*inhabited.world.area("kitchen").entry)
    assert (goal.status, goal.error_code) == ("ABORTED", NavCode.NO_VALID_PATH)
    assert in_doorway(inhabited, "ben")
    assert inhabited.truth()["person_contacts"] == []


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
