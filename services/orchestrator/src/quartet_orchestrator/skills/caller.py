"""Calls of the sub-agents: one attempt at one skill, with its fence, grant, request, result and pictures."""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from opentelemetry.trace import SpanKind

from quartet_agent_runtime import Progress, Toolbox, ToolOutcome, ToolSpec, UntrustedPhrases, failure
from quartet_bus import Bus, BusUnavailableError, JournalFullError, NoAnswerError, QueueFullError, Replies
from quartet_contracts import (
    MODEL_SKILLS,
    MODEL_TOOLS,
    AlikeThing,
    Architecture,
    Budget,
    PlaceArguments,
    PlaceCode,
    Skill,
    SkillArguments,
    SkillRequest,
    SkillResult,
    State,
    granted_tools,
    without_ids,
)
from quartet_contracts.approvals import CONFIRM_WAIT_S
from quartet_contracts.journal import SkillRequested
from quartet_contracts.skills import unknown_result
from quartet_contracts.tools import CommonCode
from quartet_contracts.tools.moveit import GraspState, Release
from quartet_contracts.tools.perception import LastSighting
from quartet_orchestrator.errors import TaskAbortedError
from quartet_orchestrator.grants import GrantSigner
from quartet_orchestrator.observation import CameraClient, ObserverSessions, StopMonitor
from quartet_orchestrator.recovery import (
    Attempt,
    AttemptOutcome,
    FenceClient,
    History,
    Inspector,
    OutcomeResolver,
    TaskRecord,
    not_started_event,
)
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_orchestrator.skills.approvals import ApprovalService
from quartet_orchestrator.skills.own_work import OwnWork
from quartet_orchestrator.skills.pictures import PictureRecorder
from quartet_process import BACKGROUND, correlation_ids, tracing
from quartet_site import RobotSetup

log = logging.getLogger(__name__)
T = TypeVar("T")
RETRY_S = 0.5


class SkillCaller:
    """Calls the sub-agents for one task, one at a time."""

    def __init__(
        self,
        record: TaskRecord,
        bus: Bus,
        replies: Replies,
        signer: GrantSigner,
        fences: FenceClient,
        sessions: ObserverSessions,
        cameras: CameraClient,
        stops: StopMonitor,
        settings: OrchestratorSettings,
        setup: RobotSetup,
        progressed: Callable[[], Awaitable[None]],
        untrusted: UntrustedPhrases,
    ) -> None:
        """`untrusted` gets the names that the results of `use` call things by."""
        self._record = record
        self._bus = bus
        self._replies = replies
        self._signer = signer
        self._fences = fences
        self._cameras = cameras
        self._approval_wait_s = min(setup.approval_wait_s, settings.question_timeout_s)
        self._stops = stops
        self._settings = settings
        self._approvals = ApprovalService(record, bus, signer, settings)
        self._inspector = Inspector(record, bus, sessions, setup)
        self._resolver = OutcomeResolver(record, fences, self._inspector, progressed, settings.outcome_patience_s)
        self._pictures = PictureRecorder(record, bus, cameras)
        self._attempts: dict[SkillArguments, int] = {}
        self._count = 0
        self._alike_before: list[AlikeThing] | None = None
        """Things that look like the one that is to be put down, as they were before that was tried."""
        self._began: dict[str, float] = {}
        """When the request was made that this process made last, on the monotonic clock [s], by its id."""
        self._unlooked: SkillRequest | None = None
        """The last place, where it failed and nobody looked whether it has let go at its target all the same."""
        self._granted: SkillRequest | None = None
        """The request whose grant may still be used at the servers."""
        self._restored: Attempt | None = None
        self._ready: AttemptOutcome | None = None
        self._untrusted = untrusted
        self._own: OwnWork | None = None
        """The attempt that the task's own model makes now."""
        self.handing_over = False
        """Set before the caller is canceled: a request that runs is left to the replica that takes the task over."""
        self.interrupted: AttemptOutcome | None = None
        """Outcome of the attempt that ran when the task was canceled or ran out of time."""

    def restore(self, history: History) -> None:
        """Continue from where the journal ends; `rejoin` brings its last attempt to an outcome."""
        for attempt in history.attempts:
            self._count += 1
            self._attempts[without_ids(attempt.arguments)] = attempt.requested.attempt
            if attempt.skill is Skill.PLACE:
                self._alike_before = attempt.requested.alike_before
            if attempt.finished is not None and attempt.started:
                self._resolver.note(attempt.skill, attempt.finished.state, attempt.finished.error_code)
        self._restored = history.last

    async def rejoin(self) -> None:
        """Bring the attempt that another process had begun to its outcome, which the next `call` returns.

        A result that came meanwhile is taken, a running attempt is waited for, and one that nobody knows of is
        resolved by looking. One that no agent had taken is withdrawn; the next `call` makes a new attempt.
        """
        attempt, self._restored = self._restored, None
        if attempt is None:
            return
        task_id = self._record.task.task_id
        if not attempt.open:
            before = attempt.requested.alike_before or ()
            self._ready = AttemptOutcome(attempt.arguments, attempt.result(task_id), attempt.settled, before)
            return
        request = self._request_again(attempt)
        if attempt.finished is None:
            self._ready = await self._outcome(request, self._ask_again(request, own=attempt.requested.own))
        else:
            result = attempt.result(task_id)
            self._ready = await _in_spite_of_cancel(self._resolver.look(request, result))

    async def call(self, skill: Skill, arguments: SkillArguments) -> AttemptOutcome:
        """Make one attempt and return its outcome. Raises TaskAbortedError when no attempt can be made.

        When canceled, it cancels the request, waits until the robot rests, and leaves the outcome in `interrupted`.
        """
        await self._pictures.finish()
        ready, self._ready = self._ready, None
        if ready is not None and without_ids(ready.arguments) == without_ids(arguments):
            step = ready
        else:
            about = {tracing.OPERATION: "invoke_agent", tracing.AGENT: str(skill)}
            with tracing.span(f"invoke_agent {skill}", kind=SpanKind.CLIENT, attributes=about):
                request = await self._prepare(skill, arguments)
                with correlation_ids(request_id=request.request_id):
                    step = await self._outcome(request, self._ask(request))
                assert step is not None
                tracing.add_attributes({tracing.CODE: str(step.result.error_code)})
        self.picture(f"after {skill}")
        return step

    async def begin(self, skill: Skill, arguments: SkillArguments) -> None:
        """Begin an attempt that the task's own model makes, with `use`, and ends, with `finish`.

        Raises TaskAbortedError when no attempt can be made.
        """
        await self._pictures.finish()
        request = await self._prepare(skill, arguments, own=True)
        self._granted = request
        self._own = OwnWork(request, self._settings, self._approvals, self._untrusted)

    async def use(self, tool: str, arguments: dict[str, Any], progress: Progress) -> ToolOutcome:
        """Call a tool of the attempt that was begun."""
        if self._own is None:
            return failure("STEP_OVER", "who worked at this step is gone\nReport it, to read its outcome")
        return await self._own.call(tool, arguments, progress)

    async def finish(self, skill: Skill, arguments: SkillArguments, claim: dict[str, Any]) -> AttemptOutcome:
        """End the attempt that was begun: the sub-agent verifies the claim, and its outcome is returned.

        Where nothing can be done under the grant any more, the claim is not looked at, but the world.
        """
        own = self._own
        if own is None:
            return await self.call(skill, arguments)
        if own.lost:
            outcome = await _in_spite_of_cancel(self.abandon(own.lost))
            assert outcome is not None
            self.interrupted = None
        else:
            await own.close()
            self._own = None
            request = own.claimed(claim)
            with correlation_ids(request_id=request.request_id):
                outcome = await self._outcome(request, self._ask(request, own=True))
            assert outcome is not None
        self.picture(f"after {skill}")
        return outcome

    async def abandon(self, reason: str) -> AttemptOutcome | None:
        """End the attempt that was begun and that nobody has reported: its motions, its grant; then look at the world.

        Return its outcome, which is left in `interrupted` too; None where none was begun.
        """
        own, self._own = self._own, None
        if own is None:
            return None
        await self._fences.end_motions(own.request.robot, own.request.request_id, reason)
        await own.close()
        self.interrupted = await self._resolve(own.request, unknown_result(own.request, reason, State.UNCERTAIN))
        return self.interrupted

    async def tools(self) -> list[ToolSpec]:
        """Return the tools of all sub-agents, as their servers describe them. Raises ToolsUnavailableError."""
        names = list(dict.fromkeys(name for skill in MODEL_SKILLS for name in MODEL_TOOLS[skill]))
        task, settings = self._record.task, self._settings
        # A server lists what a grant covers; with this fence it refuses every call of it.
        grant = self._signer.sign(
            agent="orchestrator",
            robot=task.robot,
            request_id=f"list-{secrets.token_hex(4)}",
            fence=0,
            tools=names,
            deadline=time.time() + settings.look_timeout_s,
            task_id=task.task_id,
        )
        async with Toolbox(settings.servers_of(task.robot), grant, names, settings.look_timeout_s) as toolbox:
            return await toolbox.list()

    def is_ready(self, arguments: SkillArguments) -> bool:
        """Return whether this call was made before the takeover, so that the next one only fetches its outcome."""
        return self._ready is not None and without_ids(self._ready.arguments) == without_ids(arguments)

    async def end_restored(self) -> None:
        """End the attempt that another process had begun and that has not been rejoined."""
        attempt, self._restored = self._restored, None
        if attempt is None or not attempt.open:
            return
        request = self._request_again(attempt)
        asked = asyncio.create_task(self._ask_again(request, own=attempt.requested.own))
        result = await self._stop(request, asked)
        if result is not None:
            self.interrupted = await self._resolve(request, result)

    async def end_grant(self) -> None:
        """Void a grant that is not void yet: no agent keeps one beyond the end of the task."""
        if self._granted is not None:
            await self._revoke(self._granted)

    async def _revoke(self, request: SkillRequest) -> bool:
        """Void the grant of a request by a newer fence; return whether every motion server has installed it."""
        revoked = await self._fences.revoke(request.robot, request.request_id, self._record.lease_epoch)
        if revoked:
            self._granted = None
        return revoked

    async def _outcome(
        self, request: SkillRequest, asking: Coroutine[Any, Any, SkillResult | None]
    ) -> AttemptOutcome | None:
        """Return what came of a request; None when no agent had taken it."""
        self._granted = request
        asked = asyncio.create_task(asking)
        # Restarted when they fail: an agent waits for the answers, and the journal needs what it writes.
        age_s = time.monotonic() - self._began[request.request_id]
        answering = BACKGROUND.start("approvals", lambda: self._approvals.serve(request, age_s))
        copying = BACKGROUND.start("agent-events", lambda: self._bus.journal.relay(request, self._record.lease_epoch))
        try:
            result = await asyncio.shield(asked)
        except asyncio.CancelledError:
            if self.handing_over:
                asked.cancel()
                await asyncio.gather(asked, return_exceptions=True)
                raise
            result = await _in_spite_of_cancel(self._stop(request, asked))
            if result is not None:
                self.interrupted = await _in_spite_of_cancel(self._resolve(request, result))
            raise
        finally:
            await _in_spite_of_cancel(_end(answering))
            await _in_spite_of_cancel(_end(copying))
        if result is None:
            return None
        return await _in_spite_of_cancel(self._resolve(request, result))

    async def _resolve(self, request: SkillRequest, result: SkillResult) -> AttemptOutcome:
        """Void the grant, copy what the agent has written to its end, then resolve the outcome of the attempt.

        The grant first: what is measured afterwards is no longer the agent's to change, and an attempt whose end is in
        the journal has no grant any more.
        """
        revoked = await self._revoke(request)
        await self._bus.journal.copy_agent_events(request, self._record.lease_epoch)
        began = self._began[request.request_id]
        outcome = await self._resolver.resolve(request, result, began=began, revoked=revoked)
        looked = (
            result.state not in {State.FAILED, State.UNCERTAIN}
            or result.error_code == PlaceCode.PLACE_DROP_VERIFY_FAILED
        )
        looked = looked and CommonCode.BRIDGE_UNAVAILABLE not in outcome.result.reason
        self._unlooked = None if looked or request.skill is not Skill.PLACE else request
        return outcome

    async def is_placed(self) -> bool:
        """Return whether the thing of the last place is measured to lie at its target, although the place failed.

        False where the agent, or the orchestrator after it, has looked for it and knows: its word stands. False without
        a perception server: an empty gripper does not tell where the thing lies.
        """
        request = self._unlooked
        if request is None or not self._inspector.sees:
            return False
        return not await self._inspector.confirm(request, self._began[request.request_id])

    def picture(self, label: str) -> None:
        """Take pictures for the journal while the model thinks; the next skill waits for them."""
        self._pictures.take(label)

    async def look_at_gripper(self, moment: str) -> tuple[str, str]:
        """Return the state of the gripper and the label of what the wrist camera shows in it.

        `moment` of the task names the calls in the journal.
        """
        return await self._inspector.look_at_gripper(f"{self._record.task.task_id}-{moment}")

    async def sightings(self, names: Sequence[str]) -> tuple[list[LastSighting], Release | None] | None:
        """Return what the robot's servers have seen of these things and the gripper's last release; None: nobody tells.

        Asked for without a grant of an agent.
        """
        return await self._inspector.sightings(f"{self._record.task.task_id}-{self._count:02d}-seen", names)

    async def knows_name(self, name: str) -> bool | None:
        """Return whether the perception server can look for a thing of this name, None when it does not say."""
        return await self._inspector.knows_name(f"{self._record.task.task_id}-names", name)

    async def close(self) -> None:
        """Wait for the last pictures and end the camera's session."""
        if self._own is not None:
            # Whoever has the task next settles it by looking.
            own, self._own = self._own, None
            await own.close()
        await self._pictures.finish()
        await self._cameras.close()

    async def _prepare(self, skill: Skill, arguments: SkillArguments, *, own: bool = False) -> SkillRequest:
        task = self._record.task
        try:
            await self._bus.journal.require_room(task.task_id)
        except JournalFullError as error:
            raise TaskAbortedError(str(error)) from error
        self._count += 1
        asked = without_ids(arguments)
        attempt = self._attempts[asked] = self._attempts.get(asked, 0) + 1
        # Not to be guessed: whatever is written under it before the agent has it was forged.
        request_id = f"{task.task_id}-{self._count:02d}-{skill}-{secrets.token_hex(8)}"
        fence = await self._fences.raise_fence(task.robot, request_id, self._record.lease_epoch)
        if isinstance(arguments, PlaceArguments):
            await self._look_for_alike(arguments)
        alike_before = self._alike_before if skill is Skill.PLACE else None
        # After the fence: what was started before a stop has ended by then.
        if reason := await self._stops.reason():
            raise TaskAbortedError(f"{reason}. Nothing moved in this step.")
        now = time.time()
        self._began[request_id] = time.monotonic()
        work_s = min(self._record.left_s, self._settings.skill_timeout_s)
        if work_s <= 0:
            raise TaskAbortedError("the task's deadline has passed")
        # Waiting for a person's approval is no work: the grant has to outlast it.
        deadline = now + work_s + self._person_wait_s(skill)
        grant = self._signer.sign(
            agent=skill,
            robot=task.robot,
            request_id=request_id,
            fence=fence,
            tools=granted_tools(skill),
            deadline=deadline,
            task_id=task.task_id,
        )
        await self._record.write(
            SkillRequested(
                request_id=request_id,
                skill=skill,
                attempt=attempt,
                fence=fence,
                arguments=arguments.model_dump(mode="json", exclude_none=True),
                deadline=deadline,
                stops=self._stops.counts,
                alike_before=alike_before,
                own=own,
            )
        )
        return SkillRequest(
            request_id=request_id,
            task_id=task.task_id,
            robot=task.robot,
            skill=skill,
            attempt=attempt,
            follows_uncertain=self._resolver.is_uncertain(skill),
            created_at=now,
            deadline=deadline,
            arguments=arguments,
            alike_before=alike_before,
            coded=self._settings.architecture is Architecture.SKILL and not own,
            grant=grant,
            reply_to=self._replies.stream(skill),
            traceparent=tracing.traceparent(),
            budget=Budget(wall_s=max(1.0, work_s)),
        )

    def _person_wait_s(self, skill: Skill) -> float:
        """Return how long an attempt may wait for persons on top of its time of work [s]."""
        objects_s = min(CONFIRM_WAIT_S, self._settings.question_timeout_s) if skill is Skill.APPROACH else 0.0
        return self._approval_wait_s + objects_s

    async def _look_for_alike(self, arguments: PlaceArguments) -> None:
        """Learn where things like the held one are, unless it may lie where it should already, as one of them."""
        moment = f"{self._record.task.task_id}-{self._count:02d}-before"
        if self._resolver.is_uncertain(Skill.PLACE):
            grasp, _ = await self._inspector.look_at_gripper(moment)
            if grasp != GraspState.HOLDING:
                return
        self._alike_before = await self._inspector.alike_before(moment, arguments)

    def _request_again(self, attempt: Attempt) -> SkillRequest:
        """Return a request as the journal has it: enough to ask for its result, not to submit it."""
        task, asked = self._record.task, attempt.requested
        made_at, wait_s = attempt.event.at, self._settings.skill_timeout_s + self._person_wait_s(attempt.skill)
        self._began[asked.request_id] = time.monotonic() - self._record.age_s(attempt.event)
        return SkillRequest(
            request_id=asked.request_id,
            task_id=task.task_id,
            robot=task.robot,
            skill=attempt.skill,
            attempt=asked.attempt,
            # Both by the clock of who has made it, as in the journal.
            created_at=made_at,
            deadline=asked.deadline or made_at + wait_s,
            arguments=attempt.arguments,
            alike_before=asked.alike_before,
            grant="",
            reply_to=self._replies.stream(attempt.skill),
            # How long a person was waited for is not known here: the agent's own clock ends its work before.
            budget=Budget(wall_s=wait_s),
        )

    async def _ask_again(self, request: SkillRequest, *, own: bool) -> SkillResult | None:
        """Return the result of a request that another process had made; None when no agent had taken it.

        `own`: the model of that process has worked at it, so that something may have moved all the same.
        """
        queue = self._bus.skills(request.skill)
        try:
            age_s = time.monotonic() - self._began[request.request_id]
            return await self._replies.rejoin(queue, request, age_s=age_s, absent_after_s=self._settings.agent_absent_s)
        except NoAnswerError as error:
            if error.taken or own:
                uncertain = error.started or own
                return unknown_result(request, str(error), State.UNCERTAIN if uncertain else State.FAILED)
            # Nobody took it, but an agent that reads its stream without taking knows the grant.
            await self._revoke(request)
            await self._record.write(not_started_event(request, str(error), State.RETRIABLE))
            return None

    async def _ask(self, request: SkillRequest, *, own: bool = False) -> SkillResult:
        """Return the result of a request; `own`: its work is done already, and only its verification is asked for."""
        queue = self._bus.skills(request.skill)
        try:
            return await self._replies.ask(
                queue,
                request,
                absent_after_s=self._settings.agent_absent_s,
                waited_s=lambda: self._approvals.waited_s(request.request_id),
            )
        except (QueueFullError, NoAnswerError) as error:
            if own:
                return unknown_result(request, f"nobody verified it: {error}", State.UNCERTAIN)
            return await self._unanswered(request, error)

    async def _unanswered(self, request: SkillRequest, error: QueueFullError | NoAnswerError) -> SkillResult:
        """Return the result of a request that no agent answered. Raises TaskAbortedError when none had taken it."""
        if isinstance(error, QueueFullError):
            raise TaskAbortedError(f"{error}. Nothing moved in this step.") from error
        if not error.taken:
            await self._record.write(not_started_event(request, str(error), State.FAILED))
            raise TaskAbortedError(f"{error}. Nothing moved in this step.") from error
        state = State.UNCERTAIN if error.started else State.FAILED
        return unknown_result(request, str(error), state)

    async def _stop(
        self, request: SkillRequest, asked: "asyncio.Task[SkillResult] | asyncio.Task[SkillResult | None]"
    ) -> SkillResult | None:
        """Cancel the request and return its result, None when no agent had taken it."""
        end = time.monotonic() + self._settings.cancel_wait_s
        await asyncio.gather(
            self._fences.end_motions(request.robot, request.request_id, "the task was canceled"),
            self._tell_to_stop(request, end),
        )
        await asyncio.wait({asked}, timeout=max(0.0, end - time.monotonic()))
        if not asked.done():
            asked.cancel()
            return unknown_result(
                request,
                f"the {request.skill} agent did not report within {self._settings.cancel_wait_s:.0f} s that the "
                "robot rests",
                State.UNCERTAIN,
            )
        error = asked.exception()
        if error is not None:
            state = State.FAILED if isinstance(error, TaskAbortedError) else State.UNCERTAIN
            return unknown_result(request, str(error), state)
        return asked.result()

    async def _tell_to_stop(self, request: SkillRequest, end: float) -> None:
        """Send the cancel to the agent; try again while the store is away."""
        while True:
            try:
                await self._bus.skills(request.skill).cancel(request.request_id)
                return
            except BusUnavailableError as error:
                log.error("cancel of request %s: %s", request.request_id, error)
                if time.monotonic() >= end:
                    return
                await asyncio.sleep(RETRY_S)


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait({task})


async def _in_spite_of_cancel(work: Awaitable[T]) -> T:
    """Return the result of short `work`; it finishes also when the caller is canceled once more meanwhile."""
    task = asyncio.ensure_future(work)
    canceled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            canceled = True
        except Exception:
            break
    if canceled and (current := asyncio.current_task()) is not None:
        current.cancel()
    return task.result()
