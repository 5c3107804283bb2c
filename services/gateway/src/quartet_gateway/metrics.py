"""Metrics of the gateway."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from quartet_gateway.config import AGENTS

AGENT, OUTCOME, MODEL, KIND, ERROR = "agent", "outcome", "model", "kind", "error"
SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 45, 90, 120)


class Metrics:
    """One set of metrics per gateway, in a registry of its own; the labels are agents and models of its file."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter("quartet_model_requests_total", "Requests by agent and outcome.", AGENT, OUTCOME)
        self.tokens = self._counter(
            "quartet_model_tokens_total",
            "Tokens by agent, model and kind (prompt, completion, cached).",
            AGENT,
            MODEL,
            KIND,
        )
        self.cost = self._counter("quartet_model_cost_usd_total", "Cost by agent and model [USD].", AGENT, MODEL)
        self.seconds = Histogram(
            "quartet_model_request_seconds",
            "Time of a request, retries included [s].",
            (AGENT,),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.tries = Histogram(
            "quartet_model_try_seconds",
            "Time of an answer of one model [s].",
            (MODEL,),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.failures = self._counter(
            "quartet_model_failures_total",
            "Failed tries by model and kind of error, retried ones included.",
            MODEL,
            ERROR,
        )
        self.fallbacks = self._counter("quartet_model_fallbacks_total", "Answers that a fallback gave.", AGENT, MODEL)
        self.budget_used = Gauge(
            "quartet_model_budget_used_ratio",
            "Part of an agent's budget of this period that is used, the fuller of money and tokens.",
            (AGENT,),
            registry=self.registry,
        )
        for agent in AGENTS:
            # From zero on, so that the first request is seen as an increase.
            self.requests.labels(agent, "ok")
            self.seconds.labels(agent)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)
