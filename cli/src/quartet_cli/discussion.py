"""The discussion of a team and its programs, as Markdown for the report of a run."""

from collections.abc import Sequence

from quartet_contracts import JournalEvent, Skill
from quartet_contracts.journal import (
    RobotLeft,
    SkillFinished,
    SkillRequested,
    TeamErrands,
    TeamProgram,
    TeamStep,
    TeamStepEnded,
    TeamSubtasks,
    TeamTurn,
)
from quartet_contracts.story import Line, Narrator


def discussion(events: Sequence[JournalEvent]) -> list[str]:
    """Return the lines of Markdown for what a team said and what its programs printed, in full; [] without a team.

    Texts of models are indented as code, so that nothing in them is read as markup.
    """
    if not any(isinstance(event.event, TeamTurn) for event in events):
        return []
    found = ["## Discussion", ""]
    narrator = Narrator()
    for event in events:
        lines = narrator.tell(event).lines
        match event.event:
            case TeamTurn(participant=participant, text=text):
                found += _entry(event, events[0], participant, "", text)
            case TeamProgram(participant=participant, text=text):
                found += _entry(event, events[0], participant, "its program ended:", text)
            case (
                TeamErrands()
                | TeamSubtasks()
                | TeamStep()
                | TeamStepEnded()
                | RobotLeft()
                | SkillRequested(skill=Skill.EXECUTOR)
                | SkillFinished(skill=Skill.EXECUTOR)
            ):
                for line in lines:
                    found += _entry(event, events[0], line.actor, _words(line), line.body)
            case _:
                pass
    return found


def _words(line: Line) -> str:
    return "".join(span.text for span in line.spans)


def _entry(event: JournalEvent, first: JournalEvent, who: str, words: str, body: str) -> list[str]:
    head = f"**{who}**, {event.at - first.at:.1f} s"
    texts = [words, body] if words and body else [words or body]
    return [head, "", *(f"    {line}" for text in texts for line in text.splitlines()), ""]
