"""Protocols of what an agent needs from its store; quartet_bus implements them, and neither imports the other."""

import asyncio
from typing import Any, Protocol, Self, TypeVar

from quartet_contracts import (
    JournalEvent,
    ProgramAnswer,
    ProgramRequest,
    Route,
    RouteTurn,
    Skill,
    SkillRequest,
    SkillResult,
    TurnAnswer,
    TurnRequest,
)
from quartet_contracts.approvals import ApprovalDecision, ApprovalRequest

Asked = TypeVar("Asked", covariant=True)
Told = TypeVar("Told", contravariant=True)


class Journal(Protocol):
    """The append-only record of a task."""

    async def append(self, *events: JournalEvent) -> object:
        """Append `events` in order; they are durable when this returns. The returned value is not used."""
        ...


class ImageStore(Protocol):
    """Stores images, so that journal and transcripts hold references only."""

    async def put(self, task_id: str, data: bytes, media_type: str) -> str:
        """Store `data` and return its reference (an Identifier)."""
        ...


class TranscriptStore(Protocol):
    """Keeps what a model saw and said."""

    async def save(self, task_id: str, loop_id: str, transcript: dict[str, Any]) -> object:
        """Replace the transcript of `loop_id`."""
        ...


class Delivery(Protocol):
    """A request taken from a skill's stream; the source renews its lease until it is finished."""

    @property
    def request(self) -> SkillRequest:
        """The request."""
        ...

    @property
    def age_s(self) -> float:
        """Time since the request was made [s], by no clock of this machine."""
        ...

    @property
    def redelivered(self) -> bool:
        """Whether another replica had the request before."""
        ...

    @property
    def started(self) -> bool:
        """Whether a replica has marked the request as started: then it must never be run again."""
        ...

    @property
    def lost(self) -> asyncio.Event:
        """Set when another replica took the request over, or the store does not know it any more."""
        ...

    @property
    def forgotten(self) -> bool:
        """Whether the store does not know the request any more: no other replica ends its work."""
        ...


class ApprovalClient(Protocol):
    """Asks a person to allow one call."""

    async def ask(self, request: ApprovalRequest, left_s: float) -> ApprovalDecision | None:
        """Return the decision, or None when none has come within `left_s` [s]."""
        ...


class Routes(Protocol):
    """The routes that the robots of a place announce before they drive. Raises nothing: no drive fails without it."""

    async def announce(self, place: str, robot: str, number: int | None, route: Route) -> RouteTurn:
        """Announce a robot's route, or again with the `number` of its drive, and return the routes of the others.

        An announcement is forgotten seconds after the last one with its number; the drive gets another number then.
        """
        ...

    async def withdraw(self, place: str, robot: str, number: int) -> None:
        """Forget the route of the drive with this number."""
        ...


class SkillSource(Protocol):
    """One replica's view of one skill's request stream."""

    async def take(self, timeout_s: float, *, begin: bool) -> Delivery | None:
        """Return the next request, or None after `timeout_s` without one.

        With `begin` it may be marked as started already; mark_started then has nothing left to do.
        """
        ...

    async def mark_started(self, delivery: Any) -> None:
        """Mark the request as started, durably, before the first effect on the robot."""
        ...

    async def finish(self, delivery: Any, result: SkillResult) -> object:
        """Store the result, reply and acknowledge, in one step. The returned value is not used."""
        ...

    async def canceled(self, request_id: str) -> None:
        """Wait until the request is canceled, for ever if it is not."""
        ...


class TeamDelivery(Protocol[Asked]):
    """A request of a team, taken from its stream."""

    @property
    def message(self) -> Asked:
        """The request."""
        ...

    @property
    def left_s(self) -> float:
        """Time that is left for an answer [s]."""
        ...


class TeamSource(Protocol[Asked, Told]):
    """One process' view of a stream of requests of teams: turns, or programs that only calculate."""

    async def take(self) -> TeamDelivery[Asked] | None:
        """Return the next request, or None after a while without one."""
        ...

    async def finish(self, delivery: Any, answer: Told) -> object:
        """Answer and acknowledge in one step. The returned value is not used."""
        ...


class Store(Protocol):
    """Journal, images, transcripts, approvals, requests and turns; open until its context ends."""

    @property
    def turns(self) -> TeamSource[TurnRequest, TurnAnswer]:
        """The questions to the participants of teams."""
        ...

    @property
    def programs(self) -> TeamSource[ProgramRequest, ProgramAnswer]:
        """The programs of these participants."""
        ...

    @property
    def journal(self) -> Journal:
        """The journals of all tasks."""
        ...

    @property
    def images(self) -> ImageStore:
        """The images of all tasks."""
        ...

    @property
    def transcripts(self) -> TranscriptStore:
        """The transcripts of all loops."""
        ...

    @property
    def approvals(self) -> ApprovalClient:
        """The way to a person who allows calls."""
        ...

    @property
    def routes(self) -> Routes:
        """The routes of all robots."""
        ...

    def skills(self, skill: Skill, /) -> SkillSource:
        """Return this replica's view of the stream of `skill`."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...
