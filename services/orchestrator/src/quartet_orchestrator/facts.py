"""What the orchestrator's model is told about robot and site."""

from typing import Any

from quartet_site import RobotFile, SiteFile


def orchestrator_facts(robot: RobotFile, site: SiteFile) -> dict[str, Any]:
    """The Facts block: names and aliases of areas, places and objects. No poses: only sub-agents need them."""
    return {
        "robot": robot.name,
        "areas": [
            {"name": area.name, "aliases": list(area.aliases), "landmarks": list(area.landmarks)} for area in site.areas
        ],
        "surfaces": [{"name": s.name, "aliases": list(s.aliases), "area": s.area} for s in site.surfaces],
        "containers": [{"name": c.name, "aliases": list(c.aliases), "area": c.area} for c in site.containers],
        "objects": [{"name": thing.name, "aliases": list(thing.aliases)} for thing in site.objects],
    }
