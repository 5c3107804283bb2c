"""The agent loop: ask the model, make the tool calls that it wants, until it reports."""

import asyncio
from collections.abc import Sequence

from pydantic import BaseModel

from quartet_agent_runtime import _metrics as metrics
from quartet_agent_runtime._conversation import Conversation, truncate
from quartet_agent_runtime._meter import Meter
from quartet_agent_runtime._model import Model, ModelAnswer, ToolCall
from quartet_agent_runtime._recorder import Recorder
from quartet_agent_runtime._repetition import Repetition
from quartet_agent_runtime._replay import RecordedTurn, ReplayedCalls
from quartet_agent_runtime._report import Cause, Ending, ReportReader, ReportTool
from quartet_agent_runtime._tools import ToolOutcome, Tools
from quartet_agent_runtime.calls import Calls, LiveCalls
from quartet_agent_runtime.errors import ModelUnavailableError, ToolsUnavailableError
from quartet_contracts import Budget, Usage


class Loop:
    """One run of a model with its tools.

    Limits: the meter's budget and deadline; one reminder for an answer without a tool call; three malformed reports;
    the third equal call with an equal result is told to the model, the fourth ends the loop. Whatever the model does
    wrong goes back to it as a tool error; `run` raises only for a failing journal and for cancellation.
    """

    def __init__(
        self,
        *,
        model: Model,
        tools: Tools,
        report: ReportTool,
        recorder: Recorder,
        budget: Budget,
        deadline: float,
        model_timeout_s: float = 120.0,
    ) -> None:
        self._model, self._model_timeout_s = model, model_timeout_s
        self._report, self._reader = report, ReportReader(report)
        self._recorder = recorder
        self._meter = Meter(budget, deadline)
        self._live = LiveCalls(tools, report.name, recorder, self._meter)
        self._repetition = Repetition()
        self._reminded = False

    @property
    def usage(self) -> Usage:
        """What was used so far; also valid while the loop runs and after a cancellation."""
        return self._meter.usage

    @property
    def uncertain(self) -> bool:
        """Whether a call is running now, or the last one was cut off."""
        return self._live.uncertain

    async def run(self, system: str, user: str, recorded: Sequence[RecordedTurn] = ()) -> Ending:
        """Run until the model reports or a limit is reached; first replay the turns that another process recorded."""
        talk = Conversation(system, user)
        clock = asyncio.timeout(self._meter.remaining_s)
        try:
            async with clock:
                ending = await self._turns(talk, recorded)
        except TimeoutError:
            if not clock.expired():
                raise
            ending = self._end(Cause.TIME, self._meter.out_of_time())
        await self._recorder.transcript(talk.transcript(), ending.usage, ending.reason or ending.cause)
        metrics.LOOPS.labels(self._recorder.actor, ending.cause).inc()
        return ending

    async def _turns(self, talk: Conversation, recorded: Sequence[RecordedTurn]) -> Ending:
        try:
            offered = [spec.as_openai() for spec in [*await self._live.list(), self._report.spec]]
        except ToolsUnavailableError as error:
            return self._end(Cause.TOOLS_UNAVAILABLE, str(error))
        for turn in recorded:
            self._meter.count_since(recorded[0].at)
            self._meter.count_turn(turn.answer)
            talk.add_answer(turn.answer)
            if ending := await self._act(talk, turn.answer, ReplayedCalls(turn, self._live)):
                return ending
        while True:
            if limit := self._meter.exhausted():
                return self._end(Cause.BUDGET, limit)
            timeout_s = min(self._model_timeout_s, self._meter.remaining_s)
            try:
                answer = await self._model.answer(talk.messages(), offered, timeout_s)
            except ModelUnavailableError as error:
                return self._end(Cause.MODEL_UNAVAILABLE, str(error))
            used = self._meter.count_turn(answer)
            talk.add_answer(answer)
            await self._recorder.turn(self.usage.turns, answer, used)
            await self._recorder.transcript(talk.transcript(), self.usage)
            if ending := await self._act(talk, answer, self._live):
                return ending
            await self._recorder.transcript(talk.transcript(), self.usage)

    async def _act(self, talk: Conversation, answer: ModelAnswer, calls: Calls) -> Ending | None:
        """Do what the model wants; return an Ending when the loop is over."""
        if answer.refusal:
            return self._end(Cause.REFUSED, f"the model refused: {truncate(answer.refusal, 500)}")
        if not answer.calls and self._reminded:
            text = truncate(answer.text, 500)
            return self._end(Cause.NO_TOOL_CALL, f"the model answered without a tool call: {text!r}")
        if not answer.calls:
            self._reminded = True
            talk.add_reminder(self._report.name)
            return None
        last_turn = self._live.overdrawn
        for call in answer.calls:
            outcome = await self._handle(talk, call, calls, alone=len(answer.calls) == 1)
            if isinstance(outcome, Ending):
                return outcome
            talk.add_result(call, outcome)
        talk.end_turn()
        return self._end(Cause.BUDGET, self._meter.out_of_calls()) if last_turn else None

    async def _handle(self, talk: Conversation, call: ToolCall, calls: Calls, *, alone: bool) -> ToolOutcome | Ending:
        """Return what the model reads of a call; an Ending when the loop is over."""
        if self._repetition.is_forbidden(call):
            return self._end(Cause.REPETITION, self._repetition.reason(call))
        if call.name == self._report.name and not call.fault:
            outcome = self._reader.read(call, alone=alone)
            if isinstance(outcome, BaseModel):
                return self._end(Cause.REPORTED, "", outcome)
            if self._reader.gives_up:
                return self._end(Cause.BAD_REPORT, self._reader.reason)
        else:
            result = await calls.make(call)
            outcome = result.outcome
            if outcome.void:
                cause = Cause.TOOLS_UNAVAILABLE if outcome.gone else Cause.FENCED
                return self._end(cause, f"{call.name}: {outcome.message}")
            talk.keep_images(call, result)
        if not self._repetition.seen(call, outcome):
            return outcome
        await self._recorder.note(self._repetition.note(call))
        return self._repetition.warning(outcome, self._report.name)

    def _end(self, cause: Cause, reason: str, report: BaseModel | None = None) -> Ending:
        return Ending(cause, reason, self.usage, report, self._live.uncertain)
