"""The site file: areas, surfaces, containers and the catalogue of objects of one home or lab."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from quartet_site.errors import misfit
from quartet_site.robot import Finite, Positive, Section
from quartet_site.writes import RosWrites

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9' _-]{0,63}$")]
"""Lower-case words, as a person says them: "parents' bedroom"."""


class Pose2D(Section):
    """A pose on the floor in the map frame: x, y [m], yaw [rad]."""

    x: Finite
    y: Finite
    yaw: Finite = 0.0


class Area(Section):
    name: Name
    aliases: list[Name] = []
    entry: Pose2D
    """Where the robot stands after driving to the area, looking into it."""
    other_entries: list[Pose2D] = []
    """The same, while the entry pose is not free; poses around it are tried as well."""
    outline: Annotated[list[tuple[Finite, Finite]], Field(min_length=3)]
    """Corners of the area on the floor, in order, map frame [m]."""
    landmarks: list[Name] = []
    """Names of furniture that tells a viewer that this is the area."""


class Part(Section):
    """A piece of something that one simple shape describes too roughly: the neck of a bottle, the head of a toy."""

    shape: Literal["cylinder", "box", "sphere"]
    size_m: tuple[Positive, Positive, Positive]
    offset_m: tuple[Finite, Finite, Finite]
    """Middle of its underside, from the middle of the whole thing's underside."""
    colours: list[str] = []
    """Where they differ from the thing's own: the white cap of an orange bottle."""


class Appearance(Section):
    """How a thing looks to the colour-and-shape segmenter."""

    colours: Annotated[list[str], Field(min_length=1)]
    """Colour words (red, green, wood ...) or '#rrggbb' samples; a pixel of any of them belongs to the thing."""
    shape: Literal["cylinder", "box", "sphere", "bowl", "surface", "container"]
    size_m: tuple[Positive, Positive, Positive]
    """Extent as it usually stands: along x, along y, height."""
    parts: list[Part] = []
    """The pieces that the thing is put together from, all of them; none for a thing of one simple shape."""


class CatalogueObject(Section):
    """Something that the robot can pick up."""

    name: Name
    aliases: list[Name] = []
    appearance: Appearance
    mass_kg: Positive = 0.3


class Surface(Section):
    """Something with a top to put things on: table, counter, shelf, nightstand."""

    name: Name
    aliases: list[Name] = []
    area: Name
    appearance: Appearance
    approach: Pose2D | None = None
    """Where to stand to see it when the area's entry pose does not show it."""


class Container(Section):
    """Something with a rim to drop things into: bin, basket."""

    name: Name
    aliases: list[Name] = []
    area: Name
    appearance: Appearance
    approach: Pose2D | None = None


class SiteFile(Section):
    """site.yaml, whole."""

    name: Name
    description: str = ""
    segmenter: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """What finds things in this site's pictures: a segmenter of the perception server, or several with commas;
    QUARTET_SEGMENTER overrides it."""
    areas: Annotated[list[Area], Field(min_length=1)]
    surfaces: list[Surface] = []
    containers: list[Container] = []
    objects: list[CatalogueObject] = []
    parking: list[Pose2D] = []
    """Where a robot that lets another one pass stands in nobody's way; the areas' entry poses when there is none."""
    ros_writes: RosWrites = RosWrites()
    """What the ros server may write; nothing unless it is listed."""

    @model_validator(mode="after")
    def _names_are_unique_and_known(self) -> "SiteFile":
        areas = {area.name for area in self.areas}
        lists = {"areas": self.areas, "surfaces": self.surfaces, "containers": self.containers, "objects": self.objects}
        for field, things in lists.items():
            seen: set[str] = set()
            for number, thing in enumerate(things):
                if thing.name in seen:
                    raise misfit(f"'{thing.name}' is there twice; names must differ", field, number, "name")
                seen.add(thing.name)
                if isinstance(thing, Surface | Container) and thing.area not in areas:
                    known = ", ".join(sorted(areas))
                    raise misfit(
                        f"'{thing.name}' stands in area '{thing.area}', which is not one of: {known}",
                        field,
                        number,
                        "area",
                    )
        return self

    def area(self, name: str) -> Area | None:
        """The area that a person means by `name` (its name or an alias, any case), or None."""
        wanted = normalise(name)
        return next((a for a in self.areas if wanted in {a.name, *a.aliases}), None)


def normalise(name: str) -> str:
    """`name` as names are written in a site file: lower case, single spaces, no leading article."""
    words = name.replace("_", " ").replace("’", "'").lower().split()
    if words and words[0] in {"the", "a", "an"}:
        words = words[1:]
    return " ".join(words)
