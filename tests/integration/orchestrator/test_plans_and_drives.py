"""A model may look first, is told once that its report does not fit its plan, and cannot leave out a drive."""

import contextlib

import pytest

from quartet_contracts import State
from support.http_server import serve_app

LOOK_AROUND = ("approach", {"target_area": "kitchen", "object_name": "kitchen", "next_action": "look"})
TABLE = "wooden coffee table"
DRINK = f"| object | pickup place | drop place |\n|---|---|---|\n| something to drink | kitchen | {TABLE} |"
CAN = f"| object | pickup place | drop place |\n|---|---|---|\n| red coke can | kitchen | {TABLE} |"
SENTENCE = "find something to drink and bring it to the coffee table"


def drive(area):
    return "approach", {"target_area": area, "object_name": area, "next_action": "look"}


def reported(success, *names, summary="So it is."):
    rows = [{"object_name": name, "target": TABLE, "completed": success} for name in names]
    return "report_task_result", {"success": success, "summary": summary, "objects": rows}


async def test_a_report_in_other_words_than_the_plan_is_sent_back_once(client, model, agents, do):
    tool, arguments = do.pick()
    model.say(
        (*LOOK_AROUND, DRINK), do.approach(), (tool, arguments), do.drop, do.place(),
        reported(True, "red coke can"), reported(True, "something to drink"),
    )  # fmt: skip
    status = await client.run(SENTENCE)
    sent_back = model.results()[-1]
    assert sent_back["error_code"] == "INVALID_REPORT"
    assert f"object_name 'something to drink', target '{TABLE}'" in sent_back["message"]
    assert status.state is State.SUCCEEDED, status.report


async def test_a_second_report_in_other_words_is_compared_strictly(client, model, do):
    model.say(
        (*LOOK_AROUND, DRINK), do.approach(), do.pick(), do.drop, do.place(),
        reported(True, "red coke can"), reported(True, "red coke can", summary="It is done."),
    )  # fmt: skip
    status = await client.run(SENTENCE)
    assert status.state is State.FAILED
    assert "something to drink: the plan names it, and the report does not" in status.report.summary


async def test_a_plan_may_be_rewritten_after_a_look(client, model, agents, do):
    tool, arguments = do.pick()
    model.say(
        (*LOOK_AROUND, DRINK), (*do.approach(), CAN), (tool, arguments), do.drop, do.place(),
        reported(True, "red coke can"),
    )  # fmt: skip
    status = await client.run(SENTENCE)
    assert status.state is State.SUCCEEDED, status.report
    assert [row.object_name for row in status.report.objects] == ["red coke can"]
    assert agents.calls[0][1]["next_action"] == "look"


async def test_a_drive_that_was_left_out_can_be_made_up_for(client, model, agents):
    sentence = "go to the hallway and then to the living room"
    model.say(drive("hallway"), reported(True), drive("living room"), reported(True, summary="Both."))
    status = await client.run(sentence)
    assert status.state is State.SUCCEEDED, status.report
    assert "the sentence wants the robot at hallway, then living room" in model.results()[1]["message"]


async def test_a_drive_that_was_left_out_is_no_success(client, model):
    model.say(drive("hallway"), reported(True), reported(True, summary="I did go there."))
    status = await client.run("go to the hallway and then to the living room")
    assert status.state is State.FAILED
    assert "it was driven to: hallway" in status.report.summary


async def test_what_a_place_did_not_release_is_reported_as_held(client, model, agents, world, do):
    agents.answers["place"] = [do.failing("PLACE_DROP_VERIFY_FAILED", still_held=True)]
    missed = do.report(False, ("red coke can", TABLE, False))
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.drop, missed)
    status = await client.run()
    *_, placed, again = model.results()
    assert (placed["still_held"], again["ok"]) == (True, True)
    assert "The robot keeps holding the red coke can." in status.report.summary
    assert "Put aside" not in status.report.summary


@pytest.fixture
async def seeing(start, settings, agents, perception):
    """An orchestrator with eyes."""
    agents.start()
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(serve_app(perception.mcp.http_app(path="/mcp"), lifespan="on"))
        servers = {"summit": {**settings.servers["summit"], "perception": f"{url}/mcp"}}
        yield await stack.enter_async_context(start(servers=servers))


async def test_an_approach_to_look_shows_what_is_there(seeing, model):
    model.say(LOOK_AROUND, reported(True))
    task_id = await seeing.submit("go to the kitchen")
    events = await seeing.events(task_id)
    (looked,) = model.results()
    assert (looked["ok"], looked["cameras"]) == (True, ["front", "arm"])
    result = next(e.event for e in events if e.event.kind == "tool_result" and e.event.tool == "approach")
    assert len(result.images) == 2


async def test_ids_are_filled_in_from_results(client, model, agents, do):
    ids = {skill: f"obj_{number:012x}" for number, skill in enumerate(("approach", "pick"), start=1)}
    done = {"success": True, "error_code": "NONE", "reason": "", "state": State.SUCCEEDED}
    agents.answers["approach"] = [{**done, "object_id": ids["approach"]}]
    agents.answers["pick"] = [{**done, "object_id": ids["pick"]}]
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.report(True, do.delivered))
    assert (await client.run()).state is State.SUCCEEDED
    picked, placed = (arguments for skill, arguments in agents.calls if skill in {"pick", "place"})
    assert (picked["object_id"], placed["held_id"]) == (ids["approach"], ids["pick"])
    assert all("object_id" not in result for result in model.results())
