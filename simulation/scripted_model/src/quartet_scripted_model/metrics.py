"""Metrics of the scripted model."""

from prometheus_client import CollectorRegistry, Counter

from quartet_process.metrics import OTHER
from quartet_scripted_model.answer import AGENTS
from quartet_scripted_model.misbehaviour import Kind

REQUESTS = "quartet_scripted_requests"
SPOILED = "quartet_scripted_spoiled"
AGENT, OUTCOME, KIND = "agent", "outcome", "kind"
OK, WRONG, REFUSED = "ok", "spoiled", "refused"
"""Outcomes: answered as the policy says, spoiled as QUARTET_MISBEHAVE asks for, unreadable request."""


class Metrics:
    """One set of metrics, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(REQUESTS, "Requests, by what became of them", (AGENT, OUTCOME), registry=self.registry)
        self._spoiled = Counter(SPOILED, "Answers that were made to go wrong", (KIND,), registry=self.registry)
        for agent in AGENTS:
            # From zero on, so that the first request is seen as an increase.
            self._requests.labels(agent, OK)

    def asked(self, agent: str | None, kind: Kind | None) -> None:
        """Count an answer to `agent` (None: one without a policy) with the fault `kind` (None: without)."""
        self._requests.labels(agent or OTHER, OK if kind is None else WRONG).inc()
        if kind is not None:
            self._spoiled.labels(kind.value).inc()

    def refused(self) -> None:
        """Count a request that could not be read."""
        self._requests.labels(OTHER, REFUSED).inc()
