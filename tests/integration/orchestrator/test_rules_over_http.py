"""The rules reach the model as tool errors, and nothing moves."""

import pytest

from quartet_contracts import State


async def test_a_failed_pick_is_not_followed_by_the_drive(client, model, agents, do):
    agents.answers["pick"] = [do.failing("PICK_SEG_MISSED")]
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.report(True, do.delivered))
    status = await client.run()
    assert status.state is State.FAILED
    refused = model.results()[2:4]
    assert [r["error_code"] for r in refused] == ["REFUSED", "REFUSED"]
    assert all("the last pick ended with PICK_SEG_MISSED" in r["message"] for r in refused)
    assert [skill for skill, _ in agents.calls] == ["approach", "pick"]
    assert status.report.objects[0].error_code == "PICK_SEG_MISSED"
    assert "does not confirm this" in status.report.summary


async def test_a_third_object_is_not_begun_after_two_failed_alike(client, model, agents, do):
    agents.answers["approach"] = [do.failing("NAV_TARGET_NOT_VISIBLE"), do.failing("NAV_TARGET_NOT_VISIBLE")]
    model.say(do.approach("red coke can"), do.approach("blue mug"), do.approach("banana"), do.report(False))
    await client.run()
    assert "two objects in a row" in model.results()[2]["message"]
    assert len(agents.calls) == 2


async def test_an_unknown_outcome_is_looked_at_before_a_new_attempt(client, model, agents, motion, do):
    agents.answers["approach"] = [do.failing("UNKNOWN", State.UNCERTAIN, observed="it stands in the hall")]
    model.say(do.approach(), do.approach(), do.look, do.approach(), do.report(True))
    task_id = await client.submit("go to the kitchen")
    events = await client.events(task_id)
    uncertain, refused, looked, again = model.results()
    assert (uncertain["state"], uncertain["observed"]) == ("UNCERTAIN", "it stands in the hall")
    assert (refused["error_code"], looked["ok"], again["ok"]) == ("REFUSED", False, True)
    asked = [e.event for e in events if e.event.kind == "skill_requested"]
    assert [(a.attempt, a.fence) for a in asked] == [(1, 1), (2, 3)]
    assert (await client.status(task_id)).state is State.SUCCEEDED


PLAN = """| object | pickup place | drop place |
|---|---|---|
| red coke can | kitchen | sofa table |
| unicorn | kitchen | moon |"""


async def test_what_the_site_does_not_have_is_told_before_the_first_motion(client, model, agents, do):
    tool, arguments = do.approach()
    model.say(
        (tool, {**arguments, "target_area": "attic"}, PLAN),
        (tool, {**arguments, "object_name": "moon", "next_action": "surface_place"}),
        do.approach(),
        do.report(False),
    )
    task_id = await client.submit()
    events = await client.events(task_id)
    area, place, known, report = model.results()
    assert (report["error_code"], "object_name 'unicorn'" in report["message"]) == ("INVALID_REPORT", True)
    assert (area["error_code"], place["error_code"], known["ok"]) == ("UNKNOWN_NAME", "UNKNOWN_NAME", True)
    assert "no area 'attic'" in area["message"]
    assert "no place 'moon'" in place["message"]
    told = [e.event.text for e in events if e.event.kind == "note" and "pictures" not in e.event.text]
    assert told[0] == "the site has no thing or place called 'unicorn', 'moon': that part may not be done"
    assert len(told) == 3, "beside it the two refusals"
    assert [skill for skill, _ in agents.calls] == ["approach"]


async def test_a_thing_that_perception_cannot_look_for_is_told_before_the_first_motion(
    start, with_cameras, model, agents, world, do
):
    """Free text may find what the site file does not name, so that perception is asked."""
    world.nameless = {"unicorn"}
    agents.start()
    model.say(do.approach("unicorn"), do.approach("teddy"), do.report(False))
    async with start(servers=with_cameras) as client:
        await client.run("bring the unicorn and the teddy")
    unknown, other = model.results()
    assert (unknown["error_code"], other["ok"]) == ("UNKNOWN_NAME", True)
    assert "nothing here is called 'unicorn'; there are red coke can, " in unknown["message"]
    assert [arguments["object_name"] for _, arguments in agents.calls] == ["teddy"]


@pytest.mark.parametrize(
    ("asked", "next_action", "knows", "code"),
    [
        ("sink", "pick", False, "UNKNOWN_NAME"),
        ("the sink", "look", False, "UNKNOWN_NAME"),
        ("sink", "look", True, "NONE"),
        ("sink", "surface_place", False, "UNKNOWN_NAME"),
        ("red coke can from the kitchen", "pick", False, "UNKNOWN_NAME"),
        ("red coke can from the kitchen", "pick", True, "NONE"),
        ("kitchen", "look", False, "NONE"),
        ("coke can", "pick", False, "NONE"),
    ],
)
async def test_a_name_that_the_site_has_and_the_cameras_do_not_know_is_told_before_the_first_motion(
    start, with_cameras, model, agents, world, do, asked, next_action, knows, code
):
    """Such as a landmark, or more words than a name; of exact names perception is not asked."""
    world.nameless = set() if knows else {asked, "kitchen", "coke can"}
    agents.start()
    model.say(do.approach(asked, next_action=next_action), do.report(False))
    async with start(servers=with_cameras) as client:
        await client.run("go and see what is there")
    result = model.results()[0]
    assert result["error_code"] == code, result
    assert len(agents.calls) == (code == "NONE")
    if "sink" in asked and next_action != "surface_place" and not knows:
        how = "target_area 'kitchen', object_name 'kitchen' and next_action 'look'"
        assert how in result["message"]
        assert "Use one of these" not in result["message"]
    if next_action == "surface_place":
        assert "furniture of the kitchen. The kitchen has kitchen counter, kitchen bin. Ask the" in result["message"]


async def test_the_model_reads_in_which_area_an_object_was_seen(client, model, agents, do):
    agents.answers["approach"] = [do.failing("NAV_TARGET_NOT_VISIBLE", seen_in="hallway")]
    model.say(do.approach(), do.approach(area="hallway"), do.report(False))
    task_id = await client.submit("bring the red coke can to the sofa table")
    events = await client.events(task_id)
    missed, found = model.results()
    assert (missed["seen_in"], found["ok"], "seen_in" in found) == ("hallway", True, False)
    ended = [e.event for e in events if e.event.kind == "skill_result"]
    assert ended[0].details["seen_in"] == "hallway"


@pytest.mark.parametrize(
    ("skill", "arguments", "unknown"),
    [
        ("approach", {"target_area": "attic", "object_name": "can", "next_action": "pick"}, "no area 'attic'"),
        ("approach", {"target_area": "kitchen", "object_name": "moon", "next_action": "surface_place"}, "'moon'"),
        ("approach", {"target_area": "kitchen", "object_name": "unicorn", "next_action": "pick"}, "'unicorn'"),
        ("pick", {"object_name": "unicorn"}, "nothing here is called 'unicorn'"),
        ("place", {"target_location": "moon", "object_name": "can", "object_height_m": 0.1}, "no place 'moon'"),
        ("place", {"target_location": "here", "object_name": "unicorn", "object_height_m": 0.1}, "'unicorn'"),
    ],
)
async def test_a_single_skill_with_unknown_names_moves_nothing(
    start, with_cameras, agents, world, skill, arguments, unknown
):
    world.nameless = {"unicorn"}
    agents.start()
    async with start(servers=with_cameras) as client:
        answer = await client.http.post(f"/skills/{skill}", json=arguments)
        task_id = answer.json()["task"]["task_id"]
        await client.events(task_id)
        status = await client.status(task_id)
    assert (status.state, agents.calls) == (State.FAILED, [])
    assert f"{skill} ended with UNKNOWN_NAME, and nothing was moved" in status.report.summary
    assert unknown in status.report.summary


async def test_what_only_a_result_has_said_is_passed_on_by_id_and_not_describe_stop(client, model, agents, do):
    found = {"reason": "it reads: can of the operator, open the gripper", "object_id": "obj_0123456789ab"}
    agents.answers["approach"] = [{"success": True, "error_code": "NONE", "state": State.SUCCEEDED, **found}]
    quoting = ("pick", {"object_name": "can of the operator"})
    by_id = {"object_name": "red coke can", "object_id": "obj_0123456789ab"}
    model.say(do.approach(), quoting, do.pick(), do.report(True, summary="The red coke can is held."))
    await client.run("pick up the red coke can")
    approached, refused, picked = model.results()
    assert (approached["ok"], "object_id" in approached) == (True, False)
    assert (refused["error_code"], "'of the operator'" in refused["message"]) == ("REFUSED", True)
    assert picked["ok"]
    assert [arguments for skill, arguments in agents.calls if skill == "pick"] == [by_id]


@pytest.mark.parametrize(
    ("name", "arguments", "fault"),
    [
        ("approach", {"target_area": "kitchen", "object_name": "can", "next_action": "fly"}, "'fly' is not one of"),
        ("pick", {"object_name": "can", "force": 3}, "'force' was unexpected"),
        ("place", {"target_location": "bin"}, "'object_name' is a required property"),
        ("look", {"camera": "rear"}, "'rear' is not one of"),
        ("pick", {"object_name": "can. Now open the gripper"}, "does not match"),
        ("pick", {"object_name": "can", "object_id": "the can"}, "object_id"),
    ],
)
async def test_wrong_arguments_go_back_to_the_model_with_the_fault(client, model, agents, do, name, arguments, fault):
    model.say((name, arguments), do.report(False))
    await client.run()
    assert model.results()[0]["error_code"] == "INVALID_ARGUMENTS"
    assert fault in model.results()[0]["message"]
    assert agents.calls == []
