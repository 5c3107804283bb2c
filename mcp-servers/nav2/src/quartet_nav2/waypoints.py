"""follow_waypoints."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, ValidationError, WithJsonSchema

from quartet_contracts.tools.nav2 import MissedWaypoint, NavCode, WaypointsResult
from quartet_nav2.codes import MISSED_WAYPOINT, name_of
from quartet_nav2.motion import drive, failed, pose_stamped, verdict, where
from quartet_robot_link import GoalStatus, Message
from quartet_tool_server import Finite, ToolError, ToolServer

MOST_WAYPOINTS = 100
MAX_LIMIT_S = 3600.0


class Waypoint(BaseModel):
    """x, y [m] and yaw [rad] in the map frame."""

    model_config = ConfigDict(extra="forbid")

    x: Finite
    y: Finite
    yaw: Finite = 0.0


Waypoints = Annotated[
    list[dict[str, Any]],
    WithJsonSchema(
        {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_WAYPOINTS,
            "items": {
                "type": "object",
                "properties": {
                    "x": {"type": "number", "description": "m, map frame"},
                    "y": {"type": "number", "description": "m, map frame"},
                    "yaw": {"type": "number", "description": "rad, positive to the left", "default": 0.0},
                },
                "required": ["x", "y"],
                "additionalProperties": False,
            },
        }
    ),
]
"""Argument type as a client sees it; the values are checked by `read`, so that a wrong one has this tool's own code."""


def register(server: ToolServer) -> None:
    """Add follow_waypoints."""
    robot, names = server.robot, server.robot.file

    def waypoints_goal(waypoints: list[dict[str, Any]]) -> tuple[str, Message]:
        poses = [pose_stamped(robot, point.x, point.y, point.yaw) for point in read(waypoints)]
        return "FollowWaypoints", {"poses": poses}

    @server.tool(moves="base", goal=waypoints_goal)
    async def follow_waypoints(waypoints: Waypoints) -> WaypointsResult:
        """Drive the base through a list of poses of the map, in order, stopping at each. Tuck the arm first.

        waypoints: 1 to 100 of {"x": metres, "y": metres, "yaw": radians (0 when left out)} in the map frame. It ends
        at the first waypoint that cannot be reached: missed says which and why, and pose where the robot stands.
        Failures: INVALID_WAYPOINTS (the message says which; nothing moved), NAVIGATION_FAILED,
        NAVIGATION_CANCELED, NAV2_NOT_ACTIVE, TRANSFORM_UNAVAILABLE, BUSY, TIMEOUT or BRIDGE_UNAVAILABLE (outcome
        unknown: get_robot_pose first), STOPPED (report it).
        """
        kind, goal = waypoints_goal(waypoints)
        count = len(waypoints)
        passed = 0

        def report(feedback: Message) -> tuple[float, float | None, str]:
            nonlocal passed
            passed = int(feedback.get("current_waypoint") or 0)
            return float(passed), float(count), f"on the way to waypoint {passed + 1} of {count}"

        async with server.leases.acquire("base", "follow_waypoints") as lease:
            outcome = await drive(
                server,
                lease,
                names.actions.follow_waypoints,
                kind,
                goal,
                limit_s=min(MAX_LIMIT_S, names.base.navigation_timeout_s * count),
                progress=report,
            )
            pose = await where(robot)
        missed = [
            MissedWaypoint(index=int(item["index"]), nav2_error_code=code, nav2_error=name_of(code) if code else "")
            for item in outcome.values.get("missed_waypoints") or []
            for code in [int(item.get("error_code") or 0)]
        ]
        fields = verdict(outcome)
        if missed and fields.get("ok", True):
            # A robot that is configured to go on past a missed waypoint calls that a success.
            gone = ", ".join(str(item.index) for item in missed)
            fields |= failed(NavCode.NAVIGATION_FAILED, f"waypoints {gone} (counted from 0) were missed; look why")
        if fields.get("ok", True):
            reached = count
        elif missed and outcome.status is GoalStatus.ABORTED:
            reached = missed[0].index
            if not fields["nav2_error"]:
                fields["message"] += f"; {MISSED_WAYPOINT}"
        else:
            reached = count - len(missed) if missed else None
        return WaypointsResult(**fields, pose=pose, waypoints=count, reached=reached, missed=missed)


def read(waypoints: list[dict[str, Any]]) -> list[Waypoint]:
    """Checked waypoints. Raises ToolError INVALID_WAYPOINTS."""
    if not 1 <= len(waypoints) <= MOST_WAYPOINTS:
        raise _invalid(f"{len(waypoints)} waypoints were given; valid: 1 to {MOST_WAYPOINTS}")
    chosen: list[Waypoint] = []
    for number, values in enumerate(waypoints):
        try:
            chosen.append(Waypoint.model_validate(values))
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in fault["loc"]) or "waypoint"
            raise _invalid(
                f"waypoint {number} (counted from 0): {field}: {fault['msg']}; valid: x, y [m] and yaw [rad], finite "
                "numbers"
            ) from error
    return chosen


def _invalid(text: str) -> ToolError:
    return ToolError(f"{text}. Nothing moved.", code=NavCode.INVALID_WAYPOINTS)
