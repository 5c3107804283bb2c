"""Action goals over rosbridge, and how the type of an action server is learned."""

import asyncio
import base64
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, cast

from quartet_robot_link.errors import ActionUnavailableError, GoalRejectedError, RobotLinkError, RosError
from quartet_robot_link.link import GoalResult, GoalStatus, Message

log = logging.getLogger(__name__)

NO_ACTION_SERVER = "No action server available"

CANCEL_SERVICE = "/_action/cancel_goal"
NO_GOAL: Message = {"goal_info": {"goal_id": {"uuid": base64.b64encode(bytes([255] * 16)).decode()}}}
"""A cancel request for a goal that does not exist. Only the server itself answers it: names in the ROS graph stay while
any client of the action is left, such as that of rosbridge for the goal that runs."""

# rosapi's action_type ends rosapi 2.7.1 (it hands ros2action a plain node). rosbridge finds a service's type in the ROS
# graph, hidden ones too, and looks for its class in the package's `srv` module, where those of actions are not; the
# refusal names class and package, and nothing was called. Source: rosbridge_library, internal/services.py call_service
# and internal/ros_loader.py InvalidClassException. A bridge that does find the class refuses the unknown field.
TYPE_QUERY_SERVICE = "/_action/get_result"
TYPE_QUERY_ARGS: Message = {"quartet_asks_for_the_type": True}
"""No request has this field."""
_REFUSALS = (
    re.compile(r"class (?P<name>\w+)_GetResult from package (?P<package>\w+)"),
    re.compile(r"Message type (?P<package>\w+)/(?:\w+/)?(?P<name>\w+)_GetResult_Request "),
)


def type_in(refusal: str) -> str | None:
    """Return `pkg/action/Name` from the refusal of TYPE_QUERY_SERVICE, None where it does not tell."""
    for pattern in _REFUSALS:
        found = pattern.search(refusal)
        if found is not None:
            return f"{found['package']}/action/{found['name']}"
    return None


class BridgeGoal:
    """A goal sent through the bridge: a `GoalHandle`.

    operation: the send_action_goal operation. cancel: cancels every goal of an action within a time [s].
    """

    def __init__(
        self,
        operation: Message,
        on_feedback: Callable[[Message], None] | None,
        cancel: Callable[..., Awaitable[int]],
    ) -> None:
        self.operation = operation
        self._retried = False
        self._cancel, self._on_feedback = cancel, on_feedback
        self._feedback: Message | None = None
        self._waiting = 0
        self.future: asyncio.Future[GoalResult] = asyncio.get_running_loop().create_future()
        self.future.add_done_callback(retrieve)

    @property
    def action(self) -> str:
        """Name of the action."""
        return str(self.operation["action"])

    @property
    def feedback(self) -> Message | None:
        """The newest feedback message, None before the first."""
        return self._feedback

    @property
    def done(self) -> bool:
        """Whether the result or an error is there."""
        return self.future.done()

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for its result."""
        return self._waiting > 0 and not self.done

    async def result(self) -> GoalResult:
        """Wait for the end. Raises ActionUnavailableError, GoalRejectedError, RosError, BridgeUnavailableError."""
        self._waiting += 1
        try:
            return await asyncio.shield(self.future)
        finally:
            self._waiting -= 1

    async def cancel(self, timeout_s: float | None = None) -> int:
        """Ask the robot to cancel and return how many goals are canceling."""
        if self.done:
            return 0
        return await self._cancel(self.action, timeout_s=timeout_s)

    def on_feedback(self, values: Message) -> None:
        """Take a feedback message."""
        self._feedback = values
        if self._on_feedback is not None:
            try:
                self._on_feedback(values)
            except Exception:
                log.exception("a reader of feedback of %s failed", self.action)

    def must_be_sent_again(self, operation: Message) -> bool:
        """Return True, once, for an action server that a fresh bridge has not discovered yet."""
        unknown = operation.get("result") is False and NO_ACTION_SERVER in str(operation.get("values"))
        if not unknown or self._retried or self.done:
            return False
        self._retried = True
        return True

    def finish(self, operation: Message) -> None:
        """Take the action_result operation, which ends the goal."""
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
            return ActionUnavailableError(f"{self.action}: {text}; check that its node runs and is active")
        if "rejected" in text:
            return GoalRejectedError(f"{self.action}: {text}")
        return RosError(f"{self.action}: {text}")


def fail(future: "asyncio.Future[Any]", error: RobotLinkError) -> None:
    """Set `error` on a future that is still pending."""
    if not future.done():
        future.set_exception(error)


def retrieve(future: "asyncio.Future[Any]") -> None:
    """Mark the error as seen: its caller may have left before, which is no reason for a warning."""
    if not future.cancelled():
        future.exception()


def mapping(value: Any) -> Message | None:
    """Return `value` when it is an object, else None."""
    return cast(Message, value) if isinstance(value, dict) else None
