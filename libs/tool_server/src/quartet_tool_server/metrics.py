"""Prometheus metrics of a tool server: names and labels in one place."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from quartet_process import LabelValues

CALLS = "quartet_tool_calls"
SECONDS = "quartet_tool_call_seconds"
RUNNING = "quartet_motions_running"
REFUSED = "quartet_grants_refused"
FENCE = "quartet_fence"
STOPPED = "quartet_server_stopped"
GUARD_LATCHED = "quartet_guard_latched"
BRIDGE = "quartet_bridge_connected"
RECONNECTS = "quartet_bridge_reconnects"
HEARTBEAT_AGE = "quartet_heartbeat_age_seconds"
LAPSES = "quartet_heartbeat_lapses"
POSE_X, POSE_Y, POSE_YAW = "quartet_robot_x_metres", "quartet_robot_y_metres", "quartet_robot_yaw_radians"
BATTERY = "quartet_robot_battery_ratio"

SERVER, ROBOT, TOOL, CODE, REASON, FROM = "server", "robot", "tool", "code", "reason", "sender"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0)

_GAUGES = {
    RUNNING: "Motions that run now",
    FENCE: "Newest fence",
    STOPPED: "1 until a person resets the server",
    GUARD_LATCHED: "1 while the robot guard says that it is stopped",
    BRIDGE: "1 while rosbridge is connected",
    RECONNECTS: "Connections to rosbridge that were lost",
    LAPSES: "Motions that were ended since a heartbeat stayed out",
    POSE_X: "Where the base was last seen on the map [m]",
    POSE_Y: "Where the base was last seen on the map [m]",
    POSE_YAW: "Where the base was last seen on the map [rad]",
    BATTERY: "Charge of the battery, 0 to 1",
}


class Families:
    """The metrics of all servers of a process, in one registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        common = (SERVER, ROBOT)
        self.calls = Counter(CALLS, "Tool calls by outcome", (*common, TOOL, CODE), registry=self.registry)
        self.seconds = Histogram(
            SECONDS, "Wall time of tool calls", (*common, TOOL), buckets=BUCKETS, registry=self.registry
        )
        self.refused = Counter(REFUSED, "Calls refused", (*common, REASON), registry=self.registry)
        self.gauges = {name: Gauge(name, text, common, registry=self.registry) for name, text in _GAUGES.items()}
        self.heartbeat_age = Gauge(
            HEARTBEAT_AGE,
            "Since the oldest last heartbeat while something moves: of the caller to the server, of the server to the "
            "robot guard [s]",
            (*common, FROM),
            registry=self.registry,
        )
        self.codes = LabelValues()


class Metrics:
    """Metrics of one server of one robot; servers of the same process share `families`."""

    def __init__(self, server: str, robot: str, families: Families | None = None) -> None:
        self._families = families or Families()
        self.registry = self._families.registry
        self.robot = robot
        self._labels = {SERVER: server, ROBOT: robot}

    def offers(self, tool: str) -> None:
        """Tell of `tool` from zero on, so that its first call is seen as an increase."""
        self._families.calls.labels(**self._labels, **{TOOL: tool, CODE: "NONE"})
        self._families.seconds.labels(**self._labels, **{TOOL: tool})

    def called(self, tool: str, code: str, seconds: float) -> None:
        """A tool call has ended with `code`."""
        families = self._families
        families.calls.labels(**self._labels, **{TOOL: tool, CODE: families.codes(code)}).inc()
        families.seconds.labels(**self._labels, **{TOOL: tool}).observe(seconds)

    def refused(self, reason: str) -> None:
        """A call was refused before it reached its tool."""
        self._families.refused.labels(**self._labels, **{REASON: reason}).inc()

    def set(self, name: str, value: float) -> None:
        """Set one of the gauges above."""
        self._families.gauges[name].labels(**self._labels).set(value)

    def set_heartbeat_age(self, sender: str, seconds: float) -> None:
        """`sender` is caller or server."""
        self._families.heartbeat_age.labels(**self._labels, **{FROM: sender}).set(seconds)
