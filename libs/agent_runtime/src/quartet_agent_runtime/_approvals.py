"""Calls that a server puts off until a person allows them: ask, and return the signed decision."""

import logging
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quartet_agent_runtime._protocols import ApprovalClient
from quartet_agent_runtime._work_clock import WorkClock
from quartet_contracts import SkillRequest
from quartet_contracts.approvals import DECISION_FIELD, SECONDS_LEFT, ApprovalDecision, ApprovalRequest

if TYPE_CHECKING:
    from mcp_types import ElicitResult, InputRequiredResult

log = logging.getLogger(__name__)

WAIT_S = 300.0
"""How long to wait for a person where the server does not say."""


class ApprovalRequester:
    """Asks a person to allow calls of one skill request, and stops its `clock` meanwhile."""

    def __init__(self, request: SkillRequest, desk: ApprovalClient, clock: WorkClock | None = None) -> None:
        self._request, self._desk = request, desk
        self._clock = clock or WorkClock.of(request)

    async def responses(
        self, tool: str, arguments: dict[str, Any], put_off: "InputRequiredResult"
    ) -> "dict[str, ElicitResult]":
        """Return what to make the call with the second time; a question without a decision is declined."""
        from mcp_types import ElicitResult

        answers: dict[str, ElicitResult] = {}
        expires_at = self._until(put_off.meta or {})
        for approval_id, asked in (put_off.input_requests or {}).items():
            try:
                because = str(getattr(asked.params, "message", ""))[:2000]
                with self._clock.waiting():
                    token = await self._ask(approval_id, tool, arguments, because, expires_at)
            except Exception as error:
                # Whatever is wrong with the question or the store: without a person's word nothing moves.
                log.error("nobody could be asked about %s: %s: %s", tool, type(error).__name__, error)
                token = None
            if token is None:
                answers[approval_id] = ElicitResult(action="decline")
            else:
                answers[approval_id] = ElicitResult(action="accept", content={DECISION_FIELD: token})
        return answers

    def _until(self, meta: Mapping[str, Any]) -> float:
        """Return when the server takes no decision any more, or the request is over [s since the epoch].

        By the clock of who made the request, as `_now`. The server's may differ: it says how long it waits.
        """
        left_s = meta.get(SECONDS_LEFT)
        left_s = float(left_s) if isinstance(left_s, int | float) else WAIT_S
        return min(self._now() + left_s, self._request.deadline)

    def _now(self) -> float:
        """Return the time by the clock of who made the request [s since the epoch]; this machine's may differ."""
        return self._request.deadline - self._clock.most_s

    async def ask(
        self, tool: str, arguments: dict[str, Any], because: str, expires_at: float
    ) -> ApprovalDecision | None:
        """Return a person's decision on something of the agent's own, None when there is none in time."""
        with self._clock.waiting():
            until = min(expires_at, self._request.deadline)
            return await self._decision(f"own-{secrets.token_hex(8)}", tool, arguments, because, until)

    async def _ask(
        self, approval_id: str, tool: str, arguments: dict[str, Any], because: str, expires_at: float
    ) -> str | None:
        decision = await self._decision(approval_id, tool, arguments, because, expires_at)
        return None if decision is None else decision.token

    async def _decision(
        self, approval_id: str, tool: str, arguments: dict[str, Any], because: str, expires_at: float
    ) -> ApprovalDecision | None:
        request, left_s = self._request, expires_at - self._now()
        if left_s <= 0:
            return None
        decision = await self._desk.ask(
            ApprovalRequest(
                approval_id=approval_id,
                request_id=request.request_id,
                task_id=request.task_id,
                robot=request.robot,
                agent=str(request.skill),
                tool=tool,
                arguments=arguments,
                because=because,
                expires_at=expires_at,
            ),
            left_s,
        )
        log.info("%s of request %s: %s", tool, request.request_id, decision.reason if decision else "no decision came")
        return decision
