"""The robot file, the site file and the policy file: schema, loading, messages that name file, line and field."""

from quartet_site._abilities import Abilities
from quartet_site._body import BodyFile, Mobility
from quartet_site._corrected import write_correction
from quartet_site._load import Fault, load_file, load_policy, load_robot, load_site
from quartet_site._outline import Outline, distance_to_edge, inside
from quartet_site._robot import PASS_M, Base, CalibrationError, Camera, Correction, Gripper, RobotFile
from quartet_site._robots import RobotFiles, RobotSetup, load_resume, load_robots
from quartet_site._ros_writes import RosWrites, WritableAction, WritableService, WritableTopic
from quartet_site._simulated import Simulated, SimulatedBase, SimulatedCamera, SimulatedGripper, SimulatedTool
from quartet_site.errors import SiteError, SiteFileError, field_error
from quartet_site.policy import ApprovalRule, Geofence, PolicyFile, ProgramRule, Workspace, Zone
from quartet_site.resume import Reach, Resume, Summaries, capabilities, rendered, summarised
from quartet_site.site import (
    FLOOR_WORDS,
    Area,
    CatalogueObject,
    Container,
    Name,
    Pose2D,
    SiteFile,
    Surface,
    is_floor,
    normalise,
)

__all__ = [
    "FLOOR_WORDS",
    "PASS_M",
    "Abilities",
    "ApprovalRule",
    "Area",
    "Base",
    "BodyFile",
    "CalibrationError",
    "Camera",
    "CatalogueObject",
    "Container",
    "Correction",
    "Fault",
    "Geofence",
    "Gripper",
    "Mobility",
    "Name",
    "Outline",
    "PolicyFile",
    "Pose2D",
    "ProgramRule",
    "Reach",
    "Resume",
    "RobotFile",
    "RobotFiles",
    "RobotSetup",
    "RosWrites",
    "Simulated",
    "SimulatedBase",
    "SimulatedCamera",
    "SimulatedGripper",
    "SimulatedTool",
    "SiteError",
    "SiteFile",
    "SiteFileError",
    "Summaries",
    "Surface",
    "Workspace",
    "WritableAction",
    "WritableService",
    "WritableTopic",
    "Zone",
    "capabilities",
    "distance_to_edge",
    "field_error",
    "inside",
    "is_floor",
    "load_file",
    "load_policy",
    "load_resume",
    "load_robot",
    "load_robots",
    "load_site",
    "normalise",
    "rendered",
    "summarised",
    "write_correction",
]
