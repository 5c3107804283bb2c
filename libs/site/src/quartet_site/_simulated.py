"""The part of a robot file that describes the robot to the simulation; a real robot needs none of it."""

from typing import Annotated, Literal

from pydantic import Field

from quartet_site._section import Finite, Positive, Section

Position = tuple[Finite, Finite, Finite]
"""x, y, z [m]."""


class SimulatedBase(Section):
    """A mobile base: a box on wheels, its middle at the origin of the base frame [m, kg]."""

    drive: Literal["omnidirectional", "differential"] = "omnidirectional"
    """Four wheels that drive into every direction, or two beside the middle that do not drive sideways."""
    length_m: Annotated[float, Field(ge=0.2, le=1.5)] = 0.72
    width_m: Annotated[float, Field(ge=0.2, le=1.2)] = 0.61
    height_m: Annotated[float, Field(ge=0.1, le=1.5)] = 0.45
    """Of the top of the body above the floor."""
    ground_clearance_m: Annotated[float, Field(ge=0.0, le=0.3)] = 0.07
    mass_kg: Annotated[float, Field(ge=5, le=500)] = 60.0
    wheel_radius_m: Annotated[float, Field(gt=0, le=0.5)] = 0.11
    wheel_track_m: Positive = 0.52
    """Between left and right wheels. The faster a differential drive turns, the slower it drives."""
    wheel_base_m: Positive = 0.46
    """Between front and rear wheels of an omnidirectional base."""


class SimulatedTool(Section):
    """The tool frame in a body or site of a model file: the fingers close along its x and reach along its z."""

    body: str
    """Name of the body or site, which the last joint of the arm moves."""
    position_m: Position = (0.0, 0.0, 0.0)
    rpy_rad: Position = (0.0, 0.0, 0.0)
    """Roll, pitch and yaw about its fixed x, y and z axis, as in URDF."""


class SimulatedArm(Section):
    """Which arm with gripper the robot has, and where its foot stands in the base frame."""

    model: str = "ur5"
    """Name of a model that the simulation knows, or of a MJCF or URDF file: a path from the folder of the robot file,
    or package:PACKAGE/PATH."""
    foot: str | None = None
    """Body of a model file that stands on the base, with all that hangs on it; None: the outermost one."""
    tool: SimulatedTool | None = None
    """Where the tool frame is in a model file; None: its body or site that is called so."""
    without: list[str] = []
    """Bodies of a model file that are left out with all that hangs on them, such as a second arm."""
    position_m: Position = (0.27, 0.0, 0.72)
    yaw_rad: Finite = 3.141592653589793
    force_limit_n: Annotated[float, Field(ge=10, le=1000)] = 100.0
    """Protective stop: a motion ends where the arm pushes harder than this."""


class SimulatedGripper(Section):
    """A gripper in a model file of its own, and where it is on the arm of another model file."""

    model: str
    """MJCF or URDF file: a path from the folder of the robot file, or package:PACKAGE/PATH."""
    at: str
    """Body of the arm's model in which the gripper's model stands."""
    position_m: Position = (0.0, 0.0, 0.0)
    rpy_rad: Position = (0.0, 0.0, 0.0)
    """Roll, pitch and yaw about the fixed x, y and z axis of that body, as in URDF."""


class SimulatedCamera(Section):
    """Where a camera is and where it looks."""

    position_m: Position
    """The front camera in the base frame, the wrist camera in the tool frame."""
    tilt_rad: Annotated[float, Field(ge=-1.6, le=1.6)]
    """The front camera looks so far below the horizon; the wrist camera, which looks along the fingers, leans so far
    towards them."""
    fovy_deg: Annotated[float, Field(ge=20, le=120)] = 60.0
    """Vertical field of view."""


class SimulatedCameras(Section):
    """The two cameras."""

    front: SimulatedCamera = SimulatedCamera(position_m=(0.05, 0.24, 1.38), tilt_rad=0.60, fovy_deg=62.0)
    arm: SimulatedCamera = SimulatedCamera(position_m=(0.0, -0.075, 0.015), tilt_rad=0.14)


class Simulated(Section):
    """The robot as the simulation builds it. Names, speeds and standoffs are those of the rest of the file."""

    base: SimulatedBase = SimulatedBase()
    arm: SimulatedArm = SimulatedArm()
    gripper: SimulatedGripper | None = None
    """None: that of the arm's model."""
    cameras: SimulatedCameras = SimulatedCameras()
    laser_height_m: Annotated[float, Field(ge=0.05, le=1.5)] = 0.28
