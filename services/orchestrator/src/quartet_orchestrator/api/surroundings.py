"""Routes for what is around a robot: battery, laser, planned path, gripper, occupancy map."""

from collections.abc import Collection
from typing import TypeVar

from fastapi import APIRouter
from pydantic import BaseModel, ValidationError

from quartet_agent_runtime import ToolOutcome
from quartet_contracts.tools import ToolResult
from quartet_contracts.tools.moveit import GraspState, GripperResult
from quartet_contracts.tools.perception import MapResult, SurroundingsResult
from quartet_orchestrator.api.views import known_robot, reason_of
from quartet_orchestrator.observation import RobotMonitor

R = TypeVar("R", bound=ToolResult)


class Surroundings(BaseModel):
    """Answer of GET /robots/NAME/surroundings. Points in the map frame [m]."""

    battery: float | None
    """Charge, 0 to 1."""
    laser: list[tuple[float, float]]
    path: list[tuple[float, float]]
    gripper: GraspState | None


def surroundings_routes(monitor: RobotMonitor, robots: Collection[str]) -> APIRouter:
    """Return the routes; `robots` are the names of all."""
    router = APIRouter(prefix="/robots", tags=["robots"])

    @router.get("/{robot}/surroundings")
    async def surroundings(robot: str) -> Surroundings:
        """Return battery, laser points, planned path and gripper; what the robot does not have is empty or null."""
        around, gripper = await monitor.surroundings(known_robot(robot, robots))
        seen = _result(SurroundingsResult, around.outcome) or SurroundingsResult()
        fingers = _result(GripperResult, gripper.outcome)
        return Surroundings(
            battery=seen.battery, laser=seen.laser, path=seen.path, gripper=None if fingers is None else fingers.state
        )

    @router.get("/{robot}/map")
    async def occupancy(robot: str) -> MapResult:
        """Return the occupied cells of the robot's own map; `map` is null for a robot that publishes none."""
        seen = await monitor.map(known_robot(robot, robots))
        return _result(MapResult, seen.outcome) or MapResult(message=reason_of(seen.outcome))

    return router


def _result(kind: type[R], outcome: ToolOutcome) -> R | None:
    """Return the result of a tool; None for a failure, and for what a third-party server gives in its place."""
    try:
        return kind.model_validate(outcome.content) if outcome.ok else None
    except ValidationError:
        return None
