"""Which goals of action servers run, as their status topics tell, and cancels that count only if they were taken."""

import base64
from collections.abc import Awaitable, Callable, Iterable
from typing import cast

from quartet_robot_link._actions import CANCEL_SERVICE
from quartet_robot_link.errors import CancelRejectedError
from quartet_robot_link.link import LATCHED, Message, RobotLink, Subscription

STATUS_TYPE = "action_msgs/msg/GoalStatusArray"
STATUS_TOPIC = "/_action/status"
ACTIVE = frozenset({1, 2})
"""action_msgs/msg/GoalStatus: accepted, executing."""
REJECTED = 1
"""action_msgs/srv/CancelGoal."""
GONE = frozenset({2, 3})
"""action_msgs/srv/CancelGoal: the server does not know the goal, or it has ended."""


def count_canceling(action: str, answer: Message) -> int:
    """Return how many goals the answer to a cancel of all names as canceling. Raises CancelRejectedError."""
    if answer.get("return_code") == REJECTED:
        raise CancelRejectedError(f"{action} refused to cancel its goals")
    return len(answer.get("goals_canceling") or [])


async def cancel_each(
    call: Callable[[str, Message], Awaitable[Message]], action: str, active: Callable[[], list[str]]
) -> bool:
    """Cancel the goals `active` of an action server one by one; return whether one is canceling now.

    rclpy answers a refused cancel of all goals as it answers one that found no goal: with success and an empty list.
    So the goals that the status topic lists are asked for one by one; each answer is of one goal.

    `call`: calls a service. `active`: gives the ids that the status topic lists now (see `active_goals`).
    Raises CancelRejectedError where a goal goes on, and what `call` raises.
    """
    canceling, refused = False, list[str]()
    for goal in list(active()):
        answer = await call(f"{action}{CANCEL_SERVICE}", {"goal_info": {"goal_id": {"uuid": goal}}})
        if answer.get("goals_canceling"):
            canceling = True
        elif answer.get("return_code") not in GONE and goal in active():
            refused.append(goal)
    if refused:
        raise CancelRejectedError(
            f"{action} took no cancel of {len(refused)} of its goals, which go on as its status topic tells"
        )
    return canceling


def active_goals(message: Message | None) -> list[str]:
    """Return the ids of the goals that a GoalStatusArray lists as active, as base64 text; [] without a message."""
    listed = cast("list[Message]", (message or {}).get("status_list") or [])
    return [_id(one["goal_info"]) for one in listed if one["status"] in ACTIVE]


class GoalStates:
    """Follows the goals of `actions`, whoever sent them.

    An action server publishes the states of its goals once it has had one. A server that was started anew and had none
    since says nothing, so what was heard is checked with the server itself before it counts.
    """

    def __init__(self, link: RobotLink, actions: Iterable[str]) -> None:
        self._link = link
        self._active: dict[str, list[str]] = {}
        """Ids of the active goals of each action, as base64 text."""
        self._subscriptions = [self._follow(action) for action in actions]

    async def cancel(self, action: str, *, timeout_s: float | None = None) -> bool:
        """Cancel every goal of an action server; return whether one is canceling now.

        Raises CancelRejectedError where a goal goes on, BridgeUnavailableError, CallTimeoutError,
        ServiceUnavailableError, RosError.
        """
        if await self._link.cancel_goals(action, timeout_s=timeout_s):
            return True
        return await cancel_each(
            lambda service, args: self._link.call_service(service, args, timeout_s=timeout_s),
            action,
            lambda: self._active.get(action, []),
        )

    def close(self) -> None:
        """End the subscriptions."""
        for subscription in self._subscriptions:
            subscription.close()

    def _follow(self, action: str) -> Subscription:
        return self._link.subscribe(
            f"{action}{STATUS_TOPIC}",
            STATUS_TYPE,
            qos=LATCHED,
            keep=1,
            on_message=lambda message: self._on_status(action, message),
        )

    def _on_status(self, action: str, message: Message) -> None:
        self._active[action] = active_goals(message)


def _id(info: Message) -> str:
    """Return the id as base64 text; uint8[16] comes so, or as a list of numbers."""
    value = info["goal_id"]["uuid"]
    return value if isinstance(value, str) else base64.b64encode(bytes(value)).decode()
