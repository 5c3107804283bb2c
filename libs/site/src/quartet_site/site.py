"""The site file: areas, surfaces, containers and the catalogue of objects of one home or lab."""

import re
import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from quartet_site._outline import Outline
from quartet_site._ros_writes import RosWrites
from quartet_site._section import Finite, Positive, Section
from quartet_site.errors import field_error

Size = tuple[Positive, Positive, Positive]
"""Extent along x, along y, height [m]."""
LONGEST_NAME = 64
_MARKS = r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u109f\u1780-\u17ff"
"""Signs that belong to letters, of the scripts that need them: Hebrew, Arabic, those of India, Thai, Khmer."""
_VALID = re.compile(rf"(?:\d\.\d|[^\W_])(?:\d\.\d|[\w{_MARKS} '&+%-])*")
"""What the names of tasks and plans may be, too (`Term` of quartet_contracts), but without commas."""


def _name(text: str) -> str:
    name = normalise(text)
    if len(name) > LONGEST_NAME or _VALID.fullmatch(name) is None:
        raise field_error(
            f"{text[:LONGEST_NAME]!r} is not a name; valid: letters of any script, digits, spaces and ' & + % -, at "
            f"most {LONGEST_NAME} characters, the first a letter or a digit, and a dot only between digits"
        )
    return name


Name = Annotated[str, AfterValidator(_name)]
"""Words as a person says them, such as "Parents' bedroom" or "厨房"; kept as `normalise` returns them."""

FLOOR_WORDS = ("floor", "ground", "carpet", "rug")
_PREPOSITIONS = "on|in|at|of|by|near|from|under|beside|behind|before"
_FLOOR = re.compile(
    rf"(?:(?!(?:{_PREPOSITIONS})\b)\S+ )*(?:{'|'.join(FLOOR_WORDS)})(?: (?:area|here|(?:{_PREPOSITIONS}) .*))?|here"
)


class Pose2D(Section):
    """A pose on the floor in the map frame: x, y [m], yaw [rad]."""

    x: Finite
    y: Finite
    yaw: Finite = 0.0


class Area(Section):
    """A room or a part of one."""

    name: Name
    aliases: list[Name] = []
    entry: Pose2D
    """Where the robot stands after driving to the area, looking into it."""
    other_entries: list[Pose2D] = []
    """Further poses for when the entry pose is not free; poses around it are tried as well."""
    outline: Outline
    """Corners of the area on the floor, in order, map frame [m]."""
    step_m: Annotated[Finite, Field(ge=0, le=2)] = 0.0
    """Height of the highest step on the way into it."""
    landmarks: list[Name] = []
    """Furniture by which a viewer recognises the area."""


class Part(Section):
    """A piece of an object that one simple shape describes too roughly: the neck of a bottle, the head of a toy."""

    shape: Literal["cylinder", "box", "sphere"]
    size_m: Size
    offset_m: tuple[Finite, Finite, Finite]
    """Middle of its underside, from the middle of the whole object's underside [m]."""
    colours: list[str] = []
    """Colours that differ from the object's own: the white cap of an orange bottle."""


class Appearance(Section):
    """Appearance of an object, surface or container for the colour-and-shape segmenter."""

    colours: Annotated[list[str], Field(min_length=1)]
    """Colour words (red, green, wood ...) or '#rrggbb' samples; a pixel of any of them belongs to the object."""
    shape: Literal["cylinder", "box", "sphere", "irregular", "bowl", "surface", "container"]
    """irregular: none of the others, such as a toy animal; its sizes are those of the box around it."""
    size_m: Size | None = None
    """Extent as it usually stands: along x, along y, height [m]. Only an object that nobody has measured is without:
    it is known by colour and shape alone, and as large as it is seen."""
    size_error: Annotated[float, Field(ge=0.0, le=0.5)] = 0.1
    """How far each size may be off, relative: 0.1 as a person writes it down, 0.02 where it was measured with a ruler.
    What is seen or held with other sizes than that is not this object."""
    parts: list[Part] = []
    """All pieces of an object that is put together from several; none for one simple shape."""

    @model_validator(mode="after")
    def _without_size_nothing_else_is_measured(self) -> "Appearance":
        if self.size_m is not None:
            return self
        for field in ("size_error", "parts"):
            if field in self.model_fields_set:
                raise field_error(f"{field} says more of a size that is not there; give size_m, too, or neither", field)
        if self.shape in ("surface", "container"):
            raise field_error(f"a {self.shape} needs size_m; only objects may be without", "shape")
        return self

    @property
    def known_size_m(self) -> Size:
        """Its `size_m`, where there must be one: of surfaces and containers. Raises ValueError without."""
        if self.size_m is None:
            raise ValueError("its size is not known")
        return self.size_m


def _has_size(appearance: Appearance) -> Appearance:
    if appearance.size_m is None:
        raise field_error("surfaces and containers need size_m; only objects may be without", "shape")
    return appearance


PlaceAppearance = Annotated[Appearance, AfterValidator(_has_size)]
"""Appearance of furniture, whose size must be given."""


class CatalogueObject(Section):
    """An object that the robot can pick up."""

    name: Name
    aliases: list[Name] = []
    appearance: Appearance
    mass_kg: Positive = 0.3


class Surface(Section):
    """Furniture with a top to put objects on: table, counter, shelf, nightstand."""

    name: Name
    aliases: list[Name] = []
    area: Name
    appearance: PlaceAppearance
    approach: Pose2D | None = None
    """Where to stand to see it when the area's entry pose does not show it."""


class Container(Section):
    """A container with a rim to drop objects into: bin, basket."""

    name: Name
    aliases: list[Name] = []
    area: Name
    appearance: PlaceAppearance
    approach: Pose2D | None = None


class SiteFile(Section):
    """site.yaml, whole."""

    name: Name
    description: str = ""
    segmenter: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """The segmenter of the perception server, or several with commas; QUARTET_SEGMENTER overrides it."""
    areas: Annotated[list[Area], Field(min_length=1)]
    surfaces: list[Surface] = []
    containers: list[Container] = []
    objects: list[CatalogueObject] = []
    parking: list[Pose2D] = []
    """Where a robot waits while another one passes; the areas' entry poses when there is none."""
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
                    raise field_error(f"'{thing.name}' is there twice; names must differ", field, number, "name")
                seen.add(thing.name)
                if isinstance(thing, Surface | Container) and thing.area not in areas:
                    known = ", ".join(sorted(areas))
                    raise field_error(
                        f"'{thing.name}' stands in area '{thing.area}', which is not one of: {known}",
                        field,
                        number,
                        "area",
                    )
        return self

    @model_validator(mode="after")
    def _objects_without_size_differ_by_words(self) -> "SiteFile":
        for number, thing in enumerate(self.objects):
            for other in self.objects[:number]:
                one, two = thing.appearance, other.appearance
                alike = set(one.colours) & set(two.colours)
                if one.size_m is None and two.size_m is None and one.shape == two.shape and alike:
                    raise field_error(
                        f"'{thing.name}' and '{other.name}' are both {min(alike)}, both {one.shape}, without size_m: "
                        "nothing tells them apart. Give the size_m of one of them",
                        "objects",
                        number,
                        "appearance",
                    )
        return self

    def area(self, name: str) -> Area | None:
        """Return the area that a person means by `name` (its name or an alias, in any case), or None."""
        wanted = normalise(name)
        return next((a for a in self.areas if wanted in {a.name, *a.aliases}), None)

    def object(self, name: str) -> CatalogueObject | None:
        """Return the object that `name` means (its name or an alias, in any case), or None."""
        wanted = normalise(name)
        return next((one for one in self.objects if wanted in {one.name, *one.aliases}), None)


def normalise(name: str) -> str:
    """Return `name` as names are compared: lower case, single spaces, no leading article before another word.

    Letters that only look different (full width, ligatures) are the plain ones, characters that nobody sees are gone.
    """
    name = "".join(one for one in unicodedata.normalize("NFKC", name) if unicodedata.category(one) != "Cf")
    words = unicodedata.normalize("NFKC", name.replace("_", " ").replace("’", "'").lower()).split()
    if len(words) > 1 and words[0] in {"the", "a", "an"}:
        words = words[1:]
    return " ".join(words)


def is_floor(name: str) -> bool:
    """Return whether the name of a place means the floor, such as 'the kitchen floor', 'floor by the door' or 'here'.

    'floor lamp' does not, and neither does a thing that lies there, such as 'the can on the floor'.
    """
    return bool(_FLOOR.fullmatch(normalise(name)))
