"""A team of models does a task with one robot's arm by programs: conversation, journal, limits, claims, takeover."""

import asyncio
import shutil

import pytest

from quartet_contracts import Skill, State
from quartet_contracts.approvals import RUN_PROGRAM, ApprovalRequest
from quartet_contracts.story import Narrator

CAN = "red coke can"
SENTENCE = f"pick the {CAN} up"
GRASP = "close_gripper('red coke can')"
DONE = "task_completed()"


def program(*lines):
    code = "\n".join(lines)
    return f"Now this.\n```python\n{code}\n```"


def scene(at=(0.7, 0.1, 0.9), held=None, **of_can):
    objects = [
        {"name": CAN, "position": at, "yaw": 0.2, "size_m": (0.066, 0.066, 0.12), "colour": "red", **of_can},
        {"name": "kitchen counter", "position": (0.9, 0.0, 0.42), "size_m": (0.6, 2.0, 0.84), "colour": "white"},
        {"name": "blue mug", "position": (0.7, 0.3, 0.88), "size_m": (0.08, 0.08, 0.08), "colour": "blue"},
    ]
    return {"objects": objects, "hand_position": at, "hand_yaw": 0.2, "held": held}


def seen(at=(0.7, 0.1, 0.9), held=None, **fields):
    return {"success": True, "error_code": "NONE", "reason": "done", "scene": scene(at, held), **fields}


def let_go(**of_can):
    """The end of a program that claims to be done, after which the can is somewhere else and out of view."""
    return {**seen(completed=True), "scene": scene((0.9, 0.3, 0.2), **of_can)}


def failed(output, code="PROGRAM_FAILED", **fields):
    reason = output or "no reason"
    end = {"success": False, "error_code": code, "reason": reason, "output": output, "state": State.FAILED}
    return {**end, **fields}


def holding(agents, **fields):
    async def lift(agents, _):
        agents.world.grasp = "HOLDING"
        return seen((0.7, 0.1, 1.2), held=CAN, **fields)

    return lift


def of_kind(events, kind):
    return [event.event for event in events if event.event.kind == kind]


def ended_once(events):
    ends = [e.event.state for e in events if e.event.kind == "state" and e.event.state in ("SUCCEEDED", "FAILED")]
    return len(ends) == 1 and events[-1].event.kind == "state"


@pytest.fixture(autouse=True)
def world_of_programs(world, monkeypatch):
    """A program leaves the world as its own answer says."""
    others = world.do
    monkeypatch.setattr(world, "do", lambda skill, given: None if skill is Skill.EXECUTOR else others(skill, given))


async def test_planner_and_coder_speak_by_turns_and_each_program_is_told_before_it_runs(client, agents, model):
    agents.answers["executor"] = [seen(), failed("NameError: name 'x' is not defined"), holding(agents), None]
    agents.answers["executor"][3] = seen((0.7, 0.1, 1.2), held=CAN, completed=True)
    bad, good, end = program("execute_trajectory(x, 0)"), program(GRASP), program(DONE)
    model.say("planner", "Grasp it.", "coder", bad, "coder", good, "planner", "Say so.", "coder", end)
    status = await client.run(SENTENCE, team="malmm")
    assert (status.state, status.task.robot) == (State.SUCCEEDED, "summit"), status.report
    assert status.report.summary == (
        "The team says that the task is done. 3 programs, 1 of them with an error. "
        "Moved, by the cameras: red coke can by 0.30 m. The gripper holds the red coke can."
    )
    assert status.usage.turns == 10
    events = await client.events(status.task.task_id)
    spoke = [turn.participant for turn in of_kind(events, "team_turn")]
    assert spoke == [
        "supervisor",
        "planner",
        *["supervisor", "coder"] * 2,
        "supervisor",
        "planner",
        *["supervisor", "coder"],
    ]
    asked = of_kind(events, "skill_requested")
    assert [one.arguments.get("code", "") for one in asked] == [
        "",
        "execute_trajectory(x, 0)\n",
        f"{GRASP}\n",
        f"{DONE}\n",
    ]
    kinds = [event.event.kind for event in events if event.event.kind in ("skill_requested", "skill_result")]
    assert kinds == ["skill_requested", "skill_result"] * 4
    assert ended_once(events)
    # What failed is told with its text alone, what succeeded with the state after it.
    told = [request["messages"][-1]["content"] for request in model.requests]
    assert "exit code: 1\noutput:\nNameError: name 'x' is not defined" in told[5]
    assert "exit code: 0" in told[6]
    assert "Grasped object: red coke can" in told[6]
    narrator = Narrator()
    lines = [line for event in events for line in narrator.tell(event).lines]
    assert [line.body for line in lines if "run this program" in line.spans[0].text][1] == GRASP
    assert "lets the planner speak" in {line.spans[0].text for line in lines}


async def test_each_prompt_of_a_participant_is_kept_with_its_answer(client, agents, model, bus):
    agents.answers["executor"] = [seen(), seen((0.7, 0.1, 1.2), held=CAN, completed=True)]
    model.say("coder", program(DONE))
    status = await client.run(SENTENCE, team="malmm")
    task_id = status.task.task_id
    turns = of_kind(await client.events(task_id), "team_turn")
    names = [f"turn-{number:03}-{turn.participant}" for number, turn in enumerate(turns, 1)]
    assert await bus.transcripts.list(task_id) == names
    for name, turn, request in zip(names, turns, model.requests, strict=True):
        kept = await bus.transcripts.get(task_id, name)
        assert kept["messages"] == [*request["messages"], {"role": "assistant", "content": turn.text}]


async def test_after_five_errors_in_a_row_the_team_gives_up(client, agents, model):
    agents.answers["executor"] = [seen(), *[failed("SyntaxError: '(' was never closed")] * 5]
    model.say(program("move("))
    status = await client.run(SENTENCE, team="sa")
    assert status.state is State.FAILED
    assert (
        "gave up after 5 errors of code or plan in a row. 5 programs, 5 of them with an error" in status.report.summary
    )
    assert len(agents.calls) == 6
    assert ended_once(await client.events(status.task.task_id))


@pytest.mark.parametrize(
    ("sentence", "end", "grasp", "words"),
    [
        (SENTENCE, seen(completed=True), "EMPTY", "nothing was moved and the gripper holds nothing"),
        (SENTENCE, seen((0.9, 0.3, 0.9), completed=True), "EMPTY", "sensors say that it holds nothing"),
        (SENTENCE, seen(held=CAN, completed=True), "EMPTY", "sensors say that it holds nothing"),
        ("pick the blue mug up", seen(held=CAN, completed=True), "HOLDING", "the gripper holds the red coke can"),
        (f"put the {CAN} on the sofa table", seen(held=CAN, completed=True), "HOLDING", "still holds the red coke can"),
        (f"stell die {CAN} auf den Tisch", seen(held=CAN, completed=True), "HOLDING", "still holds the red coke can"),
        (
            "put the blue mug aside",
            seen((0.9, 0.3, 0.9), completed=True),
            "EMPTY",
            "nothing that the task names was moved",
        ),
        (
            f"put the {CAN} on the sofa table",
            let_go(unsure=True),
            "EMPTY",
            f"the {CAN} has not been seen since it was let go",
        ),
        (
            f"put the {CAN} on the sofa table",
            let_go(inside="trash can"),
            "EMPTY",
            f"the {CAN} was let go over the trash can, which the task does not name",
        ),
    ],
)
async def test_a_claim_that_the_sensors_speak_against_is_no_success(
    client, agents, model, world, sentence, end, grasp, words
):
    agents.answers["executor"] = [seen(), end]
    world.grasp = grasp
    model.say(program(DONE))
    status = await client.run(sentence, team="sa")
    assert status.state is State.FAILED
    assert words in status.report.summary
    assert "The team says that the task is done, but" in status.report.summary


PUT_AWAY = f"put the {CAN} on the kitchen counter"
BIN = "kitchen bin"


@pytest.fixture
async def watched(start, agents, world, with_cameras):
    """An orchestrator that can ask perception itself; it knows the can where the executor told it first."""
    world.remembered = {CAN: (0.7, 0.1, 0.9), BIN: (0.9, 0.3, 0.2)}
    agents.start()
    async with start(servers=with_cameras) as client:
        yield client


async def test_what_the_executor_makes_up_is_no_success(watched, agents, model):
    """It is a sub-agent, and may have been taken over: nothing has moved, whatever it tells."""
    agents.answers["executor"] = [seen(), seen((0.9, 0.3, 0.9), completed=True)]
    model.say(program(DONE))
    status = await watched.run(PUT_AWAY, team="sa")
    assert status.state is State.FAILED, status.report
    assert f"the cameras have not seen it in another place than before: the {CAN}" in status.report.summary
    assert "Moved, by the cameras" not in status.report.summary


async def test_an_executor_that_has_never_looked_is_not_believed(watched, agents, model, world):
    world.remembered = {}
    agents.answers["executor"] = [seen(), seen((0.9, 0.3, 0.9), completed=True)]
    model.say(program(DONE))
    assert (await watched.run(PUT_AWAY, team="sa")).state is State.FAILED


async def test_what_the_cameras_have_seen_moved_is_a_success(watched, agents, model, world):
    async def work(agents, _):
        world.remembered[CAN] = (0.9, 0.3, 0.9)
        return seen((0.9, 0.3, 0.9), completed=True)

    agents.answers["executor"] = [seen(), work]
    model.say(program(DONE))
    status = await watched.run(PUT_AWAY, team="sa")
    assert status.state is State.SUCCEEDED, status.report
    assert f"Moved, by the cameras: {CAN} by 0.28 m" in status.report.summary


@pytest.mark.parametrize(("at", "state"), [(None, State.FAILED), ((0.9, 0.3, 0.9), State.SUCCEEDED)])
async def test_what_was_held_at_the_start_and_let_go_was_moved(watched, agents, model, world, at, state):
    """It stood nowhere before; where it was seen first is where it was put."""
    world.remembered, world.in_hand = {}, CAN

    async def work(agents, _):
        world.released, world.in_hand, world.remembered = at, "", {CAN: (0.9, 0.3, 0.9)}
        return seen((0.9, 0.3, 0.9), completed=True)

    agents.answers["executor"] = [seen(held=CAN), work]
    model.say(program(DONE))
    status = await watched.run(PUT_AWAY, team="sa")
    assert status.state is state, status.report


@pytest.mark.parametrize(
    ("at", "state"), [(None, State.FAILED), ((0.2, 0.3, 0.9), State.FAILED), ((0.9, 0.3, 0.9), State.SUCCEEDED)]
)
async def test_what_was_let_go_over_a_container_was_measured_to_be(watched, agents, model, world, at, state):
    async def work(agents, _):
        world.released = at
        return let_go(inside=BIN)

    agents.answers["executor"] = [seen(), work]
    model.say(program(DONE))
    status = await watched.run(f"put the {CAN} into the {BIN}", team="sa")
    assert status.state is state, status.report
    told = f"nothing was measured to be let go over its container: the {CAN}" in status.report.summary
    assert told is (state is State.FAILED)


async def test_what_is_held_is_what_the_wrist_camera_shows(watched, agents, model, world):
    world.grasp, world.in_hand = "HOLDING", "blue mug"
    agents.answers["executor"] = [seen(), seen((0.7, 0.1, 1.2), held=CAN, completed=True)]
    model.say(program(DONE))
    status = await watched.run(SENTENCE, team="sa")
    assert status.state is State.FAILED, status.report
    assert "the gripper holds the blue mug" in status.report.summary


def second_can(at=(0.6, -0.2, 0.9), **of_can):
    return {"name": f"{CAN} 2", "position": at, "yaw": 0.0, "size_m": (0.066, 0.066, 0.12), "colour": "red", **of_can}


def with_second_can(at=(0.6, -0.2, 0.9), held=None, **of_can):
    """A scene with two cans of which the team moves the second."""
    return {**scene(held=held), "objects": [*scene()["objects"], second_can(at, **of_can)]}


async def test_of_two_that_look_alike_either_may_be_put_somewhere(client, agents, model):
    ends = {**seen(completed=True), "scene": with_second_can((0.9, 0.3, 0.9))}
    agents.answers["executor"] = [{**seen(), "scene": with_second_can()}, ends]
    model.say(program(DONE))
    status = await client.run(f"put the {CAN} on the kitchen counter", team="sa")
    assert status.state is State.SUCCEEDED, status.report
    assert f"Moved, by the cameras: {CAN} 2 by 0.58 m" in status.report.summary


async def test_of_two_that_look_alike_either_may_be_picked_up(client, agents, model, world):
    ends = {**seen(completed=True), "scene": with_second_can((0.7, 0.1, 1.2), held=f"{CAN} 2")}
    agents.answers["executor"] = [{**seen(), "scene": with_second_can()}, ends]
    world.grasp = "HOLDING"
    model.say(program(DONE))
    status = await client.run(SENTENCE, team="sa")
    assert status.state is State.SUCCEEDED, status.report


@pytest.mark.parametrize(
    ("of_can", "words"),
    [
        ({"unsure": True}, f"the {CAN} 2 has not been seen since it was let go"),
        ({"inside": "trash can"}, f"the {CAN} 2 was let go over the trash can, which the task does not name"),
    ],
)
async def test_the_second_of_two_that_look_alike_is_held_to_what_the_first_is(client, agents, model, of_can, words):
    ends = {**seen(completed=True), "scene": with_second_can((0.9, 0.3, 0.2), **of_can)}
    agents.answers["executor"] = [{**seen(), "scene": with_second_can()}, ends]
    model.say(program(DONE))
    status = await client.run(f"put the {CAN} on the sofa table", team="sa")
    assert status.state is State.FAILED
    assert words in status.report.summary


async def test_what_came_into_view_later_is_moved_from_where_it_was_seen_first(client, agents, model):
    agents.answers["executor"] = [seen(), {**seen(), "scene": with_second_can()}]
    agents.answers["executor"].append({**seen(completed=True), "scene": with_second_can((0.9, 0.3, 0.9))})
    model.say(program("open_gripper()"), program(DONE))
    status = await client.run("put the blue mug aside", team="sa")
    assert f"Moved, by the cameras: {CAN} 2 by 0.58 m" in status.report.summary


async def test_no_model_is_asked_where_nothing_that_the_task_names_is_before_the_arm(client, agents, model):
    agents.answers["executor"] = [seen()]
    status = await client.run("put the tennis ball in the trash can", team="malmm")
    assert (status.state, model.requests, len(agents.calls)) == (State.FAILED, [], 1)
    assert [(one.object_name, one.error_code) for one in status.report.objects] == [
        ("tennis ball", "PICK_SEG_MISSED"),
        ("kitchen bin", "PLACE_SEG_MISSED"),
    ]
    assert "no camera has shown near the arm's reach: tennis ball, kitchen bin" in status.report.summary
    assert "`quartet approach AREA OBJECT pick`" in status.report.summary
    assert ended_once(await client.events(status.task.task_id))


async def test_a_claim_with_a_place_that_no_camera_has_shown_is_no_success(client, agents, model):
    agents.answers["executor"] = [seen(), seen((0.9, 0.3, 0.9), completed=True)]
    model.say(program(DONE))
    status = await client.run(f"put the {CAN} in the trash can", team="sa")
    assert status.state is State.FAILED
    assert "the kitchen bin, which the task names, was never in view" in status.report.summary
    assert [(one.object_name, one.error_code) for one in status.report.objects] == [("kitchen bin", "PLACE_SEG_MISSED")]


async def test_what_has_a_number_in_its_own_name_is_seen_as_what_the_task_names(
    start, settings, agents, model, tmp_path
):
    """The site has a "rack 2"; of two cans in view the second is "red coke can 2"."""
    site = settings.site_file.read_text().replace("- name: kitchen counter", "- name: rack 2")
    (tmp_path / "site.yaml").write_text(site)
    rack = {"name": "rack 2", "position": (0.9, 0.0, 0.42), "size_m": (0.6, 2.0, 0.84), "colour": "white"}
    can, _, mug = scene()["objects"]
    two = {**scene(), "objects": [{**can, "name": f"{CAN} 2"}, rack, mug]}
    agents.answers["executor"] = [{**seen(), "scene": two}, *[failed("no")] * 5]
    agents.start()
    model.say(program("move("))
    async with start(site_file=tmp_path / "site.yaml") as client:
        status = await client.run(f"put the {CAN} on rack 2", team="sa")
    assert "gave up" in status.report.summary
    assert status.report.objects == []


async def test_what_was_let_go_over_a_container_is_told_with_its_reason(client, agents, model):
    agents.answers["executor"] = [seen(), let_go(inside="trash can"), let_go(inside="trash can")]
    agents.answers["executor"][1] |= {"completed": False}
    model.say(program("open_gripper()"), program(DONE))
    status = await client.run(f"put the {CAN} into the trash can", team="sa")
    assert status.state is State.SUCCEEDED, status.report
    assert f"not seen since: {CAN} over the trash can." in status.report.summary
    assert "Moved, by the cameras" not in status.report.summary
    told = model.requests[1]["messages"][-1]["content"]
    assert "Note: let go over the trash can, it is taken to be inside; it has not been seen since" in told


async def test_nobody_is_asked_again_about_a_program_that_was_refused(client, agents, model):
    agents.answers["executor"] = [seen(), failed("", "PROGRAM_REFUSED", reason="the person said no")]
    agents.answers["executor"] += [failed("", "PROGRAM_REFUSED", reason="the person said no again")]
    model.say(program(GRASP), program(GRASP), program("open_gripper()"), *[program(GRASP)] * 3)
    status = await client.run(SENTENCE, team="sa")
    assert status.state is State.FAILED
    assert len(agents.calls) == 3, "the look, and each program once"
    told = [request["messages"][-1]["content"] for request in model.requests]
    assert "the person said no" in told[1]
    assert "this very program was refused before" in told[2]
    assert "Refused by a person or the policy: 2." in status.report.summary


async def test_no_model_is_asked_where_the_policy_lets_no_program_run(start, agents, model, settings, tmp_path):
    site = shutil.copytree(settings.site_file.parent, tmp_path / "site")
    with (site / "policy.yaml").open("a") as policy:
        policy.write("\nprograms: deny\n")
    agents.start()
    async with start(robot_file=site / "robot.yaml", site_file=site / "site.yaml") as client:
        status = await client.run(SENTENCE, team="sa")
    assert (status.state, model.requests, agents.calls) == (State.FAILED, [], [])
    assert "(programs: deny) lets no program run" in status.report.summary


async def test_a_cancel_ends_the_program_and_the_task_once(client, agents, model):
    began = asyncio.Event()

    async def work(agents, delivery):
        began.set()
        return await agents.until_canceled(agents, delivery)

    agents.answers["executor"] = [seen(), work]
    model.say(program("while True: pass"))
    task_id = await client.submit(SENTENCE, team="sa")
    await began.wait()
    await client.http.post(f"/tasks/{task_id}/cancel")
    status = await client.until_state(task_id, State.CANCELED)
    events = await client.events(task_id)
    assert of_kind(events, "skill_result")[-1].state is State.CANCELED
    assert [e.event.state for e in events if e.event.kind == "state"][-1] is State.CANCELED
    assert status.report is not None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (failed("Programs are confined with Landlock", "NO_CONFINEMENT"), "NO_CONFINEMENT: Programs are confined"),
        (failed("a person said no", withdrawn="DENIED"), "a person said no"),
    ],
)
async def test_where_nothing_more_can_be_done_the_task_ends(client, agents, model, answer, words):
    agents.answers["executor"] = [seen(), answer]
    model.say(program(GRASP))
    status = await client.run(SENTENCE, team="sa")
    assert (status.state, len(agents.calls)) == (State.FAILED, 2)
    assert words in status.report.summary


async def test_the_budget_holds_for_turns_and_programs(client, agents, model):
    agents.answers["executor"] = [seen() for _ in range(20)]
    model.say(program("open_gripper()"))
    status = await client.run(SENTENCE, team="sa", budget={"turns": 3})
    assert "has spent its budget: 3 of 3 model turns" in status.report.summary
    status = await client.run(SENTENCE, team="sa", budget={"tool_calls": 4})
    assert "has spent its budget: 4 of 4 programs" in status.report.summary


async def test_another_orchestrator_goes_on_without_asking_or_running_again(start, agents, model):
    agents.answers["executor"] = [seen(), seen(), holding(agents), seen((0.7, 0.1, 1.2), held=CAN, completed=True)]
    go, asked = asyncio.Event(), asyncio.Event()

    async def slow(_messages):
        asked.set()
        await go.wait()
        return program(DONE)

    model.say(program("open_gripper()"), program(GRASP), slow, program(DONE))
    agents.start()
    async with start() as client:
        task_id = await client.submit(SENTENCE, team="sa")
        await asked.wait()
    go.set()
    async with start() as client:
        events = await client.events(task_id)
        status = await client.status(task_id)
    assert status.state is State.SUCCEEDED, status.report
    assert [call[1].get("code", "") for call in agents.calls] == ["", "open_gripper()\n", f"{GRASP}\n", f"{DONE}\n"]
    assert len(of_kind(events, "team_turn")) == 3
    assert len(model.requests) == 4, "two before, the one that was cut off, and its repetition"
    assert of_kind(events, "taken_over")


async def test_a_person_is_shown_the_program_that_is_to_run(client, agents, model):
    decisions = []

    async def ask(agents, delivery):
        request = delivery.request
        question = ApprovalRequest(
            approval_id="own-1",
            request_id=request.request_id,
            task_id=request.task_id,
            robot=request.robot,
            agent="executor",
            tool=RUN_PROGRAM,
            arguments={"code": request.arguments.code},
            because="the policy asks",
            expires_at=request.deadline,
        )
        decisions.append(await agents.bus.approvals.ask(question, 60))
        return failed("nobody may")

    agents.answers["executor"] = [seen(), ask, *[failed("no")] * 5]
    model.say(program("open_gripper()", GRASP))
    task_id = await client.submit(SENTENCE, team="sa")
    status = await client.until_state(task_id, State.PAUSED)
    assert status.question == (
        f"May executor of robot summit run this program?\nopen_gripper()\n{GRASP}\n\n"
        "Asked because: the policy asks. Answer yes to allow it; anything else refuses it."
    )
    await client.http.post(f"/tasks/{task_id}/answer", json={"text": "no"})
    await client.until_state(task_id, State.FAILED)
    assert not decisions[0].allowed


async def test_a_team_for_programs_needs_its_robot_and_a_name_that_there_is(two):
    async with two() as client:
        asked = await client.http.post("/tasks", json={"sentence": SENTENCE, "team": "malmm"})
        assert asked.status_code == 422
        assert "name the robot; valid: second, summit" in asked.text
        asked = await client.http.post("/tasks", json={"sentence": SENTENCE, "team": "trio"})
        assert "there is no team 'trio'; valid: cmas, dmas, hmas1, hmas2, emos, roco, sa, ma, malmm" in asked.text
        step = {"code": "print(1)"}
        assert (await client.http.post("/skills/executor", json=step)).status_code in (404, 405)
