"""Two robots in one small home: a stop of one, a stop of all, two jobs at once."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from quartet_benchmarks.fleet.crossing import cross
from quartet_benchmarks.home.world import Goal, World
from quartet_contracts import TERMINAL, State, TaskStatus, TaskSubmission
from quartet_contracts.journal import TeamStep, TeamTurn
from quartet_deployment import RefusedError, Stack, StopClient
from quartet_site import load_site

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
PATIENCE_S = 400.0
TO_BIN, TO_COUNTER = "go to the bin", "go to the counter"
"""Where the robot that does not drive does not stand."""
SEED = 0


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., Stack]) -> Stack:
    return make_stack(world="studio", seed=0, robots=2)


def submit(stack: Stack, sentence: str, robot: str | None = None) -> str:
    with stack.api() as api:
        return api.submit(TaskSubmission(sentence=sentence, robot=robot, timeout_s=PATIENCE_S)).task.task_id


def until(stack: Stack, condition: Callable[[Any], bool], look: Callable[[Any], Any]) -> Any:
    end = time.monotonic() + PATIENCE_S
    with stack.api() as api:
        while not condition(found := look(api)):
            assert time.monotonic() < end, found
            time.sleep(0.2)
        return found


def ended(stack: Stack, task_id: str) -> TaskStatus:
    return until(stack, lambda status: status.state in TERMINAL, lambda api: api.task(task_id))


def states(stack: Stack, **wanted: str) -> None:
    def look(api: Any) -> dict[str, str]:
        return {row["name"]: row["state"] for row in api.robots()["robots"]}

    until(stack, lambda found: found == wanted, look)


def test_a_stop_of_one_leaves_the_other_at_work_and_a_stop_of_all_stops_both(stack: Stack) -> None:
    with StopClient(stack.url_of("stop"), stack.stop_token) as service:
        service.stop("summit1", "a person")
        states(stack, summit1="stopped", summit2="idle")
        status = ended(stack, submit(stack, TO_BIN))
        assert (status.state, status.task.robot) == (State.SUCCEEDED, "summit2"), status.report

        service.stop(None, "a person")
        found = service.wait_standstill(stack.robots, 60)
        assert {name: (one["stopped"], one["standstill"]) for name, one in found.items()} == {
            "summit1": (True, True),
            "summit2": (True, True),
        }
        states(stack, summit1="stopped", summit2="stopped")
        with pytest.raises(
            RefusedError, match="summit1, summit2: stopped \\(a person\\), so the task was not accepted"
        ):
            submit(stack, TO_COUNTER)
        service.reset("summit1")
        status = ended(stack, submit(stack, TO_COUNTER))
        assert (status.state, status.task.robot) == (State.SUCCEEDED, "summit1"), status.report
        service.reset(None)


def test_two_jobs_at_once_that_cross_each_other(stack: Stack) -> None:
    """Each robot fetches where the other one puts down, in a room in which they cannot but be in each other's way."""
    crossed = cross(stack, load_site(stack.site_dir / "site.yaml"), SEED)
    assert crossed.succeeded == [True, True], crossed.row()
    assert [end.task.robot for end in crossed.ends] == stack.robots
    assert crossed.overlapped, "one waited for the other to end"
    assert crossed.contacts == [], "the robots ran into each other"


def test_a_team_shares_its_errands(stack: Stack) -> None:
    """Both robots talk over the bus and work at the same time; each thing is where it was to go, by ground truth."""
    with World(stack.scoring_url) as world:
        truth = world.reset(SEED)
        areas = {surface.name: surface.area for surface in load_site(stack.site_dir / "site.yaml").surfaces}
        (first, here), (second, _) = [
            (name, thing["on"]) for name, thing in sorted(truth["objects"].items()) if thing["on"] in areas
        ][:2]
        targets = ("counter" if here == "wooden table" else "wooden table"), "bin"
        sentence = f"Put the {first} from the studio on the {targets[0]} and the {second} from the studio in the bin."
        with stack.api() as api:
            team = TaskSubmission(sentence=sentence, team="hmas2", timeout_s=PATIENCE_S)
            status = ended(stack, api.submit(team).task.task_id)
            events = [one.event for one in api.events(status.task.task_id)]
        after = world.truth()
    assert status.state is State.SUCCEEDED, status.report
    assert Goal(first, "on", targets[0]).met(after)
    assert Goal(second, "in", targets[1]).met(after)
    spoke = {event.participant for event in events if isinstance(event, TeamTurn)}
    assert spoke == {"planner", "summit1", "summit2"}
    steps = [event.plan for event in events if isinstance(event, TeamStep)]
    assert set(steps[0]) == {"summit1", "summit2"}
    idle = [action for plan in steps[1:] for action in plan.values()]
    assert all(action.startswith("park(") for action in idle), "after its errand a robot stands aside, and does no more"
