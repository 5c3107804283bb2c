"""How hard the sensors are: the table of all numbers of the sensor model, with the source of each.

`clean` has white depth noise alone. `typical` is a robot that somebody has set up with care, `harsh` one that nobody
has looked at for months. docs/perception.md shows the same table.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians
from typing import Final, Literal

from quartet_simulation.errors import UnknownNameError

LevelName = Literal["clean", "typical", "harsh"]
DEFAULT_LEVEL: Final = "typical"
"""What is simulated when nobody names a level: `clean` flatters."""

JPEG_QUALITY = 90
"""Of a level that says nothing about colour."""


@dataclass(frozen=True)
class StereoCamera:
    """Where the two infrared imagers of a depth camera are, and what they can see.

    focal_px: of the infrared picture that disparities are measured in. baseline_m: between the imagers.
    colour_offset_m: from the colour camera to the left imager, to the right. nearest_m: least distance.
    """

    focal_px: float
    baseline_m: float
    colour_offset_m: float
    nearest_m: float


STEREO = {
    # Intel RealSense D435: imagers 50 mm apart, colour camera 15 mm left of the left one (realsense2_description,
    # _d435.urdf.xacro); 640 px at 1280x720; nearest depth at 848x480 as in the D400 datasheet (337029), table Min-Z.
    "front": StereoCamera(640.0, 0.050, 0.015, 0.195),
    # D405, made for the wrist: imagers 18 mm apart, the left one is the colour camera, 70 mm (D400 datasheet).
    "arm": StereoCamera(640.0, 0.018, 0.0, 0.070),
}
"""The depth camera that each camera of the robot is."""


@dataclass(frozen=True)
class DepthLevel:
    """What stereo makes of a true depth.

    subpixel_px: RMS error of the disparity [pixels of the infrared picture]; 0.08 with a good texture, and the law
        z^2 * subpixel / (focal * baseline), are from Grunnet-Jepsen, Sweetser and Woodfill, "Tuning depth cameras for
        best performance" (Intel, revision 2.0).
    window_px: width of the box over which matching costs are summed, 7 in Keselman et al., "Intel RealSense
        Stereoscopic Depth Cameras" (CVPRW 2017): over this width errors are correlated.
    step_px: smallest step of a disparity, 1/32 in Grunnet-Jepsen et al., "Subpixel linearity improvement" (Intel
        2019).
    edge_loss, dark_loss, glossy_loss, clear_loss: share of pixels without depth at depth edges, where hardly any light
        comes back, on metal and paint that mirror the projector's dots, and on glass. Stereo has no law for them: they
        are set to the holes that published pictures of these cameras show, and harsh is about twice typical.
    """

    subpixel_px: float
    window_px: float = 7.0
    step_px: float = 1 / 32
    edge_loss: float = 0.5
    dark_loss: float = 0.3
    glossy_loss: float = 0.1
    clear_loss: float = 0.4


@dataclass(frozen=True)
class ColourLevel:
    """What a colour camera and its driver make of the light; shadows are on.

    white_rad: RMS error of the automatic white balance, as the angle between the estimated and the true colour of the
        light. The median of gamut mapping is 2.3 degrees, that of shades of grey 4.0, on the set of Gehler and Shi:
        Gijsenij, Gevers and van de Weijer, "Computational color constancy: survey and experiments" (IEEE Trans. Image
        Processing 20(9), 2011).
    exposure_stops: RMS error of the automatic exposure. An assumption.
    vignetting: exponent of the cosine law of illumination that is left after lens shading correction; 4 without any
        correction (Goldman and Chen, "Vignette and exposure calibration and compensation", ICCV 2005). What is left is
        an assumption.
    exposure_s: of one picture; 16.6 ms is the default of the colour sensor of a RealSense D435 (librealsense: 166 units
        of 0.1 ms), 33 ms the longest at 30 frames a second.
    noise: standard deviation of a channel of a pixel (0 to 255). An assumption.
    jpeg_quality: of the compressed topic; 80 is the default of compressed_image_transport in ROS 1, 50 an assumption
        for a narrow radio link.
    """

    white_rad: float
    exposure_stops: float
    vignetting: float
    exposure_s: float
    noise: float
    jpeg_quality: int


@dataclass(frozen=True)
class CalibrationLevel:
    """How far what the robot knows of its own body is from the truth; drawn anew in each episode.

    camera_m, camera_rad: RMS error of a camera's mounting. After a careful hand-eye calibration some millimetres and
        tenths of a degree remain: Tsai and Lenz (IEEE Trans. Robotics and Automation 5(3), 1989), Horaud and Dornaika
        (IJRR 14(3), 1995).
    joint_rad: RMS zero offset of each arm joint. An assumption: about 1.5 and 4 mm at the tool, between the 0.1 mm that
        Universal Robots state for repeatability and the centimetres that ur_robot_driver names for an arm without its
        calibration.
    opening_m, effort_share: RMS error of the gripper's width and, relative, of its force. Robotiq state 10 % for the
        force of the 2F-140, and 1/255 of its stroke as the step of its width.
    """

    camera_m: float
    camera_rad: float
    joint_rad: float
    opening_m: float
    effort_share: float


@dataclass(frozen=True)
class LocalisationLevel:
    """Error of AMCL, which corrects the pose when the robot has moved.

    position_m, yaw_rad: RMS of the error.
    every_m, every_rad: motion after which it corrects; nav2_amcl's update_min_d and update_min_a.
    kept: share of the error that a correction keeps; jump: chance that it keeps nothing of it, as when the particles
        settle elsewhere. Both are assumptions.
    twist_share: RMS error of the speed that the wheels' encoders give, relative to it: in the velocity model of Thrun,
        Burgard and Fox, "Probabilistic Robotics" (2005), section 5.3, errors grow with the speed, and wheels that stand
        are known to stand. Its size is an assumption: at full speed a half of, and as much as the 0.03 m/s that the
        controller of Clearpath's Husky states (husky_control, control.yaml: a variance of 0.001).
    """

    position_m: float
    yaw_rad: float
    twist_share: float
    every_m: float = 0.25
    every_rad: float = 0.2
    kept: float = 0.8
    jump: float = 0.0


@dataclass(frozen=True)
class TimingLevel:
    """When pictures and scans reach the robot's computer, and what their stamps say.

    delay_s: from the exposure of a picture to its arrival: 66 ms of colour pictures of a RealSense D435 by the latency
        tool of its ROS driver (realsense-ros issue 2686), 100 to 140 ms in librealsense issue 1242.
    scan_s: mean age of a scan that is sent after one turn of a laser at 10 Hz.
    late_s: by how much a stamp is later than the middle of the exposure: 7.5 ms at 20 ms of exposure and 15 ms at 40 ms
        of a D455 (librealsense issue 11873), so 0.37 of the exposure of ColourLevel.
    jitter_s: RMS variation of each. An assumption.
    apart_s: greatest time between colour and depth of a pair: half a period at 30 Hz, since the colour camera of a D435
        is not synchronised with its imagers.
    """

    delay_s: float
    late_s: float
    jitter_s: float
    scan_s: float = 0.05
    apart_s: float = 1 / 60


@dataclass(frozen=True)
class SensorLevel:
    """One level of the table.

    None: white noise of depth and colour, no shadows, a true calibration, a pose in the map that is at most 2 cm off,
    and pictures and scans that arrive at once with true stamps.
    """

    name: LevelName
    depth: DepthLevel | None = None
    colour: ColourLevel | None = None
    calibration: CalibrationLevel | None = None
    localisation: LocalisationLevel | None = None
    timing: TimingLevel | None = None

    @property
    def jpeg_quality(self) -> int:
        """Of the compressed topic, 1 to 95."""
        return JPEG_QUALITY if self.colour is None else self.colour.jpeg_quality


LEVELS: dict[str, SensorLevel] = {
    level.name: level
    for level in (
        SensorLevel("clean"),
        SensorLevel(
            "typical",
            DepthLevel(0.08),
            ColourLevel(radians(2.3), 0.15, 1.0, 0.0166, 2.2, 80),
            CalibrationLevel(0.003, radians(0.3), radians(0.05), 0.0005, 0.05),
            LocalisationLevel(0.03, radians(1.0), 0.02),
            TimingLevel(0.066, 0.0062, 0.003),
        ),
        SensorLevel(
            "harsh",
            DepthLevel(0.16, edge_loss=0.8, dark_loss=0.6, glossy_loss=0.25, clear_loss=0.7),
            ColourLevel(radians(4.0), 0.3, 2.5, 0.0333, 4.5, 50),
            CalibrationLevel(0.006, radians(0.7), radians(0.15), 0.001, 0.10),
            LocalisationLevel(0.06, radians(3.0), 0.05, jump=0.1),
            TimingLevel(0.140, 0.0124, 0.006),
        ),
    )
}


def find_level(name: str) -> SensorLevel:
    """Return a level by its name. Raises UnknownNameError."""
    if name not in LEVELS:
        raise UnknownNameError("level of sensors", name, LEVELS)
    return LEVELS[name]
