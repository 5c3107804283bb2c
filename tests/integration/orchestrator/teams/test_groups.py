"""Unlike robots share a task out (EMOS): a leader assigns errands, each robot checks its own, all work at once."""

import asyncio
import json
import time

import pytest

from quartet_bus import Bus
from quartet_contracts import TEAM_QUEUE, State, Task, TaskCode, TaskSubmission
from quartet_contracts.story import Narrator
from quartet_orchestrator.tasks.group_run import DENIED
from support.team_crash import crash

CAN, BOX = "red coke can", "pink tissue box"
SENTENCE = f"Put the {CAN} from the kitchen on the wooden coffee table and the {BOX} from the dresser on the desk."
MOVE_CAN = f"move({CAN}, kitchen, wooden coffee table)"
MOVE_BOX = f"move({BOX}, parents' bedroom, desk)"
BOTH = {(CAN, True), (BOX, True)}
SHARED = {"second": [MOVE_BOX], "summit": [MOVE_CAN]}
ENDED = (State.SUCCEEDED, State.FAILED, State.CANCELED)
LEADER, SUMMIT, SECOND = ("You lead a group", "You are summit, one of a group", "You are second, one of a group")
FLOOD = "print('x' * 10_000_000)"


def of_kind(events, kind):
    return [e.event for e in events if e.event.kind == kind]


def moved(status):
    return {(row.object_name, row.completed) for row in status.report.objects}


def program(code):
    return f"```python\n{code}\n```"


@pytest.fixture
async def group(unlike, working, calculating):
    """`async with group() as client`: a rover (summit) and a lifter (second), agents and a process for programs."""
    await calculating()
    return unlike


async def test_each_robot_checks_its_subtask_by_a_program_and_all_work_at_once(group, agents, eventually):
    go = agents.hold("pick", "pick")
    async with group() as client:
        task_id = await client.submit(SENTENCE, team="emos")
        await eventually(lambda: [skill for skill, _ in agents.calls].count("pick") == 2)
        go.set()
        status = await client.until_state(task_id, *ENDED)
        events = await client.events(task_id)
        parts = [part for step in of_kind(events, "team_step") for part in step.tasks.values()]
        calls = [(await client.status(part)).usage.tool_calls for part in parts]
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    (shared,) = of_kind(events, "team_subtasks")
    assert (shared.subtasks, shared.agreed, shared.rounds) == (SHARED, True, 1)
    assert {one.participant: one.text for one in of_kind(events, "team_program")} == {
        "second": f"{BOX} True\n",
        "summit": f"{CAN} True\n",
    }
    assert {turn.participant for turn in of_kind(events, "team_turn")} == {"planner", "leader", "summit", "second"}
    assert status.usage.tool_calls == 2 + sum(calls), "programs count"
    narrator = Narrator()
    told = {span.text for event in events for line in narrator.tell(event).lines for span in line.spans}
    assert {"proposes subtasks", "accepts its subtask", "all agree to their subtasks"} <= told


async def test_prompts_have_the_numbers_of_bodies_and_places_and_no_kind_of_robot_decides(group, model):
    async with group() as client:
        assert (await client.run(SENTENCE, team="emos")).state is State.SUCCEEDED
    leader, robot = (next(p for p in model.prompts if part in p) for part in (LEADER, SECOND))
    scene = next(json.loads(line) for line in leader.splitlines() if line.startswith('{"objects'))
    assert scene["objects_description"][BOX]["width"] == 0.1
    assert scene["places_description"]["desk"]["height"] == 0.72
    assert scene["places_description"]["desk"]["hand_height"][BOX].keys() == {"summit", "second"}
    assert '"widest_grasp": 0.072' in leader
    assert '"widest_grasp": 0.11' in leader
    assert '"widest_grasp": 0.072' not in robot, "a robot reads its own body"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{summit||" + MOVE_BOX + "}\n{second||" + MOVE_CAN + "}", f"summit is not able to move the {BOX}"),
        ("{summit||" + MOVE_CAN + "}", "there is no item for second"),
        ("{summit||" + MOVE_CAN + "}\n{second||Nothing to do}", f"No robot has {MOVE_BOX}."),
        ("{rover||" + MOVE_CAN + "}", "there is no robot 'rover'; the robots are second, summit"),
        ("{summit||bring it}\n{second||" + MOVE_BOX + "}", f"'bring it' of summit is no errand; valid: {MOVE_CAN}; "),
        ("I would love to help!", "the answer has no item"),
    ],
)
async def test_a_leader_that_forgets_or_misnames_is_refused_with_the_reason(group, model, said, told):
    model.instead[LEADER] = said
    async with group() as client:
        status = await client.run(SENTENCE, team="emos")
        notes = [note.text for note in of_kind(await client.events(status.task.task_id), "note")]
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    assert [note.startswith("what leader said was refused: ") and told in note for note in notes] == [True]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("while True: pass", "The program was ended: it computed for more than"),
        (FLOOD, "The program was ended: it printed more than"),
        ("open('/etc/passwd')", "PermissionError"),
        ("import socket; socket.socket()", "PermissionError"),
        ("nav2__navigate_to_pose()", "NameError"),
        ("x = 1", "The program printed nothing."),
        ("raise SystemExit(3)", "The program printed nothing."),
    ],
)
async def test_a_hostile_program_ends_with_an_output_that_says_so_and_the_task_goes_on(group, model, code, told):
    model.instead[SECOND] = program(code)
    async with group() as client:
        status = await client.run(SENTENCE, team="emos")
        events = await client.events(status.task.task_id)
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    first = of_kind(events, "team_program")[0]
    assert (first.participant, told in first.text, len(first.text) <= 2000) == ("second", True, True), first.text


async def test_robots_judge_without_programs_where_none_runs_them(unlike, working):
    async with unlike(agent_absent_s=1.0) as client:
        status = await client.run(SENTENCE, team="emos")
        events = await client.events(status.task.task_id)
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    told = "The program did not run: no process runs programs for 'second' (is the executor agent running?). Judge"
    assert of_kind(events, "team_program")[0].text.startswith(told)


async def test_no_program_runs_where_the_policy_denies_it(group, tmp_path):
    (tmp_path / "policy.yaml").write_text("programs: deny\n", encoding="utf-8")
    async with group() as client:
        status = await client.run(SENTENCE, team="emos")
        events = await client.events(status.task.task_id)
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    assert {one.text for one in of_kind(events, "team_program")} == {DENIED}


async def test_a_robot_that_refuses_makes_the_leader_assign_anew(group, model):
    model.instead[SUMMIT] = "{no||I do not see the " + CAN + "}"
    async with group() as client:
        status = await client.run(SENTENCE, team="emos")
        events = await client.events(status.task.task_id)
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    (shared,) = of_kind(events, "team_subtasks")
    assert (shared.subtasks, shared.agreed, shared.rounds) == ({"second": [MOVE_CAN, MOVE_BOX], "summit": []}, True, 2)


async def test_after_failed_errands_the_group_plans_again_with_what_happened(group, agents, model, do):
    async def fails(agents, delivery):
        return do.failing("NAV_DRIVE_FAILED") if delivery.request.robot == "summit" else agents.OK

    agents.answers["approach"] = [fails] * 40
    async with group() as client:
        status = await client.run(SENTENCE, team="emos")
        events = await client.events(status.task.task_id)
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    first, second = of_kind(events, "team_subtasks")
    assert first.subtasks == SHARED
    assert second.subtasks == {"second": [MOVE_CAN], "summit": []}, "another robot tries what one has failed at"
    again = [prompt for prompt in model.prompts if LEADER in prompt][-1]
    assert f"summit: {MOVE_CAN}: NAV_DRIVE_FAILED" in again
    assert f"The {CAN} is not moved: " in again


async def test_a_robot_that_drops_out_in_mid_discussion_leaves_the_errands_to_the_other(group, model, motion):
    async def stopped():
        motion["nav2"].stop()

    model.instead[SUMMIT] = stopped
    async with group() as client:
        status = await client.run(SENTENCE, team="emos")
        events = await client.events(status.task.task_id)
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    assert [(e.robot, e.error_code) for e in of_kind(events, "robot_left")] == [("summit", "ROBOT_STOPPED")]
    assert [shared.subtasks for shared in of_kind(events, "team_subtasks")] == [{"second": [MOVE_CAN, MOVE_BOX]}]


async def test_a_group_that_is_stopped_while_its_model_thinks_has_the_code_of_a_stop(group, model, motion):
    async def stopped():
        motion["nav2"].stop()
        motion["second/nav2"].stop()

    model.instead[SUMMIT] = stopped
    async with group() as client:
        status = await client.run(SENTENCE, team="emos")
        events = await client.events(status.task.task_id)
    assert (status.state, status.report.error_code) == (State.FAILED, TaskCode.STOPPED), status.report
    assert {e.robot for e in of_kind(events, "robot_left") if e.error_code == "ROBOT_STOPPED"} == {"summit", "second"}
    assert of_kind(events, "team_step") == [], "nothing was begun"
    assert "No robot of the team is left." in status.report.summary


async def test_a_stopped_robot_is_no_reason_for_an_errand_that_the_other_fails_at(group, agents, model, motion, do):
    async def fails(_agents, _delivery):
        return do.failing("NAV_DRIVE_FAILED")

    async def stopped():
        motion["nav2"].stop()

    model.instead[SUMMIT] = stopped
    agents.answers["approach"] = [fails] * 80
    async with group() as client:
        status = await client.run(SENTENCE, team="emos")
    assert (status.state, status.report.error_code) == (State.FAILED, TaskCode.UNKNOWN), status.report
    assert {row.error_code for row in status.report.objects} == {"NAV_DRIVE_FAILED"}


async def test_a_reply_without_braces_counts_as_a_refusal(group, model):
    model.instead[SECOND] = "Of course I can!"
    async with group() as client:
        status = await client.run(SENTENCE, team="emos")
        (shared,) = of_kind(await client.events(status.task.task_id), "team_subtasks")
    assert (status.state, shared.rounds) == (State.SUCCEEDED, 2), status.report


async def test_a_crash_in_mid_discussion_repeats_no_turn_and_no_program(
    two_robots, unlike_robots, group, replica, model, redis_url
):
    """kill -9 of the orchestrator while a robot speaks: the next one goes on with recorded turns and outputs."""
    asked, go = asyncio.Event(), asyncio.Event()

    async def late():
        asked.set()
        await go.wait()

    model.instead[SUMMIT] = late
    async with await Bus.connect(redis_url) as bus:
        process = await replica(two_robots, unlike_robots)
        now = time.time()
        fields = {"robot": TEAM_QUEUE, "team": "emos", "created_at": now, "deadline": now + 300}
        budget = TaskSubmission(sentence=SENTENCE).budget.model_copy(update={"turns": 150, "tool_calls": 150})
        await bus.tasks.submit(Task(task_id="t1", sentence=SENTENCE, budget=budget, **fields))
        await asked.wait()
        await crash(process, bus)
        go.set()
        async with group() as client:
            events = await client.events("t1")
            status = await client.status("t1")
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    assert len(of_kind(events, "taken_over")) == 1
    assert [turn.participant for turn in of_kind(events, "team_turn")].count("leader") == 1
    assert [one.participant for one in of_kind(events, "team_program")] == ["second", "summit"]
    assert len([prompt for prompt in model.prompts if LEADER in prompt]) == 1


async def test_one_robot_is_no_group(start):
    async with start() as client:
        answered = await client.http.post("/tasks", json={"sentence": SENTENCE, "team": "emos"})
    assert answered.status_code == 422
    assert answered.json()["detail"] == "team: a team needs two robots or more; this deployment has summit only"
