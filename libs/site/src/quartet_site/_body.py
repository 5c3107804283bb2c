"""The body file: how any robot is built, with or without an arm, on wheels, legs or rotors."""

from typing import Annotated, Literal

from pydantic import Field

from quartet_site._section import Finite, Positive, Section, form
from quartet_site._simulated import Position, SimulatedTool

Size = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Mobility(Section):
    """How a robot moves, and over what."""

    kind: Literal["wheels", "legs", "rotors", "none"] = "wheels"
    footprint_radius_m: Positive
    """Of the circle around the robot, from its base frame."""
    step_m: Size = 0.0
    """Highest step that it climbs; unless stated, none."""
    slope_deg: Annotated[float, Field(ge=0, le=90)] = 0.0
    """Steepest slope that it climbs; unless stated, none."""
    speed_m_s: Size
    flying_height_m: Size = 0.0
    """Height over the floor at which it flies."""


class BodyCamera(Section):
    """A camera: the link that carries it, and where it looks."""

    link: str
    position_m: Position = (0.0, 0.0, 0.0)
    """In the link."""
    tilt_rad: Annotated[float, Field(ge=-1.6, le=1.6)] = 0.0
    """It looks so far below the horizon while all joints are in the body's posture."""
    hfov_deg: Annotated[float, Field(gt=0, lt=180)]
    """Horizontal field of view."""
    moved: bool | None = None
    """Whether joints turn it; None: whether a hinge is between the foot and its link."""


class BodyArm(Section):
    """The chain of joints from the foot to the hand."""

    hand: SimulatedTool
    """The grasp point: a frame in a body or site of the model, which reaches along its z."""
    joints: list[str] = []
    """Those of the chain that the arm uses, from the foot on; empty: all between foot and hand."""
    bearing_deg: Annotated[float, Field(gt=-180, le=180)] = 0.0
    """Bearing of the points about which claims are made: 0 ahead, 90 to the left."""


class BodyFile(Section):
    """body.yaml, whole."""

    name: Annotated[
        str, form("[A-Za-z][A-Za-z0-9_]{0,31}", "at most 32 letters, digits and _, the first a letter, such as fetch_1")
    ]
    type: str = ""
    """Type of robot, such as FetchRobot; empty: the name."""
    role: str = ""
    """What the robot is for, in one line written by a person."""
    model: str
    """MJCF or URDF file: a path from the folder of the body file, or package:PACKAGE/PATH."""
    foot: str | None = None
    """Body of the model that stands on the base, with all that hangs on it; None: the outermost one."""
    position_m: Position = (0.0, 0.0, 0.0)
    """Origin of the foot in the base frame: on the floor below the robot, x ahead, y left, z up."""
    yaw_rad: Finite = 0.0
    posture: dict[str, Finite] = {}
    """Positions of joints, such as those of legs, while the robot stands still [rad, m]; others are at 0, or as near as
    their limits allow."""
    touching: list[tuple[str, str]] = []
    """Pairs of bodies of the model whose shapes overlap in some poses without a collision."""
    arm: BodyArm | None = None
    cameras: dict[str, BodyCamera] = {}
    mobility: Mobility
