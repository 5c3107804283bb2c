"""What the bins suite puts where, and what it makes of the reports."""

import pytest

from quartet_benchmarks.bins import Drop, metrics_of, pairs_of
from quartet_benchmarks.home.outcome import Outcome
from quartet_benchmarks.home.templates import Episode
from quartet_benchmarks.home.world import Goal
from quartet_benchmarks.result import Rate
from quartet_contracts import State
from quartet_deployment import project_root
from quartet_site import load_site


def drop(state, inside):
    episode = Episode("", "", [Goal("orange", "in", "kitchen bin")])
    outcome = Outcome(episode, 1, state, int(inside), [], set(), [], {"wall_s": 1.0}, 1.0, "", {}, [])
    return Drop("orange", "kitchen bin", outcome)


def test_every_thing_that_fits_the_gripper_goes_into_every_bin():
    site = load_site(project_root() / "deploy" / "sites" / "home" / "site.yaml")
    pairs = [(thing, container.name) for thing, container in pairs_of(site, 3)]
    assert len(set(pairs)) == len(pairs) == 20 * len(site.containers)
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
    }
