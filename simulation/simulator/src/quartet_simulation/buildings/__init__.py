"""Buildings of several storeys, in which robots act without physics.

    building = load_building(root / "deploy" / "buildings" / "townhouse")
    bodies = {"spot": find_body("spot", root / "deploy" / "robots")}
    things = {"cup": Thing("ground floor", (2.0, 1.2, 0.81)), "spot 1": Thing("upper floor", (1.0, 3.0, 0.5), "spot")}
    household = Household(building, bodies, things, {"spot": Stand("ground floor", 1.0, 2.0)}, step_limit=4000)
    household.begin("spot", Call("nav_to_obj", "cup"))
    for ended in household.advance():
        print(ended.robot, ended.ok, ended.reason, household.steps)

`Household` says where robots and things are: `where`, `position`, `distance`, `held`, `at`. `routes_of(building, body)`
says where a body gets to: `nearest(storey, (x, y, z), from_)` is the pose nearest to a position with its horizontal
distance, `path(start, goal)` a route with its length. Floors, routes and samples of arms are kept for the process, by
the identity of building and body, so load each of them once.
"""

from quartet_simulation.buildings.building import Building, Position, Stand, Storey
from quartet_simulation.buildings.file import End, Stairs
from quartet_simulation.buildings.household import Ended, Household
from quartet_simulation.buildings.load import BUILDING_FILE, load_building
from quartet_simulation.buildings.pixels import MORE_THAN, detected, pixels
from quartet_simulation.buildings.plans import LIMITS
from quartet_simulation.buildings.routes import Near, Route, Routes, climbs, routes_of
from quartet_simulation.buildings.scene import STEP_S, Call, Place, Thing

__all__ = [
    "BUILDING_FILE",
    "LIMITS",
    "MORE_THAN",
    "STEP_S",
    "Building",
    "Call",
    "End",
    "Ended",
    "Household",
    "Near",
    "Place",
    "Position",
    "Route",
    "Routes",
    "Stairs",
    "Stand",
    "Storey",
    "Thing",
    "climbs",
    "detected",
    "load_building",
    "pixels",
    "routes_of",
]
