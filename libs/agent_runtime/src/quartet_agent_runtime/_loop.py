"""The agent loop: ask the model, make the tool calls that it wants, until it reports."""

import asyncio
from collections.abc import Sequence
from typing import NoReturn

from quartet_agent_runtime import _metrics as metrics
from quartet_agent_runtime._conversation import Conversation, truncate
from quartet_agent_runtime._meter import Meter
from quartet_agent_runtime._model import Model, ModelAnswer, ToolCall
from quartet_agent_runtime._recorder import Recorder
from quartet_agent_runtime._repetition import Repetition
from quartet_agent_runtime._replay import RecordedTurn, ReplayedCalls
from quartet_agent_runtime._report import Cause, Ended, Ending, ReportReader, ReportTool
from quartet_agent_runtime._shown_tool import shown_tool
from quartet_agent_runtime._tools import Specs, ToolOutcome, Tools, failure
from quartet_agent_runtime._work_clock import WorkClock
from quartet_agent_runtime.calls import Calls, LiveCalls, describe_no_call, repair_calls
from quartet_agent_runtime.errors import ModelUnavailableError, ToolsUnavailableError
from quartet_contracts import NOT_RUN, Budget, Usage


class Loop:
    """One run of a model with its tools.

    The calls of one turn run in order. After the first that fails, the rest are answered with NOT_RUN.
    `clock` limits the wall time together with the budget; None: its caller limits it, and the budget's is not used.
    Limits: the meter's budget and clock; one reminder for an answer without a tool call; three malformed reports;
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
        clock: WorkClock | None,
        model_timeout_s: float = 120.0,
    ) -> None:
        self._model, self._model_timeout_s = model, model_timeout_s
        self._report, self._reader = report, ReportReader(report)
        self._recorder = recorder
        self._meter = Meter(budget, clock)
        self._clock = clock
        self._live = LiveCalls(tools, report.name, recorder, self._meter)
        self._repetition = Repetition()
        self._offered: Specs = []

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
        try:
            return await self._run(system, user, recorded)
        except BaseException:
            await self._recorder.leave()
            raise

    async def _run(self, system: str, user: str, recorded: Sequence[RecordedTurn]) -> Ending:
        talk = Conversation(system, user)
        limit = asyncio.timeout(None if self._meter.unlimited else self._meter.remaining_s)
        if self._clock is not None:
            self._clock.changed = lambda: self._move(limit)
        try:
            async with limit:
                await self._turns(talk, system, recorded)
        except Ended as ended:
            end = ended
        except ToolsUnavailableError as error:
            end = Ended(Cause.TOOLS_UNAVAILABLE, str(error))
        except ModelUnavailableError as error:
            end = Ended(Cause.MODEL_UNAVAILABLE, str(error))
        except TimeoutError:
            if not limit.expired():
                raise
            end = Ended(Cause.TIME, self._meter.out_of_time())
        finally:
            if self._clock is not None:
                # The agent's code may wait for a person after the loop.
                self._clock.changed = lambda: None
        await self._recorder.write_held()
        await self._recorder.written()
        ending = Ending(end.cause, end.reason, self.usage, end.report, self.uncertain)
        await self._recorder.end_transcript(talk.transcript(), ending.usage, ending.reason or ending.cause)
        metrics.LOOPS.labels(self._recorder.actor, ending.cause).inc()
        return ending

    def _move(self, limit: asyncio.Timeout) -> None:
        """Suspend the limit while a person is waited for, and let it end later by what was waited."""
        waits = self._clock is not None and self._clock.waits
        if not limit.expired():
            limit.reschedule(None if waits else asyncio.get_running_loop().time() + self._meter.remaining_s)

    async def _turns(self, talk: Conversation, system: str, recorded: Sequence[RecordedTurn]) -> NoReturn:
        """Take turns until one of them raises Ended, ToolsUnavailableError or ModelUnavailableError."""
        self._offered = [*await self._live.list(), self._report.spec]
        shown = [shown_tool(spec, system) for spec in self._offered]
        self._live.shown = {tool["function"]["name"]: tool["function"]["parameters"] for tool in shown}
        self._reader.shown = self._live.shown[self._report.name]
        for turn in recorded:
            self._meter.count_since(recorded[0].at)
            self._meter.count_turn(turn.answer)
            talk.add_answer(turn.answer)
            is_last = turn is recorded[-1]
            await self._act(talk, turn.answer, ReplayedCalls(turn, self._live), went_on=not is_last)
        while True:
            if limit := self._meter.exhausted():
                raise Ended(Cause.BUDGET, limit)
            timeout_s = min(self._model_timeout_s, self._meter.remaining_s)
            answer = await self._model.answer(talk.messages(), shown, timeout_s)
            answer = repair_calls(answer, self._offered, self._recorder.actor)
            used = self._meter.count_turn(answer)
            talk.add_answer(answer)
            self._recorder.hold_turn(self.usage.turns, answer, used)
            self._recorder.keep_transcript(talk.transcript(), self.usage)
            await self._act(talk, answer, self._live)
            await self._recorder.write_held()
            self._recorder.keep_transcript(talk.transcript(), self.usage)

    async def _act(self, talk: Conversation, answer: ModelAnswer, calls: Calls, *, went_on: bool = False) -> None:
        """Do what the model wants; `went_on`: the journal has a turn after this one. Raises Ended."""
        if answer.refusal:
            raise Ended(Cause.REFUSED, f"the model refused: {truncate(answer.refusal, 500)}")
        if not answer.calls and not talk.remind(self._report.name):
            raise Ended(Cause.NO_TOOL_CALL, describe_no_call(answer.text, self._offered))
        last_turn = self._live.overdrawn and len(answer.calls) > 0
        failed = ""
        for call in answer.calls:
            if failed:
                talk.add_result(call, failure(NOT_RUN, f"not run, because {failed} before it failed"))
                continue
            outcome = await self._handle(talk, call, calls, alone=len(answer.calls) == 1, went_on=went_on)
            talk.add_result(call, outcome)
            failed = "" if outcome.ok else truncate(call.name, 100)
        talk.end_turn()
        if last_turn:
            raise Ended(Cause.BUDGET, self._meter.out_of_calls())

    async def _handle(
        self, talk: Conversation, call: ToolCall, calls: Calls, *, alone: bool, went_on: bool
    ) -> ToolOutcome:
        """Return what the model reads of a call. Raises Ended."""
        if self._repetition.is_forbidden(call):
            raise Ended(Cause.REPETITION, self._repetition.reason(call))
        if call.name == self._report.name and not call.fault:
            outcome = self._reader.read(call, alone=alone, rejected=went_on)
        else:
            result = await calls.make(call)
            outcome = result.outcome
            if outcome.void:
                cause = Cause.TOOLS_UNAVAILABLE if outcome.gone else Cause.FENCED
                raise Ended(cause, f"{call.name}: {outcome.message}")
            if self._live.may_have_moved(call, outcome):
                talk.forget_images()
            talk.keep_images(call, result)
        if not self._repetition.seen(call, outcome):
            return outcome
        await self._recorder.note(self._repetition.note(call))
        return self._repetition.warning(outcome, self._report.name)
