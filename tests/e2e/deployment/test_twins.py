"""Whole jobs in the home with two cans that look alike: what the task reports agrees with ground truth."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from quartet_contracts import JournalEvent, State
from quartet_contracts.journal import SkillFinished, ToolCalled
from quartet_deployment import Stack

HOME = Path(__file__).resolve().parents[3] / "deploy" / "sites" / "home"
CAN, TWIN = "red coke can", "second red coke can"
BIN, TABLE = "kitchen bin", "wooden coffee table"
IN_THE_BIN, ON_THE_TABLE = (9.0, 0.55, 0.02), (1.75, 1.8, 0.45)
"""Where the twin lies [m, map]."""
pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., Stack], tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """The home with one can more than its site.yaml, and so the robot, knows."""
    folder = tmp_path_factory.mktemp("home") / "twins"
    shutil.copytree(HOME, folder)
    world = yaml.safe_load((folder / "world.yaml").read_text())
    world["name"] = "twins"
    world["things"].append({"name": TWIN, "like": CAN, "places": ["bookshelf"]})
    (folder / "world.yaml").write_text(yaml.safe_dump(world))
    return make_stack(world=str(folder), seed=0)


@pytest.fixture
def put(stack: Stack) -> Callable[[str, tuple[float, float, float]], Any]:
    """Puts a thing somewhere [m, map], out of the gripper if need be."""

    def place(name: str, at: tuple[float, float, float]) -> Any:
        body = {"object": name, **dict(zip("xyz", at, strict=True))}
        return httpx.post(f"{stack.scoring_url}/place", json=body, timeout=60).raise_for_status().json()

    return place


def lost_on_the_way(put: Callable[[str, tuple[float, float, float]], Any]) -> Callable[[JournalEvent], None]:
    """The can leaves the gripper, to where no camera looks, while the place agent asks where to put it."""

    def see(event: JournalEvent) -> None:
        entry = event.event
        if isinstance(entry, ToolCalled) and entry.tool == "perception__get_topdown_placing_pose":
            put(CAN, (0.0, -30.0, 0.0))

    return see


@pytest.mark.parametrize(
    ("target", "area", "twin_at"), [(BIN, "kitchen", IN_THE_BIN), (TABLE, "living room", ON_THE_TABLE)]
)
def test_one_that_looks_like_it_at_the_target_is_not_reported_as_the_one_that_was_lost(
    stack: Stack, run: Any, reset: Any, truth: Any, put: Any, target: str, area: str, twin_at: Any
) -> None:
    reset(stack, 0, f"in_gripper:{CAN}")
    before = put(TWIN, twin_at)["objects"][TWIN]
    assert target in {before["in"], before["on"]}, before
    done = run(
        stack, f"You are holding the {CAN}. Put it into the {target} in the {area}.", on_event=lost_on_the_way(put)
    )
    after = truth(stack)["objects"]
    assert target not in {after[CAN]["in"], after[CAN]["on"]}, after[CAN]
    assert done.status.state is not State.SUCCEEDED, done.story()
    assert not any(row.completed for row in done.status.report.objects), done.story()


def brought(stack: Stack, run: Any, reset: Any, truth: Any, put: Any, target: str, area: str, twin_at: Any) -> Any:
    """The whole job, from the counter, to where the twin lies; both are there in the end."""
    reset(stack, 0)
    put(TWIN, twin_at)
    assert truth(stack)["objects"][CAN]["on"] == "kitchen counter"
    done = run(
        stack, f"pick up the {CAN} on the kitchen counter in the kitchen and place it on the {target} in the {area}"
    )
    after = truth(stack)["objects"]
    assert {name for name in (CAN, TWIN) if target in {after[name]["in"], after[name]["on"]}} == {CAN, TWIN}, after
    return done


def test_what_is_put_beside_one_that_looks_like_it_is_reported_as_brought(
    stack: Stack, run: Any, reset: Any, truth: Any, put: Any
) -> None:
    done = brought(stack, run, reset, truth, put, TABLE, "living room", ON_THE_TABLE)
    assert done.status.state is State.SUCCEEDED, done.story()


def test_what_is_put_into_a_bin_on_one_that_looks_like_it_is_in_or_not_known_and_not_lost(
    stack: Stack, run: Any, reset: Any, truth: Any, put: Any
) -> None:
    """In the bin one can hides the other."""
    done = brought(stack, run, reset, truth, put, BIN, "kitchen", IN_THE_BIN)
    placed = [one for one in done.of(SkillFinished) if one.skill == "place"]
    assert {one.state for one in placed} <= {State.SUCCEEDED, State.UNCERTAIN}, done.story()
    (row,) = done.status.report.objects
    assert row.completed == (placed[-1].state is State.SUCCEEDED), done.story()
