"""Parts of the Facts block that several agents share, taken from the robot and site files."""

from typing import Any

from quartet_site import RobotFile, SiteFile


def arm_facts(robot: RobotFile) -> dict[str, Any]:
    """Planning group and the state in which the arm travels."""
    return {"group": robot.arm.group, "transit_state": robot.arm.transit_state}


def area_facts(site: SiteFile) -> list[dict[str, Any]]:
    """Every area with its entry pose (map frame, m and rad) and landmarks."""
    return [
        {
            "name": area.name,
            "aliases": list(area.aliases),
            "entry": area.entry.model_dump(),
            "landmarks": list(area.landmarks),
        }
        for area in site.areas
    ]


def place_facts(site: SiteFile) -> list[dict[str, Any]]:
    """Every surface and container with its area and, where the site gives one, the pose to see it from."""
    return [
        {
            "name": place.name,
            "aliases": list(place.aliases),
            "area": place.area,
            "kind": kind,
            "approach": place.approach.model_dump() if place.approach else None,
        }
        for kind, places in (("surface", site.surfaces), ("container", site.containers))
        for place in places
    ]
