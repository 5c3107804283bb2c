"""A running goal of one channel (base, arm or gripper) as the caller sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["RUNNING", "SUCCEEDED", "ABORTED", "CANCELED"]


@dataclass
class Goal:
    """State of one goal. Only the simulation thread writes it; any thread may read it.

    `error_code` is 0 (1 for MoveIt goals) after success, else the code of the action's own message.
    `feedback` holds physical values; its keys depend on the action and are listed at the method that made it.
    """

    channel: str
    action: str
    status: Status = "RUNNING"
    error_code: int = 0
    error_text: str = ""
    feedback: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] = field(default_factory=dict)
    started_at: float = 0.0
    ended_at: float | None = None
    cancel_requested: bool = False

    @property
    def done(self) -> bool:
        """The goal has ended."""
        return self.status != "RUNNING"

    def cancel(self) -> None:
        """Ask for a controlled stop; the status becomes CANCELED once the motion has come to rest."""
        self.cancel_requested = True

    def finish(self, status: Status, time: float, code: int = 0, text: str = "") -> None:
        """Put the goal into its end state; a second end is ignored."""
        if self.done:
            return
        self.error_code, self.error_text, self.ended_at = int(code), text, time
        self.status = status
