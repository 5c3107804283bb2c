"""What a team is given of an instance: the task and the scene as text."""

import json
import math
from typing import Any

from quartet_research.emos.house import body_of, building_of, region_at, region_name, resume_of_body
from quartet_research.emos.instance import Instance
from quartet_simulation.buildings import Building, Stand, Thing, routes_of
from quartet_site import capabilities
from quartet_teams.emos import Problem, Profile

TASK = (
    "Several robots work in a building. All of the following must be true at the same time. Distances are straight "
    "ones from the base of a robot, which for a flying robot is at its flying height."
)


def task_text(instance: Instance) -> str:
    """Return the task: numbered predicates, joined by AND."""
    goals = "\nAND ".join(f"{number}. {goal}" for number, goal in enumerate(instance.goals, 1))
    return f"{TASK}\n{goals}"


def scene_text(instance: Instance) -> str:
    """Return the scene as JSON, with lengths in metres to one decimal, and "inf" where a robot finds no route."""
    building = building_of(instance.building)
    several = len(building.storeys) > 1
    scene: dict[str, Any] = {"regions_description": _regions(building)} if several else {}
    scene["objects_description"] = {name: _thing(instance, building, thing) for name, thing in instance.things.items()}
    scene["agent_description"] = {
        name: _where(building, start.storey, start.x, start.y) for name, start in instance.starts.items()
    }
    return json.dumps(scene, indent=1)


def problem_of(instance: Instance) -> Problem:
    """Return what a team is given."""
    profiles: list[Profile] = []
    for name, body in instance.robots.items():
        resume = resume_of_body(body)
        full, summary = (capabilities(resume, numbers=numbers) for numbers in (True, False))
        profiles.append(Profile(name, full, summary, resume.body.role))
    return Problem(task_text(instance), scene_text(instance), profiles)


def _regions(building: Building) -> dict[str, Any]:
    """Return the regions of each floor, and what connects the floors."""
    floors = {
        name: [region_name(building, name, area.name) for area in storey.world.areas]
        for name, storey in building.storeys.items()
    }
    stairs = [
        {
            "connects": [_where(building, end.storey, end.x, end.y) for end in (one.start, one.end)],
            "height_of_steps": one.step_m,
            "slope_in_degrees": one.slope_deg,
        }
        for one in building.stairs
    ]
    return {"floors": floors, "stairs": stairs}


def _where(building: Building, storey: str, x: float, y: float) -> dict[str, str]:
    return {"region": region_at(building, storey, x, y), "floor": storey}


def _thing(instance: Instance, building: Building, thing: Thing) -> dict[str, Any]:
    x, y, z = thing.position
    return {
        **_where(building, thing.storey, x, y),
        "height": round(z, 1),
        "horizontal_distance": {
            name: _distance(building, body, thing, instance.starts[name]) for name, body in instance.robots.items()
        },
    }


def _distance(building: Building, body: str, thing: Thing, start: Stand) -> float | str:
    found = routes_of(building, body_of(body)).nearest(thing.storey, thing.position, start).distance
    return "inf" if math.isinf(found) else round(found, 1)
