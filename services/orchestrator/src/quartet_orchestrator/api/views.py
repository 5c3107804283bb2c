"""Routes of what people look at beside tasks: the site's map, where a robot is, what its cameras see."""

import time
from collections.abc import Mapping

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from quartet_agent_runtime import ToolOutcome
from quartet_orchestrator.api.images import image_response
from quartet_orchestrator.api.problems import Problem
from quartet_orchestrator.lookout import CAMERAS, Lookout, Seen
from quartet_site import Container, SiteFile, Surface


def view_routes(lookout: Lookout, sites: Mapping[str, SiteFile]) -> APIRouter:
    """`sites` by robot."""
    router = APIRouter(prefix="/robots", tags=["robots"])

    def known(robot: str) -> str:
        if robot not in sites:
            valid = ", ".join(sorted(sites))
            raise Problem(404, "No such robot", f"there is no robot '{robot[:64]}'; valid: {valid}")
        return robot

    @router.get("/{robot}/site")
    async def site(robot: str) -> Response:
        """Outlines of the areas, and where the robot stands before surfaces and containers; map frame [m, rad]."""
        return JSONResponse(_outline(sites[known(robot)]))

    @router.get("/{robot}/pose")
    async def pose(robot: str) -> Response:
        """Where the robot is now: x, y [m], yaw [rad] in the map frame, and the area."""
        seen = await lookout.pose(known(robot))
        if seen.pose is None:
            raise _unseen("Pose not known", seen.outcome)
        return JSONResponse({**seen.pose, "area": seen.outcome.content.get("area"), "at": seen.at})

    @router.get("/{robot}/poses")
    async def poses(robot: str) -> Response:
        """Where the robots of this one's site are: name, pose (null: not known, `why` says why), area, age_s."""
        here = sites[known(robot)]
        found = await lookout.poses(robot, (name for name, site in sorted(sites.items()) if site is here))
        return JSONResponse({"robots": [_told(name, seen) for name, seen in found.items()]})

    @router.get("/{robot}/cameras/{camera}")
    async def picture(robot: str, camera: str) -> Response:
        """A JPEG of now."""
        if camera not in CAMERAS:
            raise Problem(
                404, "No such camera", f"there is no camera '{camera[:64]}'; valid: {', '.join(sorted(CAMERAS))}"
            )
        seen, image = await lookout.picture(known(robot), camera)
        if image is None:
            raise _unseen("No picture", seen.outcome)
        headers = {"Cache-Control": "no-store", "X-Age-S": f"{max(0.0, time.time() - seen.at):.2f}"}
        return image_response(image.data, image.media_type, headers)

    return router


def _told(name: str, seen: Seen | None) -> dict[str, object]:
    """One of several robots."""
    pose = None if seen is None else seen.pose
    if seen is None or pose is None:
        why = "it has not answered yet" if seen is None else _why(seen.outcome)
        return {"name": name, "pose": None, "area": None, "age_s": None, "why": why}
    age_s = round(max(0.0, time.time() - seen.at), 2)
    return {"name": name, "pose": pose, "area": seen.outcome.content.get("area"), "age_s": age_s, "why": ""}


def _unseen(title: str, outcome: ToolOutcome) -> Problem:
    return Problem(503, title, _why(outcome))


def _why(outcome: ToolOutcome) -> str:
    if outcome.ok:
        return "the server answers, but not with that"
    return f"{outcome.error_code}: {outcome.message or 'the server gave no reason'}"


def _outline(site: SiteFile) -> dict[str, object]:
    def place(one: Surface | Container, kind: str) -> dict[str, object]:
        stand = one.approach.model_dump() if one.approach is not None else None
        return {"name": one.name, "area": one.area, "kind": kind, "approach": stand}

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
