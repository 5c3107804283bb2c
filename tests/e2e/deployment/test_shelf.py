"""Whole jobs where a hand from above does not fit or reach: below a board, and at the back of a desk."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from quartet_contracts import State
from quartet_deployment import Stack

ROOT = Path(__file__).resolve().parents[3]
CAN, BOX = "red coke can", "green tea box"
pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., Stack], tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """A room with a shelf 0.36 m below a board, with the robot of the studio."""
    folder = tmp_path_factory.mktemp("sites") / "shelf"
    shutil.copytree(ROOT / "deploy" / "sites" / "studio", folder)
    (folder / "site.yaml").unlink()
    shutil.copy(ROOT / "tests" / "support" / "worlds" / "shelf.yaml", folder / "world.yaml")
    return make_stack(world=str(folder), seed=0)


def put(stack: Stack, name: str, x: float, y: float, z: float) -> None:
    """Stand a thing at a point of the map [m]."""
    body = {"object": name, "x": x, "y": y, "z": z}
    httpx.post(f"{stack.scoring_url}/place", json=body, timeout=60).raise_for_status()


def test_a_can_is_taken_from_below_a_board_and_put_back_there(stack: Stack, run: Any, reset: Any, truth: Any) -> None:
    reset(stack, 0)
    put(stack, CAN, 1.93, 0.2, 0.72)
    picked = run(stack, f"pick up the {CAN} on the shelf")
    assert picked.status.state is State.SUCCEEDED, picked.story()
    assert truth(stack)["objects"][CAN]["held"]
    placed = run(stack, "put what you hold on the shelf")
    can = truth(stack)["objects"][CAN]
    assert (can["on"], can["held"]) == ("shelf", False), placed.story()
    assert placed.status.state is State.SUCCEEDED, placed.story()


def test_a_box_is_taken_from_the_back_of_a_desk(stack: Stack, run: Any, reset: Any, truth: Any) -> None:
    """The desk is 0.64 m deep, and the base gets no nearer to its edge than 0.6 m."""
    reset(stack, 0)
    put(stack, BOX, 0.1, 1.98, 0.72)
    picked = run(stack, f"pick up the {BOX} on the desk")
    assert truth(stack)["objects"][BOX]["held"], picked.story()
    assert picked.status.state is State.SUCCEEDED, picked.story()
