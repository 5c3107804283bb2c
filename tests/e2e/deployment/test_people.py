"""A job in a home where somebody stands in the only doorway on the way, by ground truth."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quartet_contracts import State
from quartet_deployment import Stack, new_world

DOORWAY = (4.0, 2.0)
PEOPLE = "people:\n- {name: anna, door: kitchen door, leaves_after: %g}\n"


def home_with_anna(folder: Path, leaves_after: float) -> str:
    new_world(folder, "flat")
    file = folder / "world.yaml"
    file.write_text(file.read_text() + PEOPLE % leaves_after + "start_rooms: [living room]\n")
    return str(folder)


def in_doorway(truth: dict[str, Any]) -> bool:
    return math.dist(truth["people"]["anna"], DOORWAY) < 0.1


@pytest.mark.long
@pytest.mark.parametrize(("leaves_after", "goes"), [(12.0, True), (3600.0, False)])
def test_the_robot_waits_for_a_person_and_tells_when_nobody_goes(
    leaves_after: float,
    goes: bool,
    tmp_path: Path,
    make_own_stack: Callable[..., Stack],
    truth: Callable[[Stack], dict[str, Any]],
    run: Callable[..., Any],
) -> None:
    stack = make_own_stack(world=home_with_anna(tmp_path / "flat", leaves_after), seed=0, sensors="typical")
    before = truth(stack)
    assert in_doorway(before)
    assert before["objects"]["red coke can"]["on"] == "kitchen counter"
    job = run(stack, "Pick up the red coke can in the kitchen and put it on the round table in the living room.")
    after = truth(stack)
    # The can may touch the counter while the fingers close on it, and the table as they open.
    bumped = [contact for contact in after["fixed_contacts"] if not contact["parts"][0].startswith("held:")]
    assert (after["person_contacts"], bumped) == ([], []), job.story()
    assert in_doorway(after) is not goes, job.story()
    if goes:
        assert job.status.state is State.SUCCEEDED, job.story()
        assert after["objects"]["red coke can"]["on"] == "round table"
    else:
        assert job.status.state is State.FAILED, job.story()
        assert {one.error_code for one in job.status.report.objects} == {"NAV_DRIVE_FAILED"}, job.story()
        assert "somebody or something stands in the way" in job.status.report.summary
