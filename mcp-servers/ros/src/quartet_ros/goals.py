"""get_actions, get_action_details, get_action_status, send_action_goal, cancel_action_goal."""

import asyncio
import base64
from typing import Annotated, Any, cast

from pydantic import Field

from quartet_contracts.tools.ros import (
    ActionDetailsResult,
    ActionGoalResult,
    ActionsResult,
    ActionStatusResult,
    CancelGoalResult,
    GoalInfo,
    TopicInfo,
)
from quartet_robot_link import LATCHED, CallTimeoutError, GoalStatus, Message, seconds
from quartet_robot_link.permits import absolute, plain
from quartet_ros.graph import ROSAPI_S, Contains, Limit, Name, all_actions, page, require
from quartet_ros.messages import shorten, shown_whole
from quartet_ros.permits import action_permit
from quartet_ros.types import MAX_STRUCTURES, Checker, finite, structures
from quartet_tool_server import Finite, InvalidArgumentsError, ToolError, ToolServer

STATUS_WAIT_S = 1.0
MAX_GOALS = 20
_STATUS = ("UNKNOWN", "ACCEPTED", "EXECUTING", "CANCELING", "SUCCEEDED", "CANCELED", "ABORTED")
"""action_msgs/msg/GoalStatus."""
_RUNNING = {"ACCEPTED", "EXECUTING", "CANCELING"}
_CANCELABLE = {"ACCEPTED", "EXECUTING"}
REJECTED = 1
_CANCEL_CODES = {
    REJECTED: "the action server refused to cancel",
    2: "there is no goal with this id",
    3: "the goal had ended already",
}
"""action_msgs/srv/CancelGoal."""
_TOO_LARGE = ("moveit_msgs/",)
"""Packages with actions whose details end rosapi 2.7.1."""


def register(server: ToolServer) -> None:  # noqa: C901 - a list of small functions
    """Add get_actions, get_action_details, get_action_status, send_action_goal and cancel_action_goal."""
    robot = server.robot
    # Asking rosapi 2.7.1 for the type of an action would end rosapi.
    actions = robot.file.actions
    known = robot.file.action_types
    configured = {absolute(str(name)): known[field] for field, name in actions if field in known}
    types = configured | {entry.name: entry.type for entry in server.site.ros_writes.actions}

    async def known_action(action_name: str) -> str:
        name = absolute(action_name)
        require(name, await all_actions(robot), "action", "get_actions")
        return name

    async def known_type(kind: str) -> str:
        there = (await robot.link.call_service("/rosapi/interfaces", timeout_s=ROSAPI_S))["interfaces"]
        known = {plain(item): item for item in there if "/action/" in item}
        require(plain(kind), known, "action type", "get_action_details")
        return known[plain(kind)]

    @server.tool(read_only=True)
    async def get_actions(contains: Contains = "", limit: Limit = 50) -> ActionsResult:
        """Names of the robot's action servers, with the type where robot.yaml or site.yaml tells it.

        Failures: ROS_ERROR (rosapi is not running), TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        every, wanted = await all_actions(robot), contains.lower()
        found = [TopicInfo(name=name, type=types.get(name, "")) for name in every]
        shown, text = page(
            [item for item in found if wanted in item.name.lower() or wanted in item.type.lower()], limit
        )
        return ActionsResult(actions=shown, total=len(every), message=text)

    @server.tool(read_only=True)
    async def get_action_details(
        action_name: Name, action_type: Annotated[str, Field(max_length=128)] = ""
    ) -> ActionDetailsResult:
        """Fields of an action's goal, result and feedback. action_type is needed where get_actions shows none.

        Failures: INVALID_PARAMETERS (no such action or type), ROS_ERROR (rosapi cannot tell; MoveIt's actions are not
        asked for, since that ends rosapi 2.7.1), TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        name = await known_action(action_name)
        kind = types.get(name) or await robot.link.action_type(name, timeout_s=ROSAPI_S) or ""
        if kind and action_type and plain(kind) != plain(action_type):
            raise InvalidArgumentsError(f"action '{name}' has type {kind}, not {action_type}; leave action_type out")
        if not (kind := kind or action_type):
            raise InvalidArgumentsError(
                f"the type of '{name}' cannot be learned; give action_type, e.g. pkg/action/Name"
            )
        if kind.startswith(_TOO_LARGE):
            raise ToolError(
                f"the details of {kind} are not asked for: rosapi 2.7.1 ends at actions of this size; its definition "
                f"is in the package {kind.partition('/')[0]}",
                code="ROS_ERROR",
                name=name,
                type=kind,
            )
        full = await known_type(kind)
        goal, result, feedback = await asyncio.gather(
            *(
                robot.link.call_service(f"/rosapi/action_{part}_details", {"type": full}, timeout_s=ROSAPI_S)
                for part in ("goal", "result", "feedback")
            )
        )
        return ActionDetailsResult(
            name=name,
            type=full,
            goal=structures(goal)[:MAX_STRUCTURES],
            result=structures(result)[:MAX_STRUCTURES],
            feedback=structures(feedback)[:MAX_STRUCTURES],
        )

    @server.tool(read_only=True)
    async def get_action_status(action_name: Name) -> ActionStatusResult:
        """Goals of an action server and how they stand or ended, the newest first; whoever sent them.

        Tells the true end of a goal whose sender gave up waiting. Failures: INVALID_PARAMETERS (no such action),
        ROS_ERROR, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        name = await known_action(action_name)
        goals = await status(name)
        return ActionStatusResult(
            action=name,
            goals=goals[:MAX_GOALS],
            running=sum(goal.status in _RUNNING for goal in goals),
            message="" if goals else "it has had no goal since it started",
        )

    @server.tool
    async def send_action_goal(
        action_name: Name,
        action_type: Annotated[str, Field(max_length=128, description="e.g. nav2_msgs/action/Spin")],
        goal: dict[str, Any],
        timeout: Annotated[  # noqa: ASYNC109
            Finite, Field(gt=0, le=600, description="seconds of the robot's time; the goal is canceled after")
        ] = 60.0,
    ) -> ActionGoalResult:
        """Send a goal to an action that the site allows and wait for its end. Given up, it is canceled.

        Failures: DENIED (the site does not allow it; do not try again), INVALID_PARAMETERS (no such action, wrong
        type or field), ROS_ERROR (rejected or aborted; status and result say how), CANCELED, BUSY, FENCED, STOPPED
        (report it), TIMEOUT or BRIDGE_UNAVAILABLE (look with get_action_status before trying again).
        """
        permit = action_permit(server, action_name, action_type)
        finite(goal, "goal")
        name = await known_action(permit.name)
        own = await robot.link.action_type(name, timeout_s=ROSAPI_S) or configured.get(name)
        if own is not None and plain(own) != plain(permit.type):
            # A goal of a wrong type makes the bridge lose the action until it restarts.
            raise InvalidArgumentsError(f"'{name}' is {own}, the site file says {permit.type}; correct it")
        kind = await known_type(permit.type)
        if not kind.startswith(_TOO_LARGE):
            parts = structures(
                await robot.link.call_service("/rosapi/action_goal_details", {"type": kind}, timeout_s=ROSAPI_S)
            )
            if parts:
                Checker(parts).check(parts[0].type, goal, "goal")
        limit_s = min(timeout, permit.max_duration_s)
        async with server.leases.acquire(f"action {name}", "send_action_goal") as lease:
            outcome = await server.run_goal(
                lease,
                name,
                kind,
                goal,
                generic=True,
                limit_s=limit_s,
                progress=lambda values: (0.0, None, str(shorten(values))[:200]),
            )
        fields: dict[str, Any] = {}
        if outcome.status is GoalStatus.CANCELED:
            why = outcome.canceled_because or "the robot's side canceled it"
            fields = {"ok": False, "error_code": "CANCELED", "message": f"{name} was canceled: {why}"}
        elif outcome.status is GoalStatus.ABORTED:
            fields = {"ok": False, "error_code": "ROS_ERROR", "message": f"{name} aborted the goal; see result"}
        return ActionGoalResult(
            action=name,
            action_type=kind,
            status=outcome.status.name,
            result=shown_whole(outcome.values, f"the result of {name}"),
            duration_s=round(outcome.duration_s, 3),
            **fields,
        )

    @server.tool(destructive=False)
    async def cancel_action_goal(
        action_name: Name,
        goal_id: Annotated[
            str, Field(pattern=r"^([0-9a-fA-F]{32})?$", description="of get_action_status; left out: all its goals")
        ] = "",
    ) -> CancelGoalResult:
        """Ask an action server to cancel one goal, or all of its goals, whoever sent them.

        get_action_status tells when they have ended. Failures: INVALID_PARAMETERS (no such action or goal), ROS_ERROR
        (it refused), TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        name = await known_action(action_name)
        request: Message = {}
        if goal_id:
            # Also when it has ended: then the server says so.
            request = {"goal_info": {"goal_id": {"uuid": list(bytes.fromhex(goal_id))}}}
        answer = await robot.link.call_service(f"{name}/_action/cancel_goal", request)
        canceling = [_goal_id(info) for info in answer.get("goals_canceling") or []]
        code = int(answer.get("return_code", 0))
        if not canceling and not code:
            # rclpy answers a refused cancel as one that found nothing to cancel.
            running = [goal.goal_id for goal in await status(name) if goal.status in _CANCELABLE]
            code = REJECTED if (goal_id in running if goal_id else running) else 0
        if code and (goal_id or code == REJECTED):
            raise ToolError(
                f"{_CANCEL_CODES.get(code, f'return code {code}')}: {goal_id or 'all goals'} of {name}; "
                "get_action_status lists the goals",
                code="INVALID_PARAMETERS" if code == 2 else "ROS_ERROR",
            )
        text = "" if canceling else "no goal was running"
        return CancelGoalResult(action=name, canceling=canceling, message=text)

    async def status(name: str) -> list[GoalInfo]:
        """From the latched status topic, which action servers publish only once they have had a goal."""
        async with robot.link.subscribe(
            f"{name}/_action/status", "action_msgs/msg/GoalStatusArray", qos=LATCHED, keep=1
        ) as subscription:
            try:
                message = await subscription.next(STATUS_WAIT_S)
            except CallTimeoutError:
                return []
        goals = [
            GoalInfo(
                goal_id=_goal_id(item["goal_info"]),
                status=_STATUS[int(item["status"])] if 0 <= int(item["status"]) < len(_STATUS) else "UNKNOWN",
                accepted_at_s=seconds(item["goal_info"]["stamp"]),
            )
            for item in cast(list[Message], message.get("status_list") or [])
        ]
        return goals[::-1]


def _goal_id(info: Message) -> str:
    """uint8[16] comes as base64 text or as a list of numbers."""
    value = info["goal_id"]["uuid"]
    return (base64.b64decode(value) if isinstance(value, str) else bytes(value)).hex()
