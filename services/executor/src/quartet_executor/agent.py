"""One request: a person's word where the policy wants one, the program in the sandbox, a look at what it left."""

from typing import Any

from quartet_agent_runtime import CodedAgent, RequestContext, VerificationError
from quartet_contracts import MAX_PROGRAM_OUTPUT, ArmScene, ExecutorArguments, ExecutorCode, Skill
from quartet_contracts.approvals import RUN_PROGRAM
from quartet_executor.calculate import calculate
from quartet_executor.functions import ArmFunctions
from quartet_executor.look import look
from quartet_executor.wording import in_terms_of_functions
from quartet_sandbox import Limits, SandboxUnavailableError, require_confinement, run_program

LIMITS = Limits(output_bytes=MAX_PROGRAM_OUTPUT // 2)
"""Half, since the sentence on a limit comes on top, and a character may be of several bytes or be replaced."""


async def perform(check: RequestContext) -> dict[str, Any]:
    """Run the program of a request, or only look where there is none; return the fields of its result.

    Raises:
        VerificationError: what a motion did is not known, or the state cannot be read.
    """
    try:
        return await _perform(check)
    except VerificationError as error:
        # Its text goes back to the team, too.
        raise VerificationError(in_terms_of_functions(str(error)), uncertain=error.uncertain) from error


async def _perform(check: RequestContext) -> dict[str, Any]:
    arguments = check.request.arguments
    assert isinstance(arguments, ExecutorArguments)
    try:
        await require_confinement()
    except SandboxUnavailableError as error:
        return _ended(ExecutorCode.NO_CONFINEMENT, f"no program is run: {error}", arguments.before)
    if not arguments.code.strip():
        scene = await look(check, arguments.before)
        return _ended(ExecutorCode.NONE, f"{len(scene.objects)} objects are in view", scene)
    if refusal := await _refusal(check, arguments.code):
        return _ended(ExecutorCode.PROGRAM_REFUSED, refusal, arguments.before)
    functions = ArmFunctions(check, arguments.before)
    result = await run_program(arguments.code, functions.by_name, LIMITS)
    output = result.output[:MAX_PROGRAM_OUTPUT]
    if result.exit_code:
        wrong = output.strip().rpartition("\n")[2] or f"exit code {result.exit_code}"
        return _ended(ExecutorCode.PROGRAM_FAILED, wrong[:1000], functions.scene, output=output)
    scene = await look(check, functions.scene)
    count = len(result.calls)
    done = f"the program ended after {count} call{'s' * (count != 1)}"
    return _ended(ExecutorCode.NONE, done, scene, output=output, completed=functions.completed)


async def _refusal(check: RequestContext, code: str) -> str:
    """Return why a program is not run, '' for one that is: the policy's rule, and a person's word where it asks."""
    if check.programs == "auto":
        return ""
    if check.programs == "deny":
        return "the policy of this site (programs: deny) lets no program run"
    if check.approver is None:
        return "the policy of this site asks a person about each program (programs: ask), and nobody can be asked"
    because = "the policy of this site asks about each program (programs: ask)"
    decision = await check.approver.ask(RUN_PROGRAM, {"code": code}, because, check.request.deadline)
    if decision is None or not decision.allowed:
        return decision.reason if decision else "nobody answered in time"
    return ""


def _ended(
    code: ExecutorCode, reason: str, scene: ArmScene | None, *, output: str = "", completed: bool = False
) -> dict[str, Any]:
    return {
        "success": code is ExecutorCode.NONE,
        "error_code": code,
        "reason": reason,
        "output": output,
        "completed": completed,
        "scene": scene,
    }


def definition() -> CodedAgent:
    """Return the executor, ready to be served."""
    return CodedAgent(Skill.EXECUTOR, perform, calculate)
