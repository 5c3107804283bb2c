"""Metrics of a process that thinks: names, labels and buckets in one place."""

from prometheus_client import Counter, Gauge, Histogram

from quartet_process import REGISTRY, LabelValues

AGENT, CAUSE, KIND, TOOL, CODE, ATTEMPT = "agent", "cause", "kind", "tool", "code", "attempt"
SECONDS = (0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 20, 60, 120)
MOST_ATTEMPTS = 5
"""Attempts from this one on are counted together."""

LOOPS = Counter("quartet_loops_total", "Loops ended, by cause", (AGENT, CAUSE), registry=REGISTRY)
TOKENS = Counter("quartet_loop_tokens_total", "Model tokens used", (AGENT, KIND), registry=REGISTRY)
MODEL_SECONDS = Histogram(
    "quartet_model_answer_seconds", "Wait for an answer of the model", (AGENT,), buckets=SECONDS, registry=REGISTRY
)
TOOL_CALLS = Counter(
    "quartet_agent_tool_calls_total", "Tool calls, by result code", (AGENT, TOOL, CODE), registry=REGISTRY
)
TOOL_SECONDS = Histogram(
    "quartet_agent_tool_call_seconds", "Duration of tool calls", (AGENT, TOOL), buckets=SECONDS, registry=REGISTRY
)
REPAIRS = Counter(
    "quartet_repaired_calls_total", "Tool calls that were repaired, by kind of repair", (AGENT, KIND), registry=REGISTRY
)
REQUESTS = Counter("quartet_skill_requests_total", "Skill requests answered", (AGENT, CODE, ATTEMPT), registry=REGISTRY)
REQUEST_SECONDS = Histogram(
    "quartet_skill_request_seconds", "Duration of skill requests", (AGENT,), buckets=SECONDS, registry=REGISTRY
)
REQUEST_WAIT = Histogram(
    "quartet_skill_request_wait_seconds", "Request made to request begun", (AGENT,), buckets=SECONDS, registry=REGISTRY
)
RUNNING = Gauge("quartet_skill_requests_running", "Skill requests that run now", (AGENT,), registry=REGISTRY)


def begin(agent: str) -> None:
    """Export the metrics of `agent` as zero, so that its first request is seen as an increase."""
    for kind in ("prompt", "completion"):
        TOKENS.labels(agent, kind)
    REQUESTS.labels(agent, "NONE", "1")
    for family in (MODEL_SECONDS, REQUEST_SECONDS, REQUEST_WAIT, RUNNING):
        family.labels(agent)


codes = LabelValues()
"""A third-party server may answer any code."""


def attempt(number: int) -> str:
    """Return the label of the `number`th attempt."""
    return str(number) if number < MOST_ATTEMPTS else f"{MOST_ATTEMPTS}+"
