"""One task to its one terminal state: from its start, or from where another process left it."""

import asyncio
import logging
import time

from quartet_agent_runtime import Cause, Ending, Loop, Recorder, read_past, task_report
from quartet_bus import BusUnavailable, LeaseLost, RobotTasks, TaskDelivery, Tenure
from quartet_contracts import DirectStep, SkillResult, State, TaskReport, TaskStatus, Usage, may_move
from quartet_contracts.journal import Note, TakenOver
from quartet_orchestrator import metrics
from quartet_orchestrator.context import Context
from quartet_orchestrator.errors import TaskAborted
from quartet_orchestrator.eyes import Eyes
from quartet_orchestrator.history import History, read_history
from quartet_orchestrator.ledger import Hold, Ledger
from quartet_orchestrator.pauses import Gate
from quartet_orchestrator.progress import TaskRecord
from quartet_orchestrator.questions import Person
from quartet_orchestrator.report_check import broken_off, settle_report
from quartet_orchestrator.rules import Rules
from quartet_orchestrator.skill_calls import SkillCaller
from quartet_orchestrator.tools import TaskTools
from quartet_orchestrator.wording import Wording

log = logging.getLogger(__name__)


class TaskRun:
    """Runs one task from where its journal ends. Whatever happens inside, `run` ends it in one terminal state, unless
    the store is gone or another replica takes the task over.
    """

    def __init__(
        self, context: Context, tasks: RobotTasks, delivery: TaskDelivery, status: TaskStatus, tenure: Tenure
    ) -> None:
        self._context = context
        self._delivery = delivery
        self._task = delivery.task
        self._brief = context.briefs[self._task.robot]
        self._record = TaskRecord(context.bus, status, tenure)
        self._ledger = Ledger(self._brief.names)
        self._eyes = Eyes(
            self._task.robot,
            context.bus,
            context.signer,
            context.settings,
            task_id=self._task.task_id,
            deadline=self._task.deadline,
        )
        self._caller = SkillCaller(
            self._record,
            context.bus,
            context.replies,
            context.signer,
            context.fencer,
            self._eyes,
            context.settings,
            lambda: tasks.progressed(delivery),
        )
        self._person = Person(self._record, context.bus, context.settings)
        self._gate = Gate(self._record, context.bus)
        self._past = History()
        rules = Rules(self._ledger, self._brief.areas)
        self._wording = Wording([self._task.sentence, *self._brief.site_names])
        self._tools = TaskTools(
            self._record, self._ledger, rules, self._caller, self._eyes, self._person, self._gate, self._wording
        )
        self._loop: Loop | None = None

    async def run(self, shutdown: asyncio.Event) -> None:
        """To the end, or to what ends it from outside: cancel, deadline, shutdown, another replica."""
        await self._take_up()
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
                await self._leave(work)
            elif stopped.done() and not canceled.done() and left > 0:
                await self._leave(work)
                await self._record.write(Note(text="the orchestrator was shut down; another one goes on from here"))
            else:
                await self._break_off(work, canceled)
        finally:
            for task in watchers:
                task.cancel()
            await asyncio.gather(*watchers, return_exceptions=True)
            if not work.done():
                # An error on the way: what runs is left to whoever has the task next.
                await self._leave(work)
            await self._close_caller()

    async def _leave(self, work: "asyncio.Task[tuple[State, TaskReport]]") -> None:
        """End this process' part of the task, and nothing else: a sub-agent that works goes on."""
        self._caller.handing_over = True
        await _cancel(work)

    async def _close_caller(self) -> None:
        try:
            await self._caller.close()
        except Exception as error:
            log.warning("task %s ends without its last pictures: %s", self._task.task_id, error)

    async def _break_off(self, work: "asyncio.Task[tuple[State, TaskReport]]", canceled: "asyncio.Task[str]") -> None:
        if canceled.done():
            reason, end = canceled.result(), State.CANCELED
            if may_move(self._record.state, State.CANCELING) and self._record.state is not State.CANCELING:
                await self._record.move(State.CANCELING, reason)
        else:
            seconds = self._task.deadline - self._task.created_at
            reason, end = f"the task was not done within its {seconds:.0f} s", State.FAILED
            await self._record.write(Note(text=reason))
        await _cancel(work)
        await self._caller.give_up_taken_up()
        reason = f"{reason}.{self._note_interruption()}"
        await self._feel()
        if self._ledger.look_needed:
            end = State.FAILED
        elif self._record.state is State.UNCERTAIN:
            await self._record.move(State.RETRIABLE, "what was open is settled")
        self._record.add_usage(self._loop.usage if self._loop else Usage())
        await self._record.end(end, broken_off(self._ledger, reason))

    async def _feel(self) -> None:
        """Where nobody has said whether the gripper holds something, its own sensors do."""
        if self._ledger.hold is Hold.UNCERTAIN or self._ledger.doubtful:
            self._ledger.note_grasp(*await self._caller.feel())

    def _note_interruption(self) -> str:
        """Write down what became of the skill that was running, and say it in words."""
        step = self._caller.interrupted
        if step is None:
            return ""
        last = step.result
        self._ledger.note(step.arguments, last, step.settled)
        text = f" {last.skill}: {last.reason}."
        if self._ledger.look_needed:
            text += " Whether the robot rests, and what it did last, is not known: look before you go on."
        return text

    async def _take_up(self) -> None:
        """Read what there is of the task already."""
        task_id = self._task.task_id
        self._past = past = read_history(await self._context.bus.journal.read_all(task_id))
        if not past.began:
            return
        tenure = self._record.tenure
        assert tenure is not None
        await self._record.write(TakenOver(replica=self._context.bus.replica, epoch=tenure.epoch))
        past.fill(self._ledger, task_id)
        past.tell(self._wording, task_id)
        self._record.usage = past.usage
        self._caller.take_up(past)
        self._person.take_up(past.question, past.answer)
        if self._record.state is State.CANCELING:
            # The wish is kept longer than any task; should it be gone all the same, the state still says it.
            await self._context.bus.tasks.cancel(task_id, "canceled")

    async def _begin(self) -> None:
        """To RUNNING, whatever state the task was left in."""
        record, last = self._record, self._past.last
        paused = record.state is State.PAUSED
        if record.state is State.RUNNING and last is not None and last.open:
            await record.move(State.UNCERTAIN, f"how {last.skill} ended is to be found out")
        await self._caller.rejoin()
        if record.state is State.PAUSED and self._past.question is None:
            await self._gate.step()
        if record.state in {State.RUNNING, State.UNCERTAIN} and self._past.began and not paused:
            await record.move(State.RETRIABLE, "taken up where the journal ends")
        if record.state in {State.QUEUED, State.RETRIABLE}:
            await record.move(State.INITIALIZING)
        if record.state is State.INITIALIZING:
            await record.move(State.RUNNING)
        if record.state is State.CANCELING:
            await asyncio.Event().wait()
        if not self._past.began:
            self._caller.picture("start")

    async def _work(self) -> tuple[State, TaskReport]:
        await self._begin()
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
                journal=self._record.journal,
                images=self._context.bus.images,
                transcripts=self._context.bus.transcripts,
            ),
            budget=self._task.budget,
            # The task's own clock ends it first: it also brings the robot to rest.
            deadline=self._task.deadline + 5,
            model_timeout_s=self._context.settings.model_timeout_s,
        )
        sentence = self._task.sentence.replace("<", "‹").replace(">", "›")
        past = await read_past(self._past.loop, self._load_image)
        ending = await loop.run(self._brief.system_prompt, f"<sentence>{sentence}</sentence>", past)
        self._record.add_usage(ending.usage)
        return await self._settle(ending)

    async def _load_image(self, reference: str) -> tuple[bytes, str] | None:
        return await self._context.bus.images.get(self._task.task_id, reference)

    async def _settle(self, ending: Ending) -> tuple[State, TaskReport]:
        await self._feel()
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
        if not self._caller.is_ready(step.arguments):
            await self._gate.step()
        done = await self._caller.call(step.skill, step.arguments)
        result: SkillResult = done.result
        self._ledger.note(step.arguments, result, done.settled)
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
    if isinstance(error, BusUnavailable | LeaseLost):
        raise error
    log.error("task failed", exc_info=error)
    return State.FAILED, broken_off(ledger, f"The orchestrator failed: {type(error).__name__}: {error}.")


async def _cancel(work: "asyncio.Task[tuple[State, TaskReport]]") -> None:
    work.cancel()
    await asyncio.wait({work})
    if not work.cancelled():
        work.exception()
