"""Metrics of the simulation's process: names and labels in one place.

They tell of the process and of what a robot's own software knows, never of where something is: no way round the
sensors leads through them.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

from quartet_process import REGISTRY, LabelValues

KIND, OUTCOME, CAMERA, ROBOT = "kind", "outcome", "camera", "robot"
REJECTED = "rejected"
"""Outcome of a goal that did not begin; the others are the end states of action_msgs/GoalStatus in lower case."""
RENDER_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)

WORLD_TIME = Gauge("quartet_simulation_world_time_seconds", "World time of this episode, as in /clock [s]",
                   registry=REGISTRY)  # fmt: skip
WORLD_SECONDS = Counter("quartet_simulation_world_seconds", "World time that has passed, over all episodes [s]",
                        registry=REGISTRY)  # fmt: skip
STEP_SECONDS = Counter("quartet_simulation_step_seconds", "Wall time that physics and control took for it [s]",
                       registry=REGISTRY)  # fmt: skip
GOALS = Counter("quartet_simulation_goals", "Goals of action servers, by how they ended", (KIND, OUTCOME),
                registry=REGISTRY)  # fmt: skip
RENDER_SECONDS = Histogram("quartet_simulation_render_seconds", "Wall time of a rendered frame [s]", (CAMERA,),
                           buckets=RENDER_BUCKETS, registry=REGISTRY)  # fmt: skip
CLIENTS = Gauge("quartet_simulation_bridge_clients", "Connections to rosbridge now", registry=REGISTRY)
FAULTS = Counter("quartet_simulation_faults", "Times that a fault of the bridge has struck", (KIND,),
                 registry=REGISTRY)  # fmt: skip
LATCHED = Gauge("quartet_simulation_guard_latched", "1 until a person resets the robot", (ROBOT,), registry=REGISTRY)
STOPS = Counter("quartet_simulation_guard_stops", "Stops that the guard has carried out", (ROBOT,), registry=REGISTRY)
LAPSES = Counter("quartet_simulation_guard_lapses", "Times that the guard has ended motions without a heartbeat",
                 (ROBOT,), registry=REGISTRY)  # fmt: skip

kinds = LabelValues()
"""A client of the bridge may offer actions of any type."""


def goal_ended(type_name: str, outcome: str) -> None:
    """A goal of an action of `type_name`, such as nav2_msgs/action/Spin."""
    GOALS.labels(kinds(type_name.rpartition("/")[2]), outcome).inc()


def begin_guard(robot: str) -> None:
    """Tell of a guard from zero on, so that its first stop is seen as an increase."""
    for family in (LATCHED, STOPS, LAPSES):
        family.labels(robot)
