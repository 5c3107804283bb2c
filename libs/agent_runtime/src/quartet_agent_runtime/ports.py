"""What an agent needs from the outside, by shape: quartet_bus fulfils these without either importing the other."""

import asyncio
from typing import Any, Protocol, Self

from quartet_contracts import JournalEvent, Skill, SkillRequest, SkillResult
from quartet_contracts.approvals import ApprovalDecision, ApprovalRequest


class Journal(Protocol):
    """The append-only record of a task."""

    async def append(self, event: JournalEvent) -> object:
        """Durable when it returns; what it returns is not used."""
        ...


class ImageStore(Protocol):
    """Where images lie, so that journal and transcripts hold references only."""

    async def put(self, task_id: str, data: bytes, media_type: str) -> str:
        """Store `data` and return its reference (an Identifier)."""
        ...


class TranscriptStore(Protocol):
    """Keeps what a model saw and said."""

    async def save(self, task_id: str, loop_id: str, transcript: dict[str, Any]) -> object:
        """Replace the transcript of `loop_id`."""
        ...


class Delivery(Protocol):
    """A request taken from a skill's stream; the source keeps its lease alive until it is finished."""

    @property
    def request(self) -> SkillRequest: ...

    @property
    def redelivered(self) -> bool:
        """Whether another replica had it before."""
        ...

    @property
    def started(self) -> bool:
        """Whether somebody marked it as started: then it must never be run again."""
        ...

    @property
    def lost(self) -> asyncio.Event:
        """Set when another replica took the request over."""
        ...


class ApprovalDesk(Protocol):
    """Where a person's word on one call is got from."""

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """The decision, or None when none has come in time."""
        ...


class SkillSource(Protocol):
    """One replica's view of one skill's request stream."""

    async def take(self, timeout_s: float) -> Delivery | None:
        """The next request, or None after `timeout_s` without one."""
        ...

    async def mark_started(self, delivery: Any) -> None:
        """Durable when it returns; called before the first effect on the robot."""
        ...

    async def finish(self, delivery: Any, result: SkillResult) -> object:
        """Store the result, answer the asker and acknowledge, in one step; what it returns is not used."""
        ...

    async def canceled(self, request_id: str) -> None:
        """Returns when the request is canceled; waits for ever otherwise."""
        ...


class Store(Protocol):
    """All of it, as one thing that is open until its context ends."""

    @property
    def journal(self) -> Journal: ...

    @property
    def images(self) -> ImageStore: ...

    @property
    def transcripts(self) -> TranscriptStore: ...

    @property
    def approvals(self) -> ApprovalDesk: ...

    def skills(self, skill: Skill, /) -> SkillSource:
        """This replica's view of the stream of `skill`."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...
