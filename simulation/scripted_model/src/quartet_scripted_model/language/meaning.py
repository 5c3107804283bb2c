"""Meaning of a sentence: places, deliveries and the request as a whole."""

from dataclasses import dataclass, field

from quartet_scripted_model.language.vocabulary import Thing


@dataclass(frozen=True)
class Ref:
    """Meaning of a name: one thing, several candidates, or nothing that is known."""

    said: str
    things: tuple[Thing, ...] = ()

    @property
    def thing(self) -> Thing | None:
        """The one thing that is meant; None: several or none."""
        return self.things[0] if len(self.things) == 1 else None


@dataclass(frozen=True)
class Spot:
    """A place in the site: an area, and a surface, container or the floor in it."""

    area: Ref | None = None
    place: Ref | None = None
    person: bool = False
    """At a person, wherever that is."""
    conflict: str = ""

    @property
    def area_name(self) -> str | None:
        """The named area, else the area in which the named place stands."""
        if self.area and self.area.thing:
            return self.area.thing.name
        return self.place.thing.area if self.place and self.place.thing else None


@dataclass(eq=False)
class Delivery:
    """One object, where it is taken from and where it goes."""

    item: Ref
    source: Spot | None = None
    target: Spot | None = None
    hold: bool = False
    """It is only to be picked up."""
    held: bool = False
    """The sentence says that the gripper holds it."""


@dataclass
class Request:
    """Everything that a sentence asks for."""

    deliveries: list[Delivery] = field(default_factory=list[Delivery])
    drives: list[tuple[int, Spot]] = field(default_factory=list[tuple[int, Spot]])
    """Where the robot is sent, each with the number of deliveries that come before."""
    ordered: bool = False
    """The sentence says in which order."""
