"""Approvals on their way: an agent asks for a person's word on one call, the orchestrator answers."""

import time

from quartet_bus._keys import Keys
from quartet_bus._store import Store
from quartet_bus.errors import BusUnavailable
from quartet_bus.options import BusOptions
from quartet_bus.signals import POLL_S, Signals
from quartet_contracts import decode, encode
from quartet_contracts.approvals import ApprovalDecision, ApprovalRequest


class Approvals:
    """One question at a time per skill request; both sides may be started anew in between."""

    def __init__(self, store: Store, keys: Keys, options: BusOptions, signals: Signals) -> None:
        self._store = store
        self._keys = keys
        self._options = options
        self._signals = signals

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """The decision, or None when none has come by `expires_at`. Raises MessageTooLarge."""
        key, topic = self._keys.approval(request.request_id), _topic("decided", request.approval_id)
        expiry = max(1, round((request.expires_at - time.time()) * 1000))
        async with self._signals.listen(topic) as bell:
            await self._store.transaction(
                ("SET", key, encode(request), "PX", expiry),
                self._signals.command(_topic("asked", request.request_id)),
            )
            while True:
                left = request.expires_at - time.time()
                try:
                    found = await self._store.call("GET", self._keys.decision(request.approval_id))
                    if found is not None:
                        return decode(ApprovalDecision, found)
                except BusUnavailable:
                    if left <= 0:
                        raise
                if left <= 0:
                    return None
                await bell.wait(min(left, POLL_S))

    async def next(self, request_id: str) -> ApprovalRequest:
        """The next question of a skill request that has no decision yet; waits for it for ever."""
        async with self._signals.listen(_topic("asked", request_id)) as bell:
            while True:
                try:
                    found = await self._store.call("GET", self._keys.approval(request_id))
                except BusUnavailable:
                    found = None
                if found is not None:
                    return decode(ApprovalRequest, found)
                await bell.wait(POLL_S)

    async def decide(self, request: ApprovalRequest, decision: ApprovalDecision) -> None:
        """Answer a question; a second answer to it changes nothing."""
        expiry = round(self._options.results_s * 1000)
        await self._store.transaction(
            ("SET", self._keys.decision(request.approval_id), encode(decision), "NX", "PX", expiry),
            ("DEL", self._keys.approval(request.request_id)),
            self._signals.command(_topic("decided", request.approval_id)),
        )


def _topic(what: str, identity: str) -> str:
    return f"approval-{what}:{identity}"
