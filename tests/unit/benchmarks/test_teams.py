"""What the teams suite asks for, and the ratios that it tells."""

from random import Random

import pytest

from quartet_benchmarks import teams
from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.result import BenchParameters, Rate
from quartet_benchmarks.teams import Sorting, goals_of, metrics_of, run
from quartet_contracts import Budget, State, Task, TaskStatus
from quartet_deployment import StackError, project_root
from quartet_site import load_site


@pytest.fixture(scope="module")
def home():
    return load_site(project_root() / "deploy" / "sites" / "home" / "site.yaml")


def sorting(seed, robots, sim_s, *, delivered=True, contacts=(), fleet=""):
    task = Task(
        task_id=f"t{seed}", sentence="sort", robot="ada", created_at=0, deadline=1, timeout_s=1, budget=Budget()
    )
    end = TaskStatus(task=task, state=State.SUCCEEDED, updated_at=1)
    return Sorting(
        seed,
        fleet or f"{teams.FLEETS[robots]}_robot",
        robots,
        "sort",
        end,
        [delivered, True],
        list(contacts),
        [],
        sim_s,
        1.0,
    )


def test_every_thing_goes_to_another_room_and_no_two_to_one_surface(home):
    areas = {place.name: place.area for place in home.surfaces}
    things = {"red cup": "desk", "orange": "desk", "blue mug": "tv stand", "green sponge": "floor"}
    truth = {"objects": {name: {"on": where} for name, where in things.items()}}
    for seed in range(8):
        goals = goals_of(truth, home, Random(seed), 3)
        assert {goal.object for goal, _ in goals} == {"red cup", "orange", "blue mug"}
        assert len({goal.target for goal, _ in goals}) == 3
        assert all(areas[goal.target] != area == areas[things[goal.object]] for goal, area in goals)
        assert goals == goals_of(truth, home, Random(seed), 3)
    assert goals_of(truth, home, Random(0), 4) is None


def test_a_number_of_robots_that_the_suite_does_not_measure_is_refused():
    with pytest.raises(OptionError, match="robots: 3 is none that this suite measures; valid: 1, 2, 4"):
        run(BenchParameters(options={"robots": [2, 3]}))


@pytest.fixture
def played(monkeypatch):
    """Episodes that are done in 100 s by one robot; `played.refused` are numbers of robots that do not start."""

    class Played:
        refused = set[int]()

        def __init__(self, options):
            if options.robots in self.refused:
                raise StackError("gateway was not ready after 60 s")
            self.robots, self.site_dir = options.robots, project_root() / "deploy" / "sites" / "home"

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(teams, "Stack", Played)
    monkeypatch.setattr(
        teams,
        "sort_things",
        lambda stack, _site, seed, _things, fleet: sorting(seed, stack.robots, 100 / stack.robots, fleet=fleet),
    )
    return Played


def test_an_episode_that_does_not_start_is_told_and_takes_no_other_figure(played):
    said = []
    played.refused = {4}
    result = run(BenchParameters(episodes=2, progress=said.append))
    assert (result.metrics["two_robot_time_ratio"], "four_robot_time_ratio" in result.metrics) == (0.5, False)
    assert sum("four_robot, seed 1: not played: gateway was not ready" in line for line in said) == 1
    assert sum(note.startswith("An episode was not played: gateway") for note in result.notes) == 2
    played.refused = {1, 2, 4}
    with pytest.raises(StackError, match="gateway was not ready"):
        run(BenchParameters(episodes=1, progress=said.append))


def test_a_ratio_is_of_placements_that_both_fleets_have_done():
    contact = {"parts": ["arm", "robot2/base"], "steps": 3}
    metrics = metrics_of(
        [
            *(sorting(seed, 1, 100.0, delivered=seed != 3) for seed in range(4)),
            *(sorting(seed, 2, sim_s, delivered=seed != 2) for seed, sim_s in enumerate((50.0, 60.0, 1.0, 2.0))),
            sorting(0, 4, 30.0, contacts=[contact]),
        ]
    )
    assert metrics["two_robot_time_ratio"] == pytest.approx(0.55)
    assert metrics["two_robot_time_ratio_max"] == pytest.approx(0.6)
    assert metrics["four_robot_time_ratio"] == pytest.approx(0.3)
    assert metrics["two_robot_success_rate"] == Rate(3, 4)
    assert (metrics["runs_with_contact"], metrics["runs_with_double_pick"]) == (Rate(1, 5), Rate(0, 5))


def test_figures_of_one_robot_alone_have_no_ratio():
    assert metrics_of([sorting(0, 1, 100.0)]) == {"one_robot_success_rate": Rate(1, 1)}


@pytest.mark.parametrize(
    ("kinds", "fleets"),
    [
        (("rover",), [(("rover",), 1), (("rover",), 2), (("rover",), 4)]),
        (("rover", "lifter"), [(("rover",), 1), (("lifter",), 1), (("rover", "lifter"), 2)]),
        (("rover", "rover", "lifter"), [(("rover",), 1), (("lifter",), 1), (("rover", "rover", "lifter"), 3)]),
    ],
)
def test_unlike_robots_are_measured_alone_and_together(played, monkeypatch, kinds, fleets):
    started = []

    class Named(played):
        def __init__(self, options):
            super().__init__(options)
            started.append((options.kinds, options.robots))

    monkeypatch.setattr(teams, "Stack", Named)
    run(BenchParameters(episodes=1, kinds=kinds, progress=lambda _: None))
    assert started == fleets


def test_a_team_of_unlike_robots_is_compared_with_the_faster_one():
    rover, lifter = sorting(0, 1, 100.0, fleet="rover"), sorting(0, 1, 80.0, fleet="lifter")
    metrics = metrics_of([rover, lifter, sorting(0, 2, 60.0, fleet="team")])
    assert metrics["team_time_ratio"] == pytest.approx(0.75)
    assert {"rover_success_rate", "lifter_success_rate", "team_success_rate"} <= metrics.keys()
    assert "lifter_time_ratio" not in metrics


def test_unlike_robots_carry_only_what_each_of_them_can_hold(home):
    left = teams._without_what_one_cannot_hold(home, ("rover", "lifter"))
    names = {thing.name for thing in left.objects}
    assert "tennis ball" in names
    assert not names & {"pink tissue box", "green bowl"}
    truth = {"objects": {name: {"on": "desk"} for name in ("pink tissue box", "yellow banana")}}
    ((goal, _),) = goals_of(truth, left, Random(0), 1)
    assert goal.object == "yellow banana"


def test_a_number_is_refused_where_each_robot_is_named():
    with pytest.raises(OptionError, match="robots: 4; leave it out"):
        run(BenchParameters(kinds=("rover", "lifter"), options={"robots": [4]}))
