"""The loop against a model over real HTTP: every limit, and everything that a model can do wrong."""

import asyncio
import json
import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from quartet_agent_runtime import (
    Cause,
    GatewayClient,
    Image,
    LocalTool,
    LocalTools,
    ToolOutcome,
    ToolSpec,
    WorkClock,
    failure,
    gateway,
    task_report,
)
from quartet_agent_runtime.errors import ModelUnavailableError
from quartet_benchmarks.chaos.tcp_proxy import TcpProxy
from quartet_contracts import OUT_OF_TIME, Budget
from quartet_deployment import free_ports, hold_ports

SCHEMA = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}


def local(memory, handler=None, name="arm__move", schema=SCHEMA):
    """One tool in this process; without a handler it answers what it was given and notes that it ran."""

    async def echo(arguments, progress):
        memory.order.append("ran")
        return ToolOutcome({"ok": True, "error_code": "NONE", "message": "", **arguments})

    return LocalTools([LocalTool(ToolSpec(name, "Moves.", schema), handler or echo)])


async def test_a_report_ends_the_loop(model, memory, make_loop, talk):
    model.script = [talk.calls(("arm__move", {"x": 1}), text="I move."), talk.report(held_object_height_m=0.12)]
    ending = await make_loop(local(memory)).run("system", "user")
    assert ending.cause is Cause.REPORTED
    assert ending.report.held_object_height_m == 0.12
    assert (ending.usage.turns, ending.usage.tool_calls) == (2, 1)
    assert (ending.usage.prompt_tokens, ending.usage.completion_tokens) == (200, 20)
    assert ending.usage.cost_usd == pytest.approx(0.02)
    offered = [tool["function"]["name"] for tool in model.requests[0]["tools"]]
    assert offered == ["arm__move", "report_pick_result"]
    assert model.requests[0]["model"] == "pick"
    assert model.headers[0]["x-quartet-task"] == "t1"
    assert model.headers[0]["x-quartet-request"] == "r1"
    assert model.headers[0]["x-quartet-grant"] == "the-grant"
    assert model.headers[0]["authorization"] == "Bearer secret-key"


async def test_events_are_written_before_their_effect(model, memory, make_loop, talk):
    model.script = [talk.calls(("arm__move", {"x": 1})), talk.report()]
    await make_loop(local(memory)).run("system", "user")
    assert memory.order == ["model_turn", "tool_call", "ran", "tool_result", "model_turn"]
    assert memory.events[1].request_id == "r1"
    assert memory.events[1].event.arguments == {"x": 1}


@pytest.fixture
def disk(memory, monkeypatch):
    """Disk of the journal, which keeps results for as long as `free` is not set."""
    disk = SimpleNamespace(asked=asyncio.Event(), free=asyncio.Event(), error=None, canceled=False)
    append = memory.append

    async def slow_append(*events):
        if events[-1].event.kind == "tool_result":
            disk.asked.set()
            try:
                await disk.free.wait()
            except asyncio.CancelledError:
                disk.canceled = True
                raise
            if disk.error is not None:
                raise disk.error
        await append(*events)

    monkeypatch.setattr(memory, "append", slow_append)
    return disk


async def test_a_model_reads_a_result_while_it_is_written_and_nothing_is_done_before(
    model, memory, make_loop, talk, disk
):
    answered = asyncio.Event()

    def next_call(_body):
        answered.set()
        return talk.calls(("arm__move", {"x": 2}))

    model.script = [talk.calls(("arm__move", {"x": 1})), next_call, talk.report()]
    tools = local(memory)
    running = asyncio.create_task(make_loop(tools).run("system", "user"))
    await answered.wait()
    assert memory.order == ["model_turn", "tool_call", "ran"]
    disk.free.set()
    assert (await running).cause is Cause.REPORTED
    assert memory.order[:7] == ["model_turn", "tool_call", "ran", "tool_result", "model_turn", "tool_call", "ran"]
    assert memory.order[7:] == ["tool_result", "model_turn"]


async def test_of_two_calls_the_second_waits_for_the_result_of_the_first(model, memory, make_loop, talk, disk):
    model.script = [talk.calls(("arm__move", {"x": 1}), ("arm__move", {"x": 2})), talk.report()]
    running = asyncio.create_task(make_loop(local(memory)).run("system", "user"))
    await disk.asked.wait()
    disk.free.set()
    await running
    kinds = ["tool_call", "ran", "tool_result"]
    assert memory.order == ["model_turn", *kinds, *kinds, "model_turn"]


async def test_a_result_that_cannot_be_written_ends_the_loop_before_the_next_call(model, memory, make_loop, talk, disk):
    disk.error = OSError("the disk is full")
    disk.free.set()
    model.script = [talk.calls(("arm__move", {"x": 1})), talk.calls(("arm__move", {"x": 2})), talk.report()]
    with pytest.raises(OSError, match="the disk is full"):
        await make_loop(local(memory)).run("system", "user")
    assert memory.order == ["model_turn", "tool_call", "ran"]


async def test_a_loop_that_ends_by_its_limit_has_written_the_last_result(model, memory, make_loop, talk, disk):
    model.script = [talk.calls(("arm__move", {"x": 1}))]
    running = asyncio.create_task(make_loop(local(memory), budget=Budget(turns=1)).run("system", "user"))
    await disk.asked.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not running.done()
    disk.free.set()
    assert (await running).cause is Cause.BUDGET
    assert memory.kinds() == ["model_turn", "tool_call", "tool_result"]


async def test_nothing_is_written_for_a_loop_that_was_canceled(model, memory, make_loop, talk, disk):
    model.script = [talk.calls(("arm__move", {"x": 1})), talk.report()]
    running = asyncio.create_task(make_loop(local(memory)).run("system", "user"))
    await disk.asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert disk.canceled


async def test_an_answer_is_written_together_with_its_first_call_and_before_the_model_is_asked_again(
    model, memory, make_loop, talk
):
    async def after_words(_body):
        assert memory.appends[-1:] == [["model_turn"]]
        return talk.calls(("arm__move", {"x": 1}), ("arm__move", {"x": 2}))

    model.script = [talk.says("I think."), after_words, talk.report()]
    await make_loop(local(memory)).run("system", "user")
    first = [["model_turn"], ["model_turn", "tool_call"], ["tool_result"], ["tool_call"], ["tool_result"]]
    assert memory.appends == [*first, ["model_turn"]]
    assert [event.event.turn for event in memory.events if event.event.kind == "model_turn"] == [1, 2, 3]


async def test_a_journal_that_fails_stops_the_effect(model, memory, make_loop, talk):
    async def lost(*_):
        raise ConnectionError("store is gone")

    memory.append = lost
    model.script = [talk.calls(("arm__move", {"x": 1}))]
    with pytest.raises(ConnectionError, match="store is gone"):
        await make_loop(local(memory)).run("system", "user")
    assert "ran" not in memory.order


async def test_the_transcript_is_saved_while_the_model_thinks(model, memory, make_loop, talk, eventually):
    async def look(_body):
        await eventually(lambda: len(memory.transcripts["r1"]["messages"]) == 4)
        assert memory.transcripts["r1"]["ending"] is None
        return talk.report()

    model.script = [talk.calls(("arm__move", {"x": 1})), look]
    ending = await make_loop(local(memory)).run("system prompt", "user")
    assert ending.cause is Cause.REPORTED
    kept = memory.transcripts["r1"]
    assert [m["role"] for m in kept["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert kept["ending"] == "reported"
    assert kept["usage"]["turns"] == 2


async def test_no_step_waits_for_a_transcript_and_the_last_one_stands(model, memory, make_loop, talk, eventually):
    """A slow store is given the newest only, and the loop has ended once the whole transcript is saved."""
    store, begun = asyncio.Event(), []
    save = memory.save

    async def slow(task_id, loop_id, transcript):
        begun.append((len(transcript["messages"]), transcript["ending"]))
        await store.wait()
        await save(task_id, loop_id, transcript)

    async def third(_body):
        store.set()
        return talk.report()

    memory.save = slow
    model.script = [talk.calls(("arm__move", {"x": 1})), talk.calls(("arm__move", {"x": 2})), third]
    async with asyncio.timeout(30):
        await make_loop(local(memory)).run("system", "user")
    assert begun[0][1] is None
    assert begun[-1] == (7, "reported")
    assert len(begun) < 6
    assert memory.transcripts["r1"]["ending"] == "reported"


async def test_a_transcript_that_cannot_be_saved_for_a_moment_ends_no_loop(model, memory, make_loop, talk, caplog):
    save = memory.save

    async def away(task_id, loop_id, transcript):
        if transcript["ending"] is None:
            raise ConnectionError("store is gone")
        await save(task_id, loop_id, transcript)

    memory.save = away
    model.script = [talk.calls(("arm__move", {"x": 1})), talk.report()]
    assert (await make_loop(local(memory)).run("system", "user")).cause is Cause.REPORTED
    assert "the transcript of r1 is not saved yet: store is gone" in caplog.text
    assert memory.transcripts["r1"]["ending"] == "reported"


async def test_nothing_is_saved_any_more_once_a_loop_was_cut_off(model, memory, make_loop, talk):
    """Its owner closes the store next; a command after that would open a connection that nobody closes."""
    saving, ended = asyncio.Event(), asyncio.Event()

    async def stuck(*_):
        saving.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def silent(_body):
        await asyncio.Event().wait()

    memory.save = stuck
    model.script = [talk.calls(("arm__move", {"x": 1})), silent]
    task = asyncio.create_task(make_loop(local(memory)).run("system", "user"))
    await saving.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_malformed_json_goes_back_to_the_model(model, memory, make_loop, talk):
    model.script = [talk.calls(("arm__move", '{"x": 1')), lambda _: talk.report(reason=model.result()["message"])]
    ending = await make_loop(local(memory)).run("system", "user")
    assert "not JSON" in ending.report.reason
    assert "char 7" in ending.report.reason
    assert "ran" not in memory.order
    # Providers refuse a history with arguments that are no JSON.
    echoed = model.last()[2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(echoed) == {"malformed": '{"x": 1'}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({}, "'x' is a required property"), ({"x": "far"}, "x: 'far' is not of type 'number'"), ({"x": 1, "y": 2}, "'y'")],
)
async def test_arguments_that_do_not_fit_go_back_with_the_schema_error(model, memory, make_loop, talk, arguments, said):
    model.script = [talk.calls(("arm__move", arguments)), talk.report()]
    await make_loop(local(memory)).run("system", "user")
    result = model.result()
    assert result["error_code"] == "INVALID_ARGUMENTS"
    assert said in result["message"]
    assert "ran" not in memory.order


async def test_an_unknown_tool_is_answered_with_the_valid_ones(model, memory, make_loop, talk):
    model.script = [talk.calls(("arm__fly", {})), talk.report()]
    await make_loop(local(memory)).run("system", "user")
    assert model.result()["error_code"] == "UNKNOWN_TOOL"
    assert "arm__move, report_pick_result" in model.result()["message"]


async def test_text_gets_one_reminder_and_then_ends(model, memory, make_loop, talk):
    model.script = [talk.says("Sure, I will do that."), talk.says("As I said.")]
    ending = await make_loop(local(memory)).run("system", "user")
    assert ending.cause is Cause.NO_TOOL_CALL
    assert ending.report is None
    assert "As I said." in ending.reason
    assert "report_pick_result" in model.last()[-1]["content"]
    assert len(model.requests) == 2


async def test_a_refusal_ends_at_once(model, memory, make_loop, talk):
    model.script = [talk.says(None, refusal="I cannot operate machinery.")]
    ending = await make_loop(local(memory)).run("system", "user")
    assert ending.cause is Cause.REFUSED
    assert "I cannot operate machinery." in ending.reason


async def test_the_third_equal_result_is_told_and_the_fourth_ends(model, memory, make_loop, talk):
    model.script = [talk.calls(("arm__move", {"x": 1}))]
    ending = await make_loop(local(memory)).run("system", "user")
    assert ending.cause is Cause.REPETITION
    assert "arm__move" in ending.reason
    assert memory.order.count("ran") == 3
    assert model.result()["error_code"] == "REPEATED_CALL"
    assert len(model.requests) == 4


async def test_polling_is_no_repetition_while_something_new_happens(model, memory, make_loop, talk):
    turns = [talk.calls(("arm__move", {"x": x})) for pair in range(8) for x in (0, 10 + pair)]
    model.script = [*turns, talk.report()]
    ending = await make_loop(local(memory)).run("system", "user")
    assert ending.cause is Cause.REPORTED
    assert memory.order.count("ran") == 16


async def test_measurement_noise_does_not_hide_a_repetition(model, memory, make_loop, talk):
    count = iter(range(100))

    async def noisy(arguments, progress):
        return ToolOutcome({"ok": True, "error_code": "NONE", "x": 1.2 + next(count) * 1e-5, "duration_s": next(count)})

    model.script = [talk.calls(("arm__move", {"x": 1}))]
    ending = await make_loop(local(memory, noisy)).run("system", "user")
    assert ending.cause is Cause.REPETITION


async def test_a_report_beside_other_calls_is_not_taken(model, memory, make_loop, talk):
    good = {"success": True, "error_code": "NONE", "reason": "r"}
    model.script = [talk.calls(("arm__move", {"x": 1}), ("report_pick_result", good)), talk.report()]
    ending = await make_loop(local(memory)).run("system", "user")
    assert ending.cause is Cause.REPORTED
    assert ending.usage.turns == 2
    assert model.result()["error_code"] == "REPORT_NOT_ALONE"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"success": True, "error_code": "PICK_SEG_MISSED", "reason": "r"}, "success is true exactly at NONE"),
        ({"success": False, "error_code": "BROKEN", "reason": "r"}, "BROKEN"),
        ({"success": True, "error_code": "NONE"}, "reason"),
        ({"success": True, "error_code": "NONE", "reason": "r", "mood": "good"}, "mood"),
        ({"success": True, "error_code": "NONE", "reason": "r", "held_object_height_m": 9}, "held_object_height_m"),
    ],
)
async def test_malformed_reports_go_back_and_then_end(model, memory, make_loop, talk, fields, said):
    model.script = [talk.calls(("report_pick_result", fields))]
    ending = await make_loop(local(memory)).run("system", "user")
    assert ending.cause is Cause.BAD_REPORT
    assert said in ending.reason
    assert len(model.requests) == 3


async def test_the_turn_budget(model, memory, make_loop, talk):
    count = iter(range(100))
    model.script = [lambda _: talk.calls(("arm__move", {"x": next(count)}))]
    ending = await make_loop(local(memory), budget=Budget(turns=5)).run("system", "user")
    assert ending.cause is Cause.BUDGET
    assert "5 of 5 model turns" in ending.reason
    assert len(model.requests) == 5


async def test_the_tool_call_budget_is_told_before_it_ends_the_loop(model, memory, make_loop, talk):
    count = iter(range(100))
    model.script = [lambda _: talk.calls(("arm__move", {"x": next(count)}))]
    ending = await make_loop(local(memory), budget=Budget(tool_calls=3)).run("system", "user")
    assert ending.cause is Cause.BUDGET
    assert memory.order.count("ran") == 3
    assert model.result()["error_code"] == "BUDGET_SPENT"
    assert len(model.requests) == 5


async def test_a_model_may_still_report_when_the_tool_calls_are_spent(model, memory, make_loop, talk):
    model.script = [talk.calls(("arm__move", {"x": 1})), talk.calls(("arm__move", {"x": 2})), talk.report()]
    ending = await make_loop(local(memory), budget=Budget(tool_calls=1)).run("system", "user")
    assert ending.cause is Cause.REPORTED


async def test_the_token_budget(model, memory, make_loop, talk):
    count = iter(range(100))
    model.script = [lambda _: talk.calls(("arm__move", {"x": next(count)}))]
    ending = await make_loop(local(memory), budget=Budget(tokens=300)).run("system", "user")
    assert ending.cause is Cause.BUDGET
    assert "330 of 300 tokens" in ending.reason


async def test_the_cost_budget(model, memory, make_loop, talk):
    count = iter(range(100))
    model.script = [lambda _: talk.calls(("arm__move", {"x": next(count)}))]
    ending = await make_loop(local(memory), budget=Budget(cost_usd=0.02)).run("system", "user")
    assert ending.cause is Cause.BUDGET
    assert "USD" in ending.reason
    assert len(model.requests) == 2


async def test_the_wall_time_budget_cuts_a_running_call_off(model, memory, make_loop, talk):
    async def endless(arguments, progress):
        await asyncio.Event().wait()

    model.script = [talk.calls(("arm__move", {"x": 1}))]
    ending = await make_loop(local(memory, endless), budget=Budget(wall_s=2.0)).run("system", "user")
    assert ending.cause is Cause.TIME
    assert ending.uncertain
    assert ending.reason == "budget spent: 2 s of wall time without a report"


async def test_waiting_for_a_person_is_no_time_of_work(model, memory, make_loop, talk):
    """The loop goes on with what was left when the wait began; afterwards its time ends it as ever."""
    clock = WorkClock(1.0, 60)

    async def asks(arguments, progress):
        with clock.waiting():
            # Longer than its whole time of work.
            await asyncio.sleep(1.5)
        return ToolOutcome({"ok": True, "error_code": "NONE", "message": ""})

    async def silent(_body):
        await asyncio.Event().wait()

    model.script = [talk.calls(("arm__move", {"x": 1})), talk.report(held_object_height_m=0.12)]
    ending = await make_loop(local(memory, asks), budget=Budget(wall_s=1.0), clock=clock).run("system", "user")
    assert ending.cause is Cause.REPORTED, ending.reason
    model.script = [silent]
    ending = await make_loop(local(memory), clock=clock).run("system", "user")
    assert ending.report is None
    assert clock.left_s < 1.0


async def test_the_deadline_of_the_request(model, memory, make_loop, talk):
    async def silent(_body):
        await asyncio.Event().wait()

    model.script = [silent]
    ending = await make_loop(local(memory), clock=WorkClock(0.3, 0.3)).run("system", "user")
    assert ending.report is None
    assert not ending.uncertain


async def test_cancellation_reaches_the_tool_and_gets_out(model, memory, make_loop, talk):
    running, canceled = asyncio.Event(), asyncio.Event()

    async def endless(arguments, progress):
        running.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            canceled.set()
            raise

    model.script = [talk.calls(("arm__move", {"x": 1}))]
    loop = make_loop(local(memory, endless))
    task = asyncio.create_task(loop.run("system", "user"))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert canceled.is_set()
    assert loop.uncertain


async def test_progress_is_journaled(model, memory, make_loop, talk):
    async def moves(arguments, progress):
        await progress(0.5, "half way")
        return ToolOutcome({"ok": True})

    model.script = [talk.calls(("arm__move", {"x": 1})), talk.report()]
    await make_loop(local(memory, moves)).run("system", "user")
    step = next(event.event for event in memory.events if event.event.kind == "tool_progress")
    assert (step.fraction, step.message) == (0.5, "half way")


async def test_long_results_are_cut_with_a_mark(model, memory, make_loop, talk):
    async def talks(arguments, progress):
        return ToolOutcome({"ok": True, "text": "y" * 50_000})

    model.script = [talk.calls(("arm__move", {"x": 1})), talk.report()]
    await make_loop(local(memory, talks)).run("system", "user")
    content = model.last()[-1]["content"]
    assert len(content) < 13_000
    assert "[cut: 38" in content
    assert memory.events[2].event.text.endswith("characters left out]")


@pytest.mark.parametrize("takes_images", [True, False])
async def test_images_go_to_models_that_take_them(model, memory, make_loop, talk, takes_images):
    async def looks(arguments, progress):
        return ToolOutcome({"ok": True, "error_code": "NONE"}, [Image(b"jpeg", "image/jpeg")])

    model.takes_images = takes_images
    model.script = [talk.calls(("arm__move", {"x": x})) for x in range(6)] + [talk.report()]
    await make_loop(local(memory, looks)).run("system", "user")
    shown = [m for m in model.last() if isinstance(m["content"], list)]
    assert len(shown) == (1 if takes_images else 0)
    if takes_images:
        assert shown[0]["content"][1]["image_url"]["url"] == "data:image/jpeg;base64,anBlZw=="
    assert len(memory.pictures) == 6
    kept = json.dumps(memory.transcripts["r1"])
    assert "image-5" in kept
    assert "base64" not in kept
    assert memory.events[2].event.images == ["image-0"]


async def test_the_gateways_error_is_what_the_person_reads(model, memory, make_loop, talk):
    body = {"error": {"message": "no key for anthropic: set ANTHROPIC_API_KEY", "type": "auth", "code": "401"}}
    model.script = [{"status": 401, "body": body}]
    ending = await make_loop(local(memory)).run("system", "user")
    assert ending.cause is Cause.MODEL_UNAVAILABLE
    assert "set ANTHROPIC_API_KEY" in ending.reason


async def test_one_broken_connection_is_retried_and_a_second_is_not(model, memory, make_loop, talk):
    model.script = [{"drop": True}, talk.report()]
    assert (await make_loop(local(memory)).run("system", "user")).cause is Cause.REPORTED
    model.requests.clear()
    model.script = [{"drop": True}]
    ending = await make_loop(local(memory)).run("system", "user")
    assert ending.cause is Cause.MODEL_UNAVAILABLE
    assert "QUARTET_GATEWAY_URL" in ending.reason
    assert len(model.requests) == 2


async def test_a_gateway_that_starts_again_is_waited_for(model, talk):
    """Nothing was asked while nobody was there, so nothing is asked twice."""
    model.script = [talk.report()]
    (port,) = free_ports(1)
    with hold_ports([port]):
        client = GatewayClient(f"http://127.0.0.1:{port}", "pick", patience_s=60)
        asking = asyncio.create_task(client.answer([], [], 60))
        await asyncio.wait({asking}, timeout=0.6)
        assert not asking.done()
    listening = await asyncio.start_server(model.serve, "127.0.0.1", port)
    assert (await asking).calls[0].name == "report_pick_result"
    assert len(model.requests) == 1
    await client.close()
    listening.close()


async def test_a_gateway_that_vanishes_and_closes_nothing_is_asked_once_more(model, talk, until):
    """While it asks a model, a gateway shows that it lives; what falls silent for longer is gone."""
    never = asyncio.Event()

    async def think(body):
        await never.wait()
        return talk.report()

    model.keepalive, model.script = "0.2", [talk.says("first"), think, talk.says("again")]
    with TcpProxy("the gateway") as proxy:
        proxy.forward_to(urlsplit(model.url).port)
        client = GatewayClient(f"http://{proxy.address}", "pick")
        assert (await client.answer([], [], 3600)).text == "first"
        asking = asyncio.create_task(client.answer([], [], 3600))
        await until(lambda: len(model.requests) == 2)
        proxy.drop_connections()
        assert (await asking).text == "again"
        await client.close()
    never.set()


async def test_a_gateway_that_takes_the_first_connection_and_says_nothing_is_asked_again(model, talk, monkeypatch):
    """It was never heard of, so nobody knows how often it sends a byte; the call would use up its time."""
    monkeypatch.setattr(gateway, "HEALTH_TIMEOUT_S", 0.2)
    model.deaf, model.script = 1, [talk.says("hello")]
    client = GatewayClient(model.url, "pick")
    assert (await client.answer([], [], 3600)).text == "hello"
    assert len(model.requests) == 1
    await client.close()


async def test_connections_that_break_before_the_question_cost_no_answer(model, talk):
    """The port is open while a gateway starts or ends, and the check of its health breaks off."""
    client = GatewayClient(model.url, "pick", patience_s=60)
    model.restarting, model.script = 3, [talk.says("hello")]
    assert (await client.answer([], [], 60)).text == "hello"
    assert len(model.requests) == 1

    async def dies(_body):
        model.restarting = 3
        return {"drop": True}

    model.script = [talk.says("hello"), dies, talk.says("again")]
    assert (await client.answer([], [], 60)).text == "again"
    assert len(model.requests) == 3
    await client.close()


async def test_a_gateway_that_takes_long_to_restart_has_lost_one_answer_only(model, talk, monkeypatch):
    """It was killed while it answered, and its port is open before it can say that it is there."""
    monkeypatch.setattr(gateway, "HEALTH_TIMEOUT_S", 0.2)
    client = GatewayClient(model.url, "pick", patience_s=60)

    async def dies(_body):
        model.deaf = model.greetings + 1
        return {"drop": True}

    model.script = [dies, talk.says("again")]
    assert (await client.answer([], [], 60)).text == "again"
    assert len(model.requests) == 2
    await client.close()


async def test_a_gateway_that_dies_after_a_long_thought_has_its_time_to_restart(model, talk, monkeypatch):
    thought_s = 0.0
    monkeypatch.setattr(gateway, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + thought_s))
    client = GatewayClient(model.url, "pick", patience_s=60)

    async def dies(_body):
        nonlocal thought_s
        thought_s, model.restarting = 3600.0, 2
        return {"drop": True}

    model.script = [dies, talk.says("again")]
    assert (await client.answer([], [], 60)).text == "again"
    await client.close()


async def test_a_gateway_that_breaks_each_connection_is_given_up_after_the_patience(model):
    client = GatewayClient(model.url, "pick", patience_s=0.5)
    model.restarting = 1000
    with pytest.raises(ModelUnavailableError, match="no connection to the gateway"):
        await client.answer([], [], 60)
    assert model.greetings > 2
    assert not model.requests
    await client.close()


async def test_a_gateway_that_never_says_anything_is_given_up_before_the_calls_time_is(model, monkeypatch):
    monkeypatch.setattr(gateway, "HEALTH_TIMEOUT_S", 0.2)
    model.deaf = 9
    client = GatewayClient(model.url, "pick")
    with pytest.raises(ModelUnavailableError, match="no connection to the gateway"):
        await client.answer([], [], 3600)
    assert not model.requests
    await client.close()


async def test_a_gateway_that_vanishes_before_its_first_answer_is_asked_once_more(model, talk, until):
    """It said with its health how often it sends a byte."""
    never = asyncio.Event()

    async def think(body):
        await never.wait()
        return talk.report()

    model.keepalive, model.script = "0.2", [think, talk.says("again")]
    with TcpProxy("the gateway") as proxy:
        proxy.forward_to(urlsplit(model.url).port)
        client = GatewayClient(f"http://{proxy.address}", "pick")
        asking = asyncio.create_task(client.answer([], [], 3600))
        await until(lambda: len(model.requests) == 1)
        proxy.drop_connections()
        assert (await asking).text == "again"
        await client.close()
    never.set()


async def test_an_error_of_a_gateway_that_had_begun_to_answer_is_its_error(model):
    model.script = [{"body": {"error": {"message": "the model had no time", "code": "model_timeout"}}}]
    client = GatewayClient(model.url, "pick")
    with pytest.raises(ModelUnavailableError, match="answered: the model had no time"):
        await client.answer([], [], 60)
    await client.close()


@pytest.mark.parametrize("body", ["<html>", {"choices": []}, {"choices": [{"message": None}]}, []])
async def test_an_answer_that_is_no_completion(model, memory, make_loop, talk, body):
    model.script = [{"body": body or "[]"}]
    ending = await make_loop(local(memory)).run("system", "user")
    assert ending.cause is Cause.MODEL_UNAVAILABLE
    assert "not a chat completion" in ending.reason


async def test_a_slow_model_runs_into_its_own_time_out(model, memory, make_loop, talk):
    async def silent(_body):
        await asyncio.sleep(3)
        return talk.report()

    model.script = [silent]
    ending = await make_loop(local(memory), model_timeout_s=0.2).run("system", "user")
    assert ending.cause is Cause.MODEL_UNAVAILABLE
    assert "QUARTET_MODEL_TIMEOUT_S" in ending.reason


async def test_the_same_loop_serves_the_orchestrator(model, memory, make_loop, talk):
    async def skill(arguments, progress):
        return failure("PICK_SEG_MISSED", "not seen")

    done = {"success": False, "summary": "not found", "objects": [{"object_name": "can", "completed": False}]}
    wrong = {**done, "success": True}
    model.script = [
        talk.calls(("pick", {"object_name": "can"})),
        talk.calls(("report_task_result", wrong)),
        talk.calls(("report_task_result", done)),
    ]
    schema = {"type": "object", "properties": {"object_name": {"type": "string"}}, "required": ["object_name"]}
    ending = await make_loop(local(memory, skill, "pick", schema), ends_with=task_report()).run("system", "user")
    assert ending.report.summary == "not found"
    assert "these objects are not completed: can" in model.result()["message"]


async def test_a_gateway_whose_clock_is_put_right_is_asked_again(model, talk):
    refused = {"status": 401, "body": {"error": {"message": "expired 3600 s ago", "code": OUT_OF_TIME}}}
    model.script = [refused, refused, talk.says("here")]
    client = GatewayClient(model.url, "pick", patience_s=60)
    try:
        answer = await client.answer([{"role": "user", "content": "hello"}], [], 60)
    finally:
        await client.close()
    assert answer.text == "here"
    assert len(model.requests) == 3


async def test_a_grant_that_the_gateway_takes_for_expired_is_signed_anew(model, talk):
    refused = {"status": 401, "body": {"error": {"message": "expired 3600 s ago", "code": OUT_OF_TIME}}}
    model.script = [refused, refused, talk.says("here")]
    signed = iter(["by a wrong clock", "by a wrong clock still", "by a right clock"])
    client = GatewayClient(model.url, "orchestrator", patience_s=60)
    try:
        asked = client.for_task("t1", "orchestrator", lambda: next(signed))
        answer = await asked.answer([{"role": "user", "content": "hello"}], [], 60)
    finally:
        await client.close()
    assert answer.text == "here"
    assert [headers["x-quartet-grant"] for headers in model.headers] == [
        "by a wrong clock",
        "by a wrong clock still",
        "by a right clock",
    ]


async def test_a_gateway_whose_clock_stays_wrong_is_given_up(model):
    refused = {"status": 401, "body": {"error": {"message": "expired 3600 s ago", "code": OUT_OF_TIME}}}
    wrong_key = {"status": 401, "body": {"error": {"message": "no such key", "code": "authentication_error"}}}
    client = GatewayClient(model.url, "pick", patience_s=0.5)
    try:
        for reply, says in ((refused, "expired 3600 s ago"), (wrong_key, "no such key")):
            model.script = [reply]
            with pytest.raises(ModelUnavailableError, match=says):
                await client.answer([{"role": "user", "content": "hello"}], [], 60)
            asked = len(model.requests)
    finally:
        await client.close()
    assert len(model.requests) == asked > 2
