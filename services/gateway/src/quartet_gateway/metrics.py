"""Names, labels and help of the gateway's metrics."""

from prometheus_client import CollectorRegistry, Counter, Histogram

SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 45, 90, 120)


class Metrics:
    """One set per gateway, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "quartet_model_requests_total",
            "Requests by agent and outcome.",
            ["agent", "outcome"],
            registry=self.registry,
        )
        self.tokens = Counter(
            "quartet_model_tokens_total",
            "Tokens by agent, model and kind (prompt, completion, cached).",
            ["agent", "model", "kind"],
            registry=self.registry,
        )
        self.cost = Counter(
            "quartet_model_cost_usd_total", "Cost by agent and model [USD].", ["agent", "model"], registry=self.registry
        )
        self.seconds = Histogram(
            "quartet_model_request_seconds",
            "Time of a request, retries included [s].",
            ["agent"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.failures = Counter(
            "quartet_model_failures_total",
            "Failed tries by model and kind of error, retried ones included.",
            ["model", "error"],
            registry=self.registry,
        )
        self.fallbacks = Counter(
            "quartet_model_fallbacks_total", "Answers that a fallback gave.", ["agent", "model"], registry=self.registry
        )
