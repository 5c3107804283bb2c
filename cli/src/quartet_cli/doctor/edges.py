"""What transforms on /tf say about their publishers: stamps, order, parents."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from quartet_cli.doctor.examination import Examination
from quartet_robot_link import Message, stamp_of

LATE_S, AHEAD_S = 1.0, 2.0
"""Stamps further behind or ahead of the robot's clock fit no picture. AMCL stamps 1 s ahead (transform_tolerance)."""
TIMES_BACK = 2
"""So often the stamps of one publisher do not go back; the reset of a simulation is one time."""
Edge = tuple[str, str]
"""Parent and child."""


@dataclass
class Edges:
    """The edges of /tf, as they arrive."""

    newest: dict[Edge, float] = field(default_factory=dict[Edge, float])
    back: Counter[Edge] = field(default_factory=Counter[Edge])
    """How often the stamp was before that of the message before."""
    age_s: dict[Edge, float] = field(default_factory=dict[Edge, float])
    """Smallest distance of a stamp from the robot's clock, negative for a stamp ahead."""

    def add(self, message: Message, now: float) -> None:
        """Take a tf2_msgs/msg/TFMessage that arrived at the robot's time `now` [s]."""
        for item in message["transforms"]:
            edge = item["header"]["frame_id"].lstrip("/"), item["child_frame_id"].lstrip("/")
            stamp = stamp_of(item)
            self.back[edge] += stamp < self.newest.get(edge, stamp)
            self.newest[edge] = stamp
            self.age_s[edge] = min(self.age_s.get(edge, now - stamp), now - stamp, key=abs)

    def faults(self, publishers: list[str]) -> list[tuple[str, str]]:
        """Return what is wrong with them, each with its remedy; `publishers` are the nodes that publish /tf."""
        found: list[tuple[str, str]] = []
        parents: dict[str, list[str]] = defaultdict(list)
        for parent, child in self.newest:
            parents[child].append(parent)
        who = f"of {', '.join(publishers)} " if publishers else ""
        twice = [(f"{a} -> {b}", f"the stamps go back {n} times") for (a, b), n in self.back.items() if n >= TIMES_BACK]
        twice += [(f"... -> {b}", f"its parents are {' and '.join(a)}") for b, a in parents.items() if len(a) > 1]
        for edge, why in twice:
            found.append(
                (
                    f"two nodes publish the transform {edge}: {why}",
                    f"let one {who}publish it (robot_localization: publish_tf; diff_drive_controller: enable_odom_tf; "
                    "a simulated base has such a parameter as well)",
                )
            )
        for (parent, child), age in self.age_s.items():
            if not -AHEAD_S <= age <= LATE_S:
                found.append(
                    (
                        f"the stamps of {parent} -> {child} are {abs(age):.1f} s {'behind' if age > 0 else 'ahead of'} "
                        "the robot's clock",
                        "synchronise the clock of the computer that stamps them with the robot's (chrony), or look for "
                        "a driver or a network that holds messages back",
                    )
                )
        return found


async def judge_edges(exam: Examination, edges: Edges) -> None:
    """Add a finding for each fault of the transforms on /tf."""
    for what, remedy in edges.faults(await exam.publishers_of(exam.robot.file.topics.tf)):
        exam.wrong("topics", what, remedy)
