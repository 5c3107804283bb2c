"""The jobs of the dispatch suite: which are for whom, and how their ends count."""

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from quartet_benchmarks import dispatch
from quartet_benchmarks.dispatch import JOBS, SHELF, SHELF_M, Job, high_home, jobs_of
from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.home.world import Goal
from quartet_benchmarks.result import BenchParameters, Rate
from quartet_contracts import Budget, State, Task, TaskStatus
from quartet_contracts.journal import SkillRequested
from quartet_deployment import RefusedError, project_root, run_worlds
from quartet_site import CatalogueObject, load_site


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


def test_bodies_are_measured_by_their_fingers_and_their_arms() -> None:
    bodies = dispatch.Bodies(("rover",), 0)

    def thing(width: float, height: float) -> CatalogueObject:
        look = {"colours": ["red"], "shape": "box", "size_m": (0.2, width, height)}
        return CatalogueObject.model_validate({"name": "parcel", "appearance": look})

    assert bodies.unable(thing(0.079, 0.1), 0.5) == frozenset()
    assert bodies.unable(thing(0.081, 0.1), 0.5) == {"rover"}
    assert bodies.unable(thing(0.06, 0.12), 1.05) == frozenset()
    assert bodies.unable(thing(0.06, 0.12), 1.05, 0.2) == {"rover"}


def test_done_and_begun_are_counted_by_the_world_and_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The can is done; the cup lies elsewhere, the ball FAILED, an unable robot has the box, the book is refused."""
    where = {"can": "desk", "cup": "dresser", "ball": "desk", "box": "desk", "book": "floor"}
    truth = {"objects": {name: {"on": place, "held": False} for name, place in where.items()}}
    states = {"can": State.SUCCEEDED, "cup": State.SUCCEEDED, "ball": State.FAILED, "box": State.SUCCEEDED}
    jobs = [
        Job(
            "wide" if name == "box" else "plain",
            Goal(name, "on", "desk"),
            "kitchen",
            frozenset({"rover"} if name == "box" else ()),
        )
        for name in where
    ]

    class Played:
        """Stack, world and API."""

        scoring_url, site_dir, robots = "", project_root() / "deploy" / "sites" / "home", ("lifter", "rover")

        def __init__(self, *_: object) -> None:
            pass

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def api(self) -> Any:
            return self

        def truth(self) -> Any:
            return truth

        def submit(self, submission: Any) -> TaskStatus:
            name = submission.sentence.split()[3]
            if name not in states:
                raise RefusedError("no robot is able")
            task = Task(
                task_id=name, sentence=name, robot="rover", created_at=0, deadline=1, timeout_s=1, budget=Budget()
            )
            return TaskStatus(task=task, state=states[name], updated_at=1)

        def task(self, name: str) -> TaskStatus:
            return self.submit(SimpleNamespace(sentence=f"Pick up the {name}"))

        def events(self, name: str) -> list[Any]:
            begun = [] if name == "ball" else [SimpleNamespace(event=SkillRequested.model_construct())]
            return [SimpleNamespace(event=None), *begun]

    for name in ("Stack", "World"):
        monkeypatch.setattr(dispatch, name, Played)
    monkeypatch.setattr(dispatch, "Bodies", lambda *_: None)
    monkeypatch.setattr(dispatch, "high_home", lambda folder: folder)
    monkeypatch.setattr(dispatch, "_set_up", lambda *_: jobs)
    result = dispatch.run(BenchParameters(episodes=1, progress=lambda _: None))
    assert [row["done"] for row in result.rows] == [True, False, False, True, False]
    assert [row["begun_by"] for row in result.rows] == [["rover"], ["rover"], [], ["rover"], []]
    assert result.metrics["done"] == Rate(2, 5)
    assert result.metrics["begun_by_an_unable_robot"] == Rate(1, 5)
    assert (result.metrics["done_wide"], result.metrics["done_plain"]) == (Rate(1, 1), Rate(1, 4))
