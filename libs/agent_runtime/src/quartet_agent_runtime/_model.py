"""The model as the loop sees it: anything that answers a conversation."""

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class ToolCall:
    """A tool call as the model wrote it; `arguments` has not been checked."""

    id: str
    name: str
    arguments: Any
    fault: str = ""
    """Why the call must not be made, from the way in which the answer came; "" for a sound one."""
    repaired: str = ""
    """What was repaired in it, in words for the model."""


@dataclass(frozen=True)
class ModelAnswer:
    """One message of a model: text, tool calls or a refusal, and what it cost."""

    text: str = ""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    refusal: str | None = None
    model: str = ""
    """Provider and model that answered, such as "anthropic/claude-sonnet-4-5"."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    takes_images: bool = False
    """Whether this model reads images, so that the next request may have some."""
    reasoning: dict[str, Any] = field(default_factory=dict[str, Any])
    """What this model wants back with this answer in the next request (thinking, signatures), as the gateway gave it.

    The loop passes it on unread; the gateway sends it to the model that made it and to no other.
    """


class Model(Protocol):
    """Anything that answers a conversation."""

    async def answer(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], timeout_s: float
    ) -> ModelAnswer:
        """Return the next message of the model; `messages` and `tools` are in OpenAI's chat format.

        Raises:
            ModelUnavailableError: No answer came within `timeout_s`, or none that can be used.
        """
        ...
