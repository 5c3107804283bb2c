"""Approval requests of agents for one tool call, and the decisions that the orchestrator returns."""

import logging
import time

from quartet_bus._keys import OWNER, WRITERS
from quartet_bus._notifications import POLL_S
from quartet_bus._part import Part
from quartet_bus._skipped import log_skipped
from quartet_bus.errors import BusUnavailableError
from quartet_contracts import MAX_MESSAGE_BYTES, ContractError, MalformedMessageError, decode, encode
from quartet_contracts.approvals import ApprovalDecision, ApprovalRequest

log = logging.getLogger(__name__)


class Approvals(Part):
    """Approval requests and decisions, one at a time per skill request; both sides may restart in between."""

    async def ask(self, request: ApprovalRequest, left_s: float) -> ApprovalDecision | None:
        """The decision, or None when none has come within `left_s` [s]. Raises MessageTooLargeError.

        `expires_at` of the request is for who decides, whose clock may differ.
        """
        key, topic = self._keys.approval(self._role, request.request_id), _topic("decided", request.approval_id)
        expiry, end = max(1, round(left_s * 1000)), time.monotonic() + left_s
        async with self._notifications.listen(topic) as wakeup:
            await self._store.transaction(
                ("SET", key, encode(request), "PX", expiry),
                self._notifications.command(_topic("asked", request.request_id)),
            )
            while True:
                left = end - time.monotonic()
                try:
                    found = await self._store.call("GET", self._keys.decision(request.approval_id))
                    if found is not None:
                        return decode(ApprovalDecision, found)
                except BusUnavailableError:
                    if left <= 0:
                        raise
                if left <= 0:
                    return None
                await wakeup.wait(min(left, POLL_S))

    async def next(self, skill: str, request_id: str) -> ApprovalRequest:
        """Wait for the next question about a skill request that has no decision yet, and return it."""
        async with self._notifications.listen(_topic("asked", request_id)) as wakeup:
            while True:
                try:
                    found = await self._question(skill, request_id)
                    if found is not None:
                        return found
                except BusUnavailableError as error:
                    log.debug("approvals of request %s: %s", request_id, error)
                await wakeup.wait(POLL_S)

    async def _question(self, skill: str, request_id: str) -> ApprovalRequest | None:
        """Return what the agent of `skill`, or a process without a role, asks now."""
        for writer in (skill, OWNER):
            key = self._keys.approval(writer, request_id)
            found = await self._store.call("GETRANGE", key, 0, MAX_MESSAGE_BYTES)
            if not found:
                continue
            try:
                asked = decode(ApprovalRequest, found)
                if asked.request_id != request_id:
                    # Its decision would be noted there, and this question asked again without end.
                    raise MalformedMessageError(f"it names request '{asked.request_id}'")
                return asked
            except ContractError as error:
                log_skipped("approval", f"of request {request_id}", error)
                await self._store.call("DEL", key)
        return None

    async def decide(self, request: ApprovalRequest, decision: ApprovalDecision) -> None:
        """Answer a question; a second answer to it changes nothing."""
        expiry = round(self._options.results_s * 1000)
        await self._store.transaction(
            ("SET", self._keys.decision(request.approval_id), encode(decision), "NX", "PX", expiry),
            ("DEL", *(self._keys.approval(writer, request.request_id) for writer in WRITERS)),
            self._notifications.command(_topic("decided", request.approval_id)),
        )


def _topic(what: str, identity: str) -> str:
    return f"approval-{what}:{identity}"
