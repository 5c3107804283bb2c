"""Which goals of action servers run, as their status topics tell, and cancels that count only if they were taken."""

import base64
from collections.abc import Iterable
from typing import cast

from quartet_robot_link._actions import CANCEL_SERVICE
from quartet_robot_link.errors import CancelRejectedError
from quartet_robot_link.link import LATCHED, Message, RobotLink, Subscription

STATUS_TYPE = "action_msgs/msg/GoalStatusArray"
ACTIVE = frozenset({1, 2})
"""action_msgs/msg/GoalStatus: accepted, executing."""
GONE = frozenset({2, 3})
"""action_msgs/srv/CancelGoal: the server does not know the goal, or it has ended."""


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

        rclpy answers a refused cancel as it answers one that found no goal: with success and an empty list. So the
        goals that the status topic lists are asked for one by one; each answer is of one goal.

        Raises CancelRejectedError where a goal goes on, BridgeUnavailableError, CallTimeoutError,
        ServiceUnavailableError, RosError.
        """
        if await self._link.cancel_goals(action, timeout_s=timeout_s):
            return True
        canceling, refused = False, list[str]()
        for goal in list(self._active.get(action, [])):
            request = {"goal_info": {"goal_id": {"uuid": goal}}}
            answer = await self._link.call_service(f"{action}{CANCEL_SERVICE}", request, timeout_s=timeout_s)
            if answer.get("goals_canceling"):
                canceling = True
            elif answer.get("return_code") not in GONE and goal in self._active.get(action, []):
                refused.append(goal)
        if refused:
            raise CancelRejectedError(
                f"{action} took no cancel of {len(refused)} of its goals, which go on as its status topic tells"
            )
        return canceling

    def close(self) -> None:
        """End the subscriptions."""
        for subscription in self._subscriptions:
            subscription.close()

    def _follow(self, action: str) -> Subscription:
        return self._link.subscribe(
            f"{action}/_action/status",
            STATUS_TYPE,
            qos=LATCHED,
            keep=1,
            on_message=lambda message: self._on_status(action, message),
        )

    def _on_status(self, action: str, message: Message) -> None:
        listed = cast("list[Message]", message.get("status_list") or [])
        self._active[action] = [_id(one["goal_info"]) for one in listed if one["status"] in ACTIVE]


def _id(info: Message) -> str:
    """Return the id as base64 text; uint8[16] comes so, or as a list of numbers."""
    value = info["goal_id"]["uuid"]
    return value if isinstance(value, str) else base64.b64encode(bytes(value)).decode()
