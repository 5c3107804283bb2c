"""A robot's resume: what its body can reach, see and pass, as JSON, XML, Markdown or text.

The keys down to `arm_workspace` are those that EMOS published (arXiv 2410.22662), whose vectors are [x, height, y].
`body` and `reach` are Quartet's own. Units: m, degrees; the base frame is on the floor below the robot.
"""

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal, cast
from xml.etree import ElementTree

from pydantic import Field

from quartet_site._body import Mobility
from quartet_site._section import Section

Format = Literal["json", "xml", "markdown", "text"]
Length = Annotated[float, Field(ge=-1000, le=1000)]
"""Of what a robot reaches [m]; neither NaN nor infinite."""
Span = tuple[Length, Length]
"""Least and greatest."""
Vector = tuple[Length, Length, Length]
STAIR_M = 0.17
"""Height of the steps of stairs."""
FLOOR_M = 0.1
"""What is reached so low is on the floor."""
MERGED_M = 0.1
"""Bands are shown as one if that drops at most this length of their spans."""
_UP_TO = ((0.5, "knee height"), (1.0, "table height"), (1.5, "counter height"), (float("inf"), "high shelves"))
"""Names of heights, each below a bound."""


class Summary(Section):
    """An ability in words."""

    summary: str = ""


class CameraInfo(Section):
    """A camera."""

    height: Length
    hfov: float
    type: Literal["fixed", "articulated"]


class Perception(Summary):
    """What the robot sees."""

    cameras_info: dict[str, CameraInfo] = {}


class Sphere(Section):
    """Mean of the sampled positions of the hand, and the largest distance from it."""

    type: Literal["sphere"] = "sphere"
    center: Vector
    radius: float


class Box(Section):
    """Extremes of the sampled positions of the hand."""

    type: Literal["box"] = "box"
    min_bound: Vector
    max_bound: Vector


class Manipulation(Summary):
    """What the robot handles."""

    arm_workspace: Sphere | Box | None = None


class ResumeBody(Section):
    """How the robot is built, and how its workspace was sampled."""

    role: str = ""
    tree: str
    """Links by indentation, each with the type of its joint."""
    mobility: Mobility
    camera_tilt: dict[str, float] = {}
    """How far each camera looks below the horizon."""
    sphere: Sphere | None = None
    box: Box | None = None
    poses: int = 0
    """Sampled poses of the arm."""
    free: int = 0
    """Those in which the robot meets neither itself nor the floor."""
    seed: int = 0


class Band(Section):
    """Horizontal reach of the grasp point in a band of heights, from the origin of the base frame.

    There are up to two spans, such as over the robot's back and before it; none: nothing is claimed.
    """

    height: Span
    from_above: tuple[Span, ...] = ()
    """With a hand that points straight down."""
    any_angle: tuple[Span, ...] = ()
    """With the hand at any angle."""

    def spans(self, *, from_above: bool) -> tuple[Span, ...]:
        """Return the spans for one way to hold the hand."""
        return self.from_above if from_above else self.any_angle


class Reach(Section):
    """Claims about points in the half-plane at a bearing: each is reached by the arm while the base stands still."""

    bearing: float
    """0: ahead, 90: to the left."""
    bands: Annotated[list[Band], Field(max_length=1000)]

    def claims(self, distance: float, height: float, *, from_above: bool = False) -> bool:
        """Return whether a point at a horizontal distance and a height [m] is within a band's claim."""
        bands = (band for band in self.bands if band.height[0] <= height < band.height[1])
        return any(low <= distance <= high for band in bands for low, high in band.spans(from_above=from_above))

    def highest(self, distance: float) -> float:
        """Return how high a hand that points straight down gets at a horizontal distance [m]; 0: not there."""
        found = [band.height[1] for band in self.bands if any(low <= distance <= high for low, high in band.from_above)]
        return max(found, default=0.0)

    def heights(self, *, from_above: bool = False) -> Span | None:
        """Return the lowest and the highest height of any claim [m], or None without one."""
        claimed = [band.height for band in self.bands if band.spans(from_above=from_above)]
        return (claimed[0][0], claimed[-1][1]) if claimed else None


class Resume(Section):
    """What a robot can do."""

    robot_id: str
    robot_type: str
    mobility: Summary
    perception: Perception
    manipulation: Manipulation
    body: ResumeBody
    reach: Reach | None = None
    """None: a body without an arm."""


class Summaries(Section):
    """The abilities in words, as a model or rules put them; EMOS gives no numbers in them."""

    mobility: str
    perception: str
    manipulation: str


def summarised(resume: Resume, summaries: Summaries | None = None) -> Resume:
    """Return a resume with summaries, by default those that rules write."""
    parts: dict[str, Summary] = {name: getattr(resume, name) for name in Summaries.model_fields}
    words = (summaries or _by_rules(resume)).model_dump()
    return resume.model_copy(
        update={name: part.model_copy(update={"summary": words[name]}) for name, part in parts.items()}
    )


def _by_rules(resume: Resume) -> Summaries:
    mobility, cameras, reach = resume.body.mobility, resume.perception.cameras_info, resume.reach
    climbs = f"climbs {'stairs' if mobility.step_m >= STAIR_M else 'low sills' if mobility.step_m > 0 else 'no steps'}"
    moves = {
        "wheels": f"drives on wheels over floors and {climbs}",
        "legs": f"walks on legs and {climbs}",
        "rotors": "flies over stairs and obstacles",
        "none": "stands still",
    }[mobility.kind]
    sees = " and ".join(f"the {one.type} camera '{name}'" for name, one in cameras.items())
    handles = "has no arm and handles nothing"
    if reach is not None:
        low, high = reach.heights() or (0.0, 0.0)
        ways = "from above and from the side" if reach.heights(from_above=True) else "from the side only"
        lowest = "the floor" if low < FLOOR_M else "above the floor"
        handles = f"grasps {ways}, from {lowest} up to {next(what for most, what in _UP_TO if high < most)}"
    return Summaries(
        mobility=f"The robot {moves}.",
        perception=f"The robot sees with {sees}." if sees else "The robot has no camera.",
        manipulation=f"The robot {handles}.",
    )


def capabilities(resume: Resume, *, numbers: bool, from_above: bool = False) -> str:
    """Return what a group of robots is shown of a resume, as JSON with lengths in m and angles in degrees.

    Args:
        resume: with summaries.
        numbers: whether figures of mobility, cameras and reach are shown, or the summaries alone. Reach is at any angle
            of the hand; bands with nearly the same distances are one, whose distances all of them claim. The arm's
            workspace is not shown: its sphere or box contains points that the hand does not reach.
        from_above: reach is that of a hand that points straight down, band by band.
    """
    names = {"robot_type": resume.robot_type}
    parts: dict[str, dict[str, Any]] = {
        name: {"summary": getattr(resume, name).summary} for name in Summaries.model_fields
    }
    if numbers:
        moves = resume.body.mobility
        parts["mobility"] |= {
            "step": moves.step_m,
            "slope": moves.slope_deg,
            "flies": moves.kind == "rotors",
            "flying_height": moves.flying_height_m,
            "speed": moves.speed_m_s,
        }
        parts["perception"]["cameras_info"] = {
            name: camera.model_dump() | {"tilt_below_horizon": resume.body.camera_tilt.get(name, 0.0)}
            for name, camera in resume.perception.cameras_info.items()
        }
        bands = _from_above(resume.reach) if from_above else _merged(resume.reach)
        parts["manipulation"]["reach"] = [{"height": height, "distance": span} for height, span in bands]
    return json.dumps(names | parts)


def _from_above(reach: Reach | None) -> list[tuple[Span, Span]]:
    return [(band.height, span) for band in (reach.bands if reach else ()) for span in band.from_above]


def _merged(reach: Reach | None) -> list[tuple[Span, Span]]:
    """Return heights, and the distances that all bands between them claim up to the farthest."""
    groups: list[list[Band]] = []
    for band in reach.bands if reach else ():
        if band.any_angle:
            group = [*groups[-1], band] if groups else []
            if group and group[-2].height[1] == band.height[0] and _spread(group) <= MERGED_M:
                groups[-1] = group
            else:
                groups.append([band])
    return [
        (
            (group[0].height[0], group[-1].height[1]),
            (max(one.any_angle[-1][0] for one in group), min(one.any_angle[-1][1] for one in group)),
        )
        for group in groups
    ]


def _spread(bands: list[Band]) -> float:
    """Return by how much the least and the greatest distances of bands differ together [m]."""
    lows, highs = zip(*(band.any_angle[-1] for band in bands), strict=True)
    return max(lows) - min(lows) + max(highs) - min(highs)


def rendered(resume: Resume, format: Format) -> str:
    """Return a resume as text; equal resumes have equal texts."""
    if format == "json":
        return resume.model_dump_json(indent=1)
    data = resume.model_dump(mode="json")
    if format == "markdown":
        return "\n".join(_markdown("resume", data, 1))
    if format == "text":
        return "\n".join(_sentences(resume))
    root = ElementTree.Element("resume")
    _add(root, data)
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode")


def _add(parent: ElementTree.Element, value: Any) -> None:
    """Add a JSON value to an element; keys are elements, but names of cameras, which XML may not allow, attributes."""
    if isinstance(value, dict):
        named = parent.tag in ("cameras_info", "camera_tilt")
        for key, one in cast("dict[str, Any]", value).items():
            attributes = {"name": key} if named else dict[str, str]()
            _add(ElementTree.SubElement(parent, "camera" if named else key, attributes), one)
    elif parent.tag == "bands":
        for one in value:
            _add(ElementTree.SubElement(parent, "band"), one)
    elif value is not None:
        parent.text = str(value)


def _markdown(name: str, value: Any, level: int) -> Iterator[str]:
    """Yield a JSON value as headings and lists."""
    if isinstance(value, dict):
        yield f"{'#' * level} {name}"
        for key, one in cast("dict[str, Any]", value).items():
            yield from _markdown(key, one, level + 1)
    elif name == "bands":
        yield from (f"- {', '.join(f'{key}: {spans}' for key, spans in band.items())}" for band in value)
    elif name == "tree":
        yield f"```\n{value}\n```"
    else:
        yield f"- {name}: {value}"


def _sentences(resume: Resume) -> Iterator[str]:
    moves, space, reach = resume.body.mobility, resume.manipulation.arm_workspace, resume.reach
    yield f"Robot {resume.robot_id} is of the type {resume.robot_type}. {resume.mobility.summary}"
    yield (
        f"It has a radius of {moves.footprint_radius_m:g} m and moves at up to {moves.speed_m_s:g} m/s. "
        + f"It flies {moves.flying_height_m:g} m high." * (moves.kind == "rotors")
        + f"It climbs steps of {moves.step_m:g} m and slopes of {moves.slope_deg:g} degrees." * (moves.kind != "rotors")
    )
    yield resume.perception.summary
    for name, camera in resume.perception.cameras_info.items():
        yield (
            f"The {camera.type} camera '{name}' is {camera.height:g} m high, sees {camera.hfov:g} degrees across and "
            f"looks {resume.body.camera_tilt.get(name, 0.0):g} degrees below the horizon."
        )
    yield resume.manipulation.summary
    if isinstance(space, Sphere):
        yield f"Its workspace is a sphere of {space.radius:g} m around {list(space.center)} [x, height, y]."
    elif space is not None:
        yield f"Its workspace is a box from {list(space.min_bound)} to {list(space.max_bound)} [x, height, y]."
    if reach is not None:
        yield f"It reaches these distances at a bearing of {reach.bearing:g} degrees (0: ahead, 90: left):"
        for band in reach.bands:
            above, every = _spans(*band.from_above), _spans(*band.any_angle)
            yield f"{_spans(band.height)} m high: {above} m with the hand straight down, {every} m at any angle."
    yield f"Its links and their joints:\n{resume.body.tree}"


def _spans(*spans: Span) -> str:
    return " and ".join(f"{low:.2f} to {high:.2f}" for low, high in spans) or "no"
