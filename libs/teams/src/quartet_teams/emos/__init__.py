"""EMOS: a leader shares a task out among unlike robots, each checks its own subtask, and all act at the same time.

agreement = await agree(problem, method_of("emos"), discussion, run_program)
ending = await act(problem, agreement, stage, discussion)                    stage: what carries the calls out

Chen et al., "EMOS: Embodiment-aware Heterogeneous Multi-robot Operating System with LLM Agents" (arXiv 2410.22662).
"""

from quartet_teams.emos._act import (
    MOST_TURNS,
    ROBOT_FUNCTIONS,
    Call,
    CallError,
    Ending,
    Outcome,
    Stage,
    act,
    parse_call,
)
from quartet_teams.emos._agree import LEADER, MOST_REASSIGNMENTS, Agreement, agree
from quartet_teams.emos._problem import METHODS, Assignment, Method, Problem, Profile, method_of
from quartet_teams.emos._replies import NOTHING, parse_assignment, parse_verdict
from quartet_teams.emos._work import MOST_REPLANS, Result, work

__all__ = [
    "LEADER",
    "METHODS",
    "MOST_REASSIGNMENTS",
    "MOST_REPLANS",
    "MOST_TURNS",
    "NOTHING",
    "ROBOT_FUNCTIONS",
    "Agreement",
    "Assignment",
    "Call",
    "CallError",
    "Ending",
    "Method",
    "Outcome",
    "Problem",
    "Profile",
    "Result",
    "Stage",
    "act",
    "agree",
    "method_of",
    "parse_assignment",
    "parse_call",
    "parse_verdict",
    "work",
]
