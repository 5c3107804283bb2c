"""Shelves and wall boards of a world file: their boards carry things, and are used from the open front."""

import mujoco
import pytest
import yaml

from quartet_simulation.errors import WorldFileError
from quartet_simulation.simulation import Simulation
from quartet_simulation.world_tool.proof import unsolvable
from quartet_simulation.worlds import FILES, load_world
from quartet_simulation.worlds.furniture import Furniture
from quartet_simulation.worlds.shelves import Shelf

BOOKCASE = {
    "name": "bookcase",
    "kind": "shelf",
    "rect": [2.75, 0.06, 3.6, 0.4],
    "height": 1.3,
    "front": "n",
    "colour": "beech",
    "surface": None,
    "boards": [0.4, {"name": "middle shelf", "height": 0.75, "aliases": ["second shelf"]}],
}
RACK = {
    "name": "rack",
    "kind": "shelf",
    "rect": [5.0, 0.06, 5.9, 0.4],
    "bottom": 0.55,
    "height": 1.35,
    "front": "n",
    "colour": "white",
    "surface": None,
    "sides": False,
    "back": False,
    "boards": [{"name": "rack board", "height": 0.95}],
}
WALL_BOARD = {"name": "ledge", "kind": "wall board", "rect": [8.7, 1.5, 8.94, 2.6], "height": 1.0, "colour": "white"}
APPLES = [
    {"name": "red apple", "places": ["middle shelf"]},
    {"name": "green apple", "places": ["rack board"]},
    {"name": "orange", "places": ["ledge"]},
]


def flat(folder, *pieces, things=()):
    fields = yaml.safe_load((FILES / "flat.yaml").read_text())
    folder.mkdir(exist_ok=True)
    text = yaml.safe_dump({**fields, "furniture": [*fields["furniture"], *pieces], "things": list(things)})
    (folder / "world.yaml").write_text(text)
    return folder


def blocks(**fields):
    """Return the solid shapes of a shelf: end of the name, height from and to [m]."""
    shelf = Shelf.model_validate({**BOOKCASE, **fields})
    make = Furniture(mujoco.MjSpec())
    shelf.add(make, lambda _: (1.0, 1.0, 1.0))
    return {one.geom.removeprefix("bookcase "): tuple(round(z, 4) for z in one.z) for one in make.blocks}


def test_boards_with_a_name_are_surfaces_used_from_the_open_front(tmp_path):
    world = load_world(flat(tmp_path, BOOKCASE, RACK, WALL_BOARD, things=APPLES))
    shelf, rack, ledge = (world.surface(name) for name in ("middle shelf", "rack board", "ledge"))
    assert shelf.rect == (2.775, 0.085, 3.575, 0.4), "between sides and back, as far as the front"
    assert (shelf.height, shelf.aliases, shelf.area) == (0.75, ("second shelf",), "kitchen")
    assert (rack.height, ledge.height) == (0.95, 1.0)
    assert world.surface("bookcase") is None, "its surface is null"
    for place in (shelf, rack):
        _, y, yaw = place.approach
        assert y > 0.4
        assert yaw == pytest.approx(-1.5708)


@pytest.mark.parametrize("front", ["n", "e", "s", "w"])
def test_a_shelf_in_the_middle_of_a_room_is_approached_from_its_front(tmp_path, front):
    rect = [1.85, 1.3, 2.15, 2.1] if front in "ew" else [1.6, 1.55, 2.4, 1.85]
    (place,) = load_world(flat(tmp_path, {**BOOKCASE, "rect": rect, "front": front})).surfaces[2:]
    x, y = (place.approach[0] - 2.0, place.approach[1] - 1.7)
    assert {"n": y, "s": -y, "e": x, "w": -x}[front] > 0.7


@pytest.mark.slow
def test_things_are_placed_on_boards_and_can_be_driven_up_to(tmp_path):
    folder = str(flat(tmp_path, BOOKCASE, RACK, WALL_BOARD, things=APPLES))
    assert unsolvable(folder, (0,)) == []
    sim = Simulation(folder, 0, sensors="clean")
    try:
        objects = sim.truth()["objects"]
    finally:
        sim.close()
    assert {name: one["on"] for name, one in objects.items()} == {one["name"]: one["places"][0] for one in APPLES}
    assert objects["red apple"]["position"][2] == pytest.approx(0.75 + 0.04, abs=0.01)


def test_a_shelf_stands_or_hangs_with_sides_or_posts():
    assert blocks(boards=None) == {
        "top": (1.27, 1.3),
        "board 0": (0.6375, 0.6625),
        "foot": (0.0, 0.05),
        "back": (0.05, 1.27),
        "end 0": (0.05, 1.27),
        "end 1": (0.05, 1.27),
    }
    hung = blocks(bottom=0.5, boards=[0.9], sides=False, back=False)
    assert hung["foot"] == (0.5, 0.525)
    assert [name for name in hung if name.startswith("end")] == [f"end {n}" for n in range(4)]
    assert "back" not in hung


@pytest.mark.parametrize(
    ("pieces", "things", "wanted"),
    [
        ([{**BOOKCASE, "boards": [1.4]}], [], "a board or top 1.3 m high leaves"),
        ([{**BOOKCASE, "boards": [0.4, 0.43]}], [], "a board or top 0.43 m high leaves 0.005 m over what is below"),
        (
            [{**BOOKCASE, "height": 0.14, "boards": None}], [],
            "a board or top 0.0825 m high leaves 0.007 m over what is below it; valid from 0.05 m, between the bottom "
            "(0.050 m) and the top (0.14 m); without boards there is one in the middle, with `boards: []` none",
        ),
        ([{**BOOKCASE, "bottom": 1.25}], [], "a shelf with its underside at 1.25 m is at least 1.355 m high"),
        ([{**BOOKCASE, "rect": [2.75, 0.3, 3.6, 0.35]}], [], "is too narrow for a shelf; valid from 0.1 m"),
        ([{**WALL_BOARD, "thickness": 1.0}], [], "thickness is 1.0; valid: less than its height of 1.0 m"),
        ([BOOKCASE, {**WALL_BOARD, "name": "middle shelf"}], [], "'middle shelf' is there twice; names must differ"),
        (
            [{**BOOKCASE, "height": 0.98}],
            [{"name": "red coke can", "places": ["kitchen counter", "round table"]}, {
                "name": "vase", "shape": "cylinder", "size": [0.06, 0.06, 0.25], "colour": "red",
                "places": ["middle shelf"]}],
            "things.1.places.0: 'vase' is 0.250 m high, and only 0.200 m is free over 'middle shelf'",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_a_fault(tmp_path, pieces, things, wanted):
    with pytest.raises(WorldFileError) as caught:
        load_world(flat(tmp_path, *pieces, things=things))
    assert wanted in str(caught.value)
