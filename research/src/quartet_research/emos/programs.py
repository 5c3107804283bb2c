"""Runs a robot's program in the sandbox, without functions."""

from quartet_sandbox import Limits, run_program

LIMITS = Limits(own_s=2.0, output_bytes=2_000, calls=1)
"""A check is arithmetic."""


async def run_check(program: str) -> str:
    """Return what a program prints, with the text of its error or the limit that ended it."""
    return (await run_program(program, {}, LIMITS)).output.strip() or "The program printed nothing."
