"""Programs that only calculate: a robot of a team checks its subtask with numbers. They have no function to call."""

from quartet_contracts import MAX_CALCULATED, ProgramAnswer, ProgramRequest
from quartet_sandbox import Limits, SandboxUnavailableError, run_program

LIMITS = Limits(own_s=5.0, memory_mb=256, output_bytes=MAX_CALCULATED // 2)
"""Half of the output: a sentence on a limit comes on top, and a byte that is no text becomes a character."""
SILENT = "The program printed nothing."


async def calculate(request: ProgramRequest, left_s: float) -> ProgramAnswer:
    """Return what a program prints, within the time that is left for it [s]."""
    limits = LIMITS.model_copy(update={"own_s": min(LIMITS.own_s, left_s)})
    try:
        result = await run_program(request.code, {}, limits)
    except SandboxUnavailableError as error:
        return ProgramAnswer(
            request_id=request.request_id, error_code="NO_CONFINEMENT", text=str(error)[:MAX_CALCULATED]
        )
    return ProgramAnswer(request_id=request.request_id, text=result.output[:MAX_CALCULATED] or SILENT)
