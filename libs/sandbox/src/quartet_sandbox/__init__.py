"""Runs a program that a model wrote, where it can reach nothing but the functions that it is given.

async def move(x: float, y: float) -> str: ...
result = await run_program("move(0.1, 0.2)", {"move": move})
"""

from quartet_sandbox._program import Ending, Function, Limits, ProgramResult, require_confinement, run_program
from quartet_sandbox.errors import FunctionError, SandboxError, SandboxUnavailableError

__all__ = [
    "Ending",
    "Function",
    "FunctionError",
    "Limits",
    "ProgramResult",
    "SandboxError",
    "SandboxUnavailableError",
    "require_confinement",
    "run_program",
]
