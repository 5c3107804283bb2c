"""Reference speakers: roles of a team played by rules, through the same prompts as a language model.

They prove the harness and compare teams under equal faults. Their figures say nothing about a language model.
"""

import re
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import numpy as np

from quartet_benchmarks.prices import SPEAKERS
from quartet_teams import Answer

RatesT = TypeVar("RatesT")
_SECTION = re.compile(r"^# (.+)\n((?:(?!# ).*\n?)*)", re.MULTILINE)


def speakers_name(rate: float) -> str:
    """Return the name of reference speakers of this fault rate, as a model is named."""
    return f"{SPEAKERS}/{rate:g}"


def parts_of(prompt: str) -> dict[str, str]:
    """Return the parts of a prompt by their headings."""
    return {heading: body.strip() for heading, body in _SECTION.findall(prompt)}


class RuleSpeakers(ABC, Generic[RatesT]):
    """Answers the prompts of all participants. What it knows is what the prompt tells.

    Args:
        rates: of the faults, from 0 to 1: one for all, or a class with one for each.
        seed: of the faults that are drawn.
    """

    def __init__(self, rates: RatesT, seed: int) -> None:
        self._rates = rates
        self._rng = np.random.default_rng(seed)

    async def __call__(self, participant: str, prompt: str) -> Answer:
        """Return the answer of a participant; four characters are a token."""
        text = self._answer(participant, parts_of(prompt))
        return Answer(text, tokens_in=len(prompt) // 4, tokens_out=len(text) // 4)

    @abstractmethod
    def _answer(self, participant: str, parts: dict[str, str]) -> str:
        """Return what a participant says to a prompt with these parts, by their headings."""

    def _chance(self, rate: float) -> bool:
        return rate > 0 and float(self._rng.random()) < rate
