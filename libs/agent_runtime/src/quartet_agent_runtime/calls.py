"""The tool calls of one loop: checked, journaled before they are made unless they only read, counted."""

import contextlib
from dataclasses import replace
from typing import Any, Protocol

from quartet_agent_runtime._arguments import read_arguments, repair_arguments
from quartet_agent_runtime._conversation import truncate
from quartet_agent_runtime._meter import Meter
from quartet_agent_runtime._model import ModelAnswer, ToolCall
from quartet_agent_runtime._recorder import Recorder
from quartet_agent_runtime._repairs import Repair, is_written_call, note_repairs, resolve_name
from quartet_agent_runtime._tools import CallResult, Specs, ToolOutcome, Tools, ToolSpec, failure
from quartet_agent_runtime.errors import ArgumentsError
from quartet_contracts.tools.results import CommonCode

MAX_CALLS = 32
"""Maximum number of calls in one answer; a model that repeats itself writes thousands."""
NOT_MADE = frozenset({"BROKEN_ANSWER", "UNKNOWN_TOOL", "INVALID_ARGUMENTS", "BUDGET_SPENT"})
"""Codes of calls that were refused before they were counted."""


def repair_calls(answer: ModelAnswer, offered: Specs, agent: str) -> ModelAnswer:
    """Return `answer` with the repairs for which the `offered` tools leave exactly one meaning.

    A loop repairs an answer when it arrives: its journal entry, its replay and the history have the repaired calls.
    Of an answer with more than MAX_CALLS calls, the first remains, with the reason why it must not be made.
    """
    if (count := len(answer.calls)) > MAX_CALLS:
        fault = f"the answer has {count} calls, of which none was made; at most {MAX_CALLS} are accepted in one answer"
        answer = replace(answer, calls=[replace(answer.calls[0], fault=fault)])
    schemas = {spec.name: spec.schema for spec in offered}
    return replace(answer, calls=[_repair_call(call, schemas, agent) for call in answer.calls])


def _repair_call(call: ToolCall, schemas: dict[str, dict[str, Any]], agent: str) -> ToolCall:
    name = resolve_name(call.name, schemas)
    if call.fault or name is None:
        return call
    repairs: list[Repair] = [] if name == call.name else [("name", f"the tool's name is {name}")]
    arguments = call.arguments
    # The reader of the call rejects it with the same error.
    with contextlib.suppress(ArgumentsError):
        repaired, more = repair_arguments(arguments, schemas[name])
        arguments, repairs = repaired if more else arguments, [*repairs, *more]
    return replace(call, name=name, arguments=arguments, repaired=note_repairs(agent, repairs))


def describe_no_call(text: str, offered: Specs) -> str:
    """Return why an answer without a tool call ends a loop."""
    shown = repr(truncate(text, 500))
    if not is_written_call(text, [spec.name for spec in offered]):
        return f"the model answered without a tool call: {shown}"
    return (
        "the model wrote its tool call as text, which its server did not parse: start vLLM with "
        "--enable-auto-tool-choice and --tool-call-parser, llama.cpp with --jinja, or take a model that supports tool "
        f"calls; quartet doctor --models checks it. The model answered: {shown}"
    )


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
        shown: JSON Schema of the arguments that the model is shown, by tool; errors list what it allows.
    """

    def __init__(self, tools: Tools, report: str, recorder: Recorder, meter: Meter) -> None:
        self.uncertain = False
        self.overdrawn = False
        self.shown: dict[str, dict[str, Any]] = {}
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
            lambda: self._noted(call),
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

    async def _noted(self, call: ToolCall) -> ToolOutcome:
        """Make `call` and mention its repairs in the outcome, so that the model writes the next one right."""
        outcome = await self._checked(call)
        return replace(outcome, content={**outcome.content, "repaired": call.repaired}) if call.repaired else outcome

    async def _checked(self, call: ToolCall) -> ToolOutcome:
        """Return what the tool gave, or why the call was not made."""
        if call.fault:
            return failure("BROKEN_ANSWER", f"the call was not made: {call.fault}\nCall one tool alone, in few words")
        spec = self._specs.get(call.name)
        if spec is None:
            valid = ", ".join([*self._specs, self._report])
            return failure("UNKNOWN_TOOL", f"there is no tool '{truncate(call.name, 100)}'\nValid tools: {valid}")
        try:
            arguments = read_arguments(call.arguments, spec.schema, self.shown.get(spec.name))
        except ArgumentsError as error:
            return failure("INVALID_ARGUMENTS", str(error))
        if self._meter.calls_left <= 0:
            self.overdrawn = True
            used = self._meter.budget.tool_calls
            return failure("BUDGET_SPENT", f"all {used} tool calls are used\nEnd with {self._report} now")
        self._meter.count_call()
        before, self.uncertain = self.uncertain, True
        outcome = await self._tools.call(
            call.name, arguments, lambda fraction, message: self._recorder.progress(call, fraction, message)
        )
        # A read does not settle what a motion before it did.
        unknown = before if spec.reads else outcome.error_code == CommonCode.TIMEOUT
        self.uncertain = outcome.interrupted or unknown or outcome.error_code == CommonCode.BRIDGE_UNAVAILABLE
        return outcome
