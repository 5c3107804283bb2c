"""The answer to one chat request: which policy plays, and what it says next."""

from collections.abc import Callable
from typing import Any

from quartet_scripted_model._conversation import Conversation
from quartet_scripted_model._replay import next_turn
from quartet_scripted_model._turn import Policy, Text, Turn
from quartet_scripted_model.policies import approach, orchestrator, pick, place

POLICIES: dict[str, Callable[[Conversation], Policy]] = {
    "report_task_result": orchestrator.policy,
    "report_approach_result": approach.policy,
    "report_pick_result": pick.policy,
    "report_place_result": place.policy,
}
"""The policy by the report tool that is on offer."""


def answer(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Turn:
    """The next turn of the agent whose `tools` these are."""
    conversation = Conversation.read(messages, tools)
    for report, policy in POLICIES.items():
        if report in conversation.tools:
            return next_turn(policy(conversation), conversation.steps)
    return Text(
        "I am Quartet's scripted model, not an LLM: I can only play the orchestrator, approach, pick and place "
        f"agents, and none of their report tools is on offer ({', '.join(POLICIES)})."
    )
