"""Which of the catalogue's things hangs between the fingers, as the wrist camera sees it."""

import pytest

from quartet_perception.catalogue import Catalogue
from quartet_perception.perceiver import Perceiver
from quartet_perception.segmenters.chain import choose_segmenter
from quartet_perception.settings import PerceptionSettings


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


@pytest.mark.long
async def test_a_camera_that_hangs_beside_where_it_was_meant_to_be(rough_home, open_eyes, tmp_path):
    """With this seed a thing seems to be 11 mm thicker than it is; the fingers know better."""
    async with open_eyes(rough_home, tmp_path / "state") as eyes:
        for held in ("red coke can", "tennis ball", "green tea box", "orange"):
            rough_home.reset(seed=23, scenario=f"in_gripper:{held}")
            assert (await _in_hand(eyes))[0] == held


async def test_an_empty_hand(home, home_eyes):
    home.reset()
    assert await _in_hand(home_eyes) == []


@pytest.mark.parametrize("camera", ["front", "arm"])
async def test_a_picture_of_either_camera_tells_how_far_the_fingers_are_apart(home, home_eyes, camera):
    server = home_eyes.server
    catalogue = Catalogue.of_site(server.site)
    segmenter = choose_segmenter(catalogue, PerceptionSettings())
    perceiver = Perceiver(server.robot, server.site, segmenter, catalogue)
    home.reset()
    assert (await perceiver.view(camera)).hand_is_empty
    home.reset(scenario="in_gripper:green tea box")
    assert (await perceiver.view(camera)).held_width_m == pytest.approx(0.065, abs=0.01)
