"""Things at an edge, and under a top: on a lower board or the floor."""

import pytest

from quartet_simulation.errors import SimulationError, UnknownNameError
from quartet_simulation.simulation import Simulation
from quartet_simulation.worlds import FILES


@pytest.fixture(scope="module")
def home() -> Simulation:
    sim = Simulation("home", 0, sensors="clean")
    yield sim
    sim.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["red cup", "green tea box", "red apple"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_thing_at_an_edge_is_near_it_and_stands(home, name, seed):
    home.reset(None, seed, f"packed,edge:{name}")
    home.step(1.0)
    thing = home.truth()["objects"][name]
    surface = home.world.surface(thing["on"])
    x0, y0, x1, y1 = surface.rect
    x, y, _ = thing["position"]
    rim = min(x - x0, x1 - x, y - y0, y1 - y) - home._episode.radius(name)
    assert 0.019 <= rim <= 0.041
    assert thing["upright"]
    assert thing["speed"] < 0.02


def test_at_a_round_table_it_stands_where_the_table_is(tmp_path):
    (tmp_path / "world.yaml").write_text((FILES / "flat.yaml").read_text())
    sim = Simulation(str(tmp_path), 0, scenario="edge:green tin", sensors="clean")
    sim.step(1.0)
    thing = sim.truth()["objects"]["green tin"]
    assert (thing["on"], thing["upright"]) == ("round table", True)
    sim.close()


@pytest.mark.slow
@pytest.mark.parametrize(("surface", "bottom"), [("bookshelf", 0.4125), ("toy shelf", 0.3125), ("desk", 0.0)])
def test_a_thing_under_a_top_stands_on_the_next_board_or_the_floor(home, surface, bottom):
    for seed in range(3):
        home.reset(None, seed, f"packed,under:red cup@{surface}")
        home.step(1.0)
        thing = home.truth()["objects"]["red cup"]
        x0, y0, x1, y1 = home.world.surface(surface).rect
        assert x0 < thing["position"][0] < x1
        assert y0 < thing["position"][1] < y1
        assert thing["bottom_z"] == pytest.approx(bottom, abs=0.01)
        assert thing["upright"]
        assert thing["on"] == ("floor" if bottom == 0.0 else None), "it is not on the top"


def test_a_closed_cabinet_and_a_low_top_have_no_room_below(home):
    for surface in ("dresser", "nightstand", "kitchen counter"):
        with pytest.raises(SimulationError, match=f"no room for 'red cup' under '{surface}' in home"):
            home.reset(None, 0, f"under:red cup@{surface}")
    with pytest.raises(UnknownNameError, match="unknown surface ''"):
        home.reset(None, 0, "under:red cup")
