"""Choices of a question: how they are numbered, and which one an answer names."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

MAX_CHOICES = 6
Choices = Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=MAX_CHOICES)]


def number_choices(choices: Sequence[str]) -> str:
    """Return the choices in one line with their numbers, '' without any."""
    return "  ".join(f"{number}) {choice}" for number, choice in enumerate(choices, 1))


def chosen(answer: str, choices: Sequence[str]) -> str:
    """Return the choice that `answer` is the text or the number of; any other answer as it is."""
    said = answer.strip()
    for choice in choices:
        if choice.casefold() == said.casefold():
            return choice
    if said.isdecimal() and 1 <= int(said[:9]) <= len(choices):
        return choices[int(said[:9]) - 1]
    return answer
