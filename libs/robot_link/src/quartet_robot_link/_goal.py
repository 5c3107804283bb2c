"""A goal that was sent through the bridge."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from quartet_robot_link.errors import ActionUnavailable, GoalRejected, LinkError, RosError
from quartet_robot_link.link import GoalResult, GoalStatus, Message

if TYPE_CHECKING:
    from quartet_robot_link.bridge import BridgeLink

log = logging.getLogger(__name__)

NO_ACTION_SERVER = "No action server available"


class BridgeGoal:
    """A goal sent through the bridge; see link.GoalHandle."""

    def __init__(self, bridge: "BridgeLink", operation: Message, on_feedback: Callable[[Message], None] | None) -> None:
        self.operation = operation
        self._retried = False
        self._bridge, self._on_feedback = bridge, on_feedback
        self._feedback: Message | None = None
        self.future: asyncio.Future[GoalResult] = asyncio.get_running_loop().create_future()
        self.future.add_done_callback(retrieve)

    @property
    def action(self) -> str:
        return str(self.operation["action"])

    @property
    def feedback(self) -> Message | None:
        return self._feedback

    @property
    def done(self) -> bool:
        return self.future.done()

    async def result(self) -> GoalResult:
        return await asyncio.shield(self.future)

    async def cancel(self, timeout_s: float | None = None) -> int:
        if self.done:
            return 0
        return await self._bridge.cancel_goals(self.action, timeout_s=timeout_s)

    def on_feedback(self, values: Message) -> None:
        self._feedback = values
        if self._on_feedback is not None:
            try:
                self._on_feedback(values)
            except Exception:
                log.exception("a reader of feedback of %s failed", self.action)

    def must_be_sent_again(self, operation: Message) -> bool:
        """True once for a live server that a fresh bridge has not discovered yet."""
        unknown = operation.get("result") is False and NO_ACTION_SERVER in str(operation.get("values"))
        if not unknown or self._retried or self.done:
            return False
        self._retried = True
        return True

    def finish(self, operation: Message) -> None:
        """Take in the action_result operation."""
        if self.done:
            return
        values, status = mapping(operation.get("values")), operation.get("status")
        if operation.get("result") is False or values is None:
            self.future.set_exception(self._error(str(operation.get("values"))))
            return
        try:
            self.future.set_result(GoalResult(GoalStatus(status), values))
        except ValueError:
            self.future.set_exception(RosError(f"{self.action} ended with the unknown status {status}"))

    def _error(self, text: str) -> RosError:
        if NO_ACTION_SERVER in text:
            return ActionUnavailable(f"{self.action}: {text}; check that its node runs and is active")
        if "rejected" in text:
            return GoalRejected(f"{self.action}: {text}")
        return RosError(f"{self.action}: {text}")


def fail(future: "asyncio.Future[Any]", error: LinkError) -> None:
    """Fail what still waits."""
    if not future.done():
        future.set_exception(error)


def retrieve(future: "asyncio.Future[Any]") -> None:
    """The error may come after its caller has gone; that is no reason for a warning."""
    if not future.cancelled():
        future.exception()


def mapping(value: Any) -> Message | None:
    """`value` when it is an object, else None."""
    return cast(Message, value) if isinstance(value, dict) else None
