"""A person's word on one call: asked for, signed, bound to that call, used once."""

import time
from typing import Any

import jwt
import pytest
from mcp_types import ElicitResult, InputRequiredResult

import quartet_nav2
from quartet_contracts.approvals import (
    DECISION_FIELD,
    EXPIRES_AT,
    SECONDS_LEFT,
    ApprovalClaims,
    approval_audience,
    arguments_digest,
)
from quartet_process import boot_time
from quartet_tool_server import _approvals as approvals

ASK = {"approval": [{"tool": "nav2__spin_robot", "when": {"angle": {"min": 1}}, "then": "ask", "because": "cables"}]}
TURN = {"angle": 2.0}


@pytest.fixture
def keys(make_keys):
    return make_keys()


@pytest.fixture
async def nav2(serve, keys, sent):
    return await serve(quartet_nav2, ASK, keys=keys)


def decision(keys, approval_id, arguments=TURN, **changes):
    """The orchestrator's signed word."""
    now = int(time.time())
    claims = ApprovalClaims(
        sub="approach",
        aud=approval_audience("summit"),
        iat=now,
        exp=now + 60,
        jti=approval_id,
        request_id="request-1",
        tool="nav2__spin_robot",
        arguments_sha256=arguments_digest(arguments),
        decision="allow",
    ).model_dump()
    return keys.sign(claims | changes)


async def ask(nav2, arguments=TURN) -> tuple[str, Any]:
    """The approval id of a call that must be allowed first, and the form."""
    session = nav2.client.session
    result = await session.call_tool("spin_robot", arguments, allow_input_required=True)
    assert isinstance(result, InputRequiredResult), result
    ((approval_id, request),) = result.input_requests.items()
    assert result.meta[EXPIRES_AT] > time.time()
    assert result.meta[SECONDS_LEFT] > 0
    return approval_id, request.params


async def retry(nav2, responses, arguments=TURN):
    result = await nav2.client.session.call_tool(
        "spin_robot", arguments, allow_input_required=True, input_responses=responses
    )
    return None if isinstance(result, InputRequiredResult) else result.structured_content


def accepted(token):
    return ElicitResult(action="accept", content={DECISION_FIELD: token})


async def test_a_call_that_is_allowed_goes_on_once(nav2, keys, sent):
    approval_id, form = await ask(nav2)
    assert "cables (policy rule approval for nav2__spin_robot where angle from 1)" in form.message
    assert not sent.goals
    responses = {approval_id: accepted(decision(keys, approval_id))}
    await retry(nav2, responses)
    assert len(sent.goals) == 1
    again = await retry(nav2, responses)
    assert again["error_code"] == "APPROVAL_DENIED"
    assert "used already" in again["message"]
    assert len(sent.goals) == 1


async def test_a_call_that_the_rule_does_not_fit_is_not_asked_about(nav2, sent):
    await nav2.call("spin_robot", angle=0.5)
    assert len(sent.goals) == 1


def forged(_):
    return jwt.encode({"decision": "allow"}, "secret" * 8, algorithm="HS256")


async def test_a_decision_that_does_not_fit_moves_nothing(nav2, keys, sent):
    for changes, words in [
        ({"decision": "deny", "reason": "not now"}, "a person did not allow nav2__spin_robot: not now"),
        ({"arguments_sha256": arguments_digest({"angle": 1.5})}, "another call"),
        ({"tool": "nav2__backup_robot"}, "another call"),
        ({"sub": "pick"}, "another call"),
        ({"request_id": "request-2"}, "another call"),
        ({"jti": "a-other"}, "is for approval a-other"),
        ({"aud": "robot:summit"}, "InvalidAudienceError"),
        ({"aud": "approval:other"}, "InvalidAudienceError"),
        ({"iss": "somebody"}, "InvalidIssuerError"),
        ({"decision": "perhaps"}, "validation error"),
    ]:
        approval_id, _ = await ask(nav2)
        answer = await retry(nav2, {approval_id: accepted(decision(keys, approval_id, **changes))})
        assert answer["error_code"] == "APPROVAL_DENIED"
        assert words in answer["message"]
        assert not sent.goals
        # It is used up all the same: a second try with a good one needs a new question.
        again = await retry(nav2, {approval_id: accepted(decision(keys, approval_id))})
        assert again["error_code"] == "APPROVAL_DENIED"
        assert not sent.goals


async def test_no_word_is_no(nav2, sent):
    for response in [
        ElicitResult(action="decline"),
        ElicitResult(action="cancel"),
        ElicitResult(action="accept", content={"yes": True}),
        accepted("not a token"),
        accepted(forged(None)),
    ]:
        approval_id, _ = await ask(nav2)
        assert (await retry(nav2, {approval_id: response}))["error_code"] == "APPROVAL_DENIED"
        assert not sent.goals


async def test_another_key_signs_nothing(nav2, make_keys, sent):
    approval_id, _ = await ask(nav2)
    answer = await retry(nav2, {approval_id: accepted(decision(make_keys(), approval_id))})
    assert (answer["error_code"], "InvalidSignatureError" in answer["message"]) == ("APPROVAL_DENIED", True)
    assert not sent.goals


async def test_a_decision_is_for_the_arguments_that_were_shown(nav2, keys, sent):
    approval_id, _ = await ask(nav2)
    responses = {approval_id: accepted(decision(keys, approval_id))}
    answer = await retry(nav2, responses, {"angle": 3.0})
    assert (answer["error_code"], "another call" in answer["message"]) == ("APPROVAL_DENIED", True)
    assert not sent.goals


async def test_it_is_for_the_attempt_that_asked(nav2, keys, sent):
    approval_id, _ = await ask(nav2)
    nav2.grant["jti"] = "request-2"
    answer = await retry(nav2, {approval_id: accepted(decision(keys, approval_id, request_id="request-2"))})
    assert (answer["error_code"], "another call" in answer["message"]) == ("APPROVAL_DENIED", True)
    assert not sent.goals


async def test_a_late_decision_is_none(serve, keys, sent, monkeypatch):
    nav2 = await serve(quartet_nav2, ASK | {"approval_wait_s": 30}, keys=keys)
    approval_id, _ = await ask(nav2)
    responses, late = {approval_id: accepted(decision(keys, approval_id))}, boot_time() + 31
    monkeypatch.setattr("quartet_tool_server._approvals.boot_time", lambda: late)
    answer = await retry(nav2, responses)
    assert (answer["error_code"], "too late" in answer["message"]) == ("APPROVAL_DENIED", True)
    assert not sent.goals


@pytest.mark.parametrize("ahead_s", [-3600, 3600])
async def test_a_decision_in_time_counts_whatever_the_clocks_say(nav2, keys, sent, ahead_s):
    """The id is new and the server counts how long it waits, so it compares no clock with the orchestrator's."""
    approval_id, _ = await ask(nav2)
    now = int(time.time()) + ahead_s
    await retry(nav2, {approval_id: accepted(decision(keys, approval_id, iat=now - 5, exp=now + 60))})
    assert len(sent.goals) == 1


async def test_an_id_that_nobody_gave_is_refused(nav2, keys, sent):
    answer = await retry(nav2, {"a-invented": accepted(decision(keys, "a-invented"))})
    assert answer["error_code"] == "APPROVAL_DENIED"
    assert not sent.goals


async def test_a_server_without_keys_lets_nothing_through(serve, keys, sent):
    nav2 = await serve(quartet_nav2, ASK)
    approval_id, _ = await ask(nav2)
    answer = await retry(nav2, {approval_id: accepted(decision(keys, approval_id))})
    assert (answer["error_code"], "no key is known" in answer["message"]) == ("APPROVAL_DENIED", True)
    assert not sent.goals


async def test_allowed_is_not_exempt_from_the_rest(serve, keys, sent):
    policy = {"approval": [{"tool": "nav2__navigate_to_pose", "then": "ask"}]}
    nav2 = await serve(quartet_nav2, policy, keys=keys)
    out = {"x": 50.0, "y": 0.0}
    result = await nav2.client.session.call_tool("navigate_to_pose", out, allow_input_required=True)
    ((approval_id, _),) = result.input_requests.items()
    token = decision(keys, approval_id, out, tool="nav2__navigate_to_pose")
    answer = await nav2.client.session.call_tool(
        "navigate_to_pose", out, allow_input_required=True, input_responses={approval_id: accepted(token)}
    )
    assert answer.structured_content["error_code"] == "OUTSIDE_GEOFENCE"
    assert not sent.goals


async def test_an_older_client_gets_a_typed_refusal(serve, keys, sent):
    nav2 = await serve(quartet_nav2, ASK, keys=keys, mode="legacy")
    message = await nav2.refused("spin_robot", "INPUT_REQUIRED", TURN)
    assert "cables" in message
    assert "2026-07-28" in message
    assert not sent.goals


async def test_questions_are_remembered_up_to_a_limit(nav2, keys, sent, monkeypatch):
    monkeypatch.setattr(approvals, "MOST_PENDING", 2)
    first, _ = await ask(nav2)
    for _ in range(2):
        last, _ = await ask(nav2)
    assert (await retry(nav2, {first: accepted(decision(keys, first))}))["error_code"] == "APPROVAL_DENIED"
    await retry(nav2, {last: accepted(decision(keys, last))})
    assert len(sent.goals) == 1
