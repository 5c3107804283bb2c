"""Prometheus metrics of the stop service."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

STOPS = "quartet_stops"
LATCHED = "quartet_stop_latched"
SECONDS = "quartet_stop_reached_seconds"
MISSED = "quartet_stop_missed"

ROBOT, TARGET = "robot", "target"
BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """One set of metrics, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._stops = Counter(STOPS, "Stops that were asked for", (ROBOT,), registry=self.registry)
        self._latched = Gauge(LATCHED, "1 until a person resets the robot", (ROBOT,), registry=self.registry)
        self._seconds = Histogram(
            SECONDS, "From the order to the answer of guard or server", (ROBOT, TARGET), buckets=BUCKETS,
            registry=self.registry,
        )  # fmt: skip
        self._missed = Counter(
            MISSED, "Orders that did not reach their target", (ROBOT, TARGET), registry=self.registry
        )

    def stopped(self, robot: str) -> None:
        """Count a stop of `robot`."""
        self._stops.labels(robot).inc()

    def reached(self, robot: str, target: str, seconds: float | None) -> None:
        """Record that a target answered an order after `seconds`; None: it did not."""
        if seconds is None:
            self._missed.labels(robot, target).inc()
        else:
            self._seconds.labels(robot, target).observe(seconds)

    def latched(self, robot: str, value: bool) -> None:
        """Set whether `robot` is stopped."""
        self._latched.labels(robot).set(float(value))
