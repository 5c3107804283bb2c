"""Architecture `skill`: the agents' own code does the work, and the model reads results in one of two forms."""

import pytest

from quartet_contracts import Architecture, ResultForm, State

JOB = "put the red coke can on the sofa table"


@pytest.mark.parametrize("architecture", Architecture)
async def test_only_in_skill_an_agent_is_asked_for_its_own_code(start, agents, model, do, architecture):
    if architecture is Architecture.SINGLE:
        pytest.skip("its model does the work: test_single.py")
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.report(True, do.delivered))
    agents.start()
    async with start(architecture=architecture) as client:
        status = await client.run(JOB)
    assert status.state is State.SUCCEEDED, status.report
    assert [request.coded for request in agents.requests] == [architecture is Architecture.SKILL] * 4


@pytest.mark.parametrize("form", ResultForm)
async def test_results_are_read_as_fields_or_as_words(start, agents, model, do, form):
    agents.answers["pick"] = [do.failing("PICK_REACH_EXCEEDED", reason="it is 1.4 m away")]
    model.say(*(do.approach(), do.pick(), do.approach(), do.pick(), do.drop, do.place(), do.report(True, do.delivered)))
    agents.start()
    async with start(architecture=Architecture.SKILL, results=form) as client:
        status = await client.run(JOB)
    assert status.state is State.SUCCEEDED, "success is measured, whatever the model reads"
    failed, picked = model.results()[1], model.results()[3]
    typed = form is ResultForm.TYPED
    codes = ("PICK_REACH_EXCEEDED", "NONE") if typed else (None, None)
    assert (failed.get("error_code"), picked.get("error_code")) == codes
    assert failed["ok"] is False
    if not typed:
        assert failed["message"] == "pick failed: it is 1.4 m away."
        assert (failed["success"], picked["success"]) == (False, True)
        assert "m tall" in picked["message"], "without its height nothing can be put down"
        assert not {"object_id", "held_object_height_m"} & set(picked)
