"""The robot file, the site file and the policy file: schema, loading, messages that name file, line and field."""

from quartet_site.errors import FileProblem, SiteError, misfit
from quartet_site.load import load_file, load_policy, load_robot, load_site
from quartet_site.outline import distance_to_edge, inside
from quartet_site.policy import ApprovalRule, Geofence, PolicyFile, Workspace, Zone
from quartet_site.robot import Camera, RobotFile
from quartet_site.robots import Known, RobotFiles, load_robots
from quartet_site.site import Area, CatalogueObject, Container, Pose2D, SiteFile, Surface, normalise
from quartet_site.writes import RosWrites, WritableAction, WritableService, WritableTopic

__all__ = [
    "ApprovalRule",
    "Area",
    "Camera",
    "CatalogueObject",
    "Container",
    "FileProblem",
    "Geofence",
    "Known",
    "PolicyFile",
    "Pose2D",
    "RobotFile",
    "RobotFiles",
    "RosWrites",
    "SiteError",
    "SiteFile",
    "Surface",
    "Workspace",
    "WritableAction",
    "WritableService",
    "WritableTopic",
    "Zone",
    "distance_to_edge",
    "inside",
    "load_file",
    "load_policy",
    "load_robot",
    "load_robots",
    "load_site",
    "misfit",
    "normalise",
]
