"""Approvals: puts a call that the site's policy wants approved to a person, and signs the person's answer."""

import asyncio
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable

from quartet_agent_runtime import ApprovalClient, WorkClock
from quartet_bus import Bus, BusUnavailableError, Question
from quartet_contracts import JournalEvent, SkillRequest, State
from quartet_contracts.approvals import (
    CONFIRM_OBJECT,
    RUN_PROGRAM,
    ApprovalClaims,
    ApprovalDecision,
    ApprovalRequest,
    approval_audience,
    arguments_digest,
    parse_answer,
)
from quartet_contracts.journal import Answered, Asked
from quartet_contracts.story import printable
from quartet_orchestrator.grants import GrantSigner
from quartet_orchestrator.recovery import TaskRecord
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_process import boot_time

log = logging.getLogger(__name__)

CHOICES = ("yes", "no")
OBJECT_CHOICES = ("yes", "no", "not sure")
MAX_SHOWN = 2000
"""Length of the arguments, in characters, above which a call cannot be shown whole and is refused."""
MAX_NAME = 100
"""Length of a name in a question, in characters, above which it is cut."""
MAX_TEXT = 500
"""Length of an answer or a reason, in characters, above which it is cut."""
EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n){3,}")
"""So many that they could push a part of a program out of view; their number is shown in their stead."""
RETRY_S = 0.5


class ApprovalService:
    """Asks a person for one task, and signs the answers."""

    def __init__(self, record: TaskRecord, bus: Bus, signer: GrantSigner, settings: OrchestratorSettings) -> None:
        self._record = record
        self._bus = bus
        self._signer = signer
        self._settings = settings
        self._waited: dict[str, float] = {}
        self._since: float | None = None
        self._unanswered = False
        """Whether the last question got no answer; no question about an object follows then."""

    def waited_s(self, request_id: str) -> float:
        """Return how long a person was waited for in one skill request so far [s]: that is no time of work."""
        running = 0.0 if self._since is None else time.monotonic() - self._since
        return self._waited.get(request_id, 0.0) + running

    def of(self, request: SkillRequest) -> ApprovalClient:
        """Return the way to a person for an attempt that the task's own model makes."""
        clock = WorkClock.of(request)
        return _OwnApprovals(lambda asked: self._decide(request, asked, clock))

    async def serve(self, request: SkillRequest, age_s: float = 0.0) -> None:
        """Answer the approval requests of one skill request that was made `age_s` [s] ago, until it is canceled.

        A request stays in the store until it has a decision: after the store was away it is taken up again, and so is
        an answer that a person has given meanwhile.
        """
        clock = WorkClock.of(request, age_s)
        while True:
            try:
                asked = await self._bus.approvals.next(request.skill, request.request_id)
                decision = await self._decide(request, asked, clock)
                await self._bus.approvals.decide(asked, decision)
            except BusUnavailableError as error:
                log.error("an approval of request %s waits for the store: %s", request.request_id, error)
                await asyncio.sleep(RETRY_S)

    async def _decide(self, request: SkillRequest, asked: ApprovalRequest, clock: WorkClock) -> ApprovalDecision:
        text, answer = json.dumps(asked.arguments, ensure_ascii=False, sort_keys=True), None
        if (asked.task_id, asked.robot, asked.agent) != (request.task_id, request.robot, str(request.skill)):
            allowed, reason = False, "the approval was asked for under a request of another task, robot or agent"
        elif len(text) > MAX_SHOWN:
            allowed, reason = False, f"its arguments are longer than {MAX_SHOWN} characters and cannot be shown"
        else:
            answer = (
                None if self._unanswered and asked.tool == CONFIRM_OBJECT else await self._ask(request, asked, clock)
            )
            self._unanswered = answer is None
            allowed = parse_answer(answer) is True
            reason = "nobody answered in time" if answer is None else f"the person answered: {answer[:MAX_TEXT]}"
        return ApprovalDecision(
            approval_id=asked.approval_id,
            allowed=allowed,
            reason=reason,
            answer=None if answer is None else answer[:MAX_TEXT],
            token=self._sign(asked, allowed, reason),
        )

    def _sign(self, asked: ApprovalRequest, allowed: bool, reason: str) -> str:
        now = time.time()
        return self._signer.sign_approval(
            ApprovalClaims(
                sub=asked.agent,
                aud=approval_audience(asked.robot),
                iat=int(now) - 5,
                exp=int(max(now, asked.expires_at)) + 5,
                jti=asked.approval_id,
                request_id=asked.request_id,
                tool=asked.tool,
                arguments_sha256=arguments_digest(asked.arguments),
                decision="allow" if allowed else "deny",
                reason=reason,
            )
        )

    async def _ask(self, request: SkillRequest, asked: ApprovalRequest, clock: WorkClock) -> str | None:
        """Return the person's answer, None when there is none in time. The task is PAUSED meanwhile."""
        record, task = self._record, self._record.task
        # How long the call waits was told by the clock that the request's deadline has; a clock may be set since then.
        of_call = clock.most_s - max(0.0, request.deadline - asked.expires_at)
        left_s = min(of_call, self._settings.question_timeout_s)
        end, expires_at = boot_time() + left_s, time.time() + left_s
        text = describe_approval(asked)
        about_object = asked.tool == CONFIRM_OBJECT
        choices = OBJECT_CHOICES if about_object else CHOICES
        question = Question(asked.approval_id, text, expires_at, choices, approval=not about_object)
        told = Asked(
            question_id=question.question_id,
            text=text,
            choices=list(choices),
            image=await self._picture(asked) if about_object else None,
            approval=not about_object,
            expires_at=expires_at,
        )
        await self._write(request, told)
        await self._bus.questions.put(task.task_id, question, left_s)
        self._since = time.monotonic()
        try:
            if record.state is State.RUNNING:
                await record.move(State.PAUSED, "waits for a person's answer", asked=told)
            answer = await self._bus.questions.wait(task.task_id, question, end - boot_time())
            if answer is None:
                record.unanswered[question.question_id] = question.text
            else:
                await self._write(request, Answered(question_id=question.question_id, text=answer))
            return answer
        finally:
            self._waited[request.request_id], self._since = self.waited_s(request.request_id), None
            await self._bus.questions.close(task.task_id, question)
            if record.state is State.PAUSED:
                await record.move(State.INITIALIZING, "the question is closed")
                await record.move(State.RUNNING)

    async def _picture(self, asked: ApprovalRequest) -> str | None:
        """Return the reference of the picture that a question is about, None if the task has no such picture."""
        reference = asked.arguments.get("image")
        if not isinstance(reference, str) or await self._bus.images.get(asked.task_id, reference) is None:
            return None
        return reference

    async def _write(self, request: SkillRequest, event: Asked | Answered) -> None:
        """Write under the skill request: the question is not one of the orchestrator's own model."""
        await self._record.journal.append(
            JournalEvent(
                task_id=request.task_id,
                actor="orchestrator",
                at=time.time(),
                event=event,
                request_id=request.request_id,
            )
        )


class _OwnApprovals:
    """Approvals that this process asks for itself. See ApprovalClient."""

    def __init__(self, decide: Callable[[ApprovalRequest], Awaitable[ApprovalDecision]]) -> None:
        self._decide = decide

    async def ask(self, request: ApprovalRequest, left_s: float) -> ApprovalDecision | None:
        return await self._decide(request)


def describe_approval(asked: ApprovalRequest) -> str:
    """Return the question for the person, in plain words, with nothing in it that a display would hide."""
    because = " ".join(asked.because.split())[:MAX_TEXT]
    told = f"Asked because: {because}. Answer yes to allow it; anything else refuses it."
    if asked.tool == RUN_PROGRAM:
        code = EMPTY_LINES.sub(_count_lines, printable(str(asked.arguments.get("code", ""))))
        return f"May {asked.agent} of robot {asked.robot} run this program?\n{code}\n{printable(told)}"
    if asked.tool == CONFIRM_OBJECT:
        name, area = (" ".join(str(asked.arguments.get(one, "")).split())[:MAX_NAME] for one in ("object_name", "area"))
        return printable(f"Is this '{name}'? {asked.robot} sees it in the {area} and is not sure.")
    server, _, tool = asked.tool.partition("__")
    given = ", ".join(f"{name} {_value(value)}" for name, value in asked.arguments.items()) or "no arguments"
    return printable(
        f"May {asked.agent} of robot {asked.robot} do this once: {tool.replace('_', ' ')} ({server}; {given})? {told}"
    )


def _count_lines(empty: re.Match[str]) -> str:
    return f"\n[{empty[0].count(chr(10)) - 1} empty lines]\n"


def _value(value: object) -> str:
    return " ".join(json.dumps(value, ensure_ascii=False).split())
