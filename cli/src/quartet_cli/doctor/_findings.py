"""What the doctor found."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Verdict(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """Works, and something about it will give trouble."""
    WRONG = "wrong"
    SKIPPED = "skipped"
    """Could not be looked at, because something before it is wrong."""


class Finding(BaseModel):
    """One thing that was looked at."""

    model_config = ConfigDict(frozen=True)

    step: str
    """bridge, rosapi, topics, frames, nav2, moveit, cameras, gripper, guard or site."""
    verdict: Verdict
    what: str
    remedy: str = ""
    """What to do about it; empty exactly when nothing needs doing."""
    latency_ms: float | None = None
    """Wall time of one look, where there is one."""
    rate_hz: float | None = None
    """Messages a second (wall time), for topics."""


class Report(BaseModel):
    """Everything that was found about one robot."""

    robot: str
    bridge_url: str
    findings: list[Finding]

    @property
    def healthy(self) -> bool:
        """Nothing is wrong; there may be warnings."""
        return all(finding.verdict in (Verdict.OK, Verdict.WARNING) for finding in self.findings)

    @property
    def wrong(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.verdict is Verdict.WRONG]
