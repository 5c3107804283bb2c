"""Metrics of an agent process and their labels."""

from prometheus_client import Counter, Gauge, Histogram

SECONDS = (0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 20, 60, 120)

LOOPS = Counter("quartet_loops_total", "Loops ended, by cause", ["actor", "cause"])
TOKENS = Counter("quartet_loop_tokens_total", "Model tokens used", ["actor", "kind"])
TOOL_CALLS = Counter("quartet_tool_calls_total", "Tool calls, by result code", ["actor", "tool", "error_code"])
TOOL_SECONDS = Histogram("quartet_tool_call_seconds", "Duration of tool calls", ["actor", "tool"], buckets=SECONDS)
REQUESTS = Counter("quartet_skill_requests_total", "Skill requests answered", ["skill", "error_code"])
REQUEST_SECONDS = Histogram("quartet_skill_request_seconds", "Duration of skill requests", ["skill"], buckets=SECONDS)
RUNNING = Gauge("quartet_skill_requests_running", "Skill requests that run now", ["skill"])
