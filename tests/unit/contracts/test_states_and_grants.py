"""States and their moves, budgets, grants."""

import pytest

import quartet_contracts
from quartet_contracts import (
    MODEL_TOOLS,
    MOTION_SERVERS,
    OBSERVE_TOOLS,
    STANDSTILL_TOOLS,
    TERMINAL,
    TRANSITIONS,
    VERIFY_TOOLS,
    GrantClaims,
    IllegalTransitionError,
    Skill,
    State,
    Usage,
    audience,
    granted_tools,
    may_transition,
    move,
)


def test_every_state_has_its_moves():
    assert set(TRANSITIONS) == set(State)


def test_final_states_are_final():
    for state in TERMINAL:
        assert [new for new in State if may_transition(state, new)] == [state]
    assert {s for s in State if not TRANSITIONS[s]} == TERMINAL


def test_every_state_can_be_reached_and_can_end():
    reached, border = {State.QUEUED}, [State.QUEUED]
    while border:
        for new in TRANSITIONS[border.pop()] - reached:
            reached.add(new)
            border.append(new)
    assert reached == set(State)
    ending = set(TERMINAL)
    while more := {s for s in State if s not in ending and TRANSITIONS[s] & ending}:
        ending |= more
    assert ending == set(State)


MOVES = """
QUEUED -> INITIALIZING REJECTED CANCELED FAILED
INITIALIZING -> RUNNING FAILED CANCELED UNCERTAIN
RUNNING -> SUCCEEDED RETRIABLE FAILED PAUSED CANCELING UNCERTAIN
PAUSED -> INITIALIZING CANCELING FAILED
CANCELING -> CANCELED SUCCEEDED FAILED UNCERTAIN
UNCERTAIN -> SUCCEEDED RETRIABLE FAILED
RETRIABLE -> INITIALIZING FAILED CANCELED
SUCCEEDED ->
FAILED ->
CANCELED ->
REJECTED ->
"""
"""Every move there is; written down a second time, so that none comes or goes by accident."""


@pytest.mark.parametrize("line", MOVES.strip().splitlines())
def test_the_moves_are_these_and_no_others(line):
    old, _, following = line.partition(" ->")
    for new in State:
        allowed = new in following.split() or new == old
        assert may_transition(State(old), new) == allowed, (old, new)
        if allowed:
            assert move(State(old), new, "task t") is new
        else:
            with pytest.raises(IllegalTransitionError, match=f"^task t cannot go from {old} to {new}; valid: "):
                move(State(old), new, "task t")


def test_usage_adds_up():
    one = Usage(turns=1, tool_calls=2, prompt_tokens=3, completion_tokens=4, cost_usd=0.5, wall_s=6.0)
    assert one.plus(one) == Usage(
        turns=2, tool_calls=4, prompt_tokens=6, completion_tokens=8, cost_usd=1.0, wall_s=12.0
    )


@pytest.mark.parametrize("skill", Skill)
def test_a_grant_covers_what_the_agent_needs_and_no_more(skill):
    granted = granted_tools(skill)
    assert granted == sorted(set(granted))
    assert set(granted) == {*MODEL_TOOLS[skill], *VERIFY_TOOLS[skill], *STANDSTILL_TOOLS, *OBSERVE_TOOLS}
    assert not any(tool.startswith(("ros__", "control__")) for tool in granted)


def test_only_approach_drives_and_only_pick_and_place_open_the_gripper():
    assert not any(tool.startswith("nav2__") for s in (Skill.PICK, Skill.PLACE) for tool in MODEL_TOOLS[s])
    assert "moveit__open_gripper" not in granted_tools(Skill.APPROACH)
    assert "moveit__close_gripper" not in granted_tools(Skill.PLACE)


def test_every_server_that_moves_the_robot_knows_the_fence():
    moving = {tool.split("__")[0] for s in Skill for tool in granted_tools(s)} - {"perception"}
    assert moving == set(MOTION_SERVERS)


def test_claims_survive_the_token_and_ignore_what_is_new():
    claims = GrantClaims(sub="pick", aud=audience("summit"), exp=2, iat=1, jti="r1", fence=3, tools=["a__b"])
    assert GrantClaims.model_validate(claims.model_dump() | {"colour": "blue"}) == claims
    assert claims.aud == "robot:summit"


def test_the_package_exports_what_it_says():
    for name in quartet_contracts.__all__:
        assert hasattr(quartet_contracts, name), name
    assert quartet_contracts.__all__ == sorted(
        quartet_contracts.__all__, key=lambda n: (not n.isupper(), not n[0].isupper(), n)
    )
