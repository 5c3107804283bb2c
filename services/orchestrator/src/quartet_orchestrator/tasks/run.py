"""Run of one task to its terminal state: from its start, or from where another process left it."""

import asyncio
import functools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quartet_agent_runtime import (
    Cause,
    Ending,
    GatewayClient,
    Loop,
    RecordedTurn,
    Recorder,
    Tools,
    read_turns,
    task_report,
)
from quartet_bus import Bus, BusUnavailableError, LeaseEpoch, LeaseLostError, Replies, RobotTasks, TaskDelivery
from quartet_contracts import (
    UNKNOWN_NAME,
    Architecture,
    Budget,
    DirectStep,
    SkillResult,
    State,
    StepArguments,
    TaskCode,
    TaskReport,
    TaskStatus,
    Usage,
)
from quartet_contracts.journal import Note
from quartet_orchestrator import metrics
from quartet_orchestrator.errors import TaskAbortedError
from quartet_orchestrator.grants import GrantSigner
from quartet_orchestrator.observation import CameraClient, Fleet, ObserverSessions, RobotMonitor, StopMonitor
from quartet_orchestrator.recovery import FenceClient, History, StoreLossRecovery, TaskRecord, read_history
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_orchestrator.skills import SkillCaller
from quartet_orchestrator.tasks.abilities import refused, unable_to_step
from quartet_orchestrator.tasks.briefs import RobotBrief
from quartet_orchestrator.tasks.facts import GripperContent, TaskFacts
from quartet_orchestrator.tasks.interruptions import SHUT_DOWN, Interruptions
from quartet_orchestrator.tasks.name_check import NameCheck
from quartet_orchestrator.tasks.plan import StatedPlan, find_mismatch
from quartet_orchestrator.tasks.programs import ProgramTeam
from quartet_orchestrator.tasks.questions import QuestionService
from quartet_orchestrator.tasks.report_check import (
    find_missed_drives,
    forgotten_objects,
    report_without_model,
    verify_report,
)
from quartet_orchestrator.tasks.rules import CallRules
from quartet_orchestrator.tasks.speech import Speech
from quartet_orchestrator.tasks.steps import StepTools
from quartet_orchestrator.tasks.terms import TermPolicy
from quartet_orchestrator.tasks.tools import TaskTools

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunContext:
    """What one orchestrator process hands to each of its tasks."""

    bus: Bus
    replies: Replies
    model: GatewayClient
    signer: GrantSigner
    fences: FenceClient
    sessions: ObserverSessions
    settings: OrchestratorSettings
    briefs: Mapping[str, RobotBrief]
    """What the model is told, by robot."""
    fleet: Fleet
    monitor: RobotMonitor
    loss_recovery: StoreLossRecovery


class TaskRun:
    """Runs one task from where its journal ends.

    Whatever happens inside, `run` ends the task in one terminal state, unless the store is gone or another replica
    takes the task over.
    """

    def __init__(
        self,
        context: RunContext,
        tasks: RobotTasks,
        delivery: TaskDelivery,
        status: TaskStatus,
        lease_epoch: LeaseEpoch,
    ) -> None:
        self._context = context
        self._delivery = delivery
        self._task = delivery.task
        self._brief = context.briefs[self._task.robot]
        self._plan = StatedPlan()
        self._report_rejected = False
        """A report was sent back because it did not fit the plan or the drives."""
        self._record = TaskRecord(context.bus, status, lease_epoch, self._plan.note)
        self._facts = TaskFacts(self._brief.names)
        cameras = CameraClient(
            context.sessions,
            self._task.robot,
            task_id=self._task.task_id,
            lasts_s=lambda: context.sessions.lasts(self._record.left_s),
        )
        self._stops = StopMonitor(context.fleet, self._task.robot)
        self._terms = TermPolicy([self._task.sentence, *self._brief.site_names])
        self._caller = SkillCaller(
            self._record,
            context.bus,
            context.replies,
            context.signer,
            context.fences,
            context.sessions,
            cameras,
            self._stops,
            context.settings,
            self._brief.setup,
            lambda: tasks.progressed(delivery),
            self._terms.untrusted,
        )
        self._questions = QuestionService(self._record, context.bus, context.settings)
        self._history = History()
        rules = CallRules(self._facts, self._brief.areas, self._unable)
        self._name_check = NameCheck(self._brief.site, self._brief.names, self._caller.knows_name)
        self._tools = TaskTools(
            self._record,
            self._facts,
            rules,
            self._terms,
            self._caller,
            cameras,
            self._questions,
            self._name_check,
            self._plan,
            context.settings.results,
        )
        self._loop: Loop | None = None

    async def run(self, shutdown: asyncio.Event) -> None:
        """Run the task until it ends: by itself, by a cancel, its deadline, a shutdown or another replica."""
        await self._restore()
        await self._stops.begin(self._history.stops)
        work = asyncio.create_task(self._work(), name=f"task-{self._task.task_id}")
        try:
            async with Interruptions(
                self._context.bus,
                self._delivery,
                self._record,
                shutdown,
                self._context.settings.pause_limit_s,
                self._stops.wait(),
            ) as interruptions:
                await interruptions.wait(work)
                if work.done():
                    if isinstance(work.exception(), TaskAbortedError):
                        await self._measure_the_end()
                    state, report = _outcome(work, self._facts)
                    # Nothing may follow a journal's last state, so the pictures after the last skill come before it.
                    await self._close_caller()
                    await self._end(state, report)
                elif interruptions.taken_over:
                    log.error("task %s was taken over by another replica", self._task.task_id)
                    await self._leave(work)
                elif interruptions.shut_down:
                    await self._leave(work)
                    await self._record.write(Note(text=SHUT_DOWN))
                else:
                    await self._end_early(work, interruptions)
        finally:
            if not work.done():
                # An error on the way: what runs is left to whoever has the task next.
                await self._leave(work)
            await self._close_caller()

    async def _leave(self, work: "asyncio.Task[tuple[State, TaskReport]]") -> None:
        """End this process' part of the task; a sub-agent that works on it goes on."""
        self._caller.handing_over = True
        await _cancel(work)

    async def _close_caller(self) -> None:
        try:
            await self._caller.close()
        except Exception as error:
            log.warning("task %s ends without its last pictures: %s", self._task.task_id, error)

    async def _end_early(self, work: "asyncio.Task[tuple[State, TaskReport]]", interruptions: Interruptions) -> None:
        reason, end = await interruptions.note()
        await _cancel(work)
        await self._caller.abandon(reason)
        await self._caller.end_restored()
        reason = f"{reason}.{self._note_interruption()}"
        await self._measure_the_end()
        if self._facts.look_needed:
            end = State.FAILED
        elif self._record.state is State.UNCERTAIN:
            await self._record.move(State.RETRIABLE, "the open outcome is settled")
        self._record.add_own_usage(self._loop.usage if self._loop else Usage())
        code = TaskCode.STOPPED if interruptions.stopped else TaskCode.NONE
        await self._end(end, report_without_model(self._facts, reason).model_copy(update={"error_code": code}))

    async def _end(self, state: State, report: TaskReport) -> None:
        await self._caller.abandon("the task ended")
        await self._caller.end_grant()
        await self._record.end(state, report)

    async def _look_at_gripper(self) -> None:
        """Note what the gripper's sensors say, where no skill has reported whether it holds something."""
        if self._facts.hand_in_doubt:
            self._facts.note_grasp(*await self._caller.look_at_gripper("end"))

    async def _measure_the_end(self) -> None:
        """Measure what a task has left: the gripper, and what it has let go.

        A place may have failed after it let go, and no further one can find out whether the thing lies where it should.
        """
        await self._look_at_gripper()
        place = self._facts.failed_place
        if place is not None and self._facts.gripper is GripperContent.EMPTY and await self._caller.is_placed():
            self._facts.note_confirmed(place)

    def _note_interruption(self) -> str:
        """Note the outcome of the skill that was running; return a sentence on it, '' when none was running."""
        outcome = self._caller.interrupted
        if outcome is None:
            return ""
        last = outcome.result
        self._facts.note(outcome.arguments, last, outcome.settled, outcome.alike_before)
        text = f" {last.skill}: {last.reason}."
        if self._facts.look_needed:
            text += " It is not known whether the robot stands still and what it did last: look before you go on."
        return text

    async def _restore(self) -> None:
        """Read the journal of a task that another process has begun, and go on from there."""
        task_id = self._task.task_id
        events = await self._context.bus.journal.read_all(task_id)
        self._history = past = read_history(events)
        if not past.started:
            return
        await self._record.take_over(events)
        for event in events:
            self._plan.note(event)
        self._facts.restore(past, task_id)
        self._terms.restore(past, task_id)
        self._record.usage = past.usage
        self._record.unanswered = past.unanswered(self._record.redis_time)
        self._caller.restore(past)
        self._questions.restore(past.question, past.answer)
        if self._record.state is State.CANCELING:
            # The store keeps a cancel longer than any task. If it is gone all the same, the state still tells.
            await self._context.bus.tasks.cancel(task_id, "canceled")

    async def _begin(self) -> None:
        """Bring the task to RUNNING, from whatever state it was left in."""
        record, last = self._record, self._history.last
        paused = record.state is State.PAUSED
        if record.state is State.RUNNING and last is not None and last.open:
            await record.move(State.UNCERTAIN, f"the outcome of {last.skill} is to be found out")
        await self._caller.rejoin()
        if record.state is State.PAUSED and self._history.question is None:
            await record.wait_while_paused()
        if record.state in {State.RUNNING, State.UNCERTAIN} and self._history.started and not paused:
            await record.move(State.RETRIABLE, "taken up where the journal ends")
        if record.state in {State.QUEUED, State.RETRIABLE}:
            await record.move(State.INITIALIZING)
        if record.state is State.INITIALIZING:
            await record.move(State.RUNNING)
        if record.state is State.CANCELING:
            await asyncio.Event().wait()
        if not self._history.started:
            self._caller.picture("start")

    async def _work(self) -> tuple[State, TaskReport]:
        await self._begin()
        if self._task.step is not None:
            return await self._direct(self._task.step)
        if self._task.team is not None:
            return await self._program_team().run()
        past = await read_turns(self._history.loop, self._load_image)
        self._loop = loop = Loop(
            model=self._context.model.for_task(self._task.task_id, "orchestrator", self._model_grant),
            tools=self._tools_of_model(past),
            report=task_report(self._fault_of),
            recorder=Recorder(
                actor="orchestrator",
                task_id=self._task.task_id,
                loop_id="orchestrator",
                journal=self._record.journal,
                images=self._context.bus.images,
                transcripts=self._context.bus.transcripts,
            ),
            budget=self._budget,
            # The task's own clock ends it: it stands still while a person is waited for.
            clock=None,
            model_timeout_s=self._context.settings.model_timeout_s,
        )
        sentence = self._task.sentence.replace("<", "‹").replace(">", "›")
        ending = await loop.run(
            self._brief.system_prompt(self._task.sentence), f"<sentence>{sentence}</sentence>", past
        )
        self._record.add_own_usage(ending.usage)
        return await self._conclude(ending)

    def _tools_of_model(self, past: Sequence[RecordedTurn]) -> Tools:
        if self._architecture is not Architecture.SINGLE:
            return self._tools.build()
        steps = StepTools(self._tools, self._caller, self._terms.untrusted)
        steps.restore(past)
        return steps

    @property
    def _architecture(self) -> Architecture:
        return self._context.settings.architecture

    @property
    def _budget(self) -> Budget:
        """Limits of the model's loop: of one that does the work itself, what all loops of sub-agents may use, too."""
        budget, each = self._task.budget, Budget()
        if self._architecture is not Architecture.SINGLE:
            return budget
        most = budget.tool_calls
        tokens = None if budget.tokens is None or each.tokens is None else budget.tokens + most * each.tokens
        return budget.model_copy(
            update={
                "turns": budget.turns + most * each.turns,
                "tool_calls": most + most * each.tool_calls,
                "tokens": tokens,
            }
        )

    def _program_team(self) -> ProgramTeam:
        context = self._context
        speech = Speech(context.model, context.signer, self._task.task_id, context.settings.model_timeout_s)
        return ProgramTeam(
            self._record, self._caller, speech, self._facts, self._brief.setup, self._history, self._look_at_gripper
        )

    def _fault_of(self, claim: TaskReport) -> str | None:
        """Return why a report is sent back: it forgets an object, or, only once, does not fit plan or drives."""
        misfit = None
        if not self._report_rejected:
            misfit = find_mismatch(claim.objects, self._plan.rows, self._facts) if self._plan.rows else None
            if misfit is None and claim.success and not claim.objects:
                misfit = find_missed_drives(self._facts, self._task.sentence)
            self._report_rejected = misfit is not None
        faults = (forgotten_objects(claim, self._brief.names, self._task.sentence), misfit)
        return "; ".join(fault for fault in faults if fault) or None

    def _model_grant(self) -> str:
        # Anew for each turn, since a task that waits for a person outlives every deadline.
        return self._context.signer.sign_model_grant(self._task.task_id, self._context.settings.model_timeout_s)

    async def _load_image(self, reference: str) -> tuple[bytes, str] | None:
        return await self._context.bus.images.get(self._task.task_id, reference)

    async def _conclude(self, ending: Ending) -> tuple[State, TaskReport]:
        await self._caller.abandon("the model's work ended before it reported this")
        interruption = self._note_interruption()
        if not isinstance(ending.report, TaskReport):
            await self._measure_the_end()
            why = f"{_WHY.get(ending.cause, 'The model ended')}: {ending.reason}.{interruption}"
            return State.FAILED, report_without_model(self._facts, why)
        # A place whose outcome is not known is looked at now that the robot may answer.
        await (self._measure_the_end() if self._facts.release_uncertain else self._look_at_gripper())
        report = verify_report(ending.report, self._facts, self._task.sentence, self._plan.rows)
        if report.error_code in {TaskCode.CANCELED, TaskCode.STOPPED}:
            # Code notes that, whatever the model says.
            report = report.model_copy(update={"error_code": TaskCode.UNKNOWN})
        if report.success != ending.report.success:
            metrics.FALSE_CLAIMS.inc()
            await self._record.write(
                Note(text="the model reported success; the record of the task does not confirm it")
            )
        facts = self._facts
        for told in (facts.describe_put_aside(report.objects), facts.describe_release(), facts.describe_held()):
            if told and told not in report.summary:
                report = report.model_copy(update={"summary": f"{report.summary} {told}"[:4000]})
        return (State.SUCCEEDED if report.success else State.FAILED), report

    def _unable(self, arguments: StepArguments) -> str:
        """Return why the robot's body cannot do a call, and who can."""
        task, held = self._task, self._facts.held
        unable = functools.partial(unable_to_step, arguments=arguments, sentence=task.sentence, held=held)
        return refused(self._context.briefs, task.robot, unable)

    async def _direct(self, step: DirectStep) -> tuple[State, TaskReport]:
        """Run a task that is one skill."""
        if not self._caller.is_ready(step.arguments):
            await self._record.wait_while_paused()
            if reason := await self._name_check.unknown(step.arguments):
                summary = f"{step.skill} ended with {UNKNOWN_NAME}, and nothing was moved: {reason}"
                return State.FAILED, TaskReport(success=False, summary=summary[:4000])
            if reason := self._unable(step.arguments):
                summary = f"{step.skill}: nothing was moved: {reason}"
                return State.FAILED, TaskReport(success=False, summary=summary[:4000])
        outcome = await self._caller.call(step.skill, step.arguments)
        result: SkillResult = outcome.result
        self._facts.note(step.arguments, result, outcome.settled, outcome.alike_before)
        summary = f"{step.skill}: {result.reason or result.error_code}"
        if not result.success:
            summary = f"{step.skill} ended with {result.error_code}: {result.reason}"
        code = TaskCode.STOPPED if result.withdrawn == "STOPPED" else TaskCode.NONE
        report = TaskReport(success=result.success, summary=summary[:4000], error_code=code)
        return (State.SUCCEEDED if result.success else State.FAILED), report


_WHY = {
    Cause.BUDGET: "The model's budget is spent",
    Cause.REPETITION: "The model repeated itself",
    Cause.NO_TOOL_CALL: "The model did not act",
    Cause.REFUSED: "The model refused",
    Cause.BAD_REPORT: "The model's report could not be read",
    Cause.MODEL_UNAVAILABLE: "The model cannot be reached",
    Cause.TOOLS_UNAVAILABLE: "Tools are missing",
}


def _outcome(work: "asyncio.Task[tuple[State, TaskReport]]", facts: TaskFacts) -> tuple[State, TaskReport]:
    error = work.exception()
    if error is None:
        return work.result()
    if isinstance(error, TaskAbortedError):
        return State.FAILED, report_without_model(facts, str(error))
    if isinstance(error, BusUnavailableError | LeaseLostError):
        raise error
    log.error("task failed", exc_info=error)
    return State.FAILED, report_without_model(facts, f"The orchestrator failed: {type(error).__name__}: {error}.")


async def _cancel(work: "asyncio.Task[tuple[State, TaskReport]]") -> None:
    work.cancel()
    await asyncio.wait({work})
    if not work.cancelled():
        work.exception()
