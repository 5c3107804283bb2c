"""Two robots do one task together: they agree over the bus, and each does its errands as a task of its own."""

import asyncio
import re
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from quartet_bus import Bus
from quartet_contracts import PARKING, TEAM_QUEUE, State, Task, TaskSubmission
from quartet_orchestrator.tasks import team
from quartet_orchestrator.tasks.part import has_picked
from quartet_site import load_site
from support.team_crash import crash

HOME = Path(__file__).parents[4] / "deploy" / "sites" / "home"
CAN, MUG = "red coke can", "blue mug"
SENTENCE = (
    f"Put the {CAN} from the kitchen on the wooden coffee table "
    f"and the {MUG} from the dining area in the laundry basket."
)
BOTH = {(CAN, True), (MUG, True)}
SPEAKER = """
import asyncio, sys
from quartet_agent_runtime import GatewayClient
from quartet_agent_runtime._participant import speak
from quartet_bus import Bus, BusOptions

async def main(redis_url, gateway_url):
    bus = await Bus.connect(redis_url, BusOptions(lease_s=1.0, block_ms=200))
    await speak(bus.turns, GatewayClient(gateway_url, "approach"), 30, asyncio.Event())

asyncio.run(main(*sys.argv[1:]))
"""
"""A process that speaks for robots."""
ESTIMATE = re.compile(r"Soonest done, by an estimate \((\d+) s\)")
ENDED = (State.SUCCEEDED, State.FAILED, State.CANCELED)


def of_kind(events, kind):
    return [e.event for e in events if e.event.kind == kind]


def errands(events):
    """Steps in which robots carry; idle ones are sent to park in others."""
    steps = of_kind(events, "team_step")
    return [step for step in steps if not any(action.startswith("park(") for action in step.plan.values())]


def moved(status):
    return {(row.object_name, row.completed) for row in status.report.objects}


@pytest.mark.parametrize("name", ["cmas", "dmas", "hmas1", "hmas2"])
async def test_two_robots_carry_side_by_side_what_they_have_agreed_on(two, working, agents, name):
    both = asyncio.Barrier(2)

    async def meet(agents, _):
        await both.wait()
        return agents.OK

    agents.answers["approach"] = [meet, meet]
    async with two() as client:
        status = await client.run(SENTENCE, team=name)
        assert (status.state, status.task.robot, moved(status)) == (State.SUCCEEDED, TEAM_QUEUE, BOTH), status.report
        events = await client.events(status.task.task_id)
        (step,) = errands(events)
        parts = [await client.status(part) for part in step.tasks.values()]
    assert {(part.task.robot, part.task.parent, part.state) for part in parts} == {
        (robot, status.task.task_id, State.SUCCEEDED) for robot in ("summit", "second")
    }
    spoke = {turn.participant for turn in of_kind(events, "team_turn")}
    assert (
        spoke
        == {
            "cmas": {"planner"},
            "dmas": {"planner", "second"},
            "hmas1": {"planner", "second"},
            "hmas2": {"planner", "second", "summit"},
        }[name]
    )


async def test_a_robot_that_is_done_goes_on_while_the_other_still_works(two, working, agents, eventually):
    """The third errand is given and done before the first one has ended."""
    third = "yellow cup"
    go = agents.hold("pick")
    async with two() as client:
        sentence = f"{SENTENCE.removesuffix('.')} and the {third} from the kitchen on the bookshelf."
        task_id = await client.submit(sentence, team="cmas")
        await eventually(lambda: [skill for skill, _ in agents.calls].count("place") == 2)
        # There is nothing left for it: it drives out of the way of the one that works.
        await eventually(lambda: PARKING in [asked["object_name"] for _, asked in agents.calls])
        go.set()
        status = await client.until_state(task_id, *ENDED)
        events = await client.events(task_id)
    assert (status.state, moved(status)) == (State.SUCCEEDED, {*BOTH, (third, True)}), status.report
    assert {code for end in of_kind(events, "team_step_ended") for code in end.outcomes.values()} == {"NONE"}
    assert [len(step.plan) for step in errands(events)] == [2, 1]
    assert status.usage.turns > sum(turn.usage.turns for turn in of_kind(events, "team_turn")), "of all errands"


async def test_who_is_on_the_way_to_park_stops_when_the_last_errand_has_ended(two, working, agents, eventually):
    """A way that others stand in would hold up the task for a minute or two after all is done."""

    async def never_parks(agents, delivery):
        parks = delivery.request.arguments.object_name == PARKING
        return await agents.until_canceled(agents, delivery) if parks else agents.OK

    go = agents.hold("pick")
    agents.answers["approach"] = [never_parks] * 5
    async with two() as client:
        task_id = await client.submit(SENTENCE, team="cmas")
        await eventually(lambda: PARKING in [asked["object_name"] for _, asked in agents.calls])
        go.set()
        status = await client.until_state(task_id, *ENDED)
        steps = of_kind(await client.events(task_id), "team_step")
        ends = {
            action: (await client.status(step.tasks[robot])).state
            for step in steps
            for robot, action in step.plan.items()
        }
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    assert [state for action, state in ends.items() if action.startswith("park(")] == [State.CANCELED]


async def test_the_team_knows_which_robots_have_picked_up_their_thing(two, working, agents, eventually, redis_url):
    """The estimate of when a robot will be free stands on it."""
    pick, place = agents.hold("pick", "pick"), agents.hold("place", "place")
    async with two() as client, await Bus.connect(redis_url) as bus:
        task_id = await client.submit(SENTENCE, team="cmas")
        await eventually(lambda: [skill for skill, _ in agents.calls].count("pick") == 2)
        listed = (await client.http.get("/tasks")).json()["tasks"]
        parts = [one["task"]["task_id"] for one in listed if one["task"]["parent"] == task_id]
        assert [await has_picked(bus, part) for part in parts] == [False, False]
        pick.set()
        await eventually(lambda: [skill for skill, _ in agents.calls].count("place") == 2)
        assert [await has_picked(bus, part) for part in parts] == [True, True]
        place.set()
        assert (await client.until_state(task_id, *ENDED)).state is State.SUCCEEDED


async def test_the_estimate_takes_the_ways_that_nav2_plans(two, working, model, world):
    """Nav2 knows a way around between every two areas, 20 m longer than the straight line."""
    asked = []

    async def get_path(start_x: float, start_y: float, goal_x: float, goal_y: float) -> dict[str, Any]:
        asked.append({(start_x, start_y), (goal_x, goal_y)})
        poses = [{"x": x, "y": y, "yaw": 0.0} for x, y in ((start_x, start_y), (start_x, -10.0), (goal_x, goal_y))]
        return {"ok": True, "error_code": "NONE", "message": "", "poses": poses, "num_poses": 3}

    world.servers["nav2"].tool(get_path)
    async with two() as client:
        status = await client.run(SENTENCE, team="cmas")
    assert status.state is State.SUCCEEDED, status.report
    areas = [load_site(HOME / "site.yaml").area(name) for name in ("living room", "dining area", "kitchen")]
    entries = [(area.entry.x, area.entry.y) for area in areas]
    assert {frozenset(pair) for pair in asked} >= {frozenset(pair) for pair in combinations(entries, 2)}
    estimates = [float(found[1]) for prompt in model.prompts if (found := ESTIMATE.search(prompt))]
    assert min(estimates) > 80


async def test_a_plan_with_a_conflict_goes_back_with_the_reason_and_nothing_moves(two, working, model, agents):
    same = f"move({CAN}, kitchen, wooden coffee table)"
    model.instead["You are the central planner"] = f'{{"summit": "{same}", "second": "{same}"}}'
    async with two() as client:
        status = await client.run(SENTENCE, team="hmas2")
        assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
        notes = [note.text for note in of_kind(await client.events(status.task.task_id), "note")]
    assert f"what planner said was refused: summit and second would both take the {CAN}." in notes
    assert any(f"It was refused: summit and second would both take the {CAN}." in prompt for prompt in model.prompts)
    assert [skill for skill, _ in agents.calls].count("pick") == 2


async def test_an_objection_makes_the_planner_plan_again(two, working, model):
    model.instead["You are summit, one of several robots. A central planner"] = "The floor there is wet."
    async with two() as client:
        status = await client.run(SENTENCE, team="hmas2")
        assert status.state is State.SUCCEEDED, status.report
    assert any("summit: The floor there is wet." in prompt for prompt in model.prompts)


async def test_a_robot_that_is_stopped_in_mid_discussion_drops_out_and_the_other_does_all(two, working, model, motion):
    async def stopped():
        motion["second/nav2"].stop()

    model.instead["You are second, one of several robots. A central planner"] = stopped
    async with two() as client:
        status = await client.run(SENTENCE, team="hmas2")
        assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
        events = await client.events(status.task.task_id)
    assert [(e.robot, e.error_code) for e in of_kind(events, "robot_left")] == [("second", "ROBOT_STOPPED")]
    assert "second dropped out (ROBOT_STOPPED" in status.report.summary


async def test_robots_for_which_nobody_speaks_drop_out_with_a_code(two, agents):
    agents.start()
    async with two(agent_absent_s=0.3) as client:
        status = await client.run(SENTENCE, team="hmas2")
        events = await client.events(status.task.task_id)
    assert status.state is State.FAILED
    assert "No robot of the team is left." in status.report.summary
    assert {(e.robot, e.error_code) for e in of_kind(events, "robot_left")} == {
        (robot, "PARTICIPANT_SILENT") for robot in ("summit", "second")
    }
    assert agents.calls == []


async def test_a_robot_whose_servers_are_silent_drops_out_and_the_other_does_all(two, working, motion, monkeypatch):
    monkeypatch.setattr(team, "ABSENT_AFTER_S", 0.3)
    motion["second/moveit"].health["bridge"] = False
    async with two() as client:
        status = await client.run(SENTENCE, team="hmas1")
        assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
        events = await client.events(status.task.task_id)
    assert [(e.robot, e.error_code) for e in of_kind(events, "robot_left")] == [("second", "ROBOT_ABSENT")]
    assert {robot for step in errands(events) for robot in step.plan} == {"summit"}


async def test_a_robot_that_is_stopped_in_mid_errand_drops_out_and_the_other_takes_its_errand(
    two, working, agents, motion
):
    async def stopped(agents, delivery):
        if delivery.request.robot == "summit":
            return agents.OK
        motion["second/nav2"].stop()
        return await agents.until_canceled(agents, delivery)

    agents.answers["pick"] = [stopped, stopped]
    async with two() as client:
        status = await client.run(SENTENCE, team="cmas")
        events = await client.events(status.task.task_id)
        parts = [part for step in errands(events) for part in step.tasks.values()]
        states = [(await client.status(part)).state for part in parts]
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    assert [(e.robot, e.error_code) for e in of_kind(events, "robot_left")] == [("second", "ROBOT_STOPPED")]
    assert sorted(states) == [State.FAILED, State.SUCCEEDED, State.SUCCEEDED]


async def test_a_spent_budget_ends_the_discussion_and_the_robots_rest(two, working, agents):
    """One budget for all: the third errand gets nothing, as what is left is held for the one that is still carried."""
    agents.answers["pick"] = [agents.until_canceled]
    async with two() as client:
        sentence = f"{SENTENCE.removesuffix('.')} and the yellow cup from the kitchen on the bookshelf."
        status = await client.run(sentence, team="hmas2", budget={"turns": 20})
        events = await client.events(status.task.task_id)
        parts = [await client.status(part) for step in errands(events) for part in step.tasks.values()]
    assert status.state is State.FAILED
    assert "TaskAbortedError: The team has spent its budget" in status.report.summary
    assert sorted(part.state for part in parts) == [State.CANCELED, State.SUCCEEDED]
    assert [e.state for e in of_kind(events, "state") if e.state in ENDED] == [State.FAILED]


async def test_a_paused_team_gives_no_errand_until_it_may_go_on(two, working, agents, eventually):
    async def paused(agents, delivery):
        await agents.bus.tasks.pause(task_id, "the floor is wet")
        return agents.OK

    agents.answers["pick"] = [paused]
    async with two() as client:
        sentence = f"{SENTENCE.removesuffix('.')} and the yellow cup from the kitchen on the bookshelf."
        task_id = await client.submit(sentence, team="cmas")
        await client.until_state(task_id, State.PAUSED)
        await eventually(lambda: [skill for skill, _ in agents.calls].count("place") == 2)
        assert len((await client.http.get("/tasks")).json()["tasks"]) == 3
        await client.http.post(f"/tasks/{task_id}/resume")
        status = await client.until_state(task_id, *ENDED)
        steps = errands(await client.events(task_id))
    assert (status.state, len(moved(status)), len(steps)) == (State.SUCCEEDED, 3, 2), status.report


async def test_a_question_to_a_participant_that_is_killed_goes_to_another(two, agents, speakers, model, redis_url):
    """kill -9 of the process that speaks for a robot, in mid-answer: its turn is taken again once its lease is over."""
    agents.start()
    asked, killed = asyncio.Event(), asyncio.Event()

    async def silent():
        asked.set()
        await killed.wait()

    model.instead["You are summit, one of several robots. A central planner"] = silent
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", SPEAKER, redis_url, speakers.gateway_url)
    async with two() as client:
        task_id = await client.submit(SENTENCE, team="hmas2")
        await asked.wait()
        process.kill()
        await process.wait()
        await speakers()
        status = await client.until_state(task_id, *ENDED)
        killed.set()
        events = await client.events(task_id)
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    assert of_kind(events, "robot_left") == []
    assert [turn.participant for turn in of_kind(events, "team_turn")].count("summit") == 1


async def test_a_planner_that_answers_prose_is_asked_again_with_what_was_wrong(two, working, model):
    model.instead["You split a task into errands"] = "I would love to help!"
    async with two() as client:
        status = await client.run(SENTENCE, team="cmas")
    assert status.state is State.SUCCEEDED, status.report
    assert any("there is no JSON object" in prompt for prompt in model.prompts)


async def test_a_sentence_that_is_not_understood_moves_no_robot_and_says_so(two, working, agents):
    async with two() as client:
        status = await client.run(f"{SENTENCE.removesuffix('.')}, not on the bookshelf.", team="hmas2")
    assert status.state is State.FAILED
    assert "The scripted model reads only simple English" in status.report.summary
    assert not agents.calls


async def test_a_cancel_ends_the_tasks_of_all_robots(two, working, agents, eventually):
    agents.answers["approach"] = [agents.until_canceled, agents.until_canceled]
    async with two() as client:
        task_id = await client.submit(SENTENCE, team="cmas")
        await eventually(lambda: len(agents.requests) == 2)
        await client.http.post(f"/tasks/{task_id}/cancel")
        status = await client.until_state(task_id, *ENDED)
        (step,) = errands(await client.events(task_id))
        parts = [await client.status(part) for part in step.tasks.values()]
    assert status.state is State.CANCELED
    assert [part.state for part in parts] == [State.CANCELED] * 2


async def test_a_crash_in_mid_discussion_repeats_no_turn(two, two_robots, replica, working, model, redis_url):
    """kill -9 of the orchestrator while a robot speaks: the next one goes on with the recorded turns."""
    asked, go = asyncio.Event(), asyncio.Event()

    async def late():
        asked.set()
        await go.wait()

    model.instead["You are summit, one of several robots. A central planner"] = late
    async with await Bus.connect(redis_url) as bus:
        process = await replica(two_robots)
        await submit(bus)
        await asked.wait()
        await crash(process, bus)
        go.set()
        async with two() as client:
            events = await client.events("t1")
            status = await client.status("t1")
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    assert len(of_kind(events, "taken_over")) == 1
    asked_again = [prompt for prompt in model.prompts if prompt.startswith("You are the central planner")]
    assert len(asked_again) == len(errands(events)) == 1


async def test_a_crash_while_both_robots_work_gives_no_errand_twice(
    two, two_robots, replica, working, agents, redis_url, eventually
):
    go = agents.hold("pick", "pick")
    async with await Bus.connect(redis_url) as bus:
        process = await replica(two_robots)
        await submit(bus)
        await eventually(lambda: [skill for skill, _ in agents.calls].count("pick") == 2)
        await crash(process, bus)
        go.set()
        async with two() as client:
            events = await client.events("t1")
            status = await client.status("t1")
            tasks = (await client.http.get("/tasks")).json()["tasks"]
            assert len([one for one in tasks if not one["task"]["sentence"].startswith("Park")]) == 3
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    assert len(errands(events)) == 1
    assert [skill for skill, _ in agents.calls].count("pick") == 2


async def submit(bus):
    """Put the task on the stream as the API does."""
    now, budget = time.time(), TaskSubmission(sentence=SENTENCE).budget
    fields = {"robot": TEAM_QUEUE, "team": "hmas2", "created_at": now, "deadline": now + 300, "budget": budget}
    await bus.tasks.submit(Task(task_id="t1", sentence=SENTENCE, **fields))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"team": "hmas3"}, "team: there is no team 'hmas3'; valid: cmas, dmas, hmas1, hmas2"),
        ({"team": "cmas", "robot": "summit"}, "name a robot or a team, not both"),
    ],
)
async def test_a_team_that_cannot_be_is_refused(two, fields, told):
    async with two() as client:
        answered = await client.http.post("/tasks", json={"sentence": SENTENCE, **fields})
    assert (answered.status_code, told in answered.json()["detail"]) == (422, True), answered.text


async def test_one_robot_is_no_team(start):
    async with start() as client:
        answered = await client.http.post("/tasks", json={"sentence": SENTENCE, "team": "cmas"})
    assert answered.status_code == 422
    assert answered.json()["detail"] == "team: a team needs two robots or more; this deployment has summit only"
