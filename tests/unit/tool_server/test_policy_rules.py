"""What a policy says of a call before its tool sees it: agents, rates, approvals."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartet_contracts import STANDSTILL_TOOLS
from quartet_contracts.approvals import arguments_digest
from quartet_site import PolicyFile
from quartet_tool_server._approvals import PendingApprovals
from quartet_tool_server._policy import CallPolicy, describe
from quartet_tool_server.errors import PolicyDeniedError, RateLimitedError
from support.grants import grant_claims

NAVIGATE = "nav2__navigate_to_pose"


def grant(agent="approach"):
    return grant_claims(sub=agent, jti="r")


def rules(clock=lambda: 0.0, **policy):
    return CallPolicy(PolicyFile.model_validate(policy), PendingApprovals("summit", [], 60), clock=clock)


def screen(admission, tool=NAVIGATE, agent="approach", counted=True, defaults=(), **arguments):
    return admission.screen(grant(agent), tool, arguments, defaults=dict(defaults), counted=counted, responses=None)


@pytest.mark.parametrize(
    ("agents", "agent", "tool", "allowed"),
    [
        ({}, "approach", NAVIGATE, True),
        ({"approach": ["nav2__*"]}, "approach", NAVIGATE, True),
        ({"approach": ["nav2__navigate_*"]}, "approach", NAVIGATE, True),
        ({"approach": ["nav2__navigate_to_pose"]}, "approach", NAVIGATE, True),
        ({"approach": ["nav2__navigate"]}, "approach", NAVIGATE, False),
        ({"approach": ["moveit__*"]}, "approach", NAVIGATE, False),
        ({"approach": []}, "approach", NAVIGATE, False),
        ({"approach": []}, "pick", NAVIGATE, True),
        ({"*": []}, "pick", NAVIGATE, False),
        ({"*": [], "pick": ["nav2__*"]}, "pick", NAVIGATE, True),
        ({"*": []}, "pick", STANDSTILL_TOOLS[0], True),
        ({"*": []}, "pick", STANDSTILL_TOOLS[1], True),
    ],
)
def test_an_agent_uses_what_the_policy_lists(agents, agent, tool, allowed):
    admission = rules(agents=agents)
    if allowed:
        assert screen(admission, tool, agent) is None
    else:
        with pytest.raises(
            PolicyDeniedError, match=rf"'{agent}' may not use {tool}.*policy rule agents; allowed: "
        ) as caught:
            screen(admission, tool, agent)
        assert caught.value.code == "POLICY_DENIED"


def test_calls_are_counted_by_the_minute():
    now = [0.0]
    admission = rules(lambda: now[0], rates={"per_tool": 3, "tools": {NAVIGATE: 2}})
    for _ in range(2):
        screen(admission, agent="approach")
    with pytest.raises(
        RateLimitedError, match=r"2 times in the last minute, 2 are allowed .*rates.*wait 60 s"
    ) as caught:
        screen(admission, agent="pick")
    assert caught.value.code == "RATE_LIMITED"
    for _ in range(3):
        screen(admission, "nav2__spin_robot")
    with pytest.raises(RateLimitedError):
        screen(admission, "nav2__spin_robot")
    now[0] = 59.9
    with pytest.raises(RateLimitedError):
        screen(admission)
    now[0] = 60.1
    screen(admission)


def test_what_looks_and_what_stops_is_not_counted():
    admission = rules(rates={"per_tool": 1})
    for _ in range(5):
        screen(admission, "perception__look", counted=False)
        screen(admission, STANDSTILL_TOOLS[0])


HOME_STATE = {"target.state_name": {"one_of": ["home"]}}
ASK_FAR = [{"tool": NAVIGATE, "when": {"x": {"min": 3.5}}, "then": "deny", "because": "people work there"}]


@pytest.mark.parametrize(
    ("approval", "arguments", "denied"),
    [
        (ASK_FAR, {"x": 3.4}, False),
        (ASK_FAR, {"x": 3.5}, True),
        (ASK_FAR, {"x": "3.6"}, True),  # the tool would read that as a number
        (ASK_FAR, {"x": "far"}, True),
        (ASK_FAR, {"x": math.nan}, True),
        (ASK_FAR, {"x": None}, True),
        (ASK_FAR, {"x": True}, True),
        (ASK_FAR, {}, True),
        ([ASK_FAR[0] | {"when": {"x": {"max": -1}}}], {"x": -1.5}, True),
        ([ASK_FAR[0] | {"when": {"x": {"min": 0}, "y": {"min": 0}}}], {"x": 1, "y": -1}, False),
        ([ASK_FAR[0] | {"when": {"x": {"min": 0}, "y": {"min": 0}}}], {"x": 1, "y": 1}, True),
        ([ASK_FAR[0] | {"agents": ["pick"]}], {"x": 5}, False),
        ([ASK_FAR[0] | {"agents": ["approach"]}], {"x": 5}, True),
        ([ASK_FAR[0] | {"tool": "nav2__*"}], {"x": 5}, True),
        ([ASK_FAR[0] | {"tool": "moveit__*"}], {"x": 5}, False),
        # The first that fits holds: what is not sure to be in the good range is not let through.
        ([{"tool": NAVIGATE, "when": {"x": {"max": 3}}, "then": "auto"}, {"tool": NAVIGATE, "then": "deny"}],
         {"x": 2}, False),
        ([{"tool": NAVIGATE, "when": {"x": {"max": 3}}, "then": "auto"}, {"tool": NAVIGATE, "then": "deny"}],
         {"x": "two"}, True),
        ([{"tool": NAVIGATE, "when": {"x": {"max": 3}}, "then": "auto"}, {"tool": NAVIGATE, "then": "deny"}],
         {"x": 4}, True),
        ([ASK_FAR[0] | {"when": HOME_STATE}], {"target": {"state_name": "home"}}, True),
        ([ASK_FAR[0] | {"when": HOME_STATE}], {"target": {"state_name": "up"}}, False),
        ([ASK_FAR[0] | {"when": {"target.position.2": {"max": 0.2}}}], {"target": {"position": [1, 1, 0.1]}}, True),
        ([ASK_FAR[0] | {"when": {"target.position.2": {"max": 0.2}}}], {"target": {"position": [1, 1, 0.3]}}, False),
        ([ASK_FAR[0] | {"when": {"target.position.7": {"max": 0.2}}}], {"target": {"position": [1, 1, 0.3]}}, True),
        ([ASK_FAR[0] | {"when": {"nav_to_dock": {"one_of": [True]}}}], {"nav_to_dock": 1}, False),
    ],
)  # fmt: skip
def test_a_rule_fits_by_agent_tool_and_range_of_arguments(approval, arguments, denied):
    admission = rules(approval=approval)
    if denied:
        with pytest.raises(PolicyDeniedError, match="policy rule approval") as caught:
            screen(admission, **arguments)
        assert caught.value.code == "POLICY_DENIED"
    else:
        assert screen(admission, **arguments) is None


def test_an_argument_that_is_left_out_has_its_default():
    admission = rules(approval=[{"tool": NAVIGATE, "when": {"speed": {"min": 0.3}}, "then": "deny"}])
    assert screen(admission, defaults={"speed": 0.2}) is None
    with pytest.raises(PolicyDeniedError):
        screen(admission, defaults={"speed": 0.4})
    assert screen(admission, defaults={"speed": 0.4}, speed=0.1) is None


def test_a_standstill_needs_no_word():
    admission = rules(approval=[{"tool": "nav2__*", "then": "deny"}])
    assert screen(admission, STANDSTILL_TOOLS[0]) is None


def test_a_rule_is_told_in_words():
    rule = PolicyFile.model_validate(
        {"approval": [ASK_FAR[0] | {"when": {"x": {"min": 3.5, "max": 4}, "frame": {"one_of": ["map", None]}}}]}
    ).approval[0]
    assert describe(rule) == (
        "people work there (policy rule approval for nav2__navigate_to_pose where x from 3.5 up to 4 and frame is "
        "one of map, None)"
    )


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=5), values, max_size=4))
def test_the_digest_outlives_the_journey_as_json(arguments):
    import json

    assert arguments_digest(json.loads(json.dumps(arguments))) == arguments_digest(arguments)
    assert arguments_digest(dict(reversed(arguments.items()))) == arguments_digest(arguments)


def test_the_digest_tells_arguments_apart():
    digests = [
        arguments_digest(arguments)
        for arguments in ({}, {"x": 1}, {"x": 1.5}, {"x": "1"}, {"x": True}, {"x": [1]}, {"y": 1}, {"x": None})
    ]
    assert len(set(digests)) == len(digests)
    assert arguments_digest({"x": 1, "y": 2.0}) == arguments_digest({"y": 2, "x": 1.0})


@pytest.mark.parametrize(
    "name",
    [
        *("red coke can", "Red Coke Can", "the red coke can", "red_coke_can", "coke", "A  Coke"),
        *("red\u200b co\u00adke can", "ｒｅｄ　ｃｏｋｅ　ｃａｎ", "red\u00a0coke\u2003can", "\ufeffcoke"),
    ],
)
def test_a_rule_about_a_thing_holds_for_every_spelling_and_alias(name):
    when = {"when": {"object_name": {"one_of": ["red coke can"]}}}
    names = {"coke": "red coke can"}
    for then in ("deny", "ask"):
        policy = PolicyFile.model_validate({"approval": [{"tool": "perception__*", "then": then} | when]})
        checked = CallPolicy(policy, PendingApprovals("summit", [], 60), names=names)
        assert checked.rule("pick", "perception__get_topdown_grasp_pose", {"object_name": name}).then == then
        assert checked.rule("pick", "perception__get_topdown_grasp_pose", {"object_name": "green bottle"}) is None


def test_one_name_that_an_argument_may_mean_is_enough_to_deny_and_all_are_needed_to_pass():
    ruled = {"tool": "perception__*", "when": {"prompt": {"one_of": ["red coke can"]}}}
    denies, passes = (
        rules(approval=[{**ruled, "then": "deny"}]),
        rules(approval=[{**ruled, "then": "auto"}, {"tool": "perception__*", "then": "ask"}]),
    )
    for prompt, allowed in (
        (["can", "red coke can", "green soda can"], False),
        ([["mug"], ["can", "Red Coke Can"]], False),
        (["mug", "blue mug"], True),
        ([], True),
    ):
        denied = denies.rule("pick", "perception__detect_object", {"prompt": prompt})
        assert (denied is None) is allowed
        assert passes.rule("pick", "perception__detect_object", {"prompt": prompt}).then == "ask"
    assert passes.rule("pick", "perception__detect_object", {"prompt": ["red coke can", "red coke can"]}) is None


def test_a_rule_that_lets_a_call_pass_compares_exactly():
    checked = rules(
        approval=[
            {"tool": "ros__publish_once", "when": {"topic": {"one_of": ["/cmd_vel"]}}, "then": "auto"},
            {"tool": "ros__publish_once", "then": "deny"},
        ]
    )
    assert checked.rule("approach", "ros__publish_once", {"topic": "/cmd_vel"}) is None
    assert checked.rule("approach", "ros__publish_once", {"topic": "/Cmd_Vel"}).then == "deny"
