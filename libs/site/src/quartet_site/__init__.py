"""The robot file and the site file: schema, loading, messages that name file, line and field."""

from quartet_site.errors import FileProblem, SiteError
from quartet_site.load import load_robot, load_site
from quartet_site.robot import Camera, RobotFile
from quartet_site.site import Area, CatalogueObject, Container, Pose2D, SiteFile, Surface, normalise
from quartet_site.writes import RosWrites, WritableAction, WritableService, WritableTopic

__all__ = [
    "Area",
    "Camera",
    "CatalogueObject",
    "Container",
    "FileProblem",
    "Pose2D",
    "RobotFile",
    "RosWrites",
    "SiteError",
    "SiteFile",
    "Surface",
    "WritableAction",
    "WritableService",
    "WritableTopic",
    "load_robot",
    "load_site",
    "normalise",
]
