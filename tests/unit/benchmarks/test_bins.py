"""What the bins suite puts where, and what it makes of the reports."""

from dataclasses import replace

import pytest

from quartet_benchmarks import bins
from quartet_benchmarks.bins import Drop, metrics_of, pairs_of
from quartet_benchmarks.home.outcome import Outcome
from quartet_benchmarks.home.templates import Episode
from quartet_benchmarks.home.world import Goal, World
from quartet_benchmarks.result import BenchParameters, Rate
from quartet_contracts import State
from quartet_deployment import StackError, project_root
from quartet_site import load_site


def drop(state, inside):
    episode = Episode("", "", [Goal("orange", "in", "kitchen bin")])
    outcome = Outcome(episode, 1, state, int(inside), [], set(), [], {"wall_s": 1.0}, 1.0, "", {}, [])
    return Drop("orange", "kitchen bin", outcome)


def test_every_thing_that_fits_the_gripper_goes_into_every_bin():
    site = load_site(project_root() / "deploy" / "sites" / "home" / "site.yaml")
    pairs = [(thing, container.name) for thing, container in pairs_of(site, 3)]
    assert len(set(pairs)) == len(pairs) == 22 * len(site.containers)
    assert pairs != [(thing, container.name) for thing, container in pairs_of(site, 4)]


@pytest.mark.parametrize(
    ("state", "inside", "verdict"),
    [
        (State.SUCCEEDED, True, "ok"),
        (State.SUCCEEDED, False, "FALSE SUCCESS"),
        (State.FAILED, True, "failed though in"),
        (State.FAILED, False, "not in, and said so"),
    ],
)
def test_a_report_is_worth_what_ground_truth_says(state, inside, verdict):
    assert drop(state, inside).verdict == verdict


def test_rates_count_reports_and_things_that_are_in():
    drops = [drop(State.SUCCEEDED, inside=True)] * 3 + [
        drop(State.FAILED, inside=True),
        drop(State.FAILED, inside=False),
    ]
    metrics = metrics_of([*drops, drop(State.SUCCEEDED, inside=False)])
    assert metrics == {
        "right_reports": Rate(4, 6),
        "reported_of_those_in": Rate(3, 4),
        "false_successes": 1,
        "not_in_and_said_so": 1,
        "episodes_broken_down": 0,
    }


class Deployment:
    """A stack whose processes have started."""

    site_dir = project_root() / "deploy" / "sites" / "home"
    scoring_url = "http://127.0.0.1:9"

    def __init__(self, options):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def played(monkeypatch, dies_at):
    """Run of five pairs; a process dies during the one of that number."""

    def play(stack, world, episode, seed, before, number):
        if number == dies_at:
            raise StackError("moveit has died")
        return replace(drop(State.SUCCEEDED, inside=True).outcome, episode=episode, seed=seed, number=number)

    monkeypatch.setattr(bins, "Stack", Deployment)
    monkeypatch.setattr(bins, "play", play)
    monkeypatch.setattr(World, "reset", lambda *_: {"objects": {}, "time": 0.0})
    said = []
    return bins.run(BenchParameters(episodes=5, progress=said.append)), said


def test_what_was_played_is_kept_when_a_process_dies(monkeypatch):
    result, said = played(monkeypatch, 4)
    assert [row["verdict"] for row in result.details] == ["ok"] * 3 + ["broke down"]
    assert result.metrics["right_reports"] == Rate(3, 4)
    assert (result.metrics["episodes_broken_down"], result.metrics["episodes_not_played"]) == (1, 1)
    assert result.notes[0] == "1 episode of 'home' not played: moveit has died"
    assert (result.details[-1]["in"], result.details[-1]["wall_s"]) == (None, None)
    assert said[-1].endswith("moveit has died")


def test_a_run_in_which_nothing_dies_has_all_of_its_pairs(monkeypatch):
    result, _ = played(monkeypatch, 0)
    assert result.metrics["right_reports"] == Rate(5, 5)
    assert (result.metrics["episodes_broken_down"], result.metrics["episodes_not_played"]) == (0, 0)
