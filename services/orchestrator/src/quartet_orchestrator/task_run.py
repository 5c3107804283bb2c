"""One task from its start to its one terminal state."""

import asyncio
import logging
import time

from quartet_agent_runtime import Cause, Ending, Loop, Recorder, task_report
from quartet_bus import BusUnavailable, TaskDelivery
from quartet_contracts import DirectStep, SkillResult, State, TaskReport, TaskStatus, Usage
from quartet_contracts.journal import Note
from quartet_orchestrator import metrics
from quartet_orchestrator.context import Context
from quartet_orchestrator.errors import TaskAborted
from quartet_orchestrator.eyes import Eyes
from quartet_orchestrator.ledger import Ledger
from quartet_orchestrator.progress import TaskRecord
from quartet_orchestrator.questions import Person
from quartet_orchestrator.report_check import broken_off, settle_report
from quartet_orchestrator.rules import Rules
from quartet_orchestrator.skill_calls import SkillCaller
from quartet_orchestrator.tools import TaskTools

log = logging.getLogger(__name__)


class TaskRun:
    """Runs one task. Whatever happens inside, `run` ends it in one terminal state, unless the store is gone."""

    def __init__(self, context: Context, delivery: TaskDelivery, status: TaskStatus) -> None:
        self._context = context
        self._delivery = delivery
        self._task = delivery.task
        self._record = TaskRecord(context.bus, status)
        self._ledger = Ledger(context.names)
        self._eyes = Eyes(self._task, context.bus, context.signer, context.settings)
        self._caller = SkillCaller(
            self._record,
            context.bus,
            context.replies,
            context.signer,
            context.fencer,
            self._eyes,
            context.settings,
        )
        person = Person(self._record, context.bus, context.settings)
        rules = Rules(self._ledger, context.areas)
        self._tools = TaskTools(self._record, self._ledger, rules, self._caller, self._eyes, person)
        self._loop: Loop | None = None

    async def run(self, shutdown: asyncio.Event) -> None:
        """To the end, or to what ends it from outside: cancel, deadline, shutdown, another replica."""
        if not (await self._record.move(State.INITIALIZING) and await self._record.move(State.RUNNING)):
            return
        work = asyncio.create_task(self._work(), name=f"task-{self._task.task_id}")
        canceled = asyncio.create_task(self._context.bus.tasks.canceled(self._task.task_id))
        lost = asyncio.create_task(self._delivery.lost.wait())
        stopped = asyncio.create_task(shutdown.wait())
        watchers = (canceled, lost, stopped)
        try:
            left = max(0.0, self._task.deadline - time.time())
            await asyncio.wait({work, *watchers}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                state, report = _outcome(work, self._ledger)
                # Nothing may follow a journal's last state, so the pictures after the last skill come before it.
                await self._close_caller()
                await self._record.end(state, report)
            elif lost.done():
                log.error("task %s was taken over by another replica", self._task.task_id)
                await _cancel(work)
            else:
                await self._break_off(work, canceled)
        finally:
            for task in watchers:
                task.cancel()
            await asyncio.gather(*watchers, return_exceptions=True)
            await _cancel(work)
            await self._close_caller()

    async def _close_caller(self) -> None:
        try:
            await self._caller.close()
        except Exception as error:
            log.warning("task %s ends without its last pictures: %s", self._task.task_id, error)

    async def _break_off(self, work: "asyncio.Task[tuple[State, TaskReport]]", canceled: "asyncio.Task[str]") -> None:
        if canceled.done():
            reason, end = canceled.result(), State.CANCELED
            if self._record.state is not State.INITIALIZING:
                await self._record.move(State.CANCELING, reason)
        elif time.time() >= self._task.deadline:
            seconds = self._task.deadline - self._task.created_at
            reason, end = f"the task was not done within its {seconds:.0f} s", State.FAILED
        else:
            reason, end = "the orchestrator was shut down", State.FAILED
        await _cancel(work)
        reason = f"{reason}.{self._note_interruption()}"
        if self._ledger.look_needed:
            end = State.FAILED
        self._record.add_usage(self._loop.usage if self._loop else Usage())
        await self._record.end(end, broken_off(self._ledger, reason))

    def _note_interruption(self) -> str:
        """Write down what became of the skill that was running, and say it in words."""
        if self._caller.interrupted is None:
            return ""
        last = self._caller.interrupted.result
        self._ledger.note(self._caller.interrupted.arguments, last)
        text = f" {last.skill}: {last.reason}."
        if last.state is State.UNCERTAIN:
            text += " Whether the robot rests, and what it did last, is not known: look before you go on."
        return text

    async def _work(self) -> tuple[State, TaskReport]:
        self._caller.picture("start")
        if self._task.step is not None:
            return await self._direct(self._task.step)
        self._loop = loop = Loop(
            model=self._context.model.for_task(self._task.task_id, "orchestrator"),
            tools=self._tools.build(),
            report=task_report(),
            recorder=Recorder(
                actor="orchestrator",
                task_id=self._task.task_id,
                loop_id="orchestrator",
                journal=self._context.bus.journal,
                images=self._context.bus.images,
                transcripts=self._context.bus.transcripts,
            ),
            budget=self._task.budget,
            # The task's own clock ends it first: it also brings the robot to rest.
            deadline=self._task.deadline + 5,
            model_timeout_s=self._context.settings.model_timeout_s,
        )
        sentence = self._task.sentence.replace("<", "‹").replace(">", "›")
        ending = await loop.run(self._context.system_prompt, f"<sentence>{sentence}</sentence>")
        self._record.add_usage(ending.usage)
        return await self._settle(ending)

    async def _settle(self, ending: Ending) -> tuple[State, TaskReport]:
        if not isinstance(ending.report, TaskReport):
            why = f"{_WHY.get(ending.cause, 'The model ended')}: {ending.reason}.{self._note_interruption()}"
            return State.FAILED, broken_off(self._ledger, why)
        report = settle_report(ending.report, self._ledger, self._task.sentence)
        if report.success != ending.report.success:
            metrics.FALSE_CLAIMS.inc()
            await self._record.write(
                Note(text="the model claimed success; the record of the task does not bear it out")
            )
        holding = self._ledger.holding_words()
        if holding and holding not in report.summary:
            report = report.model_copy(update={"summary": f"{report.summary} {holding}"[:4000]})
        return (State.SUCCEEDED if report.success else State.FAILED), report

    async def _direct(self, step: DirectStep) -> tuple[State, TaskReport]:
        """A task that is one skill."""
        result: SkillResult = await self._caller.call(step.skill, step.arguments)
        self._ledger.note(step.arguments, result)
        summary = f"{step.skill}: {result.reason or result.error_code}"
        if not result.success:
            summary = f"{step.skill} ended with {result.error_code}: {result.reason}"
        report = TaskReport(success=result.success, summary=summary[:4000])
        return (State.SUCCEEDED if result.success else State.FAILED), report


_WHY = {
    Cause.BUDGET: "The model's budget is spent",
    Cause.TIME: "Out of time",
    Cause.REPETITION: "The model repeated itself",
    Cause.NO_TOOL_CALL: "The model did not act",
    Cause.REFUSED: "The model refused",
    Cause.BAD_REPORT: "The model's report could not be read",
    Cause.MODEL_UNAVAILABLE: "The model cannot be reached",
    Cause.TOOLS_UNAVAILABLE: "Tools are missing",
}


def _outcome(work: "asyncio.Task[tuple[State, TaskReport]]", ledger: Ledger) -> tuple[State, TaskReport]:
    error = work.exception()
    if error is None:
        return work.result()
    if isinstance(error, TaskAborted):
        return State.FAILED, broken_off(ledger, str(error))
    if isinstance(error, BusUnavailable):
        raise error
    log.error("task failed", exc_info=error)
    return State.FAILED, broken_off(ledger, f"The orchestrator failed: {type(error).__name__}: {error}.")


async def _cancel(work: "asyncio.Task[tuple[State, TaskReport]]") -> None:
    work.cancel()
    await asyncio.wait({work})
    if not work.cancelled():
        work.exception()
