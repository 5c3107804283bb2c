"""The jobs of the dispatch suite: which are for whom, and how their ends count."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from quartet_benchmarks import dispatch
from quartet_benchmarks.dispatch import JOBS, SHELF, SHELF_M, high_home, jobs_of
from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.result import BenchParameters
from quartet_deployment import project_root, run_worlds
from quartet_site import load_site


class Bodies:
    """The rover's fingers open 0.08 m, and only the lifter gets things onto the raised shelf, unless they are tall."""

    def unable(self, thing: Any, top: float, above: float = 0.0) -> frozenset[str]:
        *sides, height = thing.appearance.size_m
        if top + height + above > 1.35:
            return frozenset({"rover", "lifter"})
        return frozenset({"rover"}) if min(sides) > 0.08 or top + height > 1.1 else frozenset()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = high_home(tmp_path_factory.mktemp("worlds") / "high")
    run_worlds("site", str(folder))
    return folder


@pytest.fixture(scope="module")
def site(world: Path) -> Any:
    return load_site(world / "site.yaml")


def test_the_home_has_a_raised_shelf_on_which_nothing_begins(world: Path, site: Any) -> None:
    (shelf,) = (place for place in site.surfaces if place.name == SHELF)
    assert shelf.appearance.size_m[2] == SHELF_M
    home = load_site(project_root() / "deploy" / "sites" / "home" / "site.yaml")
    assert sorted(place.name for place in site.surfaces) == sorted(place.name for place in home.surfaces)
    things = yaml.safe_load((world / "world.yaml").read_text(encoding="utf-8"))["things"]
    assert things
    assert not [thing["name"] for thing in things if SHELF in thing["places"] or not thing["places"]]


def test_each_placement_has_jobs_of_all_kinds_with_things_and_places_of_their_own(site: Any) -> None:
    where = {
        "pink tissue box": "tv stand",
        "green bottle": "dining table",
        "orange pill bottle": "dresser",
        "tennis ball": "toy shelf",
        "yellow banana": "nightstand",
        "green sponge": "floor",
    }
    truth = {"objects": {name: {"on": place} for name, place in where.items()}}
    areas = {place.name: place.area for place in site.surfaces}
    for seed in range(10):
        jobs = jobs_of(truth, site, Bodies(), ["lifter", "rover"], Random(seed))  # pyright: ignore[reportArgumentType]
        assert jobs is not None
        assert sorted(job.kind for job in jobs) == sorted(JOBS)
        assert len({job.goal.object for job in jobs}) == len({job.goal.target for job in jobs}) == len(JOBS)
        for job in jobs:
            assert job.area == areas[where[job.goal.object]] != areas[job.goal.target]
            assert job.unable == (frozenset() if job.kind == "plain" else {"rover"})
            assert (job.goal.target == SHELF) == (job.kind == "high")
            assert job.kind != "high" or job.goal.object != "green bottle", "too tall for both"
    del truth["objects"]["pink tissue box"]
    assert jobs_of(truth, site, Bodies(), ["lifter", "rover"], Random(0)) is None  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("kinds", [("rover",), ("rover", "rover")])
def test_equal_robots_are_refused(kinds: tuple[str, ...]) -> None:
    with pytest.raises(OptionError, match="valid: two or more that differ"):
        dispatch.run(BenchParameters(kinds=kinds))
