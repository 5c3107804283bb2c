"""The tool calls of one loop: checked, journaled before they are made unless they only read, counted."""

from typing import Protocol

from quartet_agent_runtime._arguments import read_arguments
from quartet_agent_runtime._conversation import truncate
from quartet_agent_runtime._meter import Meter
from quartet_agent_runtime._model import ToolCall
from quartet_agent_runtime._recorder import Recorder
from quartet_agent_runtime._tools import CallResult, Specs, ToolOutcome, Tools, ToolSpec, failure
from quartet_agent_runtime.errors import ArgumentsError
from quartet_contracts.tools.results import CommonCode

NOT_MADE = frozenset({"BROKEN_ANSWER", "UNKNOWN_TOOL", "INVALID_ARGUMENTS", "BUDGET_SPENT"})
"""Codes of calls that were refused before they were counted."""


class Calls(Protocol):
    """Makes the calls of a model."""

    async def make(self, call: ToolCall) -> CallResult:
        """Return what the call gave; never raises for what the model or a server did wrong."""
        ...


class LiveCalls:
    """Makes calls with `tools` and writes them down with `recorder`.

    Attributes:
        uncertain: A call is running now or was cut off, so what it did to the world is not known.
        overdrawn: A call was refused because the budget of tool calls was spent.
    """

    def __init__(self, tools: Tools, report: str, recorder: Recorder, meter: Meter) -> None:
        self.uncertain = False
        self.overdrawn = False
        self._tools = tools
        self._report = report
        self._recorder = recorder
        self._meter = meter
        self._specs: dict[str, ToolSpec] = {}

    async def list(self) -> Specs:
        """Return the tools that the model is shown. Raises ToolsUnavailableError."""
        self._specs = {spec.name: spec for spec in await self._tools.list()}
        return list(self._specs.values())

    async def make(self, call: ToolCall, *, journaled: bool = False) -> CallResult:
        """Check, journal and make `call`, and begin to journal its result, which is durable before another one acts.

        `journaled`: the call is in the journal already.
        """
        spec = self._specs.get(call.name)
        result = await self._recorder.record_call(
            call,
            lambda: self._checked(call),
            "unknown" if spec is None else spec.name,
            journaled=journaled,
            durable=False,
            reads=spec is not None and spec.reads,
        )
        self.uncertain |= result.outcome.void
        return result

    def recall(self, result: CallResult) -> CallResult:
        """Count a call that an earlier process made."""
        if result.outcome.error_code not in NOT_MADE:
            self._meter.count_call()
        self.uncertain |= result.outcome.void
        return result

    def may_have_moved(self, call: ToolCall, outcome: ToolOutcome) -> bool:
        """Return whether `call` may have moved the robot."""
        spec = self._specs.get(call.name)
        return spec is not None and not spec.reads and outcome.error_code not in NOT_MADE

    async def _checked(self, call: ToolCall) -> ToolOutcome:
        """Return what the tool gave, or why the call was not made."""
        if call.fault:
            return failure("BROKEN_ANSWER", f"the call was not made: {call.fault}. Call one tool alone, in few words")
        spec = self._specs.get(call.name)
        if spec is None:
            valid = ", ".join([*self._specs, self._report])
            return failure("UNKNOWN_TOOL", f"there is no tool '{truncate(call.name, 100)}'; valid tools: {valid}")
        try:
            arguments = read_arguments(call.arguments, spec.schema)
        except ArgumentsError as error:
            return failure("INVALID_ARGUMENTS", str(error))
        if self._meter.calls_left <= 0:
            self.overdrawn = True
            used = self._meter.budget.tool_calls
            return failure("BUDGET_SPENT", f"all {used} tool calls are used; end with {self._report} now")
        self._meter.count_call()
        self.uncertain = True
        outcome = await self._tools.call(
            call.name, arguments, lambda fraction, message: self._recorder.progress(call, fraction, message)
        )
        self.uncertain = outcome.interrupted or (outcome.error_code == CommonCode.TIMEOUT and not spec.reads)
        return outcome
