"""What a wrist camera's detections say of the thing between the fingers."""

import pytest

from quartet_contracts.tools.perception import CLEAR_LEAD, Detection, clearly_held


def seen(label: str, score: float, *, in_gripper: bool = True) -> Detection:
    return Detection(label=label, score=score, box_xyxy=(0, 0, 1, 1), camera="arm", in_gripper=in_gripper)


BALL, TABLE = seen("tennis ball", 0.7), seen("table", 1.0, in_gripper=False)


@pytest.mark.parametrize(
    "others", [[], [TABLE], [seen("tea box", 0.7 / CLEAR_LEAD)], [seen("tennis ball", 0.69)]], ids=str
)
def test_the_one_that_fits_clearly_best_is_held(others: list[Detection]) -> None:
    assert clearly_held([*others, BALL]) is BALL


@pytest.mark.parametrize("detections", [[], [TABLE], [BALL, seen("tea box", 0.51)]], ids=str)
def test_nothing_and_names_that_fit_alike_tell_nothing(detections: list[Detection]) -> None:
    assert clearly_held(detections) is None
