"""An OpenAI-compatible endpoint whose answers come from a reference policy per agent, in place of an LLM.

It sees only what a model would see: the messages and the tool schemas of one request. It keeps no state.
"""

from quartet_scripted_model.answer import AGENTS, agent_of, answer
from quartet_scripted_model.app import create_app
from quartet_scripted_model.conversation import Conversation, Step
from quartet_scripted_model.settings import Settings
from quartet_scripted_model.turn import Call, Result, Text, Turn

__all__ = [
    "AGENTS",
    "Call",
    "Conversation",
    "Result",
    "Settings",
    "Step",
    "Text",
    "Turn",
    "agent_of",
    "answer",
    "create_app",
]
