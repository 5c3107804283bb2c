"""A place that is full of parcels, or fills up while the robot is under way."""

import math

import pytest

from quartet_simulation.errors import SimulationError, UnknownNameError, WorldFileError
from quartet_simulation.events import AWAY_M
from quartet_simulation.parcels import LONG, WIDE
from quartet_simulation.simulation import Simulation
from quartet_simulation.worlds import FILES
from quartet_simulation.worlds.load import load_world

FROM_EDGE_M = 0.05
"""Where a robot puts things down, their middle is at least so far from the edge."""
FINGERS_M = 0.08
"""From the middle of an open gripper to the outside of its fingers."""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Simulation:
    folder = tmp_path_factory.mktemp("home")
    (folder / "world.yaml").write_text((FILES / "home.yaml").read_text() + "\nparcels: 8\n")
    sim = Simulation(str(folder), 0, sensors="clean")
    yield sim
    sim.close()


def parcels_on(truth: dict, surface: str) -> list[dict]:
    return [one for name, one in truth["objects"].items() if name.startswith("parcel ") and one["on"] == surface]


def widest_room(sim: Simulation, surface: str) -> float:
    """Return the radius of the largest circle that meets no parcel, with its middle where a robot puts things [m]."""
    x0, y0, x1, y1 = sim.world.surface(surface).rect
    x0, y0, x1, y1 = x0 + FROM_EDGE_M, y0 + FROM_EDGE_M, x1 - FROM_EDGE_M, y1 - FROM_EDGE_M
    standing = parcels_on(sim.truth(), surface)

    def room(x: float, y: float) -> float:
        nearest = math.inf
        for one in standing:
            half = (LONG / 2, WIDE / 2) if abs(one["quaternion"][2]) < 0.1 else (WIDE / 2, LONG / 2)
            dx, dy = (abs(a - b) - h for a, b, h in zip((x, y), one["position"], half, strict=False))
            nearest = min(nearest, math.hypot(max(dx, 0.0), max(dy, 0.0)))
        return nearest

    steps = [number / 40 for number in range(41)]
    return max(room(x0 + a * (x1 - x0), y0 + b * (y1 - y0)) for a in steps for b in steps)


@pytest.mark.slow
def test_parcels_are_away_where_no_scenario_names_a_place(home):
    home.reset(None, 0)
    truth = home.truth()
    assert not any(name.startswith("parcel") for name in (*truth["objects"], *truth["absent"]))


@pytest.mark.slow
@pytest.mark.parametrize("surface", ["desk", "nightstand", "console table", "toy shelf", "wooden coffee table"])
def test_on_a_full_place_no_gripper_has_room(home, surface):
    for seed in range(2):
        home.reset(None, seed, f"packed,full:{surface}")
        home.step(0.5)
        truth = home.truth()
        assert parcels_on(truth, surface)
        assert all(one["upright"] and one["speed"] < 0.01 for one in parcels_on(truth, surface))
        assert not [n for n, one in truth["objects"].items() if one["on"] == surface and not n.startswith("parcel")]
        assert widest_room(home, surface) < FINGERS_M
        x0, y0, x1, y1 = home.world.surface(surface).rect
        for one in parcels_on(truth, surface):
            assert x0 < one["position"][0] < x1
            assert y0 < one["position"][1] < y1


def test_a_nearly_full_place_has_room_for_one_thing_where_things_usually_stand(home):
    home.reset(None, 0, "full:desk")
    full = len(parcels_on(home.truth(), "desk"))
    home.reset(None, 0, "nearly_full:desk")
    standing = parcels_on(home.truth(), "desk")
    assert len(standing) == full - 1
    assert widest_room(home, "desk") > FINGERS_M + 0.04
    x0, y0, x1, y1 = home.world.surface("desk").strips[0]
    middle = (x0 + x1) / 2, (y0 + y1) / 2
    assert min(math.dist(one["position"][:2], middle) for one in standing) > WIDE / 2


def test_somebody_fills_a_place_while_the_robot_brings_something(home):
    home.reset(None, 0, "filled:desk")
    before = home.truth()
    assert {(one["event"], one["home"]) for one in before["to_happen"]} == {("filled", "desk")}
    home.put_robot(*home.world.area("kitchen").entry)
    home.step(0.2)
    assert home.truth()["happened"] == [], "it brings nothing yet"
    x, y, _ = home.world.surface("desk").approach
    home.put_robot(x, y, math.pi / 2)
    home.put_in_gripper("red coke can")
    home.step(0.2)
    assert home.truth()["happened"] == [], f"it is nearer than {AWAY_M} m"
    home.put_robot(*home.world.area("kitchen").entry)
    home.put_in_gripper("red coke can")
    home.step(0.5)
    after = home.truth()
    assert len(parcels_on(after, "desk")) == len(after["happened"]) == len(before["to_happen"]) > 3
    for one in after["happened"]:
        assert math.dist(one["then"]["position"], after["objects"][one["object"]]["position"]) < 0.01


def test_the_other_things_stand_where_they_did(home):
    home.reset(None, 5, "packed")
    before = home.truth()["objects"]
    assert not [name for name, one in before.items() if one["on"] == "desk"]
    home.reset(None, 5, "packed,full:desk")
    after = home.truth()["objects"]
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(
    ("surface", "why"),
    [
        ("dining table", r"it is 1.50 x 0.90 m and there are 8 parcels of 0.3 x 0.2 m"),
        ("tv stand", "it is round, or carries more"),
    ],
)
def test_a_place_that_cannot_be_filled_is_refused(home, surface, why):
    with pytest.raises(SimulationError, match=f"'{surface}' of home cannot be filled: {why}"):
        home.reset(None, 0, f"full:{surface}")


def test_a_round_table_cannot_be_filled(tmp_path):
    (tmp_path / "world.yaml").write_text((FILES / "flat.yaml").read_text() + "\nparcels: 12\n")
    sim = Simulation(str(tmp_path), 0, sensors="clean")
    with pytest.raises(SimulationError, match=r"'round table' of .* cannot be filled: it is round"):
        sim.reset(None, 0, "full:round table")
    sim.close()


def test_the_names_of_surfaces_and_parcels_are_checked(home, tmp_path):
    with pytest.raises(UnknownNameError, match=r"unknown surface 'moon'; valid: .*desk"):
        home.reset(None, 0, "full:moon")
    thing = "- {name: parcel 1, like: red cup, places: [desk]}\n"
    text = (FILES / "home.yaml").read_text()
    (tmp_path / "world.yaml").write_text(text.replace("things:\n", f"things:\n{thing}", 1))
    with pytest.raises(WorldFileError, match="'parcel 1' is a parcel's name; name it otherwise"):
        load_world(tmp_path)
