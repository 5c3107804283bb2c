"""Errors of a team.

TeamError
├── UnknownTeamError    there is no team of this name
├── UnknownModeError    unknown mode
├── AnswerError         an answer is no plan; the team asks again
│   ├── NoPlanFoundError      it has no JSON object
│   ├── MalformedPlanError    the object is no mapping of robots to actions
│   ├── ContradictoryPlanError  one robot has two actions
│   └── ReplyError            it lacks EXECUTE, or a line is not an action of a robot
├── NoPlanError         no answer was a valid plan after all re-prompts
├── NoAgreementError    no robot ended the discussion within its rounds
└── SilentError         a participant does not answer
"""

MOST_QUOTED = 200
"""Characters of an answer that an error quotes."""


class TeamError(Exception):
    """Base of every error of a team."""


class UnknownTeamError(TeamError, LookupError):
    """There is no team of this name."""


class UnknownModeError(TeamError, ValueError):
    """The mode is unknown."""


class AnswerError(TeamError, ValueError):
    """An answer is no plan; the team asks again."""


class NoPlanFoundError(AnswerError):
    """The answer has no JSON object."""


class MalformedPlanError(AnswerError):
    """The object of an answer is no mapping of robots to actions."""


class ContradictoryPlanError(AnswerError):
    """One robot has two actions in an answer."""


class ReplyError(AnswerError):
    """A reply lacks EXECUTE, or a line is not an action of a robot.

    Args:
        quote: the words that are wrong; the message has the beginning of a long quote.
        reason: what is wrong.
        remedy: what to write instead.
    """

    def __init__(self, quote: str, reason: str, remedy: str) -> None:
        short = quote if len(quote) <= MOST_QUOTED else f"{quote[:MOST_QUOTED]}…"
        super().__init__(f"{short!r}: {reason} {remedy}")
        self.quote = short
        self.reason = reason
        self.remedy = remedy


class NoPlanError(TeamError):
    """No answer was a valid plan after all re-prompts."""


class NoAgreementError(TeamError):
    """No robot ended the discussion within its rounds."""


class SilentError(TeamError):
    """A participant does not answer. A model raises it; the team goes on without the answer where it can."""
