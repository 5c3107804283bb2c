"""What all checks share: the robot, its ROS graph, the findings so far, and checks of names and actions."""

import difflib
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from quartet_robot_link import Message, Robot, RobotLinkError
from quartet_site import SiteFile


class Verdict(StrEnum):
    """Result of one check."""

    OK = "ok"
    WARNING = "warning"
    """It works, but something about it will cause trouble."""
    WRONG = "wrong"
    SKIPPED = "skipped"
    """It could not be checked, because something before it is wrong."""


class Finding(BaseModel):
    """One check and its result."""

    model_config = ConfigDict(frozen=True)

    step: str
    """bridge, rosapi, topics, frames, nav2, moveit, cameras, gripper, guard or site; of a model key, text, tool,
    result or picture."""
    verdict: Verdict
    what: str
    remedy: str = ""
    """What to do about it; empty exactly when nothing is to be done."""
    latency_ms: float | None = None
    """Wall time of one answer of the robot, if it was measured."""
    rate_hz: float | None = None
    """Messages a second (wall time), for topics."""


class Report(BaseModel):
    """All findings about one robot."""

    robot: str
    bridge_url: str
    findings: list[Finding]

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; there may be warnings."""
        return all(finding.verdict in (Verdict.OK, Verdict.WARNING) for finding in self.findings)

    @property
    def wrong(self) -> list[Finding]:
        """The findings of what is wrong."""
        return [finding for finding in self.findings if finding.verdict is Verdict.WRONG]


@dataclass
class Graph:
    """Names in the robot's ROS graph, as rosapi lists them."""

    topics: dict[str, str]
    """Type (`pkg/msg/Type`) by name."""
    services: set[str]
    actions: set[str]


@dataclass
class Examination:
    """One run of the doctor.

    `graph` is None while rosapi has not answered; `frames` are the names seen in /tf so far.
    """

    robot: Robot
    site: SiteFile | None
    patience_s: float
    watch_s: float
    findings: list[Finding] = field(default_factory=list[Finding])
    graph: Graph | None = None
    frames: set[str] = field(default_factory=set[str])
    clock_ahead_s: float = 0.0
    """How far the robot's clock is ahead of this machine's, where ROS time is wall time."""
    with_velocity: set[str] = field(default_factory=set[str])
    """Joints that came with a velocity."""
    with_effort: set[str] = field(default_factory=set[str])
    """Joints that came with an effort other than 0.0, which drivers fill in where they measure none."""

    def ros_time(self) -> float:
        """ROS time on the robot [s]."""
        clock = self.robot.clock
        return clock.now() if clock.simulated else clock.now() + self.clock_ahead_s

    def ok(self, step: str, what: str, *, latency_ms: float | None = None, rate_hz: float | None = None) -> None:
        """Add a finding: it is in order."""
        self._add(step, Verdict.OK, what, "", latency_ms, rate_hz)

    def warn(
        self, step: str, what: str, remedy: str, *, latency_ms: float | None = None, rate_hz: float | None = None
    ) -> None:
        """Add a finding: it works, but will cause trouble."""
        self._add(step, Verdict.WARNING, what, remedy, latency_ms, rate_hz)

    def wrong(self, step: str, what: str, remedy: str) -> None:
        """Add a finding: it is wrong."""
        self._add(step, Verdict.WRONG, what, remedy, None, None)

    def skip(self, step: str, what: str, remedy: str) -> None:
        """Add a finding: it could not be checked."""
        self._add(step, Verdict.SKIPPED, what, remedy, None, None)

    def _add(
        self, step: str, verdict: Verdict, what: str, remedy: str, latency_ms: float | None, rate_hz: float | None
    ) -> None:
        rounded = [None if value is None else round(value, 1) for value in (latency_ms, rate_hz)]
        self.findings.append(
            Finding(step=step, verdict=verdict, what=what, remedy=remedy, latency_ms=rounded[0], rate_hz=rounded[1])
        )

    async def timed_call(self, service: str, args: Message | None = None) -> tuple[Message, float]:
        """Call a service and return its response and the wall time [ms]. Raises RobotLinkError."""
        began = time.monotonic()
        response = await self.robot.link.call_service(service, args or {}, timeout_s=self.patience_s)
        return response, (time.monotonic() - began) * 1e3

    async def publishers_of(self, topic: str) -> list[str]:
        """Return the nodes that publish a topic, [] if rosapi does not answer.

        A topic that is only read, as by the doctor itself and by Quartet's servers, is in the graph as well.
        """
        try:
            answer, _ = await self.timed_call("/rosapi/publishers", {"topic": topic})
        except RobotLinkError:
            return []
        return sorted(set(answer["publishers"]))

    def topics_of(self, msg_type: str) -> list[str]:
        """Return the robot's topics with this type, [] without rosapi."""
        return [] if self.graph is None else sorted(n for n, kind in self.graph.topics.items() if kind == msg_type)


SHOWN = 4


def candidates(name: str, known: Iterable[str]) -> str:
    """Return some names of `known` as one text, those that resemble `name` first; '' when there are none."""
    names = sorted(known)
    close = alike(name, names)
    return ", ".join([*close, *(other for other in names if other not in close)][:SHOWN])


def alike(name: str, known: Iterable[str]) -> list[str]:
    """Return names of `known` whose last part resembles that of `name`, the most similar first."""
    wanted = name.rpartition("/")[2]
    scored: list[tuple[float, str]] = []
    for other in known:
        last = other.rpartition("/")[2]
        score = difflib.SequenceMatcher(None, wanted, last).ratio()
        contained = bool(last) and (wanted in last or last in wanted)
        if contained or score >= 0.6:
            scored.append((-score - contained, other))
    return [other for _, other in sorted(scored)][:SHOWN]


GRIPPER_COMMANDS = ("GripperCommand", "ParallelGripperCommand")
"""What gripper.command may be."""


async def check_action(exam: Examination, step: str, field: str, start: str) -> None:
    """Check that the robot has an action of the robot file, with the type that the servers send."""
    file = exam.robot.file
    name, needed = str(getattr(file.actions, field)), file.action_types[field]
    if exam.graph is None or not check_name(exam, step, f"actions.{field}", name, exam.graph.actions, start):
        return
    found = await exam.robot.link.action_type(name, timeout_s=exam.patience_s)
    if found is None:
        exam.skip(
            step,
            f"the type of action {name} (actions.{field}) could not be read",
            f"make sure that `ros2 action info -t {name}` says {needed} on the robot",
        )
    elif found != needed:
        other = found.rpartition("/")[2]
        is_gripper = field == "gripper" and other in GRIPPER_COMMANDS
        instead = f"set gripper.command in robot.yaml to {other}, " if is_gripper else ""
        exam.wrong(
            step,
            f"action {name} is {found}, actions.{field} needs {needed}",
            f"{instead}set actions.{field} in robot.yaml to the action server of that type, or {start} of ROS 2 Jazzy: "
            "with a goal of a wrong type the bridge loses the action until it restarts",
        )
    else:
        exam.ok(step, f"action {name} is {found}")


async def check_service(exam: Examination, step: str, field: str, start: str) -> bool:
    """Return whether the robot has a service of the robot file, with the type that the servers call."""
    services = exam.robot.file.services
    name, needed = str(getattr(services, field)), services.TYPES[field]
    return await check_named_service(exam, step, f"services.{field}", name, needed, start)


async def check_named_service(exam: Examination, step: str, field: str, name: str, needed: str, start: str) -> bool:
    """Return whether the robot has the service `name` of type `needed`, which `field` of the robot file has."""
    if exam.graph is None or not check_name(exam, step, field, name, exam.graph.services, start):
        return False
    try:
        found = (await exam.timed_call("/rosapi/service_type", {"service": name}))[0].get("type")
    except RobotLinkError:
        found = None  # the check of rosapi reports it
    if not found or found == needed:
        return True
    exam.wrong(
        step,
        f"service {name} is {found}, {field} needs {needed}",
        f"set {field} in robot.yaml to the service of that type, or {start} of ROS 2 Jazzy",
    )
    return False


def check_name(exam: Examination, step: str, field: str, name: str, known: set[str], start: str) -> bool:
    """Return whether the robot has a service or action of the robot file; add a finding if it has not."""
    if name in known:
        return True
    kind = "action server" if field.startswith("actions") else "service"
    similar = ", ".join(alike(name, known)) or "the name that it has there"
    what = f"the robot has no {kind} {name} ({field})"
    exam.wrong(step, what, f"{start}, or set {field} in robot.yaml to {similar}")
    return False
