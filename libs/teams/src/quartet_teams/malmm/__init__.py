"""One, two or three LLM agents that let an arm do a long task at a table by small programs: SA, MA and MALMM.

outcome = await work("malmm", arm, Discussion(model), feedback=True)     arm: what runs the programs
"""

from quartet_teams.malmm._arm import Arm, Execution, Facts
from quartet_teams.malmm._state import StateObject, state_text
from quartet_teams.malmm._strategies import (
    CODER,
    MOST_CALLS,
    MOST_ERRORS,
    MOST_PROGRAMS,
    PLANNER,
    ROUNDS,
    RUNNER,
    SINGLE,
    SUPERVISOR,
    Ending,
    Outcome,
    speaker_of,
    work,
)

__all__ = [
    "CODER",
    "MOST_CALLS",
    "MOST_ERRORS",
    "MOST_PROGRAMS",
    "PLANNER",
    "ROUNDS",
    "RUNNER",
    "SINGLE",
    "SUPERVISOR",
    "Arm",
    "Ending",
    "Execution",
    "Facts",
    "Outcome",
    "StateObject",
    "speaker_of",
    "state_text",
    "work",
]
