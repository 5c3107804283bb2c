"""What the participants of a team have said to each other, and the programs in it."""

import re
from dataclasses import dataclass, field

from quartet_teams._history import count_tokens

MOST_TOKENS = 60_000
"""Tokens of the conversation in one prompt; older messages are left out. The paper states no limit."""
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


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
