"""Routes for watching a robot: the site's map, poses, camera pictures."""

from collections.abc import Collection, Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from quartet_agent_runtime import ToolOutcome
from quartet_orchestrator.api.responses import image_response
from quartet_orchestrator.errors import RequestError
from quartet_orchestrator.observation import CAMERAS, Reading, RobotMonitor
from quartet_site import Container, RobotSetup, Surface


def known_robot(robot: str, robots: Collection[str]) -> str:
    """Return `robot`. Raises RequestError 404 for one that is not among `robots`."""
    if robot not in robots:
        raise RequestError(
            404, "No such robot", f"there is no robot '{robot[:64]}'; valid: {', '.join(sorted(robots))}"
        )
    return robot


def view_routes(monitor: RobotMonitor, robots: Mapping[str, RobotSetup]) -> APIRouter:
    """Return the routes; `robots` by name."""
    router = APIRouter(prefix="/robots", tags=["robots"])

    def known(robot: str) -> str:
        return known_robot(robot, robots)

    @router.get("/{robot}/site")
    async def site(robot: str) -> Response:
        """Return outlines of the areas, and standing poses before surfaces and containers; map frame [m, rad].

        `no_pick` and `no_put` of a place say why the robot cannot pick up or put down there, "" if it can.
        """
        return JSONResponse(outline(robots[known(robot)]))

    @router.get("/{robot}/pose")
    async def pose(robot: str) -> Response:
        """Return the robot's pose now: x, y [m], yaw [rad] in the map frame, and the area."""
        seen = await monitor.pose(known(robot))
        if seen.pose is None:
            raise _unavailable("Pose not known", seen.outcome)
        return JSONResponse({**seen.pose, "area": seen.outcome.content.get("area"), "at": seen.at})

    @router.get("/{robot}/poses")
    async def poses(robot: str) -> Response:
        """Return the robots of this site: name, pose (null when not known: `why` has the reason), area, age_s."""
        here = robots[known(robot)].site
        found = await monitor.poses(robot, (name for name, one in sorted(robots.items()) if one.site is here))
        return JSONResponse({"robots": [_row(name, seen) for name, seen in found.items()]})

    @router.get("/{robot}/cameras/{camera}", response_class=Response)
    async def picture(robot: str, camera: str) -> Response:
        """Return what the camera sees now, as a JPEG or PNG."""
        if camera not in CAMERAS:
            raise RequestError(
                404, "No such camera", f"there is no camera '{camera[:64]}'; valid: {', '.join(sorted(CAMERAS))}"
            )
        seen, image = await monitor.picture(known(robot), camera)
        if image is None:
            raise _unavailable("No picture", seen.outcome)
        headers = {"Cache-Control": "no-store", "X-Age-S": f"{seen.age_s:.2f}"}
        return image_response(image.data, image.media_type, headers)

    return router


def _row(name: str, seen: Reading | None) -> dict[str, object]:
    """Return one robot of several."""
    pose = None if seen is None else seen.pose
    if seen is None or pose is None:
        why = "it has not answered yet" if seen is None else reason_of(seen.outcome)
        return {"name": name, "pose": None, "area": None, "age_s": None, "why": why}
    age_s = round(seen.age_s, 2)
    return {"name": name, "pose": pose, "area": seen.outcome.content.get("area"), "age_s": age_s, "why": ""}


def _unavailable(title: str, outcome: ToolOutcome) -> RequestError:
    return RequestError(503, title, reason_of(outcome))


def reason_of(outcome: ToolOutcome) -> str:
    """Return why an outcome does not have what was asked for."""
    if outcome.ok:
        return "the server's answer does not have it"
    return f"{outcome.error_code}: {outcome.message or 'the server gave no reason'}"


def outline(setup: RobotSetup) -> dict[str, Any]:
    """Return the answer of GET /robots/NAME/site."""
    site, able = setup.site, setup.abilities
    no_entry = {area.name: able.no_entry(area) for area in site.areas}

    def place(one: Surface | Container, kind: str) -> dict[str, object]:
        stand = one.approach.model_dump() if one.approach is not None else None
        barred = no_entry[one.area]
        cannot = {"no_pick": barred or able.no_pick(one), "no_put": barred or able.no_put(one)}
        return {"name": one.name, "area": one.area, "kind": kind, "approach": stand, **cannot}

    return {
        "name": site.name,
        "description": site.description,
        "areas": [{"name": area.name, "outline": area.outline} for area in site.areas],
        "places": [
            *(place(one, "surface") for one in site.surfaces),
            *(place(one, "container") for one in site.containers),
        ],
        "objects": [thing.name for thing in site.objects],
    }
