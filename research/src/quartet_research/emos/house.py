"""Buildings and bodies of instances, each read once a process."""

from functools import lru_cache

from quartet_deployment import project_root
from quartet_research.emos.instance import Instance
from quartet_simulation.bodies.body import Body
from quartet_simulation.bodies.load import find_body
from quartet_simulation.bodies.resume import resume_of
from quartet_simulation.buildings import BUILDING_FILE, Building, Household, load_building
from quartet_simulation.worlds.world import area_at
from quartet_site import Resume, summarised

NO_AREA = "outside of all rooms"


def building_names() -> list[str]:
    """Return the names of the project's buildings: their folders."""
    return sorted(path.parent.name for path in (project_root() / "deploy" / "buildings").glob(f"*/{BUILDING_FILE}"))


@lru_cache(maxsize=32)
def building_of(name: str) -> Building:
    """Return a building of the project. Raises BuildingFileError."""
    return load_building(project_root() / "deploy" / "buildings" / name)


@lru_cache(maxsize=16)
def body_of(name: str) -> Body:
    """Return the body of a robot of the project. Raises SimulationError."""
    return find_body(name, project_root() / "deploy" / "robots")


@lru_cache(maxsize=16)
def resume_of_body(name: str) -> Resume:
    """Return the resume of a robot of the project, with summaries. Raises SimulationError."""
    return summarised(resume_of(body_of(name)))


def household_of(instance: Instance, step_limit: int) -> Household:
    """Return the household of an instance at its start."""
    robots = {name: body_of(body) for name, body in instance.robots.items()}
    return Household(building_of(instance.building), robots, instance.things, instance.starts, step_limit=step_limit)


def region_at(building: Building, storey: str, x: float, y: float) -> str:
    """Return the name of the region at a point of a storey."""
    area = area_at(building.storey(storey).world, x, y)
    return region_name(building, storey, area) if area else NO_AREA


def region_name(building: Building, storey: str, area: str) -> str:
    """Return a name of an area that no other storey has: with its storey if other storeys have an area of this name."""
    names = [one.name for known in building.storeys.values() for one in known.world.areas]
    return area if names.count(area) == 1 else f"{area} of the {storey}"
