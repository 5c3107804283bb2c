"""Approach, pick and place as procedures: text for prompts (prompt_parts), and code that makes the same tool calls.

A procedure is a generator. It yields the calls of one turn and is sent their results, and it returns the fields of the
report. It sees only what a model sees: the request, the Facts of the prompt, and results. The skill architecture and
the scripted model run the same procedure.
"""

from quartet_procedures._arm import Arm, Pose
from quartet_procedures._text import prompt_parts
from quartet_procedures._turns import Call, Procedure, Result, Turns, carry_out, moves, why
from quartet_procedures.approach import approach
from quartet_procedures.errors import GaveUpError
from quartet_procedures.pick import pick
from quartet_procedures.place import place

__all__ = [
    "Arm",
    "Call",
    "GaveUpError",
    "Pose",
    "Procedure",
    "Result",
    "Turns",
    "approach",
    "carry_out",
    "moves",
    "pick",
    "place",
    "prompt_parts",
    "why",
]
