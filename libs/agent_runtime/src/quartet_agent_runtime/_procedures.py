"""Run a procedure with the tools of a request, in place of a model."""

from typing import TypeVar

from quartet_agent_runtime._request_context import RequestContext
from quartet_agent_runtime.errors import VerificationError
from quartet_contracts import NOT_RUN
from quartet_contracts.tools.results import CommonCode
from quartet_procedures import Call, Result, Turns, moves

T = TypeVar("T")


async def run_turns(check: RequestContext, turns: Turns[T]) -> T:
    """Make the calls of `turns` and return what it returns.

    Raises GaveUpError as `turns` does, and VerificationError: no further call can succeed, or what a motion did is not
    known.
    """
    try:
        calls = next(turns)
        while True:
            calls = turns.send(await _make(check, calls))
    except StopIteration as end:
        return end.value


async def _make(check: RequestContext, calls: tuple[Call, ...]) -> list[Result]:
    results: list[Result] = []
    for call in calls:
        if results and not results[-1].ok:
            results.append(Result({"ok": False, "error_code": NOT_RUN}))
            continue
        outcome = await check.sure_outcome(call.name, **call.arguments)
        if outcome.error_code == CommonCode.TIMEOUT and moves(call.name):
            raise VerificationError(f"{call.name}: {outcome.error_code}: {outcome.message}", uncertain=True)
        results.append(Result(outcome.content))
    return results
