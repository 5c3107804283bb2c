"""The answer to one chat request: the policy of the agent that asks, run up to its next turn.

Nothing is remembered: a policy is run again over the calls that the messages show.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from quartet_scripted_model.conversation import Conversation, Step, text_of
from quartet_scripted_model.misbehaviour import HABITS, MISREADINGS, Kind
from quartet_scripted_model.policies import group, orchestrator, single, table_team, team
from quartet_scripted_model.policies.habits import Habit
from quartet_scripted_model.policies.procedure import POLICIES
from quartet_scripted_model.turn import Call, Policy, Result, Text, Turn, calls_of

AGENTS: dict[str, tuple[str, Callable[[Conversation], Policy]]] = {
    "orchestrator": ("report_task_result", orchestrator.policy),
    **{skill: (f"report_{skill}_result", policy) for skill, policy in POLICIES.items()},
}
"""The report tool by which an agent is known, and its policy."""

NOT_MADE = frozenset({"NOT_RUN", "BROKEN_ANSWER"})
"""Codes of calls that no tool has answered."""
_DONE = Text("I have reported my result and have nothing to add.")


def agent_of(tools: list[dict[str, Any]]) -> str | None:
    """Return the agent that has `tools`; None: there is no policy for it."""
    offered = {tool["function"]["name"] for tool in tools if "function" in tool}
    return next((agent for agent, (report, _) in AGENTS.items() if report in offered), None)


def answer(messages: list[dict[str, Any]], tools: list[dict[str, Any]], kind: Kind | None = None) -> Turn:
    """Return the next turn of the agent that has `tools`, with a habit or, for the orchestrator, a misreading."""
    conversation, agent = Conversation.read(messages, tools), agent_of(tools)
    if agent is not None:
        start = partial(AGENTS[agent][1], conversation)
        if agent == "orchestrator":
            play = single.policy if single.does_work_in(conversation) else orchestrator.policy
            start = partial(play, conversation, kind if kind in MISREADINGS else None)
        policy = Habit(kind, conversation, start).play() if kind is not None and kind in HABITS else start()
        return next_turn(policy, conversation.steps)
    if not tools:
        prompt = "\n".join(text_of(message) for message in messages)
        if (said := table_team.answer(prompt) or group.answer(prompt) or team.answer(prompt)) is not None:
            return Text(said)
        # Imported here, since it needs NumPy and few deployments have such a team.
        from quartet_scripted_model import programs

        if (said := programs.answer(prompt)) is not None:
            return Text(said)
    reports = ", ".join(report for report, _ in AGENTS.values())
    return Text(
        "I am Quartet's scripted model, not an LLM: I can only play the orchestrator, approach, pick and place "
        f"agents and the members of a team, and none of their report tools is on offer ({reports})."
    )


def next_turn(policy: Policy, steps: list[Step]) -> Turn:
    """Return the first turn of `policy` that is not in `steps`.

    Calls in between that the policy never made (a misbehaviour, or another model's turn) are skipped.
    """
    at = 0
    try:
        turn = next(policy)
        while not isinstance(turn, Text):
            calls = calls_of(turn)
            results: list[Result] = []
            for number, call in enumerate(calls):
                found = _find(call, steps, at, ran=not results or results[-1].ok)
                result = None if found is None else steps[found].result
                if found is None or result is None:
                    return call if isinstance(turn, Call) else calls[number:]
                at = found + 1
                results.append(result)
            turn = policy.send(results[0] if isinstance(turn, Call) else results)
        return turn
    except StopIteration:
        return _DONE
    finally:
        policy.close()


def _find(call: Call, steps: list[Step], start: int, *, ran: bool) -> int | None:
    """Return the index of `call` in `steps`; messages may leave null and "" out of its arguments.

    If it `ran`, since nothing before it failed, a step in NOT_MADE is not it.
    """
    wanted = _filled(call.arguments)
    for at, step in enumerate(steps[start:], start):
        if ran and step.result is not None and step.result.code in NOT_MADE:
            continue
        if step.name == call.name and step.arguments is not None and _filled(step.arguments) == wanted:
            return at
    return None


def _filled(arguments: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if value not in (None, "")}
