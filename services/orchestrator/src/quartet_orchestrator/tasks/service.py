"""Service of tasks: submit, status, cancel, pause, resume, answer, for the routes of the API and the tools of MCP."""

import hashlib
import logging
import re
import secrets
import time
from collections.abc import Mapping
from typing import Literal

from opentelemetry.trace import SpanKind

from quartet_bus import Bus, BusError, Question
from quartet_contracts import (
    ANY_ROBOT,
    TEAM_QUEUE,
    TERMINAL,
    Answer,
    Budget,
    Cancellation,
    DirectStep,
    JournalEvent,
    Pause,
    Role,
    Skill,
    State,
    Task,
    TaskStatus,
    TaskSubmission,
    is_stop_order,
)
from quartet_contracts.journal import Ordered
from quartet_orchestrator.callers import current_caller
from quartet_orchestrator.errors import RequestError, StopServiceError
from quartet_orchestrator.observation import Fleet
from quartet_orchestrator.recovery import end_unstarted
from quartet_orchestrator.stop_client import StopClient, describe_stop
from quartet_orchestrator.tasks.abilities import unable_to_follow, unable_to_step
from quartet_orchestrator.tasks.briefs import RobotBrief
from quartet_orchestrator.tasks.part import team_budget
from quartet_process import tracing
from quartet_teams import TEAMS
from quartet_teams.malmm import CODER, PLANNER, ROUNDS, SUPERVISOR

log = logging.getLogger(__name__)

EMERGENCY = "Press the emergency stop on the robot itself"
ROBOT_TEAMS = (*TEAMS, "emos", "roco")
"""Teams of all robots of a deployment."""
PARTICIPANTS = len((PLANNER, CODER, SUPERVISOR))
"""Of the largest team that writes programs."""
KEY = re.compile(r"[\x21-\x7e]{1,255}")


class TaskService:
    """Takes orders for tasks; one per process. Raises RequestError for an order that cannot be taken."""

    def __init__(
        self,
        bus: Bus,
        fleet: Fleet,
        stop_client: StopClient | None,
        task_timeout_s: float,
        briefs: Mapping[str, RobotBrief],
    ) -> None:
        """`stop_client`: None where no stop service is configured. `task_timeout_s`: of a submission without one."""
        self._briefs = briefs
        self.bus = bus
        self.fleet = fleet
        self.stop_client = stop_client
        self._task_timeout_s = task_timeout_s

    async def accept(
        self, submission: TaskSubmission, step: DirectStep | None = None, key: str | None = None
    ) -> TaskStatus:
        """Persist a task and return its status; with the idempotency key of an earlier submission, return that task.

        A sentence that orders to stop is no task: the robots are stopped at once, and the refusal (409) says so.
        """
        current_caller.get().require(Role.SUBMIT, "a task")
        if step is None and is_stop_order(submission.sentence, self.fleet.names):
            raise await self._stopped(submission)
        submitted_as = _digest(_checked(key)) if key is not None else None
        if submitted_as is None or not await self.bus.tasks.is_submitted(submitted_as):
            await self._require_not_stopped(submission.robot)
        now = time.time()
        with tracing.span("accept task", kind=SpanKind.SERVER):
            # The parent span of every replica that works on the task.
            origin = tracing.traceparent()
        budget = submission.budget
        timeout_s = submission.timeout_s if "timeout_s" in submission.model_fields_set else self._task_timeout_s
        if "wall_s" in budget.model_fields_set:
            timeout_s = min(timeout_s, budget.wall_s)
        task = Task(
            task_id=new_task_id(),
            sentence=submission.sentence,
            robot=self._queue(submission, step),
            created_at=now,
            deadline=now + submission.queue_timeout_s,
            timeout_s=timeout_s,
            budget=self._budget(submission),
            step=step,
            team=submission.team,
            traceparent=origin,
            submission=submitted_as,
        )
        body = submission.model_dump_json() + (step.model_dump_json() if step else "")
        status = await self.bus.tasks.submit(task, _digest(body))
        if status.task.task_id == task.task_id:
            await self._note_order(task.task_id, "submit")
        return status

    async def _require_not_stopped(self, robot: str | None) -> None:
        """Raise RequestError if the robot is stopped, or all are, for a task that any may do.

        A stop service that does not answer refuses nothing: the servers refuse what moves a stopped robot.
        """
        if self.stop_client is None:
            return
        try:
            states = await self.stop_client.state()
        except StopServiceError as error:
            log.warning("whether a robot is stopped is not known: %s", error)
            return
        wanted = {name: state for name, state in states.items() if robot in (None, name)}
        if wanted and all(state.get("latched") is True for state in wanted.values()):
            names = ", ".join(sorted(wanted))
            reason = next((str(state["reason"]) for state in wanted.values() if state.get("reason")), "no reason given")
            detail = (
                f"{names}: stopped ({reason[:200]}), so the task was not accepted. See that the way is free, let the "
                "robot move again with `quartet reset` or Reset on the page, then give the task again"
            )
            raise RequestError(409, "Robot stopped", detail)

    async def _stopped(self, submission: TaskSubmission) -> RequestError:
        """Stop the robot that the submission names, or all; return what to tell."""
        if self.stop_client is None:
            detail = f"no stop service is configured (QUARTET_STOP_URL): NOTHING was stopped. {EMERGENCY}"
            return RequestError(503, "Not stopped", detail)
        try:
            found = await self.stop_client.stop(submission.robot, f"somebody said: {submission.sentence[:200]}")
        except StopServiceError as error:
            return RequestError(503, "Not stopped", str(error))
        robots = "; ".join(f"{name}: {describe_stop(state)}" for name, state in sorted(found.items()))
        if all(state.get("stopped") is True for state in found.values()):
            detail = f"the sentence was taken as an order to stop, not as a task. {robots}. Go on with: quartet reset"
            return RequestError(409, "Stopped", detail)
        return RequestError(503, "Not stopped", f"{robots}. {EMERGENCY}")

    async def _note_order(self, task_id: str, order: Literal["submit", "pause", "resume", "cancel", "answer"]) -> None:
        """Write to the journal who gave the order, when the credential has an owner.

        The order stands without the note: a client would submit again a task that is on its stream already, and a
        cancel must not wait for a store that is full.
        """
        if by := current_caller.get().name:
            event = Ordered(order=order, by=by)
            noted = JournalEvent(task_id=task_id, actor="orchestrator", at=time.time(), event=event)
            try:
                await self.bus.journal.append(noted)
            except BusError as error:
                log.warning("who ordered '%s' of task %s is not in its journal: %s", order, task_id, error)

    def _queue(self, submission: TaskSubmission, step: DirectStep | None) -> str:
        if submission.team is None:
            robot = self._robot(submission.robot, step)
            if robot == ANY_ROBOT:
                self._require_able(submission.sentence, step)
            return robot
        if submission.team not in ROUNDS:
            return self._team_queue(submission)
        robot = self._robot(submission.robot, None)
        if robot == ANY_ROBOT:
            valid = ", ".join(self.fleet.names)
            detail = f"robot: a team's programs work where the robot stands already, so name the robot; valid: {valid}"
            raise RequestError(422, "Robot missing", detail)
        return robot

    def _require_able(self, sentence: str, step: DirectStep | None) -> None:
        """Raise RequestError where no robot is able to do a task, with the numbers of each."""
        unable = {
            robot: unable_to_step(brief, step.arguments) if step else unable_to_follow(brief, sentence)
            for robot, brief in sorted(self._briefs.items())
        }
        if all(unable.values()):
            reasons = "; ".join(f"{robot}: {reason}" for robot, reason in unable.items())
            detail = f"sentence: no robot is able to do it. {reasons}. Name a robot to have it do what it can"
            raise RequestError(422, "No robot is able", detail)

    def _budget(self, submission: TaskSubmission) -> Budget:
        """Return the budget: as submitted for one model, and as much for each of a team's."""
        if submission.team is None:
            return submission.budget
        # Beside the robots' own models, one leads their discussion.
        return team_budget(submission, PARTICIPANTS if submission.team in ROUNDS else len(self.fleet.names) + 1)

    def _robot(self, wanted: str | None, step: DirectStep | None) -> str:
        try:
            robot = self.fleet.resolve(wanted)
        except KeyError:
            valid = ", ".join(self.fleet.names)
            detail = f"robot: there is no robot '{wanted}'; valid: {valid}, or none for the first that is free"
            raise RequestError(422, "Unknown robot", detail) from None
        if robot == ANY_ROBOT and step is not None and step.skill is not Skill.APPROACH:
            valid = ", ".join(self.fleet.names)
            detail = f"robot: a {step.skill} happens where the robot stands already, so name the robot; valid: {valid}"
            raise RequestError(422, "Robot missing", detail)
        return robot

    def _team_queue(self, submission: TaskSubmission) -> str:
        team = submission.team
        if team not in ROBOT_TEAMS:
            detail = f"team: there is no team '{team}'; valid: {', '.join((*ROBOT_TEAMS, *ROUNDS))}"
            raise RequestError(422, "Unknown team", detail)
        if submission.robot is not None:
            detail = "robot: a team is all robots of the deployment; name a robot or a team, not both"
            raise RequestError(422, "Robot and team", detail)
        if len(self.fleet.names) < 2:
            detail = f"team: a team needs two robots or more; this deployment has {self.fleet.names[0]} only"
            raise RequestError(422, "No team", detail)
        return TEAM_QUEUE

    async def status(self, task_id: str) -> TaskStatus:
        """Return the status of a task."""
        status = await self.bus.statuses.get(task_id)
        if status is None:
            raise RequestError(
                404,
                "No such task",
                f"there is no task '{task_id[:80]}', or not any more; `quartet list` and GET /tasks show the others",
            )
        return status

    async def cancel(self, task_id: str, cancellation: Cancellation) -> TaskStatus:
        """Order a task to end; one that waits in the queue ends at once."""
        current_caller.get().require(Role.SUBMIT, "a cancel")
        status = await self.status(task_id)
        if status.state in TERMINAL:
            return status
        await self._note_order(task_id, "cancel")
        await self.bus.tasks.cancel(task_id, cancellation.reason)
        if status.state is State.QUEUED:
            await end_unstarted(self.bus, status)
        return await self.status(task_id)

    async def pause(self, task_id: str, pause: Pause) -> TaskStatus:
        """Order a task to pause before its next step."""
        current_caller.get().require(Role.SUBMIT, "a pause")
        await self._running(task_id, "it cannot be paused")
        await self._note_order(task_id, "pause")
        await self.bus.tasks.pause(task_id, pause.reason)
        return await self.status(task_id)

    async def resume(self, task_id: str) -> TaskStatus:
        """Let a paused task go on."""
        current_caller.get().require(Role.SUBMIT, "a resume")
        await self._running(task_id, "it cannot be resumed")
        await self._note_order(task_id, "resume")
        await self.bus.tasks.resume(task_id)
        return await self.status(task_id)

    async def _running(self, task_id: str, so: str) -> TaskStatus:
        status = await self.status(task_id)
        if status.state in TERMINAL:
            raise RequestError(409, "Task has ended", f"task '{task_id}' has ended as {status.state}; {so}")
        return status

    async def answer(self, task_id: str, answer: Answer) -> TaskStatus:
        """Answer the open question of a task; an approval only for a caller with that role."""
        await self._running(task_id, "it asks nothing")
        question = await self.bus.questions.current(task_id)
        if question is not None:
            _require_role_for(question)
        await self._note_order(task_id, "answer")
        # Another question may be open by now: the one that takes the answer is checked as well.
        await self.bus.questions.answer(task_id, answer, check=_require_role_for)
        return await self.status(task_id)


def _require_role_for(question: Question) -> None:
    if question.approval:
        current_caller.get().require(Role.APPROVE, "the answer to an approval")
    else:
        current_caller.get().require(Role.SUBMIT, "an answer")


def new_task_id() -> str:
    """Return a task id that sorts by time and can be read aloud: 20261120-113015-3f9c2a."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


def _checked(key: str) -> str:
    if not KEY.fullmatch(key):
        raise RequestError(
            422,
            "Idempotency key not valid",
            f"Idempotency-Key: {key[:80]!r}; it is 1 to 255 printable ASCII characters, such as a UUID",
        )
    return key


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
