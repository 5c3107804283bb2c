"""What a team remembers of its earlier steps, within a window of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class HistoryMode(StrEnum):
    """What of an earlier step goes into a prompt (Chen et al. 2024)."""

    NONE = "none"
    STATE_ACTION = "state-action"
    """State, plan and outcome: the default, the best in the paper."""
    DIALOGUE = "dialogue"
    """The discussion in full, too."""


@dataclass(frozen=True)
class PastStep:
    """One step that was taken."""

    state: str
    plan: str
    outcome: str
    dialogue: str = ""


def count_tokens(text: str) -> int:
    """Return a count of tokens for models whose tokenizer is not known: four characters a token."""
    return (len(text) + 3) // 4


@dataclass(frozen=True)
class Window:
    """Chooses what of the past fits.

    Args:
        mode: what of a step is told.
        most_tokens: tokens of the whole prompt (the paper: 3500).
        count: tokens of a text by the model's own tokenizer.
    """

    mode: HistoryMode = HistoryMode.STATE_ACTION
    most_tokens: int = 3500
    count: Callable[[str], int] = count_tokens

    def tell(self, past: Sequence[PastStep], rest: str) -> str:
        """Return the newest steps that fit into the prompt after its `rest`, oldest first; "none" without any."""
        if self.mode is HistoryMode.NONE:
            return "none"
        return self.newest([self._step(number, step) for number, step in enumerate(past, 1)], rest) or "none"

    def newest(self, texts: Sequence[str], rest: str) -> str:
        """Return the last texts that fit into the prompt after its `rest`, one per line."""
        kept: list[str] = []
        left = self.most_tokens - self.count(rest)
        for text in reversed(texts):
            left -= self.count(text)
            if left < 0:
                break
            kept.append(text)
        return "\n".join(reversed(kept))

    def _step(self, number: int, step: PastStep) -> str:
        parts = [f"Step {number}. State:", step.state] if step.state else [f"Step {number}."]
        if self.mode is HistoryMode.DIALOGUE and step.dialogue:
            parts += ["Discussion:", step.dialogue]
        parts.append(f"Plan: {step.plan}")
        if step.outcome:
            parts += ["Outcome:", step.outcome]
        return "\n".join(parts)
