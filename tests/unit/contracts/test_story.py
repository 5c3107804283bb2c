"""A journal told in words, whoever shows it."""

import json
from typing import Any

from quartet_contracts import JournalEvent, State
from quartet_contracts.journal import SkillFinished, SkillRequested
from quartet_contracts.story import Narration, Narrator


def event(actor: str, request_id: str | None = None, **fields: Any) -> JournalEvent:
    content = {"task_id": "t1", "actor": actor, "at": 3.5, "event": fields, "request_id": request_id}
    return JournalEvent.model_validate(content)


def words(told: Narration) -> list[str]:
    return ["".join(span.text for span in line.spans) for line in told.lines]


def test_a_result_is_told_with_the_words_of_its_own_call() -> None:
    """Every agent counts the calls of its checks from one: the same id in two loops is two calls."""
    narrator = Narrator()
    drive = {
        "kind": "tool_call",
        "call_id": "verify_1",
        "tool": "nav2__navigate_to_pose",
        "arguments": {"x": 1, "y": 2},
    }
    other = {**drive, "arguments": {"x": 3, "y": 4}}
    done = {"kind": "tool_result", "call_id": "verify_1", "tool": "nav2__navigate_to_pose", "ok": True, "duration_s": 1}
    assert narrator.tell(event("approach", "r1", **drive)).now is not None
    narrator.tell(event("approach", "r2", **other))
    assert words(narrator.tell(event("approach", "r1", **done))) == ["drives to x 1.00 m, y 2.00 m on the map  ✓ 1.0 s"]
    assert words(narrator.tell(event("approach", "r2", **done))) == ["drives to x 3.00 m, y 4.00 m on the map  ✓ 1.0 s"]


def test_a_drive_is_told_by_what_it_is_for() -> None:
    narrator = Narrator()

    def drives(request_id: str, next_action: str, *found: str) -> list[str]:
        arguments = {"target_area": "kitchen", "object_name": "red can", "next_action": next_action}
        asked = SkillRequested(request_id=request_id, skill="approach", attempt=1, fence=1, arguments=arguments)
        narrator.tell(JournalEvent(task_id="t1", actor="orchestrator", at=1.0, event=asked))
        if found:
            look = {"kind": "tool_result", "call_id": "l", "tool": "perception__detect_objects", "ok": True}
            narrator.tell(event("approach", request_id, text=json.dumps({"detections": [{}]}), **look))
        call = {"call_id": "c", "tool": "nav2__navigate_to_pose"}
        narrator.tell(event("approach", request_id, kind="tool_call", arguments={"x": 1, "y": 2}, **call))
        return words(narrator.tell(event("approach", request_id, kind="tool_result", ok=True, **call)))

    assert drives("r1", "pick") == ["drives in the kitchen to look for the red can  ✓ 0.0 s"]
    assert drives("r2", "pick", "red can") == ["drives to the red can in the kitchen  ✓ 0.0 s"]
    assert drives("r3", "surface_place") == ["drives to the red can in the kitchen  ✓ 0.0 s"]
    assert drives("r4", "floor_place") == ["drives into the kitchen  ✓ 0.0 s"]
    assert drives("r5", "look") == ["drives to the red can in the kitchen  ✓ 0.0 s"]


def test_the_reason_of_a_skill_does_not_repeat_the_message_of_its_tool_call() -> None:
    message = "this server is stopped (a person pressed stop): nothing moves until a person resets it"
    call = {"call_id": "c", "tool": "nav2__approach_target"}
    failed = {"ok": False, "error_code": "STOPPED", "text": json.dumps({"message": message})}
    halted = {"kind": "tool_result", "call_id": "h", "tool": "nav2__cancel_navigation", "ok": True}
    why = f"check after the report: nav2__approach_target: STOPPED: {message}; gave up"
    failure = {"success": False, "error_code": "UNKNOWN", "reason": why, "state": State.FAILED}
    result = SkillFinished(request_id="r1", skill="approach", **failure)

    def finish(*before: dict[str, Any]) -> list[str]:
        narrator = Narrator()
        told = [words(narrator.tell(event("approach", "r1", **one))) for one in before]
        assert all(message in line for line in told[0])
        return words(narrator.tell(JournalEvent(task_id="t1", actor="orchestrator", at=3.5, event=result)))

    shown = {"kind": "tool_result", **call, **failed}
    assert finish(shown, halted) == ["✗ UNKNOWN: check after the report: nav2__approach_target: STOPPED; gave up"]
    assert finish({"kind": "note", "text": message}) == [f"✗ UNKNOWN: {why}"], "no call has told it"


def test_the_plan_is_told_once_as_it_was_written_and_later_words_in_one_line() -> None:
    narrator = Narrator()
    turn = {"kind": "model_turn", "turn": 1, "text": "Plan:\n| can | table |"}
    (plan,) = narrator.tell(event("orchestrator", **turn)).lines
    assert (plan.spans[0].text, plan.body) == ("plan", "Plan:\n| can | table |")
    (later,) = narrator.tell(event("orchestrator", **turn)).lines
    assert (later.spans[0].text, later.body) == ("Plan: | can | table |", "")


def test_a_new_plan_is_told_as_it_was_written() -> None:
    narrator, table = Narrator(), "| object | drop place |\n|---|---|\n| {} | table |"
    tell = [
        narrator.tell(event("orchestrator", kind="model_turn", turn=1, text=text)).lines
        for text in (table.format("drink"), "I see it.", f"It is a can.\n\n{table.format('can')}")
    ]
    told = [(line.spans[0].text, line.body) for (line,) in tell]
    assert told == [
        ("plan", table.format("drink")),
        ("I see it.", ""),
        ("new plan", f"It is a can.\n\n{table.format('can')}"),
    ]


def test_what_is_shown_of_the_moment_is_no_line() -> None:
    told = Narrator().tell(event("pick", kind="tool_call", call_id="c", tool="moveit__open_gripper", arguments={}))
    assert told.lines == ()
    assert told.now is not None
    assert (told.now.actor, told.now.text) == ("pick", "opens the gripper")


def test_text_of_the_world_stays_one_line_of_text() -> None:
    (line,) = Narrator().tell(event("orchestrator", kind="note", text="<img onerror=x>\n\n[bold] a  b")).lines
    assert line.spans[0].text == "<img onerror=x> [bold] a b"
    assert line.tone == "notice"


def search(narrator: Narrator, tool: str, arguments: dict[str, Any], **result: Any) -> list[str]:
    call = {"call_id": "c", "tool": f"perception__{tool}"}
    narrator.tell(event("pick", "r1", kind="tool_call", arguments=arguments, **call))
    fields = {"kind": "tool_result", "ok": True, "text": json.dumps(result), "duration_s": 0.3, **call}
    return words(narrator.tell(event("pick", "r1", **fields)))


def test_a_search_that_found_nothing_says_so_and_an_object_is_told_by_its_name() -> None:
    narrator = Narrator()
    by_id = {"object_id": "obj_d63ec55c5a28", "camera": "arm"}
    assert search(narrator, "segment_objects", by_id, outputs=[]) == [
        "searches for an object with the arm camera  not seen  0.3 s"
    ]
    seen = [{"object_id": "obj_d63ec55c5a28", "label": "red coke can"}, "no object"]
    assert search(narrator, "detect_objects", {"names": ["can"]}, detections=seen) == [
        "looks for 'can' with the front camera  ✓ 0.3 s"
    ]
    assert search(narrator, "segment_objects", by_id, outputs=[{"object_id": "obj_d63ec55c5a28"}]) == [
        "searches for 'red coke can' with the arm camera  ✓ 0.3 s"
    ]
    assert search(narrator, "detect_objects", {"object_ids": ["obj_d63ec55c5a28"]}, detections=[]) == [
        "looks for 'red coke can' with the front camera  not seen  0.3 s"
    ]


def test_no_id_of_an_object_is_told_wherever_it_stands() -> None:
    narrator, can, other = Narrator(), "obj_d63ec55c5a28", "obj_0011"
    search(narrator, "detect_objects", {"names": ["can"]}, detections=[{"object_id": can, "label": "red coke can"}])
    call = {"call_id": "c2", "tool": "perception__segment_objects"}
    narrator.tell(event("pick", "r1", kind="tool_call", arguments={"object_id": other}, **call))
    text = json.dumps({"ok": False, "error_code": "UNKNOWN_OBJECT_ID", "message": f"object '{other}' is not known"})
    failed = event("pick", "r1", kind="tool_result", ok=False, error_code="UNKNOWN_OBJECT_ID", text=text,
                   duration_s=0.3, **call)  # fmt: skip
    fields = {"request_id": "r1", "skill": "pick", "success": False, "state": "FAILED", "error_code": "NOT_SEEN"}
    result = SkillFinished.model_validate({"kind": "skill_result", "reason": f"{can} fell", **fields})
    told = [
        *words(narrator.tell(failed)),
        *words(narrator.tell(JournalEvent(task_id="t1", actor="pick", at=3.5, event=result))),
        *words(narrator.tell(event("orchestrator", kind="note", text=f"looks for object {can} and {other}"))),
    ]
    assert told[0].endswith("✗ UNKNOWN_OBJECT_ID  an object is not known")
    assert told[1:] == ["✗ NOT_SEEN: 'red coke can' fell", "looks for 'red coke can' and an object"]
    asked = event("orchestrator", kind="question", question_id="q1", text=f"May I take {can}?", expires_at=9.0)
    assert can in words(narrator.tell(asked))[0], "a person allows exactly what is called"


def test_a_motion_of_the_arm_is_told_by_what_it_is_for() -> None:
    narrator = Narrator()

    def calls(request_id: str, tool: str, arguments: dict[str, Any], **result: Any) -> str:
        call = {"call_id": "c", "tool": tool}
        narrator.tell(event("pick", request_id, kind="tool_call", arguments=arguments, **call))
        fields = {"kind": "tool_result", "ok": True, "text": json.dumps(result), **call}
        (line,) = words(narrator.tell(event("pick", request_id, **fields)))
        return line.partition("  ")[0]

    def moves(request_id: str, x: float, z: float) -> str:
        return calls(request_id, "moveit__plan_cartesian_path", {"position": [x, 0.0, z]})

    above, down = {"position": [0.8, 0.0, 1.3]}, {"position": [0.8, 0.0, 1.1]}
    grasp = {"pre_grasp_pose": above, "grasp_pose": down, "lift_pose": above}
    search(narrator, "detect_objects", {}, detections=[{"object_id": "obj_1f", "label": "red coke can"}])
    calls("r1", "perception__get_topdown_grasp_pose", {"object_id": "obj_1f"}, **grasp)
    calls("r1", "moveit__open_gripper", {})
    target = {"target_type": "pose", "target": {**above, "orientation": [1, 0, 0, 0]}}
    assert calls("r1", "moveit__plan_and_execute", target) == "moves the gripper above 'red coke can'"
    assert moves("r1", 0.8, 1.101) == "lowers the gripper to 'red coke can'"
    calls("r1", "moveit__close_gripper", {})
    assert moves("r1", 0.8, 1.3) == "lifts 'red coke can'"
    place = {"pre_place_pose": above, "place_pose": down}
    calls("r2", "perception__get_topdown_placing_pose", {"object_name": "table"}, **place)
    assert moves("r2", 0.8, 1.3) == "moves what it holds above 'table'"
    assert moves("r2", 0.8, 1.1) == "lowers what it holds to 'table'"
    calls("r2", "moveit__open_gripper", {})
    assert moves("r2", 0.8, 1.3) == "moves the gripper up again"
    # Another pose, and one of another request, is told as it is.
    for elsewhere in (moves("r2", 0.5, 1.3), moves("r3", 0.8, 1.3)):
        assert elsewhere.endswith("m ahead, 1.30 m high")
    # A server's result and a model's arguments may have any shape.
    calls("r3", "perception__get_topdown_grasp_pose", {}, grasp_pose=[1], lift_pose={"position": ["a", None, 1e999]})
    assert moves("r3", 0.8, 1.3).endswith("high")


def test_who_decides_is_told_once_when_it_is_the_scripted_model() -> None:
    narrator = Narrator()
    turn = {"kind": "model_turn", "turn": 1, "text": "", "model": "hosted_vllm/scripted"}
    (said,) = words(narrator.tell(event("orchestrator", **turn)))
    assert "scripted model" in said
    assert "docs/models.md" in said
    assert words(narrator.tell(event("pick", **turn))) == []
    assert words(Narrator().tell(event("orchestrator", **{**turn, "model": "openai/gpt-5"}))) == []


def test_a_group_is_told_by_who_gets_what_who_refuses_and_what_programs_print() -> None:
    narrator = Narrator()

    def tell(**fields: Any) -> tuple[str, str, str]:
        (line,) = narrator.tell(event("orchestrator", **fields)).lines
        return line.actor, "".join(span.text for span in line.spans), line.body

    def says(participant: str, text: str) -> tuple[str, str, str]:
        return tell(kind="team_turn", participant=participant, text=text)

    cup, can = "move(red cup, kitchen, desk)", "move(blue can, hallway, toy shelf)"
    told = "ada: red cup, kitchen → desk, blue can, hallway → toy shelf\nbob: Nothing to do"
    items = f"I compare.\n{{ada||{cup}; {can}}}\n{{bob||Nothing to do}}"
    assert says("leader", items) == ("leader", "proposes subtasks", told)
    assert says("ada", "Fine.\n```python\nprint({1: 2})\n```") == ("ada", "Fine. writes a program", "")
    assert tell(kind="team_program", participant="ada", text="True\n") == ("ada", "program: True", "")
    assert says("ada", "So: {yes}") == ("ada", "accepts its subtask", "")
    assert says("bob", "{no||too high}") == ("bob", "refuses its subtask: too high", "")
    subtasks = {"ada": [cup, can], "bob": []}
    told = "ada: red cup, kitchen → desk, blue can, hallway → toy shelf\nbob: waits"
    head = "all agree to their subtasks"
    assert tell(kind="team_subtasks", subtasks=subtasks, agreed=True, rounds=2) == ("orchestrator", head, told)
    head = "the leader's last subtasks count"
    assert tell(kind="team_subtasks", subtasks=subtasks, agreed=False, rounds=4) == ("orchestrator", head, told)


def test_a_team_is_told_by_who_proposes_who_objects_and_what_each_robot_does() -> None:
    narrator = Narrator()

    def tell(**fields: Any) -> tuple[str, str, str]:
        (line,) = narrator.tell(event("orchestrator", **fields)).lines
        return line.actor, "".join(span.text for span in line.spans), line.body

    def says(participant: str, text: str) -> tuple[str, str, str]:
        return tell(kind="team_turn", participant=participant, text=text)

    cup, can = "move(red cup, kitchen, desk)", "move(blue can, hallway, toy shelf)"
    errands = {"red cup": "kitchen -> desk", "blue can": "hallway -> toy shelf"}
    told = "red cup: kitchen → desk\nblue can: hallway → toy shelf"
    assert tell(kind="team_errands", errands=errands) == ("orchestrator", "the task comes to these errands", told)
    plan = json.dumps({"ada": cup, "bob": can})
    both = "ada: red cup, kitchen → desk\nbob: blue can, hallway → toy shelf"
    assert says("planner", f"Both have one. {plan}") == ("planner", "proposes Both have one.", both)
    assert says("ada", f"EXECUTE {plan}") == ("ada", "proposes", both)
    assert says("planner", "{}") == ("planner", "proposes", "all wait")
    assert says("bob", '"I Agree."') == ("bob", "agrees", "")
    assert says("bob", "The floor {there} is wet.") == ("bob", "objects: The floor {there} is wet.", "")
    assert says("bob", "I agree, you first. PROCEED") == ("bob", "I agree, you first. PROCEED", "")
    tasks = {"ada": "t1-a", "bob": "t1-b"}
    _, head, body = tell(kind="team_step", step=3, plan={"ada": cup, "bob": can}, tasks=tasks)
    assert head == "step 3, agreed"
    assert body == both, "no ids"
    step = {"kind": "team_step", "step": 3, "plan": {"ada": cup, "bob": can}, "tasks": tasks}
    (line,) = Narrator(verbose=True).tell(event("orchestrator", **step)).lines
    assert line.body == "ada: red cup, kitchen → desk (task t1-a)\nbob: blue can, hallway → toy shelf (task t1-b)"
    ended = {"outcomes": {"bob": "PLACE_FAILED"}, "reasons": {"bob": "too far"}, "holding": {"bob": "blue can"}}
    assert tell(kind="team_step_ended", step=3, **ended)[1] == (
        "✗ PLACE_FAILED bob: blue can, hallway → toy shelf  too far  It still holds the blue can."
    )
    assert tell(kind="team_step_ended", step=3, outcomes={"ada": "NONE"})[1] == "✓ ada: red cup, kitchen → desk"
    _, head, body = tell(kind="team_step", step=4, plan={"ada": "park(hallway)"}, tasks={"ada": "t1-c"})
    assert (head, body) == ("step 4, has nothing to do now", "ada: parks in the hallway")
