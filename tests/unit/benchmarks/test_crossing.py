"""Which jobs cross each other, in a placement of things, and what counts of what the robots do to each other."""

from contextlib import nullcontext
from random import Random
from types import SimpleNamespace

import pytest

from quartet_benchmarks.fleet import crossing
from quartet_benchmarks.fleet.crossing import cross, crossing_of
from quartet_contracts import Budget, State, Task, TaskStatus
from quartet_deployment import project_root
from quartet_simulation.mobile.build import SUMMIT
from quartet_simulation.simulation import Simulation
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


@pytest.fixture
def robots():
    sim = Simulation("studio", 0, builds=[SUMMIT] * 2, sensors="clean")
    yield sim.robots
    sim.close()


class Touching:
    """World and API of two robots; while their tasks run, the arm of one touches the other and leaves it again."""

    def __init__(self, robots):
        self.one, self.other = robots

    def reset(self, seed):
        self.one.reset("studio", seed)
        self.one.step(0.1)
        return self.truth()

    def truth(self):
        return self.one.truth()

    def submit(self, submission):
        task = Task(
            task_id=submission.robot,
            sentence=submission.sentence,
            robot=submission.robot,
            created_at=0,
            deadline=1,
            timeout_s=1,
            budget=Budget(),
        )
        return TaskStatus(task=task, state=State.QUEUED, updated_at=1)

    def task(self, name):
        if name == "summit2":
            away = self.other.truth()["robots"][1]["pose"]
            physics = self.one._physics
            hand, geom = physics.tool_pose()[:3, 3], physics.model.geom("robot2/arm_forearm_link").id
            x, y, _ = physics.data.geom_xpos[geom]
            self.other.put_robot(away[0] + hand[0] - x, away[1] + hand[1] - y, away[2])
            self.one.step(0.02)
            self.other.put_robot(*away)
            self.one.step(0.02)
        return SimpleNamespace(state=State.SUCCEEDED, report=None)

    def events(self, name):
        return [SimpleNamespace(at=0.0, event=None)]


def test_a_contact_of_an_arm_between_two_looks_counts(robots, monkeypatch):
    touching = Touching(robots)
    monkeypatch.setattr(crossing, "World", lambda _: nullcontext(touching))
    site = load_site(project_root() / "deploy" / "sites" / "studio" / "site.yaml")
    stack = SimpleNamespace(scoring_url="", robots=["summit1", "summit2"], api=lambda: nullcontext(touching))
    crossed = cross(stack, site, 0)
    assert touching.truth()["robot_in_collision"] == [], "at the end, and at every look, they are apart"
    parts = {part for contact in crossed.contacts for part in contact["parts"]}
    assert any("arm" in part for part in parts), crossed.contacts
    assert crossed.row()["contacts"] == crossed.contacts
