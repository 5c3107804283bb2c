"""An orchestrator that dies, hangs or is shut down is replaced by another one, which goes on where the journal ends."""

import asyncio
import signal
import time

import pytest

from quartet_bus import Bus, BusOptions
from quartet_contracts import (
    TERMINAL,
    DirectStep,
    JournalEvent,
    PickArguments,
    Skill,
    SkillRequest,
    State,
    Task,
    TaskStatus,
    TaskSubmission,
)
from quartet_contracts.journal import SkillRequested, StateChanged
from support.store import KEYS, command

JOB = "put the red coke can on the sofa table"


@pytest.fixture
async def bus(settings):
    async with await Bus.connect(settings.redis_url) as opened:
        yield opened


def by_turn(*turns):
    """What the model says next, by how often it has spoken: the same to whoever asks."""
    return lambda messages: turns[sum(message["role"] == "assistant" for message in messages)]


def whole_job(do):
    return by_turn(do.approach(), do.pick(), do.drop, do.place(), do.report(True, do.delivered))


async def submit(bus, sentence=JOB, **fields):
    """Put a task on the stream as the API does."""
    now = time.time()
    made = {"task_id": "t1", "robot": "summit", "created_at": now, "deadline": now + 300, **fields}
    budget = TaskSubmission(sentence=sentence).budget
    await bus.tasks.submit(Task(sentence=sentence, budget=budget, **made))


def of_task(happening):
    return JournalEvent(task_id="t1", actor="orchestrator", at=time.time(), event=happening)


async def until(bus, wanted, task_id="t1"):
    """The journal's first event that is `wanted`; also when it is there already."""
    async with asyncio.timeout(60):
        async for event in bus.journal.follow(task_id):
            if wanted(event.event):
                return event
    raise AssertionError("the task has ended without it")


def is_paused(event):
    return event.kind == "state" and event.state is State.PAUSED


async def kill(process, bus):
    """SIGKILL; its leases are made to run out at once, so that the test need not wait for them."""
    process.kill()
    await process.wait()
    await command(bus, "DEL", KEYS.robot_lease("summit"))
    stream = KEYS.task_stream("summit")
    for entry, _ in await command(bus, "XRANGE", stream, "-", "+", "COUNT", 1):
        await command(bus, "XCLAIM", stream, "orchestrator", "dead", 0, entry, "IDLE", 60_000)


async def end_of(bus, task_id="t1"):
    """Status and journal of a task that has ended."""
    async with asyncio.timeout(60):
        events = [event async for event in bus.journal.follow(task_id)]
    return await bus.statuses.get(task_id), events


def ends_once(events):
    states = [e.event.state for e in events if e.event.kind == "state" and e.request_id is None]
    return [s for s in states if s in TERMINAL] == states[-1:] and events[-1].event.kind == "state"


EDGES = {
    "begun": lambda e: e.kind == "state" and e.state is State.INITIALIZING,
    "pick called": lambda e: e.kind == "tool_call" and e.tool == "pick",
    "pick requested": lambda e: e.kind == "skill_requested" and e.skill == "pick",
    "pick done": lambda e: e.kind == "skill_result" and e.skill == "pick",
    "reported": lambda e: e.kind == "report",
}


@pytest.mark.parametrize(
    "edge", [pytest.param(name, marks=() if name == "pick called" else pytest.mark.long) for name in EDGES]
)
async def test_a_killed_orchestrator_loses_no_task_and_repeats_no_step(
    start, replica, agents, model, do, bus, edge, eventually
):
    agents.start()
    model.say(whole_job(do))
    dying = await replica()
    await submit(bus)
    await until(bus, EDGES[edge])
    await kill(dying, bus)
    async with start():
        status, events = await end_of(bus)
    assert status.state is State.SUCCEEDED, status.report
    assert [skill for skill, _ in agents.calls] == ["approach", "pick", "approach", "place"]
    assert ends_once(events)
    # The model has read each result once, in order, as if nothing had happened.
    read = model.results()
    assert [r["ok"] for r in read] == [True] * 4
    assert agents.calls[-1][1]["object_height_m"] == 0.12, "as the pick measured it"


async def test_it_is_taken_over_when_its_lease_runs_out_and_the_running_step_goes_on(
    start, replica, agents, model, do, bus
):
    hold = agents.hold("approach")
    agents.start()
    model.say(whole_job(do))
    dying = await replica()
    await submit(bus)
    await agents.started.wait()
    async with start():
        dying.kill()
        await dying.wait()
        taken = await until(bus, lambda e: e.kind == "taken_over")
        hold.set()
        status, events = await end_of(bus)
    assert taken.event.epoch == 2
    assert status.state is State.SUCCEEDED
    states = [e.event.state for e in events if e.event.kind == "state"]
    assert states == ["INITIALIZING", "RUNNING", "UNCERTAIN", "RETRIABLE", "INITIALIZING", "RUNNING", "SUCCEEDED"]
    assert len(agents.calls) == 4


async def test_a_result_that_came_while_nobody_listened_is_taken(start, replica, agents, model, do, bus):
    answered = agents.hold("approach")
    agents.start()
    model.say(whole_job(do))
    dying = await replica()
    await submit(bus)
    await agents.started.wait()
    await kill(dying, bus)
    answered.set()
    async with start():
        status, events = await end_of(bus)
    assert status.state is State.SUCCEEDED
    assert len(agents.calls) == 4
    assert [e.event.state for e in events if e.event.kind == "skill_result"] == [State.SUCCEEDED] * 4


@pytest.mark.long
async def test_a_request_that_nobody_had_begun_is_asked_for_anew(start, replica, agents, model, do, bus):
    """It was withdrawn, so that nobody runs it twice; the new attempt has a new fence."""
    model.say(whole_job(do))
    dying = await replica()
    await submit(bus)
    await until(bus, lambda e: e.kind == "skill_requested")
    await kill(dying, bus)
    async with start():
        await until(bus, lambda e: e.kind == "skill_result")
        agents.start()
        status, events = await end_of(bus)
    assert status.state is State.SUCCEEDED, status.report
    asked = [e.event for e in events if e.event.kind == "skill_requested"]
    assert [(a.skill, a.attempt) for a in asked[:3]] == [("approach", 1), ("approach", 2), ("pick", 1)]
    assert asked[1].fence > asked[0].fence
    ended = [e.event for e in events if e.event.kind == "skill_result"]
    assert ended[0].state is State.RETRIABLE
    assert [r.request_id for r in agents.requests] == [a.request_id for a in asked[1:]]


@pytest.mark.long
async def test_an_unknown_outcome_is_looked_at_and_told_to_the_model(start, replica, agents, model, do, bus):
    """Orchestrator and agent are both gone; the agent's successor says that it does not know."""

    async def lost(_, delivery):
        return do.failing("UNKNOWN", State.UNCERTAIN, reason="another replica had started it", observed="by the table")

    agents.answers["pick"] = [lost]
    agents.start()
    model.say(by_turn(do.approach(), do.pick(), do.look, do.pick(), do.drop, do.place(), do.report(True, do.delivered)))
    dying = await replica()
    await submit(bus)
    await until(bus, lambda e: e.kind == "skill_result" and e.state is State.UNCERTAIN)
    await kill(dying, bus)
    async with start():
        status, events = await end_of(bus)
    assert status.state is State.SUCCEEDED, status.report
    settled = [e.event for e in events if e.event.kind == "skill_settled"]
    assert settled
    assert "were ended at the servers" in settled[-1].reason
    asked = [e.event for e in events if e.event.kind == "skill_requested" and e.event.skill == "pick"]
    assert [a.attempt for a in asked] == [1, 2]
    assert asked[1].fence > asked[0].fence + 1, "the robot was taken from the first attempt before the second"
    assert [r.follows_uncertain for r in agents.requests if r.skill is Skill.PICK] == [False, True]


async def test_a_zombie_writes_and_moves_nothing(start, replica, agents, model, motion, do, bus, eventually):
    """Stopped in the middle of a step, replaced, and awake again when the task goes on."""
    hold = agents.hold("approach", "pick")
    agents.start()
    model.say(whole_job(do))
    zombie = await replica()
    await submit(bus)
    await agents.started.wait()
    zombie.send_signal(signal.SIGSTOP)
    async with start():
        await until(bus, lambda e: e.kind == "taken_over")
        hold.set()
        zombie.send_signal(signal.SIGCONT)
        status, events = await end_of(bus)
        zombie.terminate()
        assert await asyncio.wait_for(zombie.wait(), 30) == 0
    assert status.state is State.SUCCEEDED
    assert [skill for skill, _ in agents.calls] == ["approach", "pick", "approach", "place"]
    assert ends_once(events)
    assert len([e for e in events if e.event.kind == "skill_result"]) == 4
    fences = [e.event.fence for e in events if e.event.kind == "skill_requested"]
    assert fences == sorted(set(fences))
    assert motion["nav2"].fence == fences[-1] + 1, "the last grant is void, too"


@pytest.mark.parametrize("killed_at", [pytest.param("question", marks=pytest.mark.long), "status", "state"])
async def test_a_question_is_asked_on_by_the_next_replica(
    start, replica, agents, model, do, bus, eventually, killed_at
):
    """Killed while it waits, between its status and the event of it, or as soon as the question is in the journal."""
    agents.start()
    model.say(by_turn(("ask_person", {"question": "Which can?"}), do.approach(), do.report(True)))
    dying = await replica()
    await submit(bus, "go to the kitchen")
    last = await until(bus, (lambda e: e.kind == "question") if killed_at == "question" else is_paused)
    await kill(dying, bus)
    if killed_at == "status":
        await command(bus, "XDEL", KEYS.journal("t1"), last.position)
    async with start() as client:
        await until(bus, lambda e: e.kind == "taken_over")

        async def asks():
            return (await client.status("t1")).state is State.PAUSED and await bus.questions.current("t1")

        await eventually(asks)

        async def told():
            return [e.event for e in await bus.journal.read_all("t1") if e.event.kind == "state"][-1]

        # By which whoever follows the journal knows that the question is open still, or again.
        await eventually(lambda: _is(told, is_paused))
        answer = await client.http.post("/tasks/t1/answer", json={"text": "the red one"})
        assert answer.status_code == 200, answer.text
        status, events = await end_of(bus)
    assert status.state is State.SUCCEEDED, status.report
    assert [e.event.kind for e in events].count("question") == 1
    assert model.results()[0]["answer"] == "the red one"


async def _is(read, wanted):
    return wanted(await read())


@pytest.mark.long
async def test_a_task_that_is_one_skill_is_taken_up_too(start, replica, agents, bus):
    agents.start()
    dying = await replica()
    step = DirectStep(skill=Skill.PICK, arguments=PickArguments(object_name="red coke can"))
    await submit(bus, "pick up the red coke can", step=step)
    await until(bus, EDGES["pick done"])
    await kill(dying, bus)
    async with start():
        status, events = await end_of(bus)
    assert status.state is State.SUCCEEDED, status.report
    assert len(agents.calls) == 1
    assert ends_once(events)


@pytest.mark.long
async def test_a_pause_outlives_its_orchestrator(start, replica, agents, model, do, bus):
    agents.start()
    model.say(by_turn(do.approach(), do.report(True)))
    dying = await replica()
    await bus.tasks.pause("t1", "the floor is wet")
    await submit(bus, "go to the kitchen")
    await until(bus, lambda e: e.kind == "state" and e.state is State.PAUSED)
    await kill(dying, bus)
    async with start():
        await until(bus, lambda e: e.kind == "taken_over")
        assert agents.calls == []
        await bus.tasks.resume("t1")
        status, events = await end_of(bus)
    assert status.state is State.SUCCEEDED, status.report
    states = [e.event.state for e in events if e.event.kind == "state"]
    assert states == ["INITIALIZING", "RUNNING", "PAUSED", "INITIALIZING", "RUNNING", "SUCCEEDED"]


@pytest.mark.parametrize("last", [State.PAUSED, State.RUNNING])
async def test_time_in_which_nobody_worked_is_no_working_time_for_another_replica(
    start, settings, agents, model, do, last
):
    """Neither a pause nor the time between a crash and the takeover."""
    agents.start()
    model.say(whole_job(do))
    async with await Bus.connect(settings.redis_url, BusOptions(lease_s=0.6)) as bus:
        now = time.time()
        await submit(bus)
        # It had a hundred seconds left when it was paused, or its orchestrator died, a thousand seconds ago.
        task = (await bus.statuses.get("t1")).task.model_copy(update={"deadline": now - 900})
        mine = bus.tasks.of("summit", "dead")
        lease_epoch = await mine.mark_started(await mine.take())
        states = (State.INITIALIZING, State.RUNNING, State.PAUSED)
        for state in states[: states.index(last) + 1]:
            status = TaskStatus(task=task, state=state, updated_at=now - 1000)
            assert await bus.statuses.put(status, lease_epoch=lease_epoch)
            event = of_task(StateChanged(state=state)).model_copy(update={"at": now - 1000})
            await bus.journal.append(event, lease_epoch=lease_epoch)
        await mine.close()
        async with start():
            status, _ = await end_of(bus)
    assert status.state is State.SUCCEEDED, status.report
    assert status.task.deadline == pytest.approx(time.time() + 100, abs=90)


@pytest.mark.parametrize("ahead_s", [3600.0, -3600.0])
@pytest.mark.parametrize("last", [State.PAUSED, State.RUNNING])
async def test_another_replicas_clock_does_not_tell_how_long_a_task_lasts(
    start, settings, agents, model, do, last, ahead_s
):
    """It had a hundred seconds left by the clock of the orchestrator that died."""
    agents.start()
    model.say(whole_job(do))
    async with await Bus.connect(settings.redis_url, BusOptions(lease_s=0.6)) as bus:
        theirs = time.time() + ahead_s
        await submit(bus)
        task = (await bus.statuses.get("t1")).task.model_copy(update={"deadline": theirs + 100})
        mine = bus.tasks.of("summit", "dead")
        lease_epoch = await mine.mark_started(await mine.take())
        states = (State.INITIALIZING, State.RUNNING, State.PAUSED)
        for state in states[: states.index(last) + 1]:
            status = TaskStatus(task=task, state=state, updated_at=theirs)
            assert await bus.statuses.put(status, lease_epoch=lease_epoch)
            event = of_task(StateChanged(state=state)).model_copy(update={"at": theirs})
            await bus.journal.append(event, lease_epoch=lease_epoch)
        await mine.close()
        async with start():
            status, _ = await end_of(bus)
    assert status.state is State.SUCCEEDED, status.report
    assert status.task.deadline == pytest.approx(time.time() + 100, abs=90)


async def test_time_that_ran_out_while_nobody_listened_brings_the_robot_to_rest(start, settings, agents, model):
    """Its journal is written here as an orchestrator would have, so that no clock of this machine matters."""
    agents.answers["pick"] = [agents.until_canceled]
    agents.start()
    pick = PickArguments(object_name="red coke can")
    async with await Bus.connect(settings.redis_url, BusOptions(lease_s=0.6)) as bus:
        now = time.time()
        await submit(bus)
        task = (await bus.statuses.get("t1")).task.model_copy(update={"deadline": now})
        mine = bus.tasks.of("summit", "dead")
        lease_epoch = await mine.mark_started(await mine.take())
        for state in (State.INITIALIZING, State.RUNNING):
            assert await bus.statuses.put(TaskStatus(task=task, state=state, updated_at=now), lease_epoch=lease_epoch)
            await bus.journal.append(of_task(StateChanged(state=state)), lease_epoch=lease_epoch)
        requested = SkillRequested(
            request_id="r1", skill="pick", attempt=1, fence=1, arguments=pick.model_dump(), deadline=now + 300
        )
        await bus.journal.append(of_task(requested), lease_epoch=lease_epoch)
        await bus.skills(Skill.PICK).submit(
            SkillRequest(
                request_id="r1", task_id="t1", robot="summit", skill=Skill.PICK, created_at=now, deadline=now + 300,
                arguments=pick, grant="token", reply_to="quartet:replies:pick:dead",
            )
        )  # fmt: skip
        await agents.started.wait()
        await mine.close()
        async with start():
            status, events = await end_of(bus)
    assert status.state is State.FAILED
    assert "was not done within its" in status.report.summary
    assert "brought to rest" in status.report.summary
    assert len(agents.calls) == 1
    assert ends_once(events)


@pytest.mark.long
async def test_a_cancel_that_came_while_nobody_listened_brings_the_robot_to_rest(
    start, replica, agents, model, do, bus
):
    agents.answers["approach"] = [agents.until_canceled]
    agents.start()
    model.say(whole_job(do))
    dying = await replica()
    await submit(bus)
    await agents.started.wait()
    await kill(dying, bus)
    await bus.tasks.cancel("t1", "the cat is in the way")
    async with start():
        status, events = await end_of(bus)
    assert status.state is State.CANCELED, status.report
    assert "brought to rest" in status.report.summary
    assert len(agents.calls) == 1
    assert ends_once(events)


async def test_a_shut_down_hands_over_within_its_limit(start, replica, agents, model, do, bus):
    """What a sub-agent does goes on, and the next replica need not wait for a lease."""
    hold = agents.hold("approach")
    agents.start()
    model.say(whole_job(do))
    leaving = await replica()
    await submit(bus)
    await agents.started.wait()
    leaving.terminate()
    assert await asyncio.wait_for(leaving.wait(), 30) == 0
    assert (await bus.statuses.get("t1")).state is State.RUNNING
    assert await command(bus, "EXISTS", KEYS.robot_lease("summit")) == 0
    async with start():
        await until(bus, lambda e: e.kind == "taken_over")
        hold.set()
        status, _ = await end_of(bus)
    assert status.state is State.SUCCEEDED
    assert len(agents.calls) == 4


async def test_one_that_had_only_just_taken_a_task_leaves_it_as_it_was(start, settings, agents, model, do):
    """It had been marked as started and was still shown as queued."""
    agents.start()
    model.say(by_turn(do.approach(), do.report(True)))
    async with await Bus.connect(settings.redis_url, BusOptions(lease_s=0.6)) as bus:
        await submit(bus, "go to the kitchen")
        mine = bus.tasks.of("summit", "dead")
        await mine.mark_started(await mine.take())
        await mine.close()
        async with start():
            status, _ = await end_of(bus)
    assert status.state is State.SUCCEEDED
    assert len(agents.calls) == 1


async def test_a_task_that_kills_its_orchestrators_is_buried_with_a_last_word(bus, settings):
    """Delivered again and again without a step done; whoever follows it learns the end from the journal."""
    async with await Bus.connect(settings.redis_url, BusOptions(lease_s=0.2, block_ms=50, delivery_cap=2)) as other:
        await submit(bus)
        taken = []
        ended = asyncio.create_task(end_of(bus))
        while not ended.done():
            mine = other.tasks.of("summit", f"dying{len(taken)}")
            taking = asyncio.create_task(mine.take())
            await asyncio.wait({taking, ended}, return_when=asyncio.FIRST_COMPLETED)
            if taking.done():
                taken.append(await mine.mark_started(taking.result()))
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)
            await mine.close()
            await command(other, "DEL", KEYS.robot_lease("summit"))
        status, events = await ended
    assert [lease_epoch.epoch for lease_epoch in taken] == [1, 2]
    assert status.state is State.FAILED
    assert "given up: delivered 3 times" in status.report.summary
    assert [e.event.kind for e in events] == ["report", "state"]
