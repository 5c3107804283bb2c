"""Every message survives the wire; what does not fit is refused with words that help."""

import json
import time

import jsonschema
import pytest
from pydantic import ValidationError

from quartet_contracts import (
    MAX_MESSAGE_BYTES,
    MODEL_SKILLS,
    RESULTS,
    ApproachArguments,
    ApproachResult,
    ArmScene,
    Budget,
    Check,
    DeliveryOutcome,
    DirectStep,
    ExecutorArguments,
    ExecutorResult,
    JournalEvent,
    MalformedMessageError,
    MessageTooLargeError,
    PickArguments,
    PickResult,
    PlaceArguments,
    PlaceResult,
    ProgramAnswer,
    ProgramRequest,
    SceneObject,
    Skill,
    SkillRequest,
    SkillResult,
    State,
    Task,
    TaskReport,
    TaskStatus,
    TaskSubmission,
    TurnAnswer,
    TurnRequest,
    UnsupportedVersionError,
    Usage,
    decode,
    encode,
    journal,
    json_schemas,
)
from quartet_contracts.skills import unknown_result, unreadable_request

NOW = time.time()
SCENE = ArmScene(
    objects=(SceneObject(name="can", position=(0.7, 0.1, 0.8), yaw=0.3, size_m=(0.06, 0.06, 0.12)),),
    hand_position=(0.5, 0.0, 1.1),
    hand_yaw=0.0,
    held="can",
)
ARGUMENTS = {
    Skill.APPROACH: ApproachArguments(target_area="kitchen", object_name="can", next_action="pick"),
    Skill.PICK: PickArguments(object_name="can"),
    Skill.PLACE: PlaceArguments(target_location="bin", object_name="can", object_height_m=0.1),
    Skill.EXECUTOR: ExecutorArguments(code="open_gripper()", before=SCENE),
}


def request(skill=Skill.PICK, **fields):
    return SkillRequest(
        **{
            "request_id": "r1",
            "task_id": "t1",
            "robot": "summit",
            "skill": skill,
            "created_at": NOW,
            "deadline": NOW + 9,
            "arguments": ARGUMENTS[skill],
            "grant": "secret",
            "reply_to": "quartet:replies:a",
            **fields,
        }
    )


def task(**fields):
    return Task(
        **{
            "task_id": "t1",
            "sentence": "bring the can",
            "robot": "summit",
            "created_at": NOW,
            "deadline": NOW + 9,
            "budget": Budget(),
            **fields,
        }
    )


IDS = {"request_id": "r1", "task_id": "t1"}
REPORT = TaskReport(success=False, summary="no", objects=[DeliveryOutcome(object_name="can", completed=False)])
HAPPENINGS = [
    journal.StateChanged(state=State.RUNNING, reason="why"),
    journal.ModelTurn(turn=1, text="plan", tools=["pick"], usage=Usage(turns=1), model="m"),
    journal.ModelTurn(turn=2, calls=[journal.WantedCall(id="c", tool="pick", arguments="{}")], takes_images=True),
    journal.ModelTurn(turn=3, reasoning={"model": "a/b", "thinking": [{"signature": "x="}]}),
    journal.ToolCalled(call_id="c", tool="look", arguments={"camera": "both"}),
    journal.ToolProgress(call_id="c", tool="look", fraction=0.5, message="half"),
    journal.ToolReturned(call_id="c", tool="look", ok=False, error_code="TIMEOUT", text="{}", images=["a1"]),
    journal.SkillRequested(request_id="r1", skill="pick", attempt=1, fence=3, arguments={}),
    journal.SkillStarted(request_id="r1", skill="pick", replica="p1"),
    journal.SkillFinished(
        request_id="r1", skill="pick", success=True, error_code="NONE", reason="", state=State.SUCCEEDED
    ),
    journal.SkillSettled(
        request_id="r1", skill="pick", state=State.RETRIABLE, reason="lost", observed="seen", grasp="EMPTY"
    ),
    journal.TakenOver(replica="o2", epoch=2),
    journal.Verified(claimed="NONE", settled="NAV_VERIFY_OVERRIDE", note="not seen"),
    journal.Observation(label="start", images={"front": "a1"}),
    journal.Asked(question_id="q1", text="which?", expires_at=NOW),
    journal.Answered(question_id="q1", text="that"),
    journal.Ordered(order="cancel", by="anna"),
    journal.Note(text="retry"),
    journal.TeamErrands(errands={"red coke can": "kitchen -> sofa table"}),
    journal.TeamTurn(participant="summit1", text="I Agree"),
    journal.TeamProgram(participant="summit1", text="True"),
    journal.TeamSubtasks(subtasks={"summit1": ["move(a, b, c)"]}, agreed=True, rounds=1),
    journal.TeamStep(
        step=1, plan={"summit1": "move(a, b, c)"}, tasks={"summit1": "t2"}, stops={"summit1": {"nav2": 1}}
    ),
    journal.TeamStepEnded(step=1, outcomes={"summit1": "UNKNOWN"}, reasons={"summit1": "lost"}),
    journal.RobotLeft(robot="summit1", error_code="ROBOT_STOPPED", reason="a person"),
    journal.Reported(report=REPORT),
]
MESSAGES = [
    *(request(skill, traceparent="00-1-2-01") for skill in Skill),
    ApproachResult(
        **IDS, success=True, error_code="NONE", reason="", checks=[Check(name="area", result="PASS", note="seen")]
    ),
    PickResult(**IDS, success=True, error_code="NONE", reason="held", held_object_height_m=0.12, usage=Usage(turns=3)),
    PlaceResult(
        **IDS, success=False, error_code="UNKNOWN", reason="lost", state=State.UNCERTAIN, observed="it lies there"
    ),
    task(),
    *(task(step=DirectStep(skill=skill, arguments=ARGUMENTS[skill])) for skill in MODEL_SKILLS),
    task(team="hmas2"),
    ExecutorResult(**IDS, success=True, error_code="NONE", reason="", output="up", completed=True, scene=SCENE),
    TurnRequest(
        request_id="r1",
        task_id="t1",
        robot="summit1",
        prompt="?",
        grant="g",
        created_at=NOW,
        deadline=NOW,
        reply_to="s",
    ),
    TurnAnswer(request_id="r1", text="I Agree", usage=Usage(turns=1)),
    ProgramRequest(
        request_id="r1", task_id="t1", robot="summit1", code="print(1)", created_at=NOW, deadline=NOW, reply_to="s"
    ),
    ProgramAnswer(request_id="r1", text="1"),
    TaskStatus(task=task(), state=State.PAUSED, report=REPORT, question="which?", updated_at=NOW),
    *(JournalEvent(task_id="t1", actor="pick", at=NOW, event=h, request_id="r1") for h in HAPPENINGS),
]


@pytest.fixture(scope="module")
def schemas():
    """All of them, which take half a second to make."""
    return json_schemas()


def names(messages):
    return [f"{type(m).__name__}-{getattr(getattr(m, 'event', None), 'kind', n)}" for n, m in enumerate(messages)]


@pytest.mark.parametrize("message", MESSAGES, ids=names(MESSAGES))
def test_a_message_comes_back_as_it_was(message):
    data = encode(message)
    assert decode(type(message), data) == message
    assert decode(type(message), data.decode()) == message


@pytest.mark.slow
@pytest.mark.parametrize("message", MESSAGES, ids=names(MESSAGES))
def test_a_message_fits_its_published_schema(message, schemas):
    jsonschema.validate(json.loads(encode(message)), schemas[type(message).__name__])


def test_every_kind_of_event_is_tested(schemas):
    kinds = {h.kind for h in HAPPENINGS}
    schema = schemas["JournalEvent"]
    assert kinds == set(schema["properties"]["event"]["discriminator"]["mapping"])


def test_the_schemas_name_messages_and_tool_results(schemas):
    assert {"Task", "SkillRequest", "PickArguments", "PickReport", "ArmResult", "DetectResult"} <= set(schemas)
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("message", MESSAGES, ids=names(MESSAGES))
def test_fields_of_a_newer_minor_version_are_ignored(message):
    raw = json.loads(encode(message)) | {"schema_version": "1.9", "colour": "blue"}
    again = decode(type(message), json.dumps(raw))
    assert again.model_dump(exclude={"schema_version"}) == message.model_dump(exclude={"schema_version"})


@pytest.mark.parametrize("version", ["2.0", "0.9", "x", "10.0"])
def test_another_major_version_is_refused(version):
    raw = json.loads(encode(task())) | {"schema_version": version}
    with pytest.raises(UnsupportedVersionError, match=f"'{version}', this process reads 1.x; run the same major"):
        decode(Task, json.dumps(raw))


def test_a_message_over_the_cap_is_neither_sent_nor_read():
    large = request(grant="x" * MAX_MESSAGE_BYTES)
    with pytest.raises(MessageTooLargeError, match=r"SkillRequest is \d+ bytes, the cap is 65536; shorten"):
        encode(large)
    with pytest.raises(MessageTooLargeError, match="received, the cap is 65536"):
        decode(SkillRequest, large.model_dump_json())
    overhead = len(encode(request(grant="")))
    assert len(encode(request(grant="x" * (MAX_MESSAGE_BYTES - overhead)))) == MAX_MESSAGE_BYTES


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff", "Task is not JSON"),
        ("[1]", "must be a JSON object, got list"),
        ("{}", "task_id: Field required"),
        ('{"task_id": "a b"}', "task_id: String should match pattern"),
    ],
)
def test_what_is_no_message_is_refused_with_the_fault(data, words):
    with pytest.raises(MalformedMessageError, match=words.replace("[", r"\[")):
        decode(Task, data)


@pytest.mark.parametrize(
    ("skill", "arguments"),
    [(a, ARGUMENTS[b]) for a in Skill for b in Skill if a != b],
)
def test_a_skill_takes_its_own_arguments_only(skill, arguments):
    with pytest.raises(ValidationError):
        request(skill, arguments=arguments)
    with pytest.raises(ValidationError):
        DirectStep(skill=skill, arguments=arguments)
    with pytest.raises(ValidationError):
        request(skill, arguments=arguments.model_dump())


def test_unknown_arguments_of_a_model_are_refused():
    with pytest.raises(ValidationError, match="speed"):
        PickArguments.model_validate({"object_name": "can", "speed": 3})


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_height_is_a_length_of_something_that_can_be_held(value):
    with pytest.raises(ValidationError):
        PlaceArguments(target_location="bin", object_name="can", object_height_m=value)


@pytest.mark.parametrize("model", RESULTS.values())
@pytest.mark.parametrize(
    ("success", "code", "state"),
    [
        (True, "UNKNOWN", "SUCCEEDED"),
        (False, "NONE", "FAILED"),
        (True, "NONE", "FAILED"),
        (False, "UNKNOWN", "SUCCEEDED"),
        (False, "NO_SUCH_CODE", "FAILED"),
        (False, "UNKNOWN", "RETRIABLE"),
        (False, "UNKNOWN", "RUNNING"),
    ],
)
def test_success_is_true_exactly_when_the_code_is_none_and_the_state_is_an_end(model, success, code, state):
    with pytest.raises(ValidationError):
        model(**IDS, success=success, error_code=code, reason="", state=state)


def test_a_grant_is_not_printed():
    assert "secret" not in repr(request())


def test_a_result_can_be_read_before_its_skill_is_known():
    assert decode(SkillResult, encode(MESSAGES[len(Skill)])).skill is Skill.APPROACH


@pytest.mark.parametrize("skill", Skill)
def test_a_request_without_an_agent_gets_a_result_all_the_same(skill):
    result = unknown_result(request(skill, attempt=2), "x" * 5000, State.UNCERTAIN, "y" * 5000)
    assert (type(result), result.attempt, result.state) == (RESULTS[skill], 2, State.UNCERTAIN)
    assert decode(RESULTS[skill], encode(result)) == result


def test_an_unreadable_request_is_answered_if_it_says_who_asks():
    whole = json.loads(encode(request())) | {"deadline": "soon"}
    reply_to, result = unreadable_request(Skill.PICK, json.dumps(whole).encode(), "deadline: wrong")
    assert (reply_to, result.request_id) == ("quartet:replies:a", "r1")
    for missing in ("reply_to", "request_id", "task_id"):
        part = {k: v for k, v in whole.items() if k != missing}
        assert unreadable_request(Skill.PICK, json.dumps(part).encode(), "") is None
    assert unreadable_request(Skill.PICK, b"[", "") is None


@pytest.mark.parametrize(("given", "kept"), [("  bring\n the   can ", "bring the can"), ("Tür", "Tür")])
def test_a_sentence_is_cleaned(given, kept):
    assert TaskSubmission(sentence=given).sentence == kept


@pytest.mark.parametrize("sentence", ["", "   ", "123 !?", "x" * 1001])
def test_a_sentence_says_something_and_is_not_too_long(sentence):
    with pytest.raises(ValidationError):
        TaskSubmission(sentence=sentence)


# What no client would send, and anybody can put on a stream


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        '{"request_id": ' + "[" * 5_000 + "]" * 5_000 + "}",
        '{"request_id": "\\ud800"}',
        "\ud800",
        b'{"request_id": "\xed\xa0\x80"}',
        b"\xff\xfe{}",
        "{",
        "",
    ],
    ids=["deep", "deep inside", "half a pair", "half a pair as text", "half a pair as bytes", "bytes", "open", "empty"],
)
def test_what_is_no_json_is_malformed(text):
    with pytest.raises(MalformedMessageError, match="is not JSON"):
        decode(SkillRequest, text)


def test_a_request_nested_too_deeply_is_answered_by_nobody_and_stops_nobody():
    assert unreadable_request(Skill.PICK, b'{"reply_to": ' + b"[" * 20_000, "it is strange") is None


def test_nobody_is_answered_under_a_name_that_cannot_be_written():
    asked = b'{"request_id": "r1", "task_id": "t1", "reply_to": "q:%s"}'
    assert unreadable_request(Skill.PICK, asked % b"\xed\xa0\x80", "it is strange") is None
    assert unreadable_request(Skill.PICK, asked % b"replies", "it is strange") is not None


@pytest.mark.parametrize("deadline", [1e300, 1e12, -1.0, 10**400])
def test_a_time_that_no_clock_shows_is_malformed(deadline):
    """Redis takes no expiry that is so far away, and a request that cannot be taken would come again for ever."""
    fields = json.loads(encode(request()))
    with pytest.raises(MalformedMessageError, match="deadline"):
        decode(SkillRequest, json.dumps({**fields, "deadline": deadline}))


def test_an_endless_budget_is_malformed():
    fields = json.loads(encode(request()))
    with pytest.raises(MalformedMessageError, match="wall_s"):
        decode(SkillRequest, json.dumps({**fields, "budget": {"wall_s": float("inf")}}))
