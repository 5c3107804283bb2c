"""Action servers: goals that run, report feedback, can be cancelled, and end in one result."""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import IntEnum

from quartet_simulation import metrics
from quartet_simulation.errors import GoalRejectedError
from quartet_simulation.ros.types import Message, check, complete, default, full_name, parts


class GoalStatus(IntEnum):
    """action_msgs/msg/GoalStatus."""

    UNKNOWN = 0
    ACCEPTED = 1
    EXECUTING = 2
    CANCELING = 3
    SUCCEEDED = 4
    CANCELED = 5
    ABORTED = 6


class CancelCode(IntEnum):
    """action_msgs/srv/CancelGoal."""

    NONE = 0
    REJECTED = 1
    UNKNOWN_GOAL_ID = 2
    GOAL_TERMINATED = 3


@dataclass
class GoalHandle:
    """One goal of an action server."""

    request: Message
    stamp: Message
    on_feedback: Callable[[Message], None] | None = None
    goal_id: bytes = field(default_factory=lambda: uuid.uuid4().bytes)
    status: GoalStatus = GoalStatus.ACCEPTED
    cancel_asked: asyncio.Event = field(default_factory=asyncio.Event)
    on_cancel: Callable[[], None] | None = None

    def cancel(self) -> None:
        """Ask the server to end this goal; it ends as CANCELED unless it was done before."""
        if self.status in (GoalStatus.ACCEPTED, GoalStatus.EXECUTING):
            self.status = GoalStatus.CANCELING
            self.cancel_asked.set()
            if self.on_cancel is not None:
                self.on_cancel()

    @property
    def info(self) -> Message:
        """The goal as action_msgs/GoalInfo."""
        return {"goal_id": {"uuid": self.goal_id}, "stamp": self.stamp}


Execute = Callable[[GoalHandle], Awaitable[tuple[GoalStatus, Message]]]


class ActionServer:
    """Runs goals of one action. `execute` returns the end state and (a part of) the result message.

    `accept` may raise GoalRejectedError. A goal outlives the connection that sent it.
    """

    def __init__(
        self,
        name: str,
        type_name: str,
        node: str,
        execute: Execute,
        accept: Callable[[Message], None],
        now: Callable[[], Message],
        checked: bool = False,
    ) -> None:
        self.name, self.type_name, self.node = name, full_name(type_name, "action"), node
        self.goal_type, self.result_type, self.feedback_type = (part.name for part in parts(type_name, "action"))
        self.on_status: Callable[[Message], None] | None = None
        self.refuses_cancels: Callable[[], bool] = lambda: False
        """Asked at each cancel of a running goal by a client: rclpy's cancel callback."""
        self.active: dict[bytes, GoalHandle] = {}
        self._execute, self._accept, self._now, self._checked = execute, accept, now, checked
        self._ended: deque[GoalHandle] = deque(maxlen=8)
        self._tasks: set[asyncio.Task[tuple[GoalStatus, Message]]] = set()

    def send(
        self, request: Message, on_feedback: Callable[[Message], None] | None
    ) -> tuple[GoalHandle, asyncio.Future[tuple[GoalStatus, Message]]]:
        """Start a complete goal. The future gives end state and complete result. Raises GoalRejectedError."""
        try:
            self._accept(request)
        except GoalRejectedError:
            metrics.goal_ended(self.type_name, metrics.REJECTED)
            raise
        handle = GoalHandle(request, self._now(), self._feedback(on_feedback))
        self.active[handle.goal_id] = handle
        handle.status = GoalStatus.EXECUTING
        self._publish_status()
        task = asyncio.create_task(self._run(handle), name=f"{self.name} goal")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # Shielded: a caller that gives up must not end the goal.
        return handle, asyncio.shield(task)

    def _feedback(self, send: Callable[[Message], None] | None) -> Callable[[Message], None] | None:
        if send is None:
            return None

        def forward(values: Message) -> None:
            message = complete(self.feedback_type, values)
            if self._checked:
                check(self.feedback_type, message)
            send(message)

        return forward

    async def _run(self, handle: GoalHandle) -> tuple[GoalStatus, Message]:
        try:
            handle.status, result = await self._execute(handle)
        except BaseException:
            handle.status, result = GoalStatus.ABORTED, {}
            raise
        finally:
            self.active.pop(handle.goal_id, None)
            self._ended.append(handle)
            metrics.goal_ended(self.type_name, handle.status.name.lower())
            self._publish_status()
        return handle.status, complete(self.result_type, result)

    def cancel_all(self) -> list[GoalHandle]:
        """Cancel every goal; returns those that were running."""
        handles = list(self.active.values())
        for handle in handles:
            handle.cancel()
        self._publish_status()
        return handles

    async def handle_cancel(self, request: Message) -> Message:
        """action_msgs/CancelGoal: zero id and stamp mean all goals, an id one goal, a stamp all up to it."""
        info = request["goal_info"]
        wanted, stamp = bytes(info["goal_id"]["uuid"]), info["stamp"]
        everyone = not any(wanted) and stamp == default("builtin_interfaces/Time")
        chosen = [
            handle
            for handle in self.active.values()
            if everyone or handle.goal_id == wanted or (any(stamp.values()) and _key(handle.stamp) <= _key(stamp))
        ]
        known = bool(chosen)
        if known and self.refuses_cancels():
            # rclpy leaves the code as it was found and only empties the list (rclpy/action/server.py).
            chosen = []
        for handle in chosen:
            handle.cancel()
        self._publish_status()
        code = CancelCode.NONE
        if not known and any(wanted):
            ended = any(handle.goal_id == wanted for handle in self._ended)
            code = CancelCode.GOAL_TERMINATED if ended else CancelCode.UNKNOWN_GOAL_ID
        return {"return_code": int(code), "goals_canceling": [handle.info for handle in chosen]}

    def _publish_status(self) -> None:
        if self.on_status is not None:
            handles = [*self._ended, *self.active.values()]
            self.on_status({"status_list": [{"goal_info": h.info, "status": int(h.status)} for h in handles]})


def _key(stamp: Message) -> tuple[int, int]:
    return stamp["sec"], stamp["nanosec"]
