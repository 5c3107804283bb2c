"""Which jobs cross each other, in a placement of things."""

from random import Random

import pytest

from quartet_benchmarks.fleet.crossing import crossing_of
from quartet_deployment import project_root
from quartet_site import load_site


@pytest.fixture(scope="module")
def home():
    return load_site(project_root() / "deploy" / "sites" / "home" / "site.yaml")


def lying(**on):
    return {"objects": {name.replace("_", " "): {"on": where, "held": False} for name, where in on.items()}}


def test_each_fetches_where_the_other_puts_down(home):
    truth = lying(red_cup="dining table", orange="desk", green_apple="floor", blue_mug="dining table")
    for seed in range(6):
        one, other = crossing_of(truth, home, Random(seed))
        assert {one.goal.target, other.goal.target} == {"dining table", "desk"}
        assert truth["objects"][one.goal.object]["on"] == other.goal.target
        assert truth["objects"][other.goal.object]["on"] == one.goal.target
        assert one.goal.object in one.sentence
        assert f"on the {one.goal.target} in the" in one.sentence
    assert crossing_of(truth, home, Random(3)) == crossing_of(truth, home, Random(3))


def test_things_in_two_areas_come_before_things_in_one(home):
    truth = lying(red_cup="tv stand", orange="bookshelf", blue_mug="desk")
    for seed in range(6):
        pair = crossing_of(truth, home, Random(seed))
        assert "blue mug" in {errand.goal.object for errand in pair}


def test_without_things_on_two_surfaces_there_is_no_crossing(home):
    assert crossing_of(lying(red_cup="desk", orange="desk", blue_mug="floor"), home, Random(0)) is None
