"""Meaning of a sentence: places, deliveries and the request as a whole."""

from dataclasses import dataclass, field

from quartet_scripted_model.language.vocabulary import Thing


@dataclass(frozen=True)
class Ref:
    """Meaning of a noun phrase: one thing, several candidates, or nothing that is known."""

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
    beside: bool = False
    """Next to a thing that can be carried: said of where something is, or is to go."""
    conflict: str = ""

    @property
    def area_name(self) -> str | None:
        """The named area, else the area in which the named place stands."""
        if self.area and self.area.thing:
            return self.area.thing.name
        return self.place.thing.area if self.place and self.place.thing else None


@dataclass
class Delivery:
    """One object, where it is taken from and where it goes; `hold`: it is only to be picked up."""

    item: Ref
    source: Spot | None = None
    target: Spot | None = None
    hold: bool = False
    to_waste: bool = False
    hint: Spot | None = None
    """A named area that may belong to source or target."""
    loose: bool = False
    """Its target may as well be where it is: "bring the cup in the kitchen ..."."""
    at: bool = False
    """Its target is named by "on" or "in", which may as well say where it is: "take the cup on the shelf ..."."""
    put_down: bool = False
    """The sentence says "put it down" without a place."""


@dataclass
class Request:
    """Everything that a sentence asks for."""

    deliveries: list[Delivery] = field(default_factory=list)
    drives: list[tuple[int, Spot]] = field(default_factory=list)
    """Where the robot is sent, each with the number of deliveries that come before."""
    vague: str = ""
    """Words for things that are not named one by one ("everything")."""
    forbidden: bool = False
    """The sentence only says what not to do."""
