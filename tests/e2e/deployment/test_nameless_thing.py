"""A thing that no catalogue has: a person puts it between the fingers, and the robot puts it down where it is told."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from quartet_contracts import State
from quartet_contracts.journal import ToolCalled
from quartet_deployment import Stack

HOME = Path(__file__).resolve().parents[3] / "deploy" / "sites" / "home"
THING = "purple toy block"
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., Stack], tmp_path_factory: pytest.TempPathFactory) -> Stack:
    folder = tmp_path_factory.mktemp("home")
    shutil.copytree(HOME, folder, dirs_exist_ok=True)
    site = yaml.safe_load((folder / "site.yaml").read_text())
    site["objects"] = [one for one in site["objects"] if one["name"] != THING]
    (folder / "site.yaml").write_text(yaml.safe_dump(site, sort_keys=False))
    return make_stack(world="home", site_dir=folder)


@pytest.mark.parametrize(
    ("sentence", "on"),
    [
        ("put what you hold on the wooden coffee table", "wooden coffee table"),
        ("put what you hold on the floor", "floor"),
    ],
)
def test_what_the_robot_holds_is_put_down_and_confirmed(
    stack: Stack, run: Callable[..., Any], reset: Any, truth: Any, sentence: str, on: str
) -> None:
    assert reset(stack, 0, f"in_gripper:{THING}")["objects"][THING]["held"]
    job = run(stack, sentence)
    thing = truth(stack)["objects"][THING]
    assert (thing["held"], thing["on"], thing["area"]) == (False, on, "living room")
    assert job.status.state is State.SUCCEEDED, job.story()
    measured = [event.actor for event in job.events if _measures(event.event)]
    assert set(measured) == {"place", "orchestrator"}, "the agent and the orchestrator, each by itself"


def _measures(event: Any) -> bool:
    return isinstance(event, ToolCalled) and event.tool == "perception__measure_spot"
