"""Which of the catalogue's things hangs between the fingers, as the wrist camera sees it."""

import pytest


async def _in_hand(eyes) -> list[str]:
    result = await eyes.call("detect_objects", camera="arm")
    assert result["ok"], result
    return [one["label"] for one in result["detections"] if one["in_gripper"]]


@pytest.mark.parametrize("held", ["black remote control", "blue book"])
async def test_a_thing_that_reaches_up_to_the_camera(home, home_eyes, held):
    """Too near for the camera's depth, and the remote as black as the fingers."""
    home.reset(scenario=f"in_gripper:{held}")
    assert await _in_hand(home_eyes) == [held]


@pytest.mark.parametrize(
    "held", ["tennis ball", "green bottle", "green tea box", "green apple", "red apple", "red cup"]
)
async def test_same_colour_and_width(home, home_eyes, held):
    """All of the green ones are 65 to 74 mm wide: only their shapes tell them apart."""
    home.reset(scenario=f"in_gripper:{held}")
    assert await _in_hand(home_eyes) == [held]


async def test_a_camera_that_hangs_beside_where_it_was_meant_to_be(rough_home, open_eyes, tmp_path):
    """With this seed a thing seems to be 11 mm thicker than it is; the fingers know better."""
    async with open_eyes(rough_home, tmp_path / "state") as eyes:
        for held in ("red coke can", "tennis ball", "green tea box", "orange"):
            rough_home.reset(seed=23, scenario=f"in_gripper:{held}")
            assert (await _in_hand(eyes))[0] == held


async def test_an_empty_hand(home, home_eyes):
    home.reset()
    assert await _in_hand(home_eyes) == []
