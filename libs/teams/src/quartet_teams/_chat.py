"""Conversation of a participant or a team, and the programs in it."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from quartet_teams._discussion import Discussion
from quartet_teams._history import count_tokens

MOST_TOKENS = 60_000
"""Tokens of the conversation in one prompt; older messages are left out. The MALMM paper states no limit."""
MOST_PROGRAMS = 5
"""Programs that a participant may run before one reply."""
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
RunProgram = Callable[[str], Awaitable[str]]
"""Runs a program and returns its output, or why it failed."""


@dataclass
class Chat:
    """The conversation, oldest first."""

    most_tokens: int = MOST_TOKENS
    messages: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def say(self, speaker: str, text: str) -> None:
        """Add what a participant said."""
        self.messages.append((speaker, text.strip()))

    def tell(self) -> str:
        """Return the newest messages that fit into the window; a sentence where nothing was said."""
        told: list[str] = []
        left = self.most_tokens
        for speaker, text in reversed(self.messages):
            message = f"[{speaker}]\n{text}"
            left -= count_tokens(message)
            if left < 0 and told:
                break
            told.append(message)
        return "\n\n".join(reversed(told)) or "Nothing was said yet."


def code_blocks(answer: str) -> list[str]:
    """Return the programs of an answer: what stands between ```python and ```."""
    return [block for block in _BLOCK.findall(answer) if block.strip()]


async def converse(
    discussion: Discussion, participant: str, chat: Chat, prompt: Callable[[], str], run: RunProgram | None
) -> str:
    """Return the first reply of a participant without a program; run the programs of the others.

    All replies and outputs go into the chat. After `MOST_PROGRAMS` programs, the next reply counts as it is.

    Args:
        discussion: asks the model.
        participant: who is asked.
        chat: its conversation.
        prompt: returns the prompt with the chat at that moment.
        run: runs a program; None: programs are not run, and the first reply counts.

    Raises:
        SilentError: the participant does not answer.
    """
    left = MOST_PROGRAMS if run else 0
    while True:
        text = await discussion.ask(participant, prompt())
        chat.say(participant, text)
        programs = code_blocks(text)
        if not programs or run is None or not left:
            return text
        outputs = [await run(program) for program in programs[:left]]
        left -= len(outputs)
        limit = "" if left else "\nThis was your last program; reply without one."
        chat.say("output of your program", "\n".join(outputs) + limit)
