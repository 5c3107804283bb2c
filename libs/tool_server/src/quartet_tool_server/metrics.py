"""Prometheus metrics of a tool server: names and labels in one place."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CALLS = "quartet_tool_calls"
SECONDS = "quartet_tool_call_seconds"
RUNNING = "quartet_motions_running"
REFUSED = "quartet_grants_refused"
FENCE = "quartet_fence"
STOPPED = "quartet_server_stopped"
BRIDGE = "quartet_bridge_connected"
RECONNECTS = "quartet_bridge_reconnects"

SERVER, ROBOT, TOOL, CODE, REASON = "server", "robot", "tool", "code", "reason"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0)


class Metrics:
    """Metrics of one server; each instance has a registry of its own."""

    def __init__(self, server: str, robot: str) -> None:
        self.registry = CollectorRegistry()
        self._labels = {SERVER: server, ROBOT: robot}
        common = (SERVER, ROBOT)
        self._calls = Counter(CALLS, "Tool calls by outcome", (*common, TOOL, CODE), registry=self.registry)
        self._seconds = Histogram(
            SECONDS, "Wall time of tool calls", (*common, TOOL), buckets=BUCKETS, registry=self.registry
        )
        self._refused = Counter(REFUSED, "Calls refused", (*common, REASON), registry=self.registry)
        self._gauges = {
            name: Gauge(name, text, common, registry=self.registry)
            for name, text in (
                (RUNNING, "Motions that run now"),
                (FENCE, "Newest fence"),
                (STOPPED, "1 until a person resets the server"),
                (BRIDGE, "1 while rosbridge is connected"),
                (RECONNECTS, "Connections to rosbridge that were lost"),
            )
        }

    def called(self, tool: str, code: str, seconds: float) -> None:
        """A tool call has ended with `code`."""
        self._calls.labels(**self._labels, **{TOOL: tool, CODE: code}).inc()
        self._seconds.labels(**self._labels, **{TOOL: tool}).observe(seconds)

    def refused(self, reason: str) -> None:
        """A call was refused before it reached its tool."""
        self._refused.labels(**self._labels, **{REASON: reason}).inc()

    def set(self, name: str, value: float) -> None:
        """Set one of the gauges RUNNING, FENCE, STOPPED, BRIDGE, RECONNECTS."""
        self._gauges[name].labels(**self._labels).set(value)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)
