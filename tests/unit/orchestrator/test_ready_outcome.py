"""A call that was made before a takeover is known again, although code fills in what this process knows."""

import inspect
from typing import Any
from unittest.mock import MagicMock

import pytest

from quartet_contracts import PickArguments, PlaceArguments, StepArguments
from quartet_orchestrator.skills import SkillCaller

PLACE = PlaceArguments(target_location="desk", object_name="red cup", object_height_m=0.12)
PICK = PickArguments(object_name="red cup")


@pytest.mark.parametrize(
    ("made", "asked", "ready"),
    [
        (PLACE, PLACE.model_copy(update={"held_id": "obj_0123456789ab", "object_height_m": 0.1213}), True),
        (
            PickArguments(object_name="red cup"),
            PickArguments(object_name="red cup", object_id="obj_0123456789ab"),
            True,
        ),
        (PLACE, PLACE.model_copy(update={"target_location": "shelf"}), False),
        (PLACE, PICK, False),
    ],
)
def test_ids_and_heights_do_not_make_another_call(made: StepArguments, asked: StepArguments, ready: bool) -> None:
    given: dict[str, Any] = {name: MagicMock() for name in inspect.signature(SkillCaller).parameters}
    given["settings"].question_timeout_s = given["setup"].approval_wait_s = 1.0
    caller = SkillCaller(**given)
    assert not caller.is_ready(asked)
    caller._ready = MagicMock(arguments=made)
    assert caller.is_ready(asked) is ready
