"""Strategies by which several LLM agents agree on a plan for the next step of several robots.

team = make_team("hmas2")
discussion = Discussion(model)                         model(participant, prompt) -> Answer
plan = await team.decide(world, Prompts(world, past, Window()), discussion)
"""

from quartet_teams._answers import Plan, parse_plan
from quartet_teams._chat import Chat, code_blocks, converse
from quartet_teams._checks import STAGES, Checker, Complaint, Stage, check_in_order
from quartet_teams._discussion import MOST_REPROMPTS, Answer, Discussion, Model, Refusal, Scene, Turn
from quartet_teams._history import HistoryMode, PastStep, Window, count_tokens
from quartet_teams._prompts import Prompts
from quartet_teams._strategies import FEEDBACK_ROUNDS, MOST_ROUNDS, PLANNER, TEAMS, Team, make_team
from quartet_teams.errors import (
    AnswerError,
    ContradictoryPlanError,
    MalformedPlanError,
    NoAgreementError,
    NoPlanError,
    NoPlanFoundError,
    ReplyError,
    SilentError,
    TeamError,
    UnknownModeError,
    UnknownTeamError,
)

__all__ = [
    "FEEDBACK_ROUNDS",
    "MOST_REPROMPTS",
    "MOST_ROUNDS",
    "PLANNER",
    "STAGES",
    "TEAMS",
    "Answer",
    "AnswerError",
    "Chat",
    "Checker",
    "Complaint",
    "ContradictoryPlanError",
    "Discussion",
    "HistoryMode",
    "MalformedPlanError",
    "Model",
    "NoAgreementError",
    "NoPlanError",
    "NoPlanFoundError",
    "PastStep",
    "Plan",
    "Prompts",
    "Refusal",
    "ReplyError",
    "Scene",
    "SilentError",
    "Stage",
    "Team",
    "TeamError",
    "Turn",
    "UnknownModeError",
    "UnknownTeamError",
    "Window",
    "check_in_order",
    "code_blocks",
    "converse",
    "count_tokens",
    "make_team",
    "parse_plan",
]
