"""The answer to one chat request: which policy plays, and what it says next."""

from collections.abc import Callable
from typing import Any

from quartet_scripted_model._conversation import Conversation
from quartet_scripted_model._replay import next_turn
from quartet_scripted_model._turn import Policy, Text, Turn
from quartet_scripted_model.policies import approach, orchestrator, pick, place

AGENTS: dict[str, tuple[str, Callable[[Conversation], Policy]]] = {
    "orchestrator": ("report_task_result", orchestrator.policy),
    "approach": ("report_approach_result", approach.policy),
    "pick": ("report_pick_result", pick.policy),
    "place": ("report_place_result", place.policy),
}
"""The report tool by which an agent is known, and its policy."""


def agent_of(tools: list[dict[str, Any]]) -> str | None:
    """The agent whose `tools` these are; None: none that there is a policy for."""
    offered = {tool["function"]["name"] for tool in tools if "function" in tool}
    return next((agent for agent, (report, _) in AGENTS.items() if report in offered), None)


def answer(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Turn:
    """The next turn of the agent whose `tools` these are."""
    conversation, agent = Conversation.read(messages, tools), agent_of(tools)
    if agent is not None:
        _, policy = AGENTS[agent]
        return next_turn(policy(conversation), conversation.steps)
    reports = ", ".join(report for report, _ in AGENTS.values())
    return Text(
        "I am Quartet's scripted model, not an LLM: I can only play the orchestrator, approach, pick and place "
        f"agents, and none of their report tools is on offer ({reports})."
    )
