"""What the steps share: the robot, what is known of its graph, and the findings so far."""

import difflib
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from quartet_cli.doctor._findings import Finding, Verdict
from quartet_robot_link import Message, Robot
from quartet_site import SiteFile


@dataclass
class Graph:
    """Names in the robot's ROS graph, as rosapi lists them."""

    topics: dict[str, str]
    """Name to type, `pkg/msg/Type`."""
    services: set[str]
    actions: set[str]


@dataclass
class Exam:
    """One run of the doctor. `graph` is None where rosapi does not tell; `frames` are those seen in /tf so far."""

    robot: Robot
    site: SiteFile | None
    patience_s: float
    watch_s: float
    findings: list[Finding] = field(default_factory=list[Finding])
    graph: Graph | None = None
    frames: set[str] = field(default_factory=set[str])

    def ok(self, step: str, what: str, *, latency_ms: float | None = None, rate_hz: float | None = None) -> None:
        self._add(step, Verdict.OK, what, "", latency_ms, rate_hz)

    def warn(
        self, step: str, what: str, remedy: str, *, latency_ms: float | None = None, rate_hz: float | None = None
    ) -> None:
        self._add(step, Verdict.WARNING, what, remedy, latency_ms, rate_hz)

    def wrong(self, step: str, what: str, remedy: str) -> None:
        self._add(step, Verdict.WRONG, what, remedy, None, None)

    def skip(self, step: str, what: str, remedy: str) -> None:
        self._add(step, Verdict.SKIPPED, what, remedy, None, None)

    def _add(
        self, step: str, verdict: Verdict, what: str, remedy: str, latency_ms: float | None, rate_hz: float | None
    ) -> None:
        rounded = [None if value is None else round(value, 1) for value in (latency_ms, rate_hz)]
        self.findings.append(
            Finding(step=step, verdict=verdict, what=what, remedy=remedy, latency_ms=rounded[0], rate_hz=rounded[1])
        )

    async def timed_call(self, service: str, args: Message | None = None) -> tuple[Message, float]:
        """Response and wall time [ms] of a service call. Raises LinkError."""
        began = time.monotonic()
        response = await self.robot.link.call_service(service, args or {}, timeout_s=self.patience_s)
        return response, (time.monotonic() - began) * 1e3

    def topics_of(self, msg_type: str) -> list[str]:
        """Topics of the robot with this type; [] where rosapi does not tell."""
        return [] if self.graph is None else sorted(n for n, kind in self.graph.topics.items() if kind == msg_type)


SHOWN = 4


def candidates(name: str, known: Iterable[str]) -> str:
    """Some names of `known`, those that look like `name` first, as words; '' when there are none."""
    names = sorted(known)
    close = alike(name, names)
    return ", ".join([*close, *(other for other in names if other not in close)][:SHOWN])


def alike(name: str, known: Iterable[str]) -> list[str]:
    """Names of `known` whose last part resembles that of `name`, the most alike first."""
    wanted = name.rpartition("/")[2]
    scored: list[tuple[float, str]] = []
    for other in known:
        last = other.rpartition("/")[2]
        score = difflib.SequenceMatcher(None, wanted, last).ratio()
        contained = bool(last) and (wanted in last or last in wanted)
        if contained or score >= 0.6:
            scored.append((-score - contained, other))
    return [other for _, other in sorted(scored)][:SHOWN]
