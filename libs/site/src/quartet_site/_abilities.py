"""What a robot can hold, reach, see and enter in its site, by its robot file and its resume.

Each answer is a reason with numbers, '' where the robot can do it or too little is known to say that it cannot.
"""

from dataclasses import dataclass

from quartet_site._robot import PASS_M, RobotFile
from quartet_site.resume import Resume
from quartet_site.site import Area, CatalogueObject, Container, Surface

Place = Surface | Container


@dataclass(frozen=True)
class Abilities:
    """Abilities of one robot. Sizes are those of site.yaml; reach is that of a hand that points straight down."""

    robot: RobotFile
    resume: Resume | None = None
    """None: nothing is known of reach, cameras and steps."""

    @property
    def widest_m(self) -> float:
        """Greatest width that the fingers go around [m]."""
        return self.robot.gripper.stroke_m - 2 * self.robot.gripper.side_clearance_m

    def put_distance(self, place: Place) -> float:
        """Return how far from the hand the robot stands when it puts something down at a place [m]."""
        standoff = self.robot.approach.standoff_m
        return standoff.container_place if isinstance(place, Container) else standoff.surface_place

    def put_height(self, place: Place, thing: CatalogueObject | None = None) -> float:
        """Return how high the finger tips get above the floor to put a thing down at a place [m].

        They let go below the top of the thing, and leave it upwards.
        """
        height, into = _height(thing), isinstance(place, Container)
        hand = self.robot.gripper
        tips = self.robot.release_m(height, into=into) - hand.finger_offset_m + hand.grasp_depth(height) + PASS_M
        return place.appearance.known_size_m[2] + tips

    def no_hold(self, thing: CatalogueObject) -> str:
        """Return why the fingers do not go around a thing."""
        look = thing.appearance
        if look.size_m is None or look.shape == "irregular":
            return ""
        width = min(look.size_m[:2])
        if width <= self.widest_m:
            return ""
        return f"the {thing.name} is {width:.3f} m wide, and {self.robot.name} grasps up to {self.widest_m:.3f} m"

    def no_pick(self, place: Place, thing: CatalogueObject | None = None) -> str:
        """Return why nothing, or not this thing, can be picked up from a place. Of what is in a container: ''."""
        if isinstance(place, Container):
            return ""
        top = place.appearance.known_size_m[2]
        return self._no_reach(
            place, top + _height(thing) + PASS_M, self.robot.approach.standoff_m.pick, "picked up from"
        )

    def no_put(self, place: Place, thing: CatalogueObject | None = None) -> str:
        """Return why nothing, or not this thing, can be put down at a place."""
        verb = "put into" if isinstance(place, Container) else "put on"
        return self._no_reach(place, self.put_height(place, thing), self.put_distance(place), verb)

    def no_handle(self, place: Place, thing: CatalogueObject | None = None) -> str:
        """Return why a thing can be neither picked up from a place nor put down there."""
        reasons = [self.no_pick(place, thing), self.no_put(place, thing)]
        return min(reasons, key=len) if all(reasons) else ""

    def no_entry(self, area: Area) -> str:
        """Return why an area cannot be entered."""
        if self.resume is None:
            return ""
        moves = self.resume.body.mobility
        if area.step_m <= moves.step_m or moves.kind == "rotors":
            return ""
        climbs = f"{self.robot.name} climbs {moves.step_m:.2f} m"
        return f"the way into the {area.name} has a step of {area.step_m:.2f} m, and {climbs}"

    def _no_reach(self, place: Place, height: float, standoff: float, verb: str) -> str:
        """Return why the finger tips do not get so high above a place, or the cameras do not see onto it."""
        if self.resume is None or self.resume.reach is None:
            return ""
        name, top = self.robot.name, place.appearance.known_size_m[2]
        highest = self.resume.reach.highest(standoff)
        if height > highest:
            return (
                f"the top of the {place.name} is at {top:.2f} m: what is {verb} it needs the finger tips at "
                f"{height:.2f} m, and {name} gets them to {highest:.2f} m"
            )
        eyes = max((camera.height for camera in self.resume.perception.cameras_info.values()), default=None)
        if eyes is not None and eyes <= top:
            return f"the top of the {place.name} is at {top:.2f} m, and {name} sees from {eyes:.2f} m"
        return ""


def _height(thing: CatalogueObject | None) -> float:
    size = None if thing is None else thing.appearance.size_m
    return 0.0 if size is None else size[2]
