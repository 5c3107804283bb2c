"""A dialogue in which the robots speak in turn until one of them ends it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quartet_teams._discussion import Discussion, Turn
from quartet_teams.errors import NoAgreementError

EXECUTE, PROCEED = "EXECUTE", "PROCEED"
_KEYWORD = re.compile(rf"\b({EXECUTE}|{PROCEED})\b|^[^\w\n]*((?i:{EXECUTE}|{PROCEED}))\b[^\w\n]*$", re.MULTILINE)
"""The keyword in capitals, or in any case on a line of its own."""
MOST_SAID = 4000
"""Characters of one turn that the others hear."""


@dataclass(frozen=True)
class Dialogue:
    """What was said, and how it ended."""

    said: tuple[Turn, ...]
    ended: bool
    """Whether the last speaker has ended it with EXECUTE."""

    @property
    def last(self) -> Turn:
        """The last turn."""
        return self.said[-1]


async def talk(
    discussion: Discussion,
    speakers: Sequence[str],
    prompt: Callable[[str, Sequence[Turn], bool], str],
    *,
    most_calls: int,
    all_speak_first: bool = False,
) -> Dialogue:
    """Let the speakers talk in turn until one ends with EXECUTE. Raises NoAgreementError if there are no speakers.

    Args:
        discussion: asks the model.
        speakers: participants, in speaking order.
        prompt: returns the prompt of a speaker: (speaker, turns so far, whether this is call number `most_calls`).
        most_calls: calls after which no new round begins; a round that has begun is completed.
        all_speak_first: whether EXECUTE counts only once all have spoken.
    """
    if not speakers:
        raise NoAgreementError("there are no robots that could speak")
    said: list[Turn] = []
    while len(said) < most_calls:
        for speaker in speakers:
            text = prompt(speaker, said, len(said) + 1 == most_calls)
            said.append(await discussion.turn(speaker, text))
            if ends_with_execute(said[-1].answer.text) and not (all_speak_first and len(said) < len(speakers)):
                return Dialogue(tuple(said), ended=True)
    return Dialogue(tuple(said), ended=False)


def find_keywords(answer: str) -> list[tuple[str, int]]:
    """Return each EXECUTE and PROCEED of an answer, with the position behind it."""
    return [((found[1] or found[2]).upper(), found.end(1 if found[1] else 2)) for found in _KEYWORD.finditer(answer)]


def ends_with_execute(answer: str) -> bool:
    """Return whether the last keyword is EXECUTE; a robot that is not ready may say "nothing to EXECUTE yet"."""
    keywords = find_keywords(answer)
    return bool(keywords) and keywords[-1][0] == EXECUTE


def transcript(said: Sequence[Turn]) -> str:
    """Return the turns of a dialogue; each begins with its speaker, and its further lines are indented."""
    return "\n".join(f"{turn.participant}: {indented(turn.answer.text.strip()[:MOST_SAID])}" for turn in said)


def indented(text: str) -> str:
    """Return a text whose further lines are indented, so that none looks like a heading or another speaker."""
    return "\n  ".join(text.splitlines())
