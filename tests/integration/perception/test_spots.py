"""measure_spot: what stands where something was put down, whatever it is."""

import pytest

CAN = "red coke can"
SPOT = (0.7, 0.6)
"""The front camera shows it, the wrist camera does not."""
OUT_OF_VIEW = (-0.5, 0.0, 0.0)


async def test_it_tells_what_stands_there_and_remembers_it(eyes, studio):
    studio.reset()
    free = await eyes.call("measure_spot", position_base=[*SPOT, 0.0])
    assert (free["ok"], free["standing_m"]) == (True, 0.0), free
    assert free["surface_height_m"] == pytest.approx(0.0, abs=0.01)
    studio.place(CAN, *SPOT, 0.0)
    taken = await eyes.call("measure_spot", position_base=[*SPOT, 0.0])
    assert taken["standing_m"] == pytest.approx(0.12, abs=0.015), taken
    assert taken["age_s"] == 0.0
    # From a camera that does not show the spot.
    again = await eyes.call("measure_spot", position_base=[SPOT[0] - 0.01, SPOT[1], 0.0], camera="arm")
    assert again["ok"], again
    assert again["standing_m"] == taken["standing_m"]
    assert again["age_s"] > 0


async def test_what_was_measured_elsewhere_or_in_another_task_is_not_taken_for_it(eyes, studio):
    studio.reset()
    eyes.work_for("t-first")
    assert (await eyes.call("measure_spot", position_base=[*SPOT, 0.0]))["ok"]
    elsewhere = await eyes.call("measure_spot", position_base=[SPOT[0] - 0.08, SPOT[1], 0.0], camera="arm")
    assert elsewhere["error_code"] == "TOO_FEW_POINTS", elsewhere
    eyes.work_for("t-second")
    of_another = await eyes.call("measure_spot", position_base=[*SPOT, 0.0], camera="arm")
    assert of_another["error_code"] == "TOO_FEW_POINTS", of_another


async def test_a_spot_out_of_view_is_told_with_what_to_do(eyes, studio):
    studio.reset()
    hidden = await eyes.call("measure_spot", position_base=OUT_OF_VIEW)
    assert hidden["error_code"] == "TOO_FEW_POINTS", hidden
    assert "look with the other camera" in hidden["message"]


async def test_a_spot_that_no_arm_reaches_is_refused(eyes, studio):
    for spot in [[5.0, 0.0, 0.0], [0.8, 0.0, 3.0], [0.8, 0.0], [0.8, 0.0, float("nan")]]:
        assert (await eyes.call("measure_spot", position_base=spot))["error_code"] == "INVALID_PARAMETERS"
