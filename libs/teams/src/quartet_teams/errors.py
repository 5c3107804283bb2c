"""Errors of a team.

TeamError
├── UnknownTeamError    there is no team of this name
├── AnswerError         an answer is no plan; the team asks again
│   ├── NoPlanFoundError      it has no JSON object
│   ├── MalformedPlanError    the object is no mapping of robots to actions
│   └── ContradictoryPlanError  one robot has two actions
├── NoPlanError         no answer was a valid plan after all re-prompts
└── NoAgreementError    nobody has ended the discussion within its rounds
"""


class TeamError(Exception):
    """Base of every error of a team."""


class UnknownTeamError(TeamError, LookupError):
    """There is no team of this name."""


class AnswerError(TeamError, ValueError):
    """An answer is no plan; the team asks again."""


class NoPlanFoundError(AnswerError):
    """The answer has no JSON object."""


class MalformedPlanError(AnswerError):
    """The object of an answer is no mapping of robots to actions."""


class ContradictoryPlanError(AnswerError):
    """One robot has two actions in an answer."""


class NoPlanError(TeamError):
    """No answer was a valid plan after all re-prompts."""


class NoAgreementError(TeamError):
    """Nobody has ended the discussion within its rounds."""
